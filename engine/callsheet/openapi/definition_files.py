"""Definitions of one product → the files of its directory; and what an earlier import wrote there."""

from __future__ import annotations

import json
import marshal
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import tomli

from ..errors import UsageError
from ..files import make_private_directory
from ..language.source_file import EXTEND
from ..output_files import write_output_file
from .document import Document, url_path
from .operation_definitions import file_slug
from .schemas import first_paragraph, schema_references
from .security import access_of
from .webhooks import source_of_webhooks

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationDefinition


# Definitions as TOML that a person likes to read: one parameter a line, short tables inline, long ones apart.


WIDTH = 120
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ALWAYS_APART = frozenset({"properties"})
_ALWAYS_LISTED = frozenset({"params"})


def definition_file_text(kinds: Mapping[str, Mapping[str, Mapping[str, Any]]], above: str = "") -> str:
    """`{kind: {id: table}}` as the text of a definition file; `above` is a table that all stand in."""
    blocks = []
    for kind, tables in kinds.items():
        for id, table in tables.items():
            blocks.append("\n".join(_table_text((kind, id), table, above=f"{above}." if above else "")))
    return "\n\n".join(blocks) + "\n"


def _table_text(
    path: tuple[str, ...], table: Mapping[str, Any], brackets: str = "[]", above: str = ""
) -> Iterator[str]:
    """A table's header, its own lines, and after them the tables that do not fit on a line."""
    begin, end = brackets[: len(brackets) // 2], brackets[len(brackets) // 2 :]
    yield f"{begin}{above}{'.'.join(map(_toml_key, path))}{end}"
    apart: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and key in _ALWAYS_APART and len(path) == 2:
            apart.append((key, value))
            continue
        if key in _ALWAYS_LISTED and _is_tables(value):
            yield from _listed_tables(key, value)
            continue
        line = f"{_toml_key(key)} = {_inline_value(value)}"
        if _stands_apart(value, line):
            apart.append((key, value))
        else:
            yield from _key_lines(key, value, line)
    for key, value in apart:
        if isinstance(value, list):
            for item in value:
                yield ""
                yield from _table_text((*path, key), item, "[[]]", above)
        else:
            yield ""
            yield from _table_text((*path, key), value, above=above)


def _stands_apart(value: Any, line: str) -> bool:
    if len(line) <= WIDTH:
        return False
    if _is_tables(value):
        return any(len(_inline_value(item)) + 3 > WIDTH for item in value)
    return isinstance(value, dict)


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _key_lines(key: str, value: Any, line: str) -> Iterator[str]:
    """`line` is what stands there where it fits."""
    if len(line) > WIDTH and _is_tables(value):
        yield from _listed_tables(key, value)
    elif len(line) > WIDTH and isinstance(value, list):
        yield f"{_toml_key(key)} = ["
        yield from _wrapped_values(value, "  ")
        yield "]"
    else:
        yield line


def _listed_tables(key: str, tables: list[Any]) -> Iterator[str]:
    yield f"{_toml_key(key)} = ["
    for item in tables:
        yield from _listed_lines(item)
    yield "]"


_LINES: dict[bytes, tuple[str, ...]] = {}  # of thousands of operations and commands most have the same parameters


def _listed_lines(item: dict[str, Any]) -> tuple[str, ...]:
    try:
        key = marshal.dumps(item, 2)
    except ValueError:  # it holds what is no plain value
        return tuple(_listed_table(item))
    if key not in _LINES:
        _LINES[key] = tuple(_listed_table(item))
    return _LINES[key]


def _listed_table(item: Mapping[str, Any]) -> Iterator[str]:
    """One table of a list; where it is too long its longest list goes over several lines."""
    texts = {key: _inline_value(value) for key, value in item.items()}
    line = f"  {_inline_pairs(texts)},"
    lists = [key for key, value in item.items() if isinstance(value, list)] if len(line) > WIDTH else []
    if not lists:
        yield line
        return
    long = max(lists, key=lambda key: len(texts[key]))
    del texts[long]
    opening = _inline_pairs(texts).removesuffix(" }")
    yield f"  {opening}, {_toml_key(long)} = ["
    yield from _wrapped_values(item[long], "    ")
    yield "  ] },"


def _wrapped_values(values: list[Any], indent: str) -> Iterator[str]:
    line = indent
    for value in values:
        piece = f"{_inline_value(value)},"
        if line != indent and len(line) + len(piece) + 1 > WIDTH:
            yield line
            line = indent
        line += piece if line == indent else f" {piece}"
    yield line


def _inline_value(value: Any) -> str:
    if isinstance(value, str):
        return _toml_quoted(value)
    if isinstance(value, dict):
        return _inline_pairs({key: _inline_value(item) for key, item in value.items()})
    if isinstance(value, list):
        return f"[{', '.join(map(_inline_value, value))}]"
    return ("false", "true")[value] if isinstance(value, bool) else json.dumps(value)


def _inline_pairs(texts: Mapping[str, str]) -> str:
    pairs = ", ".join([f"{_toml_key(key)} = {text}" for key, text in texts.items()])
    return f"{{ {pairs} }}" if pairs else "{}"


@lru_cache(maxsize=4096)
def _toml_key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _toml_quoted(key)


def _toml_quoted(text: str) -> str:
    """A text in quotes; one with backslashes in the quotes that leave them alone, where it can be."""
    if text.isprintable():
        if "\\" not in text and '"' not in text:
            return f'"{text}"'
        if "\\" in text and "'" not in text:
            return f"'{text}'"
    # A lone surrogate is no character; TOML has no way to write one.
    whole = text.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


# Definitions of one product → the files of its directory, and the directory on disk.


MARK = "# Generated by `definitions import`"
UNTAGGED = "untagged"
SHARED = "_schemas"
PRODUCT = "_product"
FORMER = "_former"
Tables = dict[str, dict[str, Any]]

# Definitions that others can write are not obeyed, so they are not made so whatever the umask.
_READABLE = 0o644


def directory_of(product: str) -> str:
    return f"operations/{product}"


def files_of(
    product: str,
    operations: Mapping[str, OperationDefinition],
    schemas: Tables,
    introduction: Mapping[str, Tables],
    former: Mapping[str, Mapping[str, str]],
) -> dict[str, str]:
    """Relative path → text: a file a tag, one for schemas that tags share, one that introduces the product.

    `former` says what became of operations that earlier imports made.
    """
    by_file: dict[str, dict[str, OperationDefinition]] = {}
    for id, table in operations.items():
        by_file.setdefault(file_slug(table.get("tag", "")) or UNTAGGED, {})[id] = table
    by_home: dict[str, Tables] = {}
    for id, home in sorted(_homes_of_schemas(by_file, schemas).items()):
        by_home.setdefault(home, {})[id] = schemas[id]
    texts: dict[str, Mapping[str, Tables]] = {}
    for name in sorted(by_file):
        texts[name] = _tables_by_tag(by_file[name], by_home.get(name, {}))
    if SHARED in by_home:
        texts[SHARED] = {"schema": by_home[SHARED]}
    if introduction:
        texts[PRODUCT] = introduction
    found = {name: _file_text(product, definition_file_text(kinds)) for name, kinds in texts.items()}
    if former:
        kinds = {"renamed": {"operation": dict(former)}}
        found[FORMER] = _file_text(product, definition_file_text(kinds, EXTEND))
    return {f"{directory_of(product)}/{name}.toml": text for name, text in found.items()}


def _homes_of_schemas(by_file: Mapping[str, Mapping[str, OperationDefinition]], schemas: Tables) -> dict[str, str]:
    """Schema id → the file it stands in: that of the only tag that needs it, or the shared one."""
    homes: dict[str, str] = {}
    references = references_of(schemas)
    for name, operations in by_file.items():
        for id in schemas_needed(chain.from_iterable(map(schemas_of_body, operations.values())), references):
            homes[id] = name if homes.get(id, name) == name else SHARED
    return homes


def schemas_of_body(operation: OperationDefinition) -> Iterator[str]:
    """The schemas that its body, or a part of it, must fit."""
    body = operation.get("body", {})
    yield from (each["schema"] for each in (body, *body.get("parts", {}).values()) if "schema" in each)


def references_of(schemas: Tables) -> dict[str, set[str]]:
    """Schema id → the ids that it names. Made once: a document's schemas lead to most of each other."""
    return {id: {*schema_references(table)} for id, table in schemas.items()}


def schemas_needed(roots: Iterable[str], references: Mapping[str, set[str]]) -> set[str]:
    """The schemas that are needed for some, these included."""
    found: set[str] = set()
    waiting = [*roots]
    while waiting:
        id = waiting.pop()
        if id not in found:
            found.add(id)
            waiting.extend(references[id])
    return found


def _tables_by_tag(operations: Mapping[str, OperationDefinition], schemas: Tables) -> dict[str, Tables]:
    first = next(iter(operations.values()))
    common = {key: value for key, value in (("product", first["product"]), ("tag", first.get("tag"))) if value}
    own = {
        id: {key: value for key, value in table.items() if value != common.get(key) and (key, value) != ("tag", "")}
        for id, table in operations.items()
    }
    kinds: dict[str, Tables] = {"defaults": {"operation": common}, "operation": own}
    return {**kinds, "schema": schemas} if schemas else kinds


def _file_text(product: str, tables: str) -> str:
    head = f"{MARK}: importing again replaces this file.\n# Corrections belong into ../{product}.toml, laid over it.\n"
    return f"{head}\n{tables}"


def write_files(files: Mapping[str, str], target: str, product: str) -> list[str]:
    """Write below `target`, then remove what an earlier import left; the removed paths are returned.

    Raises `UsageError` before anything is written when a file stands there that no import made.
    """
    for path in files:
        if os.path.islink(place := os.path.join(target, *path.split("/"))):
            raise UsageError(f"{place} is a link, and was not made by an import", hint="move it away")
    present = set(generated_files(target, product))
    wanted = {os.path.join(target, *path.split("/")) for path in files}
    if strange := next((path for path in sorted(wanted - present) if os.path.isfile(path)), None):
        raise UsageError(f"{strange} was not made by an import", hint="move it away, or import to another place")
    make_private_directory(os.path.abspath(os.path.join(target, *directory_of(product).split("/"))))
    for path, text in files.items():
        write_output_file(os.path.join(target, *path.split("/")), text.encode(), _READABLE)
    stale = sorted(present - wanted)
    for path in stale:
        os.remove(path)
    return stale


def write_for_trial(files: Mapping[str, str], directory: str) -> None:
    """The same where nobody else looks, and nothing has to outlast a failure."""
    for path, text in files.items():
        place = os.path.join(directory, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8", newline="") as file:
            file.write(text)


def save_files(files: Mapping[str, str], directory: str) -> None:
    """Write files below a directory, by path relative to it."""
    for path, text in files.items():
        place = os.path.join(directory, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write_output_file(place, text.encode(), _READABLE)


def generated_files(target: str, product: str) -> Iterator[str]:
    """The files that imports of a product made."""
    directory = os.path.join(target, *directory_of(product).split("/"))
    for name in sorted(os.listdir(directory)) if os.path.isdir(directory) else ():
        path = os.path.join(directory, name)
        if name.endswith(".toml") and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                if file.readline().startswith(MARK):
                    yield path


# The product and service definitions of a document whose product nobody has defined yet.


# The fields in which services commonly word their errors, the most telling first.
ERRORS = (
    "[errors[].[message, detail, title][], errors[?type(@) == 'string'], detail, title, message, error_description, "
    "error.message, error]"
)


def introduction_of(
    document: Document, product: str, order: int, title: str | None, base_url: str | None, notes: list[str]
) -> dict[str, JsonObject]:
    servers = document.server_urls()
    url = base_url or next((server for server in servers if _is_absolute(server)), None)
    info = document.table_of(document.tree.get("info"))
    name = title or first_paragraph(info.get("title")) or product
    service: JsonObject = {"title": name}
    if url:
        service["base_url"] = _root_of_url(url) if base_url is None else base_url.rstrip("/")
    table: JsonObject = {"title": name, "order": order, "service": product}
    if servers and (base := url_path(servers[0])):
        table["base"] = base
    table["errors"] = ERRORS
    docs = document.table_of(document.tree.get("externalDocs")).get("url")
    if isinstance(docs, str) and _is_absolute(docs):
        table["docs"] = docs.replace("{", "{{").replace("}", "}}")
    access = access_of(document, product, url or "", notes)
    if access:
        service["auth"] = list(access)
    made = {"service": {product: service}, "product": {product: table}}
    made |= source_of_webhooks(document, product, name, notes)
    return {**made, "auth": access} if access else made


def _is_absolute(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def _root_of_url(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


_PARAMETER = re.compile(r"\{[^{}]*\}")
_COMPARED = {
    "params": "parameters",
    "body": "body",
    "reply": "answer",
    "paginate": "paging",
    "http": "path",
    "service": "server",
}


class EarlierImport(NamedTuple):
    """`operations` by id; `ids` and `gone` say what became of those that an import before that one made."""

    operations: dict[str, dict[str, Any]]
    ids: dict[str, str]
    gone: dict[str, str]


NO_IMPORT = EarlierImport({}, {}, {})


class ImportDifference(NamedTuple):
    """Ids of operations. `changed` says of each what is different: `parameters: + limit, - offset`."""

    added: list[str]
    gone: list[str]
    renamed: dict[str, str]
    changed: dict[str, str]


def read_earlier(target: str, product: str) -> EarlierImport:
    """What the files of an earlier import say; one that cannot be read any more says nothing."""
    found = EarlierImport({}, {}, {})
    for path in generated_files(target, product):
        try:
            with open(path, "rb") as file:
                kinds = tomli.load(file)
        except (OSError, ValueError, RecursionError):
            continue
        common = kinds.get("defaults", {}).get("operation", {})
        found.operations.update({id: {**common, **table} for id, table in kinds.get("operation", {}).items()})
        renamed = kinds.get(EXTEND, {}).get("renamed", {}).get("operation", {})
        found.ids.update(renamed.get("ids", {}))
        found.gone.update(renamed.get("gone", {}))
    return found


def difference_from(before: EarlierImport, operations: Mapping[str, OperationDefinition]) -> ImportDifference:
    """An operation with the method and path of one that is gone is that one under a new id."""
    at = {_call_without_base(table["http"]): id for id, table in operations.items() if id not in before.operations}
    lost = {id: _call_without_base(table["http"]) for id, table in before.operations.items() if id not in operations}
    renamed = {id: at[call] for id, call in lost.items() if call in at}
    kept = {**{id: id for id in before.operations if id in operations}, **renamed}
    said = {now: _changes_in_words(before.operations[id], operations[now]) for id, now in kept.items()}
    return ImportDifference(
        [id for id in operations if id not in kept.values()] if before.operations else [],
        [id for id in lost if id not in renamed],
        renamed,
        {id: text for id, text in said.items() if text},
    )


def names_since(
    before: EarlierImport, found: ImportDifference, operations: Mapping[str, OperationDefinition], product: str
) -> dict[str, dict[str, str]]:
    """The `renamed.operation` definition that says what became of every operation that an import once made.

    Each of them also had its name behind that of the product.
    """
    gone = {id: f"the document no longer has {before.operations[id]['http']}" for id in found.gone}
    ids = {old: found.renamed.get(now, now) for old, now in before.ids.items()} | found.renamed
    gone = {**before.gone, **{old: gone[now] for old, now in ids.items() if now in gone}, **gone}
    table = {
        "ids": {old: now for old, now in ids.items() if old not in operations and now in operations},
        "gone": {old: text for old, text in gone.items() if old not in operations and old not in found.renamed},
    }
    return {key: dict(sorted(_qualified_names(part, product).items())) for key, part in table.items() if part}


def _qualified_names(names: Mapping[str, str], product: str) -> dict[str, str]:
    bare = {id: said for id, said in names.items() if not id.startswith(f"{product}.")}
    return {**{f"{product}.{id}": said for id, said in bare.items()}, **names}


def _call_without_base(http: str) -> str:
    return _PARAMETER.sub("{}", http)


def _changes_in_words(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    told = []
    for key, what in _COMPARED.items():
        if key == "params":
            told += _changed_params(before.get(key, ()), now.get(key, ()))
        elif before.get(key) != now.get(key):
            told.append(what)
    return ", ".join(told)


def _changed_params(before: Any, now: Any) -> list[str]:
    old, new = ({param["name"]: param for param in params} for params in (before, now))
    came = [f"+{name}" for name in new if name not in old]
    went = [f"-{name}" for name in old if name not in new]
    differ = [name for name in new if name in old and _meant_by_param(old[name]) != _meant_by_param(new[name])]
    return [*came, *went, *differ]


def _meant_by_param(param: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in param.items() if key not in ("help", "title")}
