"""Where definitions are read from. On the start-up path: asks only for names, sizes and times of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..errors import DefinitionError
from ..paths import own_definitions_folder, shipped_definitions

COMMON = "common"
SUFFIX = ".toml"


class Layer(NamedTuple):
    """One directory (or, for a check, one file) of definitions.

    `optional` ones may be absent, `shipped` ones come with the package, `frozen` ones of these change only when it is
    installed again; `variable` is the environment's that named it.
    """

    directory: str
    optional: bool = False
    frozen: bool = False
    variable: str = ""
    shipped: bool = False


def layers_with(program: str, used: Iterable[str], environ: Mapping[str, str], *, own: bool = True) -> list[Layer]:
    """Definitions of all programs, of those that this one uses, then its own; later ones win.

    The built-in ones come first, then the person's, and last those that the environment names for the program itself.
    Without `own` only the built-in ones.
    """
    shipped, frozen = shipped_definitions()
    names = [*used, program]
    built_in = [os.path.join(shipped, name) for name in (COMMON, *names)]
    found = [Layer(path, frozen=frozen, shipped=True) for path in built_in if os.path.isdir(path)]
    if own:
        found += [Layer(own_definitions_folder(environ, name), optional=True) for name in names]
        variable = variable_of(program)
        named = environ.get(variable, "").split(os.pathsep)
        found += [Layer(os.path.abspath(path), variable=variable) for path in named if path]
    return found


def variable_of(program: str) -> str:
    """The environment variable that names further directories of a program's definitions."""
    return f"{program.upper().replace('-', '_')}_DEFINITIONS"


def files_of(layer: Layer) -> list[tuple[str, int]]:
    """Path and depth of every definition file of a layer, in a fixed order, deepest first.

    Deepest first, so that `operations/shop.toml` corrects what `operations/shop/*.toml` says. Raises
    `DefinitionError` where a directory that must exist does not.
    """
    if os.path.isfile(layer.directory):
        return [(layer.directory, 0)]
    found = [(entry.path, depth) for entry, depth in _directory_entries(layer) if entry.name.endswith(SUFFIX)]
    return sorted(found, key=lambda file: (-file[1], file[0]))


def entries_of(layer: Layer) -> list[str]:
    """The definition files of a layer and the directories they lie in."""
    return [entry.path for entry, _ in _directory_entries(layer)]


def state_of(layer: Layer) -> str:
    """A text that changes whenever a file of the layer is added, removed, replaced or edited.

    An installed package is not edited but replaced, and that shows in the times of its few directories; asking for each
    file's would cost more than all else at the start once there are many.
    """
    lines = [_file_state(layer.directory)] if layer.frozen else []
    for entry, _ in _directory_entries(layer):
        if not (layer.frozen and entry.name.endswith(SUFFIX)):
            lines.append(_file_state(entry.path))
    return "\n".join(sorted(lines))


def _file_state(path: str) -> str:
    try:
        status = os.stat(path)
    except OSError as error:  # a link to nothing, say: reading it will tell
        return f"{path} {error.strerror}"
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _directory_entries(layer: Layer) -> list[tuple[os.DirEntry[str], int]]:
    try:
        return list(_walk_directory(layer.directory, 0))
    except (FileNotFoundError, NotADirectoryError):
        if layer.optional:
            return []
        named = f"{layer.variable}: " if layer.variable else ""
        raise DefinitionError(f"{named}no directory of definitions at {layer.directory}") from None
    except OSError as error:
        raise DefinitionError(f"{error.filename}: {error.strerror}") from None


def _walk_directory(directory: str, depth: int) -> Iterator[tuple[os.DirEntry[str], int]]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield entry, depth
                yield from _walk_directory(entry.path, depth + 1)
            elif entry.name.endswith(SUFFIX):
                yield entry, depth
