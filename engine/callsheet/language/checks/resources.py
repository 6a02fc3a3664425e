"""Whether what is said of a thing holds together, and what it was called earlier."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ..merge import ON, deployment_variants
from ..parameters import to_identifier
from ..safety import class_of_operation
from ..scopes import names_in
from ..shape import KINDS
from ..source_file import PARTS, RESOURCE, Definition, Definitions, Path
from .bodies import resolved_schema
from .calls import CallChecker
from .links import allowed_keys, unusable_names, value_faults
from .problem import Finding, Findings
from .tools import agents_findings

if TYPE_CHECKING:
    from ..shape.resources import ResourceHere


# Whether what is said of a thing holds together: its calls, its parents, what can be sent back of it.


_OF_A_LIST = frozenset({"since", "query", "site"})
_OF_A_THING = frozenset({"id", "found", "site"})
_SEES: dict[str, frozenset[str]] = {
    "list": _OF_A_LIST,
    "read": frozenset({"id", "site", "version"}),
    "create": frozenset({"fields", "files", "site"}),
    "update": _OF_A_THING | {"fields", "whole"},
    "delete": _OF_A_THING,
    "content": _OF_A_THING,
    "replace": _OF_A_THING | {"fields", "files"},
}
_READING = ("list", "read", "content")
_CHANGING = ("create", "update", "delete", "replace")
_OF_ONE = ("read", "update", "delete", "content", "replace")
_TEMPLATES = ("args", "body", "ids", "files")
_FIELD = re.compile(r"\bfields\.(?:\"([^\"]+)\"|(\w+))|\b(?:fields|whole)\b")


def resource_findings(definitions: Definitions, resource: Definition, aliases: Mapping[str, str]) -> Findings:
    table = resource.table
    there = deployment_variants(table)
    if "agents" in table:
        yield from agents_findings(definitions, resource, aliases)
    for deployment, here in there.items():
        if "unavailable" not in here:
            checker = CallChecker(definitions, aliases, deployment.__eq__)
            for finding in _Resource(definitions, checker, resource.id, here).findings():
                yield finding._replace(path=(ON, deployment, *finding.path))
    checker = CallChecker(definitions, aliases, lambda word: word not in there)
    yield from _Resource(definitions, checker, resource.id, table).findings()


class _Resource:
    def __init__(self, definitions: Definitions, checker: CallChecker, id: str, table: ResourceHere) -> None:
        self.definitions, self.checker, self.id, self.table = definitions, checker, id, table
        self.parents = {to_identifier(name) for name in table.get("parent", {})}
        self.calls: dict[str, Any] = {key: table[key] for key in _SEES if key in table}  # type: ignore[literal-required]

    def findings(self) -> Findings:
        first = next(iter(self.table.get("parent", {})), None)
        if first == self.id:
            yield Finding(("parent", first), "the first parent is what things are listed under: not one of them")
        yield from (Finding(("parent",), text) for text in unusable_names(self.parents, {*_OF_A_THING, *_OF_A_LIST}))
        for key, call in self.calls.items():
            for part in _TEMPLATES:
                faults = value_faults(call.get(part), _SEES[key] | self.parents, (key, part))
                yield from (Finding(*fault) for fault in faults)
            yield from self._call(key, call)
        if "list" in self.table and not {"call", "inside"} & self.table["list"].keys():
            yield Finding(("list",), "needs one of: call, inside")
        yield from self._fields()
        yield from self._base()

    def _base(self) -> Findings:
        """What was applied can be kept, and found again for all things at once."""
        base = self.table.get("base")
        if base is None:
            return
        if "list" in base:
            faults = value_faults(base["list"].get("args"), {*self.parents, "site", "within"}, ("base", "list", "args"))
            yield from (Finding(*fault) for fault in faults)
            yield from (Finding(*found) for found in self.checker.arguments(base["list"], ("base", "list")))
        for key in ("resource", "name", "list", "of", "found"):
            if key not in base:
                yield Finding(("base",), f"{key} is missing")
        for name in base.get("tags", {}):
            if name not in self.table.get("tags", {}):
                yield Finding(
                    ("base", "tags", name), f"no {name!r} in `tags`{did_you_mean(name, self.table.get('tags', {}))}"
                )
        known = self.definitions.get((RESOURCE, base.get("resource", "")))
        fields = known.table.get("fields", ()) if known is not None else ("key", "value")
        if not {"key", "value"} <= set(fields):
            yield Finding(("base", "resource"), "its fields are not: key, value")

    def _call(self, key: str, call: Any) -> Findings:
        if "call" not in call:
            if "inside" in call and not self.table.get("parent"):
                yield Finding((key, "inside"), "needs a `parent` that it is in")
            return
        yield from (Finding(*found) for found in self.checker.arguments(call, (key,)))
        operation = self.checker.table_of("operation", call["call"])
        if key in _READING and operation is not None and class_of_operation(operation) != "read":
            text = f"this only reads: {call['call']} does not"
            yield Finding((key, "call"), text, (("operation", call["call"]),))
        about = (("operation", call["call"]),)
        if key in _CHANGING and operation is not None and class_of_operation(operation) == "read":
            yield Finding((key, "call"), f"this changes something: {call['call']} only reads", about)
        names = {name for part in _TEMPLATES for name in names_in(call.get(part))}
        if key in _OF_ONE and not names & {"id", "found"} and names <= _SEES[key] | self.parents:
            yield Finding((key,), "is the same call for every thing: use {id} or {found} in it", about)

    def _fields(self) -> Findings:
        """What is given can be sent, and what is sent can be given."""
        fields = self.table.get("fields", ())
        for key in ("fixed",):
            for place, name in enumerate(self.table.get(key, ())):
                if name not in fields:
                    yield Finding((key, place), f"no field {name!r}{did_you_mean(name, fields)}")
        body = self.table.get("body", {}).get("field")
        if body is not None and body not in fields:
            yield Finding(("body", "field"), f"no field {body!r}{did_you_mean(body, fields)}")
        sent: set[str] = set()
        for key in ("create", "update"):
            for path, name in self._named(key):
                if name not in fields:
                    yield Finding(path, f"no field {name!r}{did_you_mean(name, fields)}")
            takes = self._taken(key)
            sent |= set(takes)
            if key == "update" and key in self.table:
                fixed = set(self.table.get("fixed", ()))
                for name in [name for name in fields if name not in {*takes, *fixed}]:
                    yield Finding(("fields",), f"{name!r} is not sent by `update`: name it in `fixed`, or leave it out")
                yield from (Finding(("fixed",), f"`update` sends {name!r}") for name in fixed & self._said(key))
        for name in fields:
            if {"create", "update"} & self.table.keys() and name not in sent:
                yield Finding(("fields",), f"nothing sends {name!r}: it cannot be sent back")

    def _named(self, key: str) -> Iterator[tuple[Path, str]]:
        """The fields that a request picks one by one."""
        for part in _TEMPLATES:
            for text in _texts(self.calls.get(key, {}).get(part)):
                for match in _FIELD.finditer(text):
                    if name := match[1] or match[2]:
                        yield (key, part), name

    def _said(self, key: str) -> set[str]:
        return {name for _, name in self._named(key)}

    def _taken(self, key: str) -> list[str]:
        """Those of the fields that a request takes; where it sends whatever is given, those of its schema."""
        fields = list(self.table.get("fields", ()))
        if key not in self.calls:
            return []
        said, call = self._said(key), self.calls[key]
        texts = [text for part in _TEMPLATES for text in _texts(call.get(part))]
        whole = "body" not in call or any(m[0] in ("fields", "whole") for text in texts for m in _FIELD.finditer(text))
        if not whole:
            return [name for name in fields if name in said]
        operation = self.checker.table_of("operation", call["call"]) or {}
        schema = resolved_schema(self.definitions, {"ref": operation.get("body", {}).get("schema")})
        known = schema.get("properties")
        if not known or "body" in call:
            return fields
        return [name for name in fields if name in known and not known[name].get("readOnly")]


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value that have placeholders for fields."""
    if isinstance(value, str):
        if {"fields", "whole"} & set(names_in(value)):
            yield value
    elif isinstance(value, Mapping | list):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


