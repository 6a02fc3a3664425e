"""What a plan consists of: the changes, the rows that show them, and the file of a plan."""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...errors import Conflict, UsageError, count_of
from ...files import open_regular
from ...jsontext import JSONError, dump_json, parse_json
from ...language.template import evaluate, fill_template, to_text
from ...output.clean_text import escaped_markdown
from ...output_files import output_file
from ..resources import Parents, Thing, Things, is_same_value

if TYPE_CHECKING:
    from ..steps.dispatcher import StepDispatcher


# What was applied of a file, kept where every copy of the files finds it: the third side of each comparison.


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

    def packed_value(self) -> dict[str, Any]:
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
        text=_unpack_text(value.get("text")),
    )


def _unpack_text(packed: Any) -> str | None:
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
        self.parts: dict[str, dict[str, Any]] = {}  # and the fields of its parts

    def all_bases(self, parents: Parents) -> dict[str, Applied]:
        """Id → base of every thing under these parents that has one. Notes all `tags` and `parts`, too."""
        said = self._definition.get("tags", {})
        found: dict[str, Applied] = {}
        for id, item in self._listed_things(parents):
            if said:
                self.tags[id] = {
                    name: [to_text(tag) for tag in evaluate(where, item) or ()] for name, where in said.items()
                }
            for name, where in self._definition.get("parts", {}).items():
                self.parts.setdefault(id, {})[name] = self.things.parts[name].fields_of(evaluate(where, item))
            there = evaluate(self._definition["found"], item)
            if isinstance(there, Mapping) and "value" in there:
                base = self._base_of_thing(id, there)
                if base is not None:
                    found[id] = base
        return found

    def read_applied(self, id: str) -> Applied | None:
        """The base of one thing."""
        for there in self._properties.list_things({self.things.resource: id}):
            if self._properties.name_of(there) == self._definition["name"]:
                return self._base_of_thing(id, there)
        return None

    def _base_of_thing(self, id: str, there: Thing) -> Applied | None:
        """What a property says; None for one that came along with a copy of another thing."""
        self._there[id] = self._slim_thing(there)
        value = self._properties.fields_of(there).get("value")
        is_own = not isinstance(value, Mapping) or to_text(value.get(_OF, id)) == id
        return applied_of(value) if is_own else None

    def keep_base(self, id: str, base: Applied) -> None:
        parents, value = {self.things.resource: id}, {**base.packed_value(), _OF: id}
        if (there := self._there.get(id)) is not None:
            there = self._properties.update_thing(there, {"value": value}, parents)
        else:
            there = self._properties.create_thing({"key": self._definition["name"], "value": value}, parents)
        if there is not None:
            self._there[id] = self._slim_thing(there)

    def _slim_thing(self, there: Thing) -> Thing:
        return {name: part for name, part in there.items() if name != "value"} if isinstance(there, dict) else there

    def _listed_things(self, parents: Parents) -> Iterator[tuple[str, Any]]:
        first = self.things.parent_resources[0]
        within = Things(self._dispatcher, first).read_thing(parents[first], parents)
        listing = self._definition["list"]
        scope = {**self.things.expression_scope(parents), "within": within}
        request = self._dispatcher.build_request(listing["call"], fill_template(listing.get("args", {}), scope) or {})
        plan = self._dispatcher.page_plan(listing["call"])
        answer = (
            self._dispatcher.stream_items(plan, request)
            if plan
            else self._dispatcher.fetch_answer(listing["call"], request)
        )
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


# What has to be done to one thing, so that it is what its file says.


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
    after: str | None = None  # the path of the page behind which it is put
    before: str | None = None  # or of the one before which

    @property
    def changes_site(self) -> bool:
        """Whether people would see that something was done."""
        return self.conflict is None and self.verb != "keep"

    @property
    def waits_for_id(self) -> bool:
        """Whether it needs the id of a thing that may not be there yet."""
        return any(
            isinstance(value, Of) for value in (*self.parents.values(), *(f.wanted for f in self.fields.values()))
        )

    def plan_row(self) -> dict[str, Any]:
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
            "after": self.after,
            "before": self.before,
        }
        return {name: part for name, part in found.items() if part not in (None, [], {})}


