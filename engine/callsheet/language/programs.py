"""Programs: which there are, and what one takes over from the programs that it uses."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ..errors import DefinitionError, UsageError, did_you_mean
from ..paths import config_directory, shipped_definitions
from .layers import COMMON, Layer, files_of, layers_with, variable_of
from .source_file import PROGRAM, line_of, text_of

if TYPE_CHECKING:
    from .merge import Table


def definition_layers(program: str, environ: Mapping[str, str], *, own: bool = True) -> list[Layer]:
    """All directories of a program's definitions. Reads files: a start takes the names of used programs from its cache.

    Raises `UsageError` where there is no such program, `DefinitionError` where it uses one that does not exist.
    """
    return layers_with(program, used_by(program, environ, own=own), environ, own=own)


def used_by(program: str, environ: Mapping[str, str], *, own: bool = True) -> list[str]:
    """The programs that one uses, and those that these use, in the order in which their definitions are laid."""
    found: list[str] = []
    _collect(program, environ, own, [], found)
    return found


def _collect(program: str, environ: Mapping[str, str], own: bool, above: list[str], found: list[str]) -> None:
    for name, where in _uses(_own_layers(program, environ, own)).items():
        if name in (*above, program):
            raise DefinitionError(f"{where}: uses: {name!r} uses this program itself")
        known = program_names(environ, own=own)
        if name not in known:
            others = [each for each in known if each not in (*above, program)]
            raise DefinitionError(f"{where}: uses: no program {name!r}{did_you_mean(name, others)}")
        if name not in found:
            _collect(name, environ, own, [*above, program], found)
            found.append(name)


def bare_program(program: str, environ: Mapping[str, str]) -> Table:
    """A program whose own definitions are broken, as far as it can be told: it has what the built-in ones bring.

    Empty for a built-in one, which has definitions that are sound.
    """
    built_in = program_names(environ, own=False)
    if program in built_in:
        return {}
    try:
        uses = _uses(_own_layers(program, environ, own=True))
        title = program_table(program, environ).get("title")
    except DefinitionError:
        uses, title = {}, None
    found = {"uses": [name for name in uses if name in built_in], "prefix": program.upper().replace("-", "_")}
    return {**found, "title": title if isinstance(title, str) and title.strip() else program}


def _own_layers(program: str, environ: Mapping[str, str], own: bool) -> list[Layer]:
    """The layers of one program that are there, without those of all programs."""
    found = layers_with(program, (), environ, own=own)[1:]
    return [layer for layer in found if os.path.exists(layer.directory)]


def program_table(program: str, environ: Mapping[str, str]) -> Table:
    """What the files of a program say of it, none of which need be sound; empty where they say nothing."""
    found: Table = {}
    for layer in _own_layers(program, environ, own=True):
        for path, _ in files_of(layer):
            text = text_of(path)
            if f"[{PROGRAM}." in text:
                table = _programs_in(text).get(program)
                found |= table if isinstance(table, dict) else {}
    return found


def _programs_in(text: str) -> Table:
    """Empty where the file is broken: reading it as definitions tells how."""
    try:
        programs = tomllib.loads(text).get(PROGRAM)
    except (ValueError, RecursionError):
        return {}
    return programs if isinstance(programs, dict) else {}


def _uses(found: Iterable[Layer]) -> dict[str, str]:
    """The programs that the last file names which names any, and where."""
    uses: dict[str, str] = {}
    for layer in found:
        for path, _ in files_of(layer):
            text = text_of(path)
            if "uses" in text and f"[{PROGRAM}." in text:
                uses = _uses_in(path, text) or uses
    return uses


def _uses_in(path: str, text: str) -> dict[str, str]:
    for id, table in _programs_in(text).items():
        names = table.get("uses") if isinstance(table, dict) else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            where = f'{path}:{line_of(text, (PROGRAM, id, "uses"))}: program "{id}"'
            return dict.fromkeys(names, where)
    return {}


def program_names(environ: Mapping[str, str], *, own: bool = True) -> list[str]:
    """Every directory that can hold a program, the built-in ones first."""
    shipped, _ = shipped_definitions()
    places = [shipped, os.path.join(config_directory(environ), "definitions")] if own else [shipped]
    found: dict[str, None] = {}
    for place in places:
        if os.path.isdir(place):
            with os.scandir(place) as entries:
                found.update(dict.fromkeys(sorted(entry.name for entry in entries if _is_program(entry))))
    return list(found)


def _is_program(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir() and entry.name != COMMON and not entry.name.startswith(".")


def refuse_unknown(program: str, environ: Mapping[str, str], *, to_use: bool = False) -> None:
    """Raise `UsageError` where nothing defines a program of this name; `to_use` are also those that only others use."""
    if program in program_names(environ) or environ.get(variable_of(program)):
        return
    names = [name for name in program_names(environ) if to_use or not program_table(name, environ).get("hidden")]
    near = did_you_mean(program, names)
    raise UsageError(f"there is no program {program!r}{near}", hint=f"programs: {', '.join(names)}")