# Whether what is said of earlier versions of the language is true of this one.


def rename_findings(definitions: Definitions, renamed: Definition) -> Findings:
    kind = renamed.id
    keys = allowed_keys(RESOURCE, {}, ())
    said: list[tuple[Path, str]] = [(("into", key), now) for key, now in renamed.table.get("into", {}).items()]
    said += [(("table",), renamed.table["table"])] if "table" in renamed.table else []
    for at, now in said:
        if now not in keys:
            yield Finding(at, f"a resource has no table {now!r}{did_you_mean(now, keys)}")
    if kind not in {*KINDS, *PARTS.values()}:
        yield Finding((), f"no kind {kind!r}{did_you_mean(kind, KINDS)}")
        return
    known = [id for of, id in definitions if of == kind]
    for part in ("ids", "gone"):
        for old in renamed.table.get(part, {}):
            if (kind, old) in definitions:
                yield Finding((part, old), f"there is a {kind} {old!r}")
    for old, now in renamed.table.get("ids", {}).items():
        if now not in known:
            yield Finding(("ids", old), f"no {kind} {now!r}{did_you_mean(now, known)}", ((kind, now),))
    keys = allowed_keys(kind, {}, ())
    for old, now in renamed.table.get("keys", {}).items():
        if "." not in old and (old in keys or now not in keys):
            text = f"{old!r} is a key of it" if old in keys else f"it has no key {now!r}{did_you_mean(now, keys)}"
            yield Finding(("keys", old), text)
