"""Names as expressions and agents write them."""

from __future__ import annotations

_LONGEST_TOOL = 64


def to_identifier(name: str) -> str:
    """`space-id` → `space_id`."""
    return name.replace("-", "_").replace(".", "_")


def tool_name(words: str) -> str:
    """The words of a command, or a name that it has for agents, as the name of a tool: `pets list` → `pets_list`."""
    return to_identifier(words.replace(" ", "_"))[:_LONGEST_TOOL]
