"""The tables of a mirror: one for each resource, with what is known of its things and the untouched JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...jsontext import dump_json
from ...language.desugar import plural_of
from ...language.parameters import to_identifier
from ...output.columns import from_definition

if TYPE_CHECKING:
    from ...language.shape.commands import ViewDefinition
    from ...language.shape.resources import ResourceDefinition
    from ..resources.things import Thing, Things

KEPT = ("name", "text", "data", "changed_at", "read_at", "gone_at")
FILE = "file"
_WORD = re.compile(r"[\W_]+")
_TIMES = frozenset({"age", "date", "time"})  # formats of columns
_ZONE = re.compile(r"(?<=\d)([+-]\d\d)(\d\d)$")
_LARGEST = 2**63


class MirrorRow(NamedTuple):
    """One thing as a table has it: `values` by column."""

    id: str
    values: dict[str, Any]


class ResourceTable:
    """The table of one resource. Its columns follow from the definition, so that a changed one changes the table."""

    def __init__(self, things: Things, view: ViewDefinition | None, text: Callable[[Thing], str | None]) -> None:
        self.things, self.name = things, table_name(things.resource)
        self.parents = {id: f"{column_name(id)}_id" for id in things.parents}
        self._text = text
        self._view = {name: value for name, value in columns_of_view(view) if name not in self._fixed}

    @property
    def _fixed(self) -> set[str]:
        return {"rowid", "id", *self.parents.values(), *self.kept}

    @property
    def columns(self) -> list[str]:
        return ["id", *self.parents.values(), *self._view, *self.kept]

    @property
    def kept(self) -> tuple[str, ...]:
        """With where the bytes of a file are."""
        return (*KEPT, FILE) if "content" in self.things.definition else KEPT

    @property
    def key(self) -> list[str]:
        """A thing that is read by its id alone has one of its own; another one has it below its parent."""
        definition = self.things.definition
        reading = dump_json(definition.get("read", {}).get("args", {}))
        own = "read" in definition and not any(f"{{{to_identifier(id)}}}" in reading for id in self.parents)
        if not self.parents or (own and "inside" not in definition.get("list", {})):
            return ["id"]
        return [next(iter(self.parents.values())), "id"]

    def sql(self) -> str:
        """The statements that make the table, one a line."""
        parents = {column: table_name(id) for id, column in self.parents.items()}
        lines = ["id TEXT NOT NULL"]
        lines += [
            f'"{column}" TEXT{" REFERENCES " + quoted(table) if self.things.resource != table else ""}'
            for column, table in parents.items()
        ]
        lines += [f'"{column}"' for column in self._view]
        lines += [f"{column} TEXT" for column in self.kept]
        lines.append(f"PRIMARY KEY ({', '.join(quoted(column) for column in self.key)})")
        indexed = ["read_at", *[column for column in list(self.parents.values())[:1] if column not in self.key]]
        made = [f'CREATE TABLE "{self.name}" ({", ".join(lines)})']
        made += [f'CREATE INDEX "{self.name} by {each}" ON "{self.name}" ("{each}")' for each in indexed]
        return "\n".join(made)

    def words(self, values: Mapping[str, Any]) -> str:
        """What a list shows of the thing, for the full-text index."""
        return " ".join(found for name in self._view if isinstance(found := values.get(name), str))

    def row(self, thing: Thing, parents: Mapping[str, str], read_at: str) -> MirrorRow:
        things = self.things
        found = things.parents_of(thing, parents)
        changed = things.changed_of(thing)
        values = {column: found.get(id) for id, column in self.parents.items()}
        values |= {name: sql_value(value(thing)) for name, value in self._view.items()}
        values |= {
            "name": things.name_of(thing),
            "text": self._text(thing),
            "data": dump_json(thing),
            "changed_at": changed.isoformat() if changed else None,
            "read_at": read_at,
            "gone_at": None,
        }
        return MirrorRow(
            storable(things.id_of(thing)),
            {column: storable(each) if isinstance(each, str) else each for column, each in values.items()},
        )


def storable(text: str) -> str:
    """SQLite has no half of a surrogate pair."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def column_name(name: str) -> str:
    """What others call something, with letters, digits and underscores alone."""
    return _WORD.sub("_", name.casefold()).strip("_") or "_"


def table_name(resource: str) -> str:
    """`issue-type` → `issue_types`, `priority` → `priorities`."""
    name = column_name(resource)
    if re.search("[^aeiou]y$", name):
        return f"{name[:-1]}ies"
    return f"{name}es" if re.search("(?:s|x|ch|sh)$", name) else f"{name}s"


def view_name(resource: str) -> str:
    """`issue-type` → `issue_type`; the names of the mirror's own tables are taken."""
    name = column_name(resource)
    return f"{name}_" if name == "search" or name.startswith("mirror_") else name


def view_sql(view: str, table: str, columns: Sequence[str], parents: Mapping[str, str]) -> str:
    """`parents` are the columns with the id of another thing → the table of that."""
    names = {
        column.removesuffix("_id"): f"(SELECT name FROM {quoted(parent)} p WHERE p.id = t.{quoted(column)})"  # noqa: S608
        for column, parent in parents.items()
    }
    listed = [quoted(column) for column in columns if column != "gone_at" and column not in names]
    listed += [f"{value} AS {quoted(name)}" for name, value in names.items()]
    return f"CREATE VIEW {quoted(view)} AS SELECT {', '.join(listed)} FROM {quoted(table)} t WHERE gone_at IS NULL"  # noqa: S608


def columns_of_view(view: ViewDefinition | None) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Their names in a table, and what each is of a thing."""
    for definition in view["columns"] if view else ():
        column = from_definition(definition)
        is_time = definition.get("format") in _TIMES
        yield column_name(column.name), _readable_time(column.value) if is_time else column.value


def _readable_time(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A zone as SQLite's functions read it: trackers write +0000, they want +00:00."""

    def found(thing: Any) -> Any:
        time = value(thing)
        return _ZONE.sub(r"\1:\2", time) if isinstance(time, str) else time

    return found


def resource_called(word: str, resources: Mapping[str, ResourceDefinition]) -> str:
    """The resource that a person means by its id or by its plural: `issue`, `issues`; else the word itself."""
    plurals = {name: id for id, definition in resources.items() for name in (plural_of(id, definition), table_name(id))}
    return word if word in resources else plurals.get(word, word)


def sql_value(value: Any) -> Any:
    """A number stays one; what SQL has no word for is JSON."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if -_LARGEST <= value < _LARGEST else str(value)
    return value if value is None or isinstance(value, str | float) else dump_json(value)


def quoted(name: str) -> str:
    return f'"{name}"'