def value_in_plan(value: Any) -> Any:
    """A value as a plan tells it."""
    return f"that of {value.path}" if isinstance(value, Of) else value


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


def action_counts(changes: Sequence[PlannedChange]) -> Mapping[str, int]:
    found = {"create": 0, "update": 0, "remove": 0, "conflict": 0}
    for change in changes:
        if change.conflict is not None or change.verb != "keep":
            found["conflict" if change.conflict is not None else change.verb] += 1
    return found


# A plan in a file: what was reviewed is what is applied, or nothing is.


_VERSION = 1
_LARGEST_PLAN = 256 << 20
_MOST_TOLD = 10


def write_plan(path: str, changes: Sequence[PlannedChange], site: str, given: Mapping[str, Any]) -> None:
    """`given` are the values that another run has to have to come to the same plan."""
    found = {"plan": _VERSION, "site": site, "given": dict(given), "changes": _shown_rows(changes)}
    with output_file(path) as file:
        file.write(f"{dump_json(found, indent=1)}\n".encode())


def read_plan(path: str, site: str) -> dict[str, Any]:
    """Raises `UsageError` for a file that is none, or is about another site."""
    try:
        with open_regular(path) as file:
            found = parse_json(file.read(_LARGEST_PLAN))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except JSONError as error:
        raise UsageError(f"{path} is not a plan: {error}") from None
    kinds = {"plan": int, "given": dict, "changes": list}
    is_plan = isinstance(found, dict) and all(isinstance(found.get(name), kind) for name, kind in kinds.items())
    if not is_plan or found["plan"] != _VERSION:
        raise UsageError(f"{path} is not a plan", hint="`plan DIR --out FILE` writes one")
    if found.get("site") != site:
        raise UsageError(f"{path} is a plan for {found.get('site')}, and this is {site}")
    return dict(found)


def refuse_another(plan: Mapping[str, Any], changes: Sequence[PlannedChange]) -> None:
    """Raises `Conflict` naming what is not as it was planned: files or site were changed since."""
    was, now = _by_path(plan["changes"]), _by_path(_shown_rows(changes))
    other = [path for path in dict.fromkeys((*was, *now)) if was.get(path) != now.get(path)]
    if other:
        more = [f"and {len(other) - _MOST_TOLD} more"] if len(other) > _MOST_TOLD else []
        details = [f"{path}: {_difference_text(was.get(path), now.get(path))}" for path in other[:_MOST_TOLD]]
        hint = "nothing was sent; make a new plan, and look at it"
        raise Conflict("the site or the files were changed since the plan was made", details=details + more, hint=hint)


def _shown_rows(changes: Sequence[PlannedChange]) -> list[dict[str, Any]]:
    rows = [change.plan_row() for change in changes if change.conflict is not None or change.verb != "keep"]
    return list(parse_json(dump_json(rows)))


def _by_path(rows: Sequence[Any]) -> dict[str, Any]:
    return {str(row.get("path")): row for row in rows if isinstance(row, dict)}


def _difference_text(was: Any, now: Any) -> str:
    if was is None:
        return "it was not in the plan"
    if now is None:
        return "there is nothing to do any more"
    names = [name for name in dict.fromkeys((*was, *now)) if was.get(name) != now.get(name)]
    return f"another {', '.join(names)}"


# A plan for a person: as a tree with what differs, or as Markdown for a comment in a review.


_SIGNS = {"create": "+", "update": "~", "remove": "-", "keep": " "}
_MOST_LINES = 40  # of one thing's text
_LONGEST = 200


def plan_tree(changes: Sequence[PlannedChange], *, whole: bool = False) -> Iterator[str]:
    """Lines: each thing that differs below its parents, with its differences."""
    by_path = {change.path: change for change in changes}
    wanted = [change for change in changes if _is_told(change)]
    shown: set[str] = set()
    for change in wanted:
        way: list[PlannedChange] = []
        above = by_path.get(change.above or "")
        while above is not None and above not in way:
            way.append(above)
            above = by_path.get(above.above or "")
        for depth, each in enumerate([*reversed(way), change]):
            if each.path not in shown:
                shown.add(each.path)
                yield from _change_lines(each, "  " * depth, whole=whole)


