"""Which definitions a change can make unsound: what was checked before, and has nothing to do with it, is sound still.

What a definition needs stands in its table by name, so it is affected by a change of whatever it names, and by what
affects that. An id that only looks like one inside a longer word is taken for a name, too: that costs time, no fault.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from .parameters import tool_name
from .problem import Key
from .source_file import PARTS, Definitions

# The kinds of which there may be thousands. All others are checked each time.
_MANY = frozenset({"command", "group", "operation", "schema", "view", "resource", *PARTS.values()})
# What has a say in everything.
_EVERYWHERE = frozenset({"program", "deployment", "renamed", "product", "service"})


def digests_of(definitions: Definitions) -> dict[Key, bytes]:
    """Of the table of each, as it is before it is completed for a catalog."""
    return {key: _digest(definition.table) for key, definition in definitions.items()}


def _digest(table: Any) -> bytes:
    try:
        raw = marshal.dumps(table, 2)
    except ValueError:  # a date, say, which no sound definition has
        raw = b""
    return blake2b(raw, digest_size=12).digest()


def affected_definitions(
    definitions: Definitions, before: Mapping[Key, bytes], text_of: Callable[[Key], str]
) -> Collection[Key]:
    """The definitions that have to be checked again, where those of the digests `before` were sound together.

    `text_of` is what a table said then.
    """
    digests = digests_of(definitions)
    changed = {key for key, digest in digests.items() if before.get(key) != digest}
    gone = {key for key in before if key not in digests}
    if any(kind in _EVERYWHERE for kind, _ in changed | gone):
        return definitions.keys()
    texts = {key: f"{key[1]} {definitions[key].table}" for key in definitions if key[0] in _MANY}
    found = {key for key in definitions if key in changed or key not in texts}
    found |= _named_in([*(texts.get(key, "") for key in changed), *map(text_of, changed | gone)], texts)
    found |= _beside(changed | gone, texts)
    words = {word for key in changed | gone for word in _words_for(definitions, key)}
    waiting = {key for key in texts if key not in found}
    while words:
        reached = {key for key in waiting if any(word in texts[key] for word in words)}
        words = {word for key in reached for word in _words_for(definitions, key)}
        waiting -= reached
        found |= reached
    return found


def _words_for(definitions: Definitions, key: Key) -> Iterator[str]:
    """What others name it by."""
    kind, id = key
    yield id
    table = definitions[key].table if key in definitions else {}
    if kind in ("command", "group"):
        above = id.rpartition(" ")[0]
        yield from (f"{above} {alias}".strip() for alias in table.get("aliases", ()))


def _named_in(texts: Iterable[str], known: Iterable[Key]) -> set[Key]:
    text = "\n".join(texts)
    return {key for key in known if key[1] in text}


def _beside(changed: Iterable[Key], known: Iterable[Key]) -> set[Key]:
    """What stands in the same group, whose words must differ, and what agents know by the same name."""
    ids = {id for kind, id in changed if kind in ("command", "group")}
    groups, names = {id.rpartition(" ")[0] for id in ids}, {tool_name(id).casefold() for id in ids}
    return {
        (kind, id)
        for kind, id in known
        if kind in ("command", "group") and (id.rpartition(" ")[0] in groups or tool_name(id).casefold() in names)
    }
