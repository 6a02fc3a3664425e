"""What the front matter of a text says, as the definition of an option expects it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...errors import UsageError
from ...richtext.markdown.front_matter import commented, front_matter_fault, split_front_matter

HINT = "put a value with a colon or another sign of YAML into quotes"


def front_matter(text: str, keys: Mapping[str, str], option: str) -> tuple[dict[str, Any], str]:
    """What the front matter says, as JSON would have it, and the text to convert. A date is its text.

    Markdown keeps its front matter, which its reader leaves out. A first line that is a comment of keys and values says
    the same for formats that have no front matter, and is cut off. `keys` are those whose values must be a `text`, or a
    `list` of texts, for which a text with commas stands as well. `option` is where the text comes from, for messages.
    """
    said, rest = commented(text)
    if not said:
        if found := front_matter_fault(text):
            hint = HINT if text.lstrip("\ufeff").startswith("---") else None
            raise UsageError(f"{option}: the front matter cannot be read: {found}", hint=hint)
        said = split_front_matter(text)[0]
    plain = dict(json.loads(json.dumps(said, default=str)))
    for key in plain.keys() & keys.keys():
        value = plain[key]
        plain[key] = _texts(key, value, option) if keys[key] == "list" else _text(key, value, option)
    return {key: value for key, value in plain.items() if value is not None}, rest


def _text(key: str, value: Any, option: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{option}: {key} in the front matter: expected a text, not {json.dumps(value)}")


def _texts(key: str, value: Any, option: str) -> list[str] | None:
    if isinstance(value, dict | bool):
        raise UsageError(f"{option}: {key} in the front matter: expected a list of texts, not {json.dumps(value)}")
    items = value if isinstance(value, list) else str(value or "").split(",")
    texts = [_text(f"an item of {key}", item, option) for item in items]
    return [words for item in texts if item and (words := item.strip())] or None
