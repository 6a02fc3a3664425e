"""What was applied of a file, kept where every copy of the files finds it: the third side of each comparison."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...language.template import evaluate, fill_template, to_text
from ..resources.things import Parents, Thing, Things

if TYPE_CHECKING:
    from ..steps.dispatcher import StepDispatcher

_LARGEST = 24_000  # letters of a packed text: services take properties of 32 KB
_LONGEST_TEXT = 16 << 20
_OF = "of"  # the id of the thing: who copies a thing may copy its properties, too


@dataclass(frozen=True)
class Applied:
    """`body` is the hash of the Markdown that was applied; `text` is that itself where the thing has more than it says.

    `files` are the hashes of attached files by their names, `root` is the thing that the files were applied below, with
    the name of their directory behind a slash.
    """

    path: str
    root: str = ""
    version: Any = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    tags: Mapping[str, list[str]] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    text: str | None = None

    def value(self) -> dict[str, Any]:
        """As JSON; a text that is too long to be kept is left out."""
        packed = base64.b85encode(zlib.compress(self.text.encode(), 9)).decode() if self.text is not None else None
        kept = packed if packed is not None and len(packed) <= _LARGEST else None
        found = {**vars(self), "text": kept}
        return {name: part for name, part in found.items() if part not in (None, {}, "")}


def applied_of(value: Any) -> Applied | None:
    """What others can have written: None for what is no base."""
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str):
        return None
    tables = {name: value.get(name, {}) for name in ("fields", "tags", "files", "parents")}
    if not all(isinstance(table, Mapping) for table in tables.values()):
        return None
    tags = {name: [to_text(tag) for tag in found] for name, found in tables["tags"].items() if isinstance(found, list)}
    return Applied(
        path=value["path"],
        root=to_text(value.get("root") or ""),
        version=value.get("version"),
        fields=dict(tables["fields"]),
        tags=tags,
        files={name: to_text(digest) for name, digest in tables["files"].items()},
        parents={name: to_text(id) for name, id in tables["parents"].items()},
        body=to_text(value["body"]) if value.get("body") else None,
        text=_unpacked(value.get("text")),
    )


def _unpacked(packed: Any) -> str | None:
    if not isinstance(packed, str):
        return None
    try:
        reader = zlib.decompressobj()
        text = reader.decompress(base64.b85decode(packed), _LONGEST_TEXT)
        return text.decode() if reader.eof else None
    except (ValueError, zlib.error, binascii.Error):
        return None


class Bases:
    """The bases of all things of one resource, each a property of its thing."""

    def __init__(self, dispatcher: StepDispatcher, things: Things) -> None:
        self.things = things
        self._dispatcher = dispatcher
        self._definition = things.definition["base"]
        self._properties = Things(dispatcher, self._definition["resource"])
        self._there: dict[str, Thing] = {}  # id of a thing → its property
        self.tags: dict[str, dict[str, list[str]]] = {}  # id of a thing → its tags, by what files call them

    def all(self, parents: Parents) -> dict[str, Applied]:
        """Id → base of every thing under these parents that has one. Notes the `tags` of all things, too."""
        said = self._definition.get("tags", {})
        found: dict[str, Applied] = {}
        for id, item in self._items(parents):
            if said:
                self.tags[id] = {
                    name: [to_text(tag) for tag in evaluate(where, item) or ()] for name, where in said.items()
                }
            there = evaluate(self._definition["found"], item)
            if isinstance(there, Mapping) and "value" in there:
                base = self._base(id, there)
                if base is not None:
                    found[id] = base
        return found

    def read_applied(self, id: str) -> Applied | None:
        """The base of one thing."""
        for there in self._properties.all({self.things.resource: id}):
            if self._properties.name_of(there) == self._definition["name"]:
                return self._base(id, there)
        return None

    def _base(self, id: str, there: Thing) -> Applied | None:
        """What a property says; None for one that came along with a copy of another thing."""
        self._there[id] = self._slim(there)
        value = self._properties.fields_of(there).get("value")
        is_own = not isinstance(value, Mapping) or to_text(value.get(_OF, id)) == id
        return applied_of(value) if is_own else None

    def keep(self, id: str, base: Applied) -> None:
        parents, value = {self.things.resource: id}, {**base.value(), _OF: id}
        if (there := self._there.get(id)) is not None:
            there = self._properties.update(there, {"value": value}, parents)
        else:
            there = self._properties.create({"key": self._definition["name"], "value": value}, parents)
        if there is not None:
            self._there[id] = self._slim(there)

    def _slim(self, there: Thing) -> Thing:
        return {name: part for name, part in there.items() if name != "value"} if isinstance(there, dict) else there

    def _items(self, parents: Parents) -> Iterator[tuple[str, Any]]:
        first = self.things.parents[0]
        within = Things(self._dispatcher, first).read(parents[first], parents)
        listing = self._definition["list"]
        scope = {**self.things.scope(parents), "within": within}
        request = self._dispatcher.build(listing["call"], fill_template(listing.get("args", {}), scope) or {})
        plan = self._dispatcher.plan(listing["call"])
        answer = self._dispatcher.stream(plan, request) if plan else self._dispatcher.answer(listing["call"], request)
        for item in answer:
            yield to_text(evaluate(self._definition["of"], item)), item


def latest_applied(kept: Mapping[str, Applied], pulled: Mapping[str, Applied]) -> dict[str, Applied]:
    """Of what the site keeps, and what was pulled since, the later one."""
    later = {id: one for id, one in pulled.items() if id not in kept or _is_later(one, kept[id])}
    return {**kept, **later}


def _is_later(one: Applied, other: Applied) -> bool:
    if not isinstance(one.version, int) or not isinstance(other.version, int):
        return False
    # What another directory applied was pulled as it is since then.
    return one.version > other.version or (one.version == other.version and one.root != other.root)
