"""Imported operations that a program would not accept are left out, and the others taken."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..catalog.compile import qualified_names
from ..errors import DefinitionError
from ..language.check import problems_in, refuse, stale_among
from ..language.definition import Stale
from ..language.layers import SUFFIX, Layer, files_of
from ..language.load import load
from ..registry import names
from . import ImportResult, without, write_files
from .definition_files import generated_files, reached

_SHOWN = 10


class SoundImport(NamedTuple):
    """`left_out` says what of a person's own definitions is not in use any more, and why."""

    result: ImportResult
    left_out: list[str]


def sound(layers: Sequence[Layer], result: ImportResult, key: str, target: str | None = None) -> SoundImport:
    """The result without the operations that the program would not accept, and why, among its notes.

    `layers` are the program's other definitions. Where `target` is one of them, the new files stand in the place of
    those of an earlier import; any other is laid over all of them. Raises `DefinitionError` when no operation is left,
    or when something else is wrong.
    """
    left_out: list[Stale] = []
    with _tried(layers, key, target) as (tried, directory):
        while True:
            write_files(result.files, directory, key)
            more, reasons = _refused(tried, result, directory, {each[:3] for each in left_out})
            if reasons and len(reasons) == len(result.operations):
                each = [f"{result.operations[id]['http']}: {reason}" for id, reason in reasons.items()]
                raise DefinitionError("none of its operations can be used", details=each[:_SHOWN])
            if not reasons and not more:
                return SoundImport(result, [each.text.replace(directory, target or directory) for each in left_out])
            result = without(result, key, reasons) if reasons else result
            left_out += more


@contextmanager
def _tried(layers: Sequence[Layer], key: str, target: str | None) -> Iterator[tuple[list[Layer], str]]:
    """The layers as they would be, and the directory for the new files; what is told of it is told of the target."""
    at = next((place for place, layer in enumerate(layers) if layer.directory == target), len(layers))
    with tempfile.TemporaryDirectory() as parent:
        directory = os.path.join(parent, "definitions")
        os.mkdir(directory)
        if target is not None and at < len(layers):
            _copy(layers[at], target, {*generated_files(target, key)}, directory)
        try:
            yield [*layers[:at], Layer(directory), *layers[at + 1 :]], directory
        except DefinitionError as error:
            if target is None:
                raise
            told = [each.replace(directory, target) for each in error.details]
            raise DefinitionError(error.message.replace(directory, target), details=told) from None


def _copy(layer: Layer, target: str, leaving: Collection[str], directory: str) -> None:
    for path, _ in files_of(layer):
        if path not in leaving and path.endswith(SUFFIX):
            place = os.path.join(directory, os.path.relpath(path, target))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(path, place)


def _refused(
    layers: list[Layer], result: ImportResult, directory: str, left_out: Collection[tuple[str, str, str]]
) -> tuple[list[Stale], dict[str, str]]:
    """What of a person's own needs an operation that is gone, and why which operations cannot be used."""
    definitions = load(layers, left_out)
    problems = problems_in(definitions, {"operation": qualified_names(definitions)}, names())
    stale = [*definitions.stale, *stale_among(problems, definitions, left_out)]
    if stale:
        return list(dict.fromkeys(stale)), {}
    reasons: dict[str, str] = {}
    for problem in problems:
        kind, id = problem.definition.kind, problem.definition.id
        told = f"{problem.where}{problem.finding.text}"
        ids = _users(result, kind, id)
        reasons |= {each: told for each in ids if each not in reasons}
        if not ids and _is_imported(problem.definition.files[-1].path, result, directory):
            raise DefinitionError(f'{kind} "{id}": {told}')
        if not ids:
            refuse([problem], definitions)
    return [], reasons


def _is_imported(path: str, result: ImportResult, directory: str) -> bool:
    return os.path.relpath(path, directory).replace(os.sep, "/") in result.files


def _users(result: ImportResult, kind: str, id: str) -> list[str]:
    """The imported operations that cannot be used without a definition: itself, or those whose body needs a schema."""
    if kind == "operation" and id in result.operations:
        return [id]
    if kind != "schema" or id not in result.schemas:
        return []
    needing = {each: {each, *reached([each], result.schemas)} for each in result.schemas}
    schemas = {each for each, all_of_it in needing.items() if id in all_of_it}
    return [each for each, table in result.operations.items() if table.get("body", {}).get("schema") in schemas]
