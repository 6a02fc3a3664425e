"""What has to be done to one thing, so that it is what its file says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...language.template import to_text
from ..resources.same_values import is_same_value

if TYPE_CHECKING:
    from ..resources.things import Thing
    from .base import Applied

Verb = Literal["create", "update", "remove", "keep"]
Prefer = Literal["ours", "theirs"] | None


class Of(NamedTuple):
    """The id of the thing that another file describes, which may not be there yet."""

    path: str


class Field(NamedTuple):
    """One field: what it is on the site, and what it becomes."""

    was: Any
    wanted: Any


class Upload(NamedTuple):
    """A file to attach: its name there, where it lies, and the hash of its bytes."""

    name: str
    path: str
    hash: str


@dataclass
class PlannedChange:
    """`conflict` says why nothing is done: both sides changed it. `site` is what only the site changed, which stays.

    `lines` are the differences of the text, in Markdown. `base` is what is to be remembered when it is done.
    """

    resource: str
    path: str
    title: str
    verb: Verb = "keep"
    id: str | None = None
    above: str | None = None  # the path of its parent
    thing: Thing = None
    was: Thing = None  # before it was set aside
    fields: dict[str, Field] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    added: dict[str, list[str]] = field(default_factory=dict)  # tags
    removed: dict[str, list[str]] = field(default_factory=dict)
    uploads: list[Upload] = field(default_factory=list)
    parents: dict[str, Any] = field(default_factory=dict)  # resource → id, or the thing of another file
    version: Any = None  # of the thing on the site
    site: list[str] = field(default_factory=list)
    conflict: str | None = None
    details: list[str] = field(default_factory=list)
    hint: str | None = None
    base: Applied | None = None
    text: str | None = None  # the Markdown of the file, as it is applied
    body: str | None = None  # the name of the field that has the rich text

    @property
    def changes_site(self) -> bool:
        """Whether people would see that something was done."""
        return self.conflict is None and self.verb != "keep"

    @property
    def waits(self) -> bool:
        """Whether it needs the id of a thing that may not be there yet."""
        return any(
            isinstance(value, Of) for value in (*self.parents.values(), *(f.wanted for f in self.fields.values()))
        )

    def row(self) -> dict[str, Any]:
        """What a plan says of it, as JSON."""
        found: dict[str, Any] = {
            "change": "conflict" if self.conflict else self.verb,
            "resource": self.resource,
            "path": self.path,
            "title": self.title,
            "id": self.id,
            "version": self.version,
            "fields": {
                name: {"was": part.was, "wanted": value_in_plan(part.wanted)}
                for name, part in self.fields.items()
                if name != self.body
            },
            "text": self.lines,
            "added": self.added,
            "removed": self.removed,
            "files": [upload._asdict() | {"path": None} for upload in self.uploads],
            "site": self.site,
            "conflict": self.conflict,
            "details": self.details,
        }
        return {name: part for name, part in found.items() if part not in (None, [], {})}


def value_in_plan(value: Any) -> Any:
    """A value as a plan tells it."""
    return f"that of {value.path}" if isinstance(value, Of) else value


def set_aside(name: Any, id: str) -> str:
    """What a thing is called while another one has the name that it gets: where a run is stopped, the next knows it."""
    return f"{value_in_plan(name)} ({id})"


def name_after_name(changes: Sequence[PlannedChange], field: str | None) -> list[tuple[PlannedChange, bool]]:
    """Those that get a name that another one has, each after that one; True: set aside, as they go in a circle."""
    renamed = {id(each): each.fields[field] for each in changes if field in each.fields} if field else {}
    names = {to_text(renamed[id(each)].was): each for each in changes if id(each) in renamed}
    found: list[tuple[PlannedChange, bool]] = []
    done: set[int] = set()
    for first in changes:
        way: list[PlannedChange] = []
        each: PlannedChange | None = first
        while each is not None and id(each) in renamed and id(each) not in done:
            done.add(id(each))
            way.append(each)
            each = names.get(to_text(renamed[id(each)].wanted))
        if way and each is way[0] and len(way) > 1:
            found.append((each, True))
        if len(way) > 1 or (way and each is not None and each is not way[0]):
            found += [(one, False) for one in reversed(way)]
    return found


class Sides(NamedTuple):
    """What becomes of one value: `wanted` where it is to be sent, else what only the site or both sides changed."""

    send: bool = False
    site: bool = False
    conflict: bool = False


def three_way(mine: Any, theirs: Any, base: Any, *, has_base: bool, prefer: Prefer = None) -> Sides:
    """The file's value, the site's, and what was applied last. Without a base the file's is sent."""
    if is_same_value(theirs, mine):
        return Sides()
    if not has_base or is_same_value(theirs, base):
        return Sides(send=True)
    if is_same_value(mine, base):
        return Sides(send=prefer == "ours", site=prefer != "ours")
    return Sides(send=prefer == "ours", site=prefer == "theirs", conflict=prefer is None)


def tag_changes(mine: Sequence[str], base: Sequence[str]) -> tuple[list[str], list[str]]:
    """Tags to add and to remove: those that only others gave stay."""
    return [tag for tag in mine if tag not in base], [tag for tag in base if tag not in mine]


def in_order(changes: Sequence[PlannedChange]) -> list[PlannedChange]:
    """Parents before what is below them; what is removed comes last, the deepest first."""
    by_path = {change.path: change for change in changes if change.verb != "remove"}
    done: dict[int, PlannedChange] = {}

    def add(change: PlannedChange, way: frozenset[str]) -> None:
        if id(change) in done:
            return
        above = by_path.get(change.above or "")
        if above is not None and above.path not in way:
            add(above, way | {change.path})
        done[id(change)] = change

    for change in by_path.values():
        add(change, frozenset({change.path}))
    return [*done.values(), *(change for change in changes if change.verb == "remove")]


def counts(changes: Sequence[PlannedChange]) -> Mapping[str, int]:
    found = {"create": 0, "update": 0, "remove": 0, "conflict": 0}
    for change in changes:
        if change.conflict is not None or change.verb != "keep":
            found["conflict" if change.conflict is not None else change.verb] += 1
    return found