_PLANNED = {"create": "to create", "update": "to change", "remove": "to remove", "conflict": "in conflict"}
_DONE = {"create": "created", "update": "changed", "remove": "removed", "conflict": "in conflict"}


def plan_summary(changes: Sequence[PlannedChange], *, done: bool = False) -> str:
    found = action_counts(changes)
    words = _DONE if done else _PLANNED
    counts = [f"{number} {words[verb]}" for verb, number in found.items() if number]
    return ", ".join(counts) or "nothing to do"


def plan_markdown(changes: Sequence[PlannedChange]) -> Iterator[str]:
    """For a comment in a review: a line for each thing, its differences folded."""
    yield f"**{plan_summary(changes)}**"
    for change in changes:
        if not _is_told(change):
            continue
        yield ""
        lines = [*_fact_lines(change), *change.lines]
        yield f"- `{_change_sign(change)}` {_code_span(change.path)}: {escaped_markdown(change.title)}"
        if lines:
            fence = "`" * max(3, 1 + max((_ticks(line) for line in lines), default=0))
            yield f"\n  <details><summary>{count_of(len(lines), 'line')}</summary>\n"
            yield from (f"  {line}" for line in (f"{fence}diff", *lines, fence))
            yield "\n  </details>"


def _is_told(change: PlannedChange) -> bool:
    return change.conflict is not None or change.verb != "keep" or bool(change.site)


def _change_sign(change: PlannedChange) -> str:
    return "!" if change.conflict is not None else _SIGNS[change.verb]


def _change_lines(change: PlannedChange, indent: str, *, whole: bool) -> Iterator[str]:
    name = change.path.rstrip("/").rsplit("/", 1)[-1] + ("/" if change.path.endswith("/") else "")
    yield f"{_change_sign(change)} {indent}{name}: {change.title}".rstrip()
    inner = f"  {indent}    "
    for fact in _fact_lines(change):
        yield inner + fact
    lines = change.lines
    if change.verb == "create" and not whole:
        if lines:
            yield f"{inner}{count_of(len(lines), 'line')} of text"
        return
    for line in lines if whole else lines[:_MOST_LINES]:
        yield inner + line
    if len(lines) > _MOST_LINES and not whole:
        yield f"{inner}... and {count_of(len(lines) - _MOST_LINES, 'more line')}"


def _fact_lines(change: PlannedChange) -> Iterator[str]:
    if change.conflict is not None:
        yield f"conflict: {change.conflict}"
        yield from change.details
    if change.verb == "update":
        for name, part in change.fields.items():
            if name != change.body:
                yield from _difference_lines(name, part.was, part.wanted)
    for sign, tags in (("+", change.added), ("-", change.removed)):
        for name, words in tags.items():
            yield f"{name}: {', '.join(sign + word for word in words)}"
    for upload in change.uploads:
        yield f"file: {upload.name}"
    if change.after or change.before:
        yield f"order: behind {change.after}" if change.after else f"order: before {change.before}"
    yield from change.site


def _difference_lines(name: str, was: Any, wanted: Any) -> Iterator[str]:
    """A line for each value that differs; of a table only what is said stays or changes."""
    if not (isinstance(was, Mapping) and isinstance(wanted, Mapping)):
        yield f"{name}: {_value_text(was)} -> {_value_text(wanted)}"
        return
    for key, value in wanted.items():
        if not is_same_value(was.get(key), value):
            yield from _difference_lines(f"{name}.{key}", was.get(key), value)


def _value_text(value: Any) -> str:
    text = to_text(value_in_plan(value)) if value is not None else "nothing"
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


def _ticks(line: str) -> int:
    return max((len(run) for run in "".join(c if c == "`" else " " for c in line).split()), default=0)


def _code_span(text: str) -> str:
    ticks = "`" * (_ticks(text) + 1)
    return f"{ticks}{text}{ticks}"
