"""Definitions → one SQLite file that answers a start of the program in a fraction of a millisecond."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from .. import registry
from ..errors import DefinitionError
from ..jsontext import JsonObject
from ..language.affected import affected_definitions, digests_of
from ..language.check import problems_in, refuse_problems, stale_among
from ..language.checks.requests import class_of_command
from ..language.desugar import complete_commands
from ..language.layers import Layer
from ..language.load import load_definitions, own_definitions, shipped_paths
from ..language.merge import missing_on
from ..language.parameters import split_identifier, title_of_identifier
from ..language.problem import Key
from ..language.renames import former_ids
from ..language.source_file import Definition, Definitions
from ..language.template import TemplateError, fill_text
from .checked_files import digest_of_files
from .records import Records

SCHEMA = """
CREATE TABLE checked (kind TEXT, id TEXT, digest BLOB, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE definition (kind TEXT, id TEXT, position INTEGER, data TEXT, PRIMARY KEY (kind, id)) WITHOUT ROWID;
CREATE TABLE alias (kind TEXT, name TEXT, id TEXT, PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE child (parent TEXT, name TEXT, kind TEXT, position INTEGER, help TEXT, hidden INTEGER, aliases TEXT,
  PRIMARY KEY (parent, name)) WITHOUT ROWID;
CREATE TABLE operation (position INTEGER PRIMARY KEY, id TEXT, product TEXT, method TEXT, path TEXT, tag TEXT,
  title TEXT, deprecated INTEGER, experimental INTEGER, not_on TEXT);
CREATE VIRTUAL TABLE search USING fts5(id, words, title, path, tag, tokenize = 'porter unicode61');
CREATE TABLE word (word TEXT PRIMARY KEY) WITHOUT ROWID;
"""

NOTHING: Mapping[str, JsonObject] = {}


class Checked(NamedTuple):
    """Definitions that were found to be sound together: the digest of each, and what an earlier catalog says of it."""

    digests: Mapping[Key, bytes]
    text_of: Callable[[Key], str]


def compile_catalog(
    connection: sqlite3.Connection,
    found: list[Layer],
    fingerprint: str,
    bare: Mapping[str, JsonObject] = NOTHING,
    checked: Checked | None = None,
    *,
    are_sound: bool = False,
) -> list[str]:
    """Fill an empty database; `bare` are programs without a file. Raises `DefinitionError` for broken definitions.

    What is in `checked` and has nothing to do with what was changed since is not checked again; nothing is, where all
    `are_sound`. Gives what is told of definitions that are left out.
    """
    definitions, left_out = sound_definitions(found, bare, checked, are_sound=are_sound)
    digests = [(*key, digest) for key, digest in digests_of(definitions).items()]
    aliases = qualified_names(definitions)
    for command in _definitions_of(definitions, "command"):
        command.table["safety"] = class_of_command(definitions, command, aliases)
    complete_commands(definitions)
    _complete_operations(definitions)
    for definition in own_definitions(definitions, "operation", "host"):
        definition.table["own"] = True
    with connection:
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO checked VALUES (?, ?, ?)", digests)
        _write_definitions(connection, definitions, aliases)
        connection.execute("INSERT INTO meta VALUES ('fingerprint', ?)", (fingerprint,))
        connection.execute("INSERT INTO meta VALUES ('left out', ?)", (json.dumps(left_out),))
        shipped = json.dumps(shipped_paths(definitions))
        connection.execute("INSERT INTO meta VALUES ('shipped paths', ?)", (shipped,))
        connection.execute("INSERT INTO meta VALUES ('notes', ?)", (json.dumps(definitions.notes),))
    return left_out


class UncompiledCatalog(Records):
    """Sound definitions as a catalog has them, before they are compiled; they are changed for it."""

    def __init__(self, program: str, definitions: Definitions) -> None:
        self.program = program
        self._definitions = definitions
        self._aliases = qualified_names(definitions)
        _complete_operations(definitions)

    def record(self, kind: str, id: str) -> dict[str, Any] | None:
        definition = self._definitions.get((kind, self.canonical_id(kind, id)))
        return None if definition is None else definition.table

    def records_of_kind(self, kind: str) -> dict[str, dict[str, Any]]:
        return {definition.id: definition.table for definition in _definitions_of(self._definitions, kind)}

    def ids(self, kind: str, prefix: str = "") -> list[str]:
        return [id for id in self.records_of_kind(kind) if id.startswith(prefix)]

    def canonical_id(self, kind: str, id: str) -> str:
        return self._aliases.get(id, id) if kind == "operation" else id


def read_checked(connection: sqlite3.Connection) -> Checked:
    """What a compiled catalog says of its definitions."""

    def text_of(key: Key) -> str:
        rows = connection.execute("SELECT data FROM definition WHERE kind = ? AND id = ?", key)
        return "".join(data for (data,) in rows)

    rows = connection.execute("SELECT kind, id, digest FROM checked")
    return Checked({(kind, id): digest for kind, id, digest in rows}, text_of)


def sound_definitions(
    found: list[Layer],
    bare: Mapping[str, JsonObject] = NOTHING,
    checked: Checked | None = None,
    *,
    are_sound: bool = False,
) -> tuple[Definitions, list[str]]:
    """The definitions that can be used, and what is told of those that need something which is gone.

    Raises `DefinitionError` for anything else that is wrong.
    """
    if _PROVEN and (known := _PROVEN.pop(digest_of_files(found), None)) is not None and not any(bare.values()):
        return known, []
    without: set[tuple[str, str, str]] = set()
    left_out: list[str] = []
    while True:
        definitions = load_definitions(found, without, bare)
        only: Collection[Key] | None = ()
        if not are_sound:
            only = affected_definitions(definitions, *checked) if checked is not None else None
        names = {"operation": qualified_names(definitions)}
        problems = problems_in(definitions, names, registry.registered_names(), only)
        stale = [*definitions.stale, *stale_among(problems, definitions, without)]
        if not stale:
            refuse_problems(problems, definitions)
            return definitions, left_out
        without |= {each[:3] for each in stale}
        left_out += dict.fromkeys(each.text for each in stale)


# What was just found to be sound, by the digest of its files: who has tried definitions starts the program next.
_PROVEN: dict[str, Definitions] = {}


def remember_sound(found: list[Layer], definitions: Definitions) -> None:
    """Until the same files are compiled, wherever they are then."""
    if not (definitions.notes or definitions.stale):  # these name the files
        _PROVEN.clear()
        _PROVEN[digest_of_files(found)] = definitions


def _definitions_of(definitions: Definitions, kind: str) -> Iterator[Definition]:
    return (definition for definition in definitions.values() if definition.kind == kind)


def qualified_names(definitions: Definitions) -> dict[str, str]:
    """Further names of operations: `product.id` of each that owns its id bare, and what it was called earlier."""
    names = {
        f"{operation.table.get('product')}.{operation.id}": operation.id
        for operation in _definitions_of(definitions, "operation")
    }
    names |= former_ids(definitions, "operation")
    return {name: id for name, id in names.items() if ("operation", name) not in definitions}


def _complete_operations(definitions: Definitions) -> None:
    """Titles out of ids, the vendor's pages, and the help of parameters that mean the same wherever they are."""
    meanings = {definition.id: definition.table for definition in _definitions_of(definitions, "parameter")}
    pages = {definition.id: definition.table.get("docs", "") for definition in _definitions_of(definitions, "product")}
    for operation in _definitions_of(definitions, "operation"):
        table = operation.table
        table.setdefault("title", title_of_identifier(operation.id.rpartition(".")[2]))
        given = [param for param in table.get("params", ()) if not param.get("remove")]
        params = [{**_parameter_meaning(meanings, table["product"], param["name"]), **param} for param in given]
        named = {param["name"] for param in params}
        path = table["http"].partition(" ")[2]
        implied = [name for name in _placeholder_names(path) if name not in named]
        product = table["product"]
        path_params = [
            {"name": name, "in": "path", "required": True, **_parameter_meaning(meanings, product, name)}
            for name in implied
        ]
        table["params"] = path_params + params
        if page := _page_address(operation.id, table, pages[table["product"]]):
            table["documentation"] = page


def _parameter_meaning(meanings: dict[str, dict[str, Any]], product: str, name: str) -> dict[str, Any]:
    """What a parameter's name means in a product; the words of one say nothing in another."""
    table = meanings.get(f"{product}.{name}") or meanings.get(name, {})
    if product not in table.get("products", (product,)):
        return {}
    return {key: value for key, value in table.items() if key != "products"}


def _page_address(id: str, table: dict[str, Any], template: str) -> str:
    """Filled in here, because expressions with functions would cost a description half its time."""
    method, _, path = table["http"].partition(" ")
    scope = {"id": id, "tag": table.get("tag", ""), "method": method, "path": path}
    try:
        return str(fill_text(template, scope))
    except TemplateError as error:
        raise DefinitionError(f'product "{table["product"]}": docs: {error} (of operation {id})') from None


def _placeholder_names(path: str) -> list[str]:
    return [piece.partition("}")[0] for piece in path.split("{")[1:]]


def _write_definitions(connection: sqlite3.Connection, definitions: Definitions, aliases: dict[str, str]) -> None:
    rows = ((d.kind, d.id, place, _json_of(d.table)) for place, d in enumerate(definitions.values()))
    connection.executemany("INSERT INTO definition VALUES (?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO alias VALUES ('operation', ?, ?)", aliases.items())
    connection.executemany("INSERT INTO child VALUES (?, ?, ?, ?, ?, ?, ?)", _child_rows(definitions))
    _write_operations(connection, definitions)


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def _json_of(value: Any) -> str:
    return _ENCODER.encode(value)


def _child_rows(definitions: Definitions) -> Iterable[tuple[Any, ...]]:
    for place, definition in enumerate(definitions.values()):
        if definition.kind in ("group", "command"):
            parent, _, name = definition.id.rpartition(" ")
            table = definition.table
            hidden = int(table.get("hidden", False))
            yield parent, name, definition.kind, place, table["help"], hidden, _json_of(table.get("aliases", []))


def _write_operations(connection: sqlite3.Connection, definitions: Definitions) -> None:
    families = {definition.id: definition.table for definition in _definitions_of(definitions, "product")}
    products = {id: family.get("order", 1000) for id, family in families.items()}
    listed = (operation for operation in _definitions_of(definitions, "operation") if not operation.table.get("hidden"))
    operations = sorted(listed, key=lambda d: _http_place(d, products))
    vocabulary: set[str] = set()
    rows: list[tuple[Any, ...]] = []
    indexed: list[tuple[Any, ...]] = []
    for place, operation in enumerate(operations):
        table = operation.table
        method, _, path = table["http"].partition(" ")
        tag = table.get("tag", "")
        flags = int(table.get("deprecated", False)), int(table.get("experimental", False))
        not_on = missing_on(families[table["product"]], table)
        title = f"{table['title']} (not on {', '.join(not_on)})" if not_on else table["title"]
        rows.append((place, operation.id, table["product"], method, path, tag, title, *flags, _json_of(not_on)))
        words_of_path = split_identifier(path)
        words = [*split_identifier(operation.id), *split_identifier(table["title"]), *words_of_path]
        spelled = [word.lower() for word in (*words, *split_identifier(tag))]
        vocabulary.update(spelled)
        indexed.append((place, operation.id, " ".join(spelled), table["title"], " ".join(words_of_path), tag))
    connection.executemany("INSERT INTO operation VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO search (rowid, id, words, title, path, tag) VALUES (?, ?, ?, ?, ?, ?)", indexed)
    connection.executemany("INSERT INTO word VALUES (?)", ((word,) for word in sorted(vocabulary)))


def _http_place(operation: Definition, products: dict[str, int]) -> tuple[int, str, str, str]:
    method, _, path = operation.table["http"].partition(" ")
    product = operation.table["product"]
    return products.get(product, 1000), product, path, method
