"""Where definitions are read from. On the start-up path: asks only for names, sizes and times of files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .errors import DefinitionError
from .paths import config_directory, shipped_definitions

COMMON = "common"


class Layer(NamedTuple):
    """One directory of definition files; `optional` ones may be absent."""

    directory: str
    optional: bool = False


def layers(program: str, environ: Mapping[str, str]) -> list[Layer]:
    """Built-in definitions, then the person's, then those named by the environment; later ones win."""
    shipped = shipped_definitions()
    found = [Layer(os.path.join(shipped, COMMON), optional=True), Layer(os.path.join(shipped, program))]
    found.append(Layer(os.path.join(config_directory(environ), "definitions", program), optional=True))
    named = environ.get(f"{program.upper().replace('-', '_')}_DEFINITIONS", "")
    found += [Layer(os.path.abspath(path)) for path in named.split(os.pathsep) if path]
    return found


def definition_files(directory: str) -> Iterator[tuple[str, int, os.stat_result]]:
    """Path, depth and status of every definition file below a directory, in a fixed order, deepest first.

    Deepest first, so that `operations/tracker.toml` corrects what `operations/tracker/*.toml` says.
    """
    found = sorted(_walk(directory, 0), key=lambda entry: (-entry[1], entry[0]))
    yield from found


def _walk(directory: str, depth: int) -> Iterator[tuple[str, int, os.stat_result]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".toml"):
                yield entry.path, depth, entry.stat()
            elif not entry.name.startswith(".") and entry.is_dir():
                yield from _walk(entry.path, depth + 1)


def files_of(layer: Layer) -> list[tuple[str, int, os.stat_result]]:
    """The files of one layer; raises `DefinitionError` where a directory that must exist does not."""
    try:
        return list(definition_files(layer.directory))
    except (FileNotFoundError, NotADirectoryError):
        if layer.optional:
            return []
        raise DefinitionError(
            f"no directory of definitions at {layer.directory}", hint="check the *_DEFINITIONS environment variable"
        ) from None
    except OSError as error:
        raise DefinitionError(f"{error.filename}: {error.strerror}") from None
