"""An earlier import of the same document: which operations it made, and what became of them since."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.source_file import EXTEND
from .definition_files import generated_files

if TYPE_CHECKING:
    from ..language.shape.rest import OperationDefinition

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
                kinds = tomllib.load(file)
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
    at = {_call(table["http"]): id for id, table in operations.items() if id not in before.operations}
    lost = {id: _call(table["http"]) for id, table in before.operations.items() if id not in operations}
    renamed = {id: at[call] for id, call in lost.items() if call in at}
    kept = {**{id: id for id in before.operations if id in operations}, **renamed}
    said = {now: _changes(before.operations[id], operations[now]) for id, now in kept.items()}
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
    return {key: dict(sorted(_qualified(part, product).items())) for key, part in table.items() if part}


def _qualified(names: Mapping[str, str], product: str) -> dict[str, str]:
    bare = {id: said for id, said in names.items() if not id.startswith(f"{product}.")}
    return {**{f"{product}.{id}": said for id, said in bare.items()}, **names}


def _call(http: str) -> str:
    return _PARAMETER.sub("{}", http)


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
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
    differ = [name for name in new if name in old and _meant(old[name]) != _meant(new[name])]
    return [*came, *went, *differ]


def _meant(param: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in param.items() if key not in ("help", "title")}
