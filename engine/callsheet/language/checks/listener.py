"""Whether what receives can work: proofs that cover the body, events and routes that can be reached, handlers' keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ...registry import HANDLERS, resolve
from ..definition import Definition, Definitions
from ..scopes import roots
from ..template import TemplateError, expressions
from .problem import Finding, Findings

if TYPE_CHECKING:
    from ..shape.listener import HandlerDefinition

_ANYTHING = "\0"
_HANDLER = frozenset({"handler", "name", "timeout", "concurrency"})


def source_findings(_: Definitions, source: Definition) -> Findings:
    """What is signed must hold what is believed: else anybody could put another body to an old signature."""
    for key, table in source.table.items():
        if isinstance(table, Mapping) and "signed" in table:
            yield from (Finding((key, "signed"), text) for text in _signed(table["signed"]))


def _signed(template: str) -> Iterator[str]:
    try:
        found = expressions(template)
    except TemplateError:
        return  # that is said of every template
    bodies = [text for text in found if "body" in roots(text)]
    if not bodies and not any("form" in roots(text) for text in found):
        yield "must contain {body}, which is what is proved to be genuine"
    elif bodies and (len(bodies) > 1 or template.count("{body}") != 1):
        yield "the body stands there once, as {body}"


def event_findings(definitions: Definitions, event: Definition) -> Findings:
    """A type that an earlier definition of the same source covers is never looked at."""
    own = _type(event)
    for (kind, id), other in definitions.items():
        if (kind, id) == ("event", event.id):
            return
        if kind == "event" and other.table["source"] == event.table["source"]:
            same, covers = _type(other) == own, is_pattern(_type(other)) and is_pattern(own)
            if same or (covers and fnmatchcase(own.replace("*", _ANYTHING), _type(other))):
                text = f"never reached: {id!r} stands before it, and {_type(other)!r} covers {own!r}"
                yield Finding(("type",) if "type" in event.table else (), text, ((kind, id),))
                return


def _type(event: Definition) -> str:
    return str(event.table.get("type", event.id))


def is_pattern(word: str) -> bool:
    return any(character in word for character in "*?[")


def route_findings(definitions: Definitions, route: Definition) -> Findings:
    sources = route.table.get("source")
    types = [
        _type(event)
        for (kind, _), event in definitions.items()
        if kind == "event" and (sources is None or event.table["source"] in sources)
    ]
    for place, word in enumerate(route.table.get("on", ())):
        if types and not any(_overlap(word, name) for name in types):
            near = did_you_mean(word, [name for name in types if not is_pattern(name)])
            what = "no event matches" if is_pattern(word) else "unknown event type"
            yield Finding(("on", place), f"{what} {word!r}{near}")
    names = [table["name"] for table in route.table["do"] if "name" in table]
    for place, table in enumerate(route.table["do"]):
        if table.get("name") in names[: names.index(table["name"])] if "name" in table else False:
            yield Finding(("do", place, "name"), f"{table['name']!r} is the name of an earlier one")
        yield from (Finding(("do", place, *path), text) for path, text in _handler(table))


def _overlap(word: str, name: str) -> bool:
    """Whether a word of a route can mean a defined type; of two patterns that is taken for granted."""
    if is_pattern(name):
        return is_pattern(word) or fnmatchcase(word, name)
    return fnmatchcase(name, word)


def _handler(table: HandlerDefinition) -> Iterator[tuple[tuple[str, ...], str]]:
    """Its keys, by what the handler itself says that it reads and cannot do without."""
    name = table["handler"]
    if name not in HANDLERS:
        return
    kind: Any = resolve(HANDLERS[name])
    for key in table:
        if key not in kind.keys | _HANDLER:
            yield (key,), f"not a key of handler {name!r}{did_you_mean(key, kind.keys)}"
    for key in kind.required_keys:
        if key not in table:
            yield (), f"handler {name!r} needs {key!r}"
