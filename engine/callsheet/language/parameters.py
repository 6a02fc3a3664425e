"""What the definition of a parameter says about its use, and names as expressions, titles and searches write them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..patterns import lazy_pattern

if TYPE_CHECKING:
    from .shape.commands import CommandDefinition, Param


# What the definition of a parameter says about its use.


TAKEN_AWAY = "-"  # before a word of a parameter that `removes`


def first_argument(command: CommandDefinition) -> Param | None:
    """What the first word behind the command's name is."""
    return next((param for param in command.get("params", ()) if param.get("kind") == "argument"), None)


def argument_name(param: Param) -> str:
    """How an argument stands in a line of usage."""
    word: str = param.get("metavar", param["name"].upper())
    return f"{word}..." if param.get("multiple") else word


def is_required(param: Param) -> bool:
    """Whether a command cannot be called without it: an argument unless it says otherwise, an option only if it does.

    One with a setting may have its value from the site.
    """
    if "setting" in param:
        return False
    return bool(param.get("required", param.get("kind") == "argument" and "default" not in param))


def is_json(param: Param) -> bool:
    """Whether its text is JSON, which a program gives as the value that it says."""
    return param.get("convert") == "json" or str(param.get("metavar", "")).startswith("JSON")


def is_table(param: Param) -> bool:
    """Whether its words are `NAME=VALUE`, which a program gives as a table."""
    return "assign" in param or "=" in str(param.get("metavar", ""))


def help_without_input(param: Param) -> str:
    """Its help, without what it says of standard input, which a program does not give."""
    return "; ".join(part for part in str(param.get("help", "")).split("; ") if "standard input" not in part)


# Keys that make something else of a parameter's words; what is looked up is another word, and may be the same.
REWRITING = frozenset({"convert", "assign", "members", "removes", "excludes"})


# Names as expressions and agents write them.


_LONGEST_TOOL = 64


@lru_cache(maxsize=1 << 14)
def to_identifier(name: str) -> str:
    """`space-id` → `space_id`."""
    return name.replace("-", "_").replace(".", "_")


def tool_name(words: str) -> str:
    """The words of a command, or a name that it has for agents, as the name of a tool: `pets list` → `pets_list`."""
    name = to_identifier(words.replace(" ", "_"))
    if len(name) <= _LONGEST_TOOL:
        return name
    from zlib import crc32  # two long names may begin alike

    return f"{name[: _LONGEST_TOOL - 9]}_{crc32(name.encode()):08x}"


_PIECES = lazy_pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ACRONYMS = frozenset({"api", "cql", "id", "ids", "jql", "sla", "ui", "uri", "url"})


def split_identifier(identifier: str) -> list[str]:
    """`getAllSprints` → get, All, Sprints. Whatever is no letter or digit separates words."""
    return _PIECES.findall(identifier)


def title_of_identifier(identifier: str) -> str:
    """An operation's id as a title: `getAllSprints` → Get all sprints."""
    words = [word.upper() if word.lower() in _ACRONYMS else word.lower() for word in split_identifier(identifier)]
    text = " ".join(words)
    return text[:1].upper() + text[1:]
