"""Imported operations that a program would not accept are left out, and the others taken."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence

from ..catalog.compile import qualified_names
from ..errors import DefinitionError
from ..language.check import problems_in, refuse
from ..language.layers import Layer
from ..language.load import load
from ..registry import names
from . import ImportResult, without, write_files
from .definition_files import reached

_SHOWN = 10


def sound(layers: Sequence[Layer], result: ImportResult, key: str) -> ImportResult:
    """The result without the operations that the program would not accept, and why, among its notes.

    `layers` are the program's other definitions. Raises `DefinitionError` when none is left, or when something else is
    wrong.
    """
    with tempfile.TemporaryDirectory() as directory:
        write_files(result.files, directory, key)
        definitions = load([*layers, Layer(directory)])
        problems = problems_in(definitions, {"operation": qualified_names(definitions)}, names())
        reasons: dict[str, str] = {}
        for problem in problems:
            kind, id = problem.definition.kind, problem.definition.id
            told = f"{problem.where}{problem.finding.text}"
            ids = _users(result, kind, id)
            reasons |= {each: told for each in ids if each not in reasons}
            if not ids and problem.definition.files[-1].path.startswith(directory):
                raise DefinitionError(f'{kind} "{id}": {told}')
            if not ids:
                refuse([problem], definitions)
    if reasons and len(reasons) == len(result.operations):
        each = [f"{result.operations[id]['http']}: {reason}" for id, reason in reasons.items()]
        raise DefinitionError("none of its operations can be used", details=each[:_SHOWN])
    return sound(layers, without(result, key, reasons), key) if reasons else result


def _users(result: ImportResult, kind: str, id: str) -> list[str]:
    """The imported operations that cannot be used without a definition: itself, or those whose body needs a schema."""
    if kind == "operation" and id in result.operations:
        return [id]
    if kind != "schema" or id not in result.schemas:
        return []
    needing = {each: {each, *reached([each], result.schemas)} for each in result.schemas}
    schemas = {each for each, all_of_it in needing.items() if id in all_of_it}
    return [each for each, table in result.operations.items() if table.get("body", {}).get("schema") in schemas]
