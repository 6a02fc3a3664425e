"""Imported operations that a program would not accept are left out, and the others taken."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..catalog.compile import qualified_names, remember_sound
from ..errors import DefinitionError
from ..language.check import problems_in, refuse_problems, stale_among
from ..language.layers import Layer, files_of
from ..language.load import load_definitions
from ..language.problem import Key, Problem
from ..language.source_file import Stale
from ..registry import registered_names
from . import ImportResult, without_operations
from .definition_files import generated_files, references_of, schemas_needed, schemas_of_body, write_for_trial

COMMAND = "command"
_BUILT = (COMMAND, "view", "resource")  # what can be left out where it would not be accepted
_SHOWN = 10


class SoundImport(NamedTuple):
    """`dropped`: resources, commands and views that were built and would not be accepted.

    `left_out` says what of a person's own definitions is not in use any more, and why.
    """

    result: ImportResult
    dropped: set[Key]
    left_out: list[str]


# From the operations and the definitions that it must do without, the files that are built on them: text by path.
Build = Callable[[ImportResult, Collection[Key]], dict[str, str]]


def without_unsound_operations(
    layers: Sequence[Layer],
    result: ImportResult,
    key: str,
    target: str | None = None,
    *,
    build: Build | None = None,
    leaving: Collection[str] = (),
) -> SoundImport:
    """The result without the operations that the program would not accept, and why, among its notes.

    `layers` are the program's other definitions. Where `target` is one of them, the new files stand in the place of
    those of an earlier import and of those at the paths `leaving`; any other is laid over all of them. Resources,
    commands and views that are built and would not be accepted are left out, too. Raises `DefinitionError` when no
    operation is left, or when something else is wrong.
    """
    left_out: list[Stale] = []
    dropped: dict[Key, str] = {}
    with _layers_on_trial(layers, target) as (tried, directory):
        while True:
            built = build(result, dropped) if build is not None else {}
            _fill_copy(directory, target, {*generated_files(target or "", key)}, {*leaving, *built})
            write_for_trial({**result.files, **built}, directory)
            found = _refused_definitions(tried, result, directory, built, {each[:3] for each in left_out})
            if found.operations and len(found.operations) == len(result.operations):
                each = [f"{result.operations[id]['http']}: {reason}" for id, reason in found.operations.items()]
                raise DefinitionError("none of its operations can be used", details=each[:_SHOWN])
            if not any(found):
                notes = [
                    f'{kind} "{id}" is left out: {told}' for (kind, id), told in dropped.items() if kind == COMMAND
                ]
                result = result._replace(notes=[*result.notes, *notes])
                texts = [each.text.replace(directory, target or directory) for each in left_out]
                return SoundImport(result, {*dropped}, texts)
            result = without_operations(result, key, found.operations) if found.operations else result
            left_out += found.stale
            dropped |= found.built


@contextmanager
def _layers_on_trial(layers: Sequence[Layer], target: str | None) -> Iterator[tuple[list[Layer], str]]:
    """The layers as they would be, and the directory of the new one; what is told of it is told of the target."""
    at = next((place for place, layer in enumerate(layers) if layer.directory == target), len(layers))
    with tempfile.TemporaryDirectory() as parent:
        directory = os.path.join(parent, "definitions")
        try:
            yield [*layers[:at], Layer(directory), *layers[at + 1 :]], directory
        except DefinitionError as error:
            if target is None:
                raise
            told = [each.replace(directory, target) for each in error.details]
            raise DefinitionError(error.message.replace(directory, target), details=told) from None


def _fill_copy(directory: str, target: str | None, imported: Collection[str], leaving: Collection[str]) -> None:
    """A copy of the target, without what is made anew."""
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    for path, _ in files_of(Layer(target, optional=True)) if target is not None else ():
        relative = os.path.relpath(path, target)
        if path not in imported and relative.replace(os.sep, "/") not in leaving:
            place = os.path.join(directory, relative)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copyfile(path, place)


class _Refused(NamedTuple):
    """`stale`: what of a person's own needs an operation that is gone. Of the others, why they cannot be."""

    stale: list[Stale]
    operations: dict[str, str]
    built: dict[Key, str]


def _refused_definitions(
    layers: list[Layer],
    result: ImportResult,
    directory: str,
    built: Collection[str],
    left_out: Collection[tuple[str, str, str]],
) -> _Refused:
    definitions = load_definitions(layers, left_out)
    problems = problems_in(definitions, {"operation": qualified_names(definitions)}, registered_names())
    of_built = [each for each in problems if _path_in(directory, each) in built]
    others = [each for each in problems if each not in of_built]
    stale = [*definitions.stale, *stale_among(others, definitions, left_out)]
    if stale:
        return _Refused(list(dict.fromkeys(stale)), {}, {})
    reasons: dict[str, str] = {}
    for problem in problems:
        for id in _users_of_definition(result, problem.definition.kind, problem.definition.id):
            reasons.setdefault(id, f"{problem.where}{problem.finding.text}")
    if reasons:
        return _Refused([], reasons, {})  # what is built on these is made anew without them
    for problem in others:
        kind, id = problem.definition.kind, problem.definition.id
        if _path_in(directory, problem) in result.files:
            raise DefinitionError(f'{kind} "{id}": {problem.where}{problem.finding.text}')
        refuse_problems([problem], definitions)
    unsound = {
        (each.definition.kind, each.definition.id): f"{each.where}{each.finding.text}" for each in reversed(of_built)
    }
    if fixed := [f'{kind} "{id}": {told}' for (kind, id), told in unsound.items() if kind not in _BUILT]:
        raise DefinitionError(fixed[0], details=fixed[1:])
    if not unsound and not left_out:
        remember_sound(layers, definitions)
    return _Refused([], {}, unsound)


def _path_in(directory: str, problem: Problem) -> str:
    """The file that said the faulty definition last, by its path in the new directory; others as they are."""
    path = problem.definition.files[-1].path
    return os.path.relpath(path, directory).replace(os.sep, "/") if path.startswith(directory) else path


def _users_of_definition(result: ImportResult, kind: str, id: str) -> list[str]:
    """The imported operations that cannot be used without a definition: itself, or those whose body needs a schema."""
    if kind == "operation" and id in result.operations:
        return [id]
    if kind != "schema" or id not in result.schemas:
        return []
    references = references_of(result.schemas)
    schemas = {each for each in result.schemas if id in schemas_needed([each], references)}
    return [each for each, table in result.operations.items() if not schemas.isdisjoint(schemas_of_body(table))]
