"""What definitions are at this moment, and where that of it lies which was made of them: known without reading any."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING
from zlib import crc32

from .. import __version__
from ..errors import DefinitionError
from ..files import changeable_by_others, entry_changeable
from ..language.layers import Layer, entries_of, layers_with, state_of
from ..paths import cache_directory

if TYPE_CHECKING:
    from ..jsontext import JsonObject

FORMAT = 5


def compiled_path(program: str, environ: Mapping[str, str], layers: list[Layer]) -> str:
    """Where the compiled file lies: one per program and set of directories that exist."""
    present = [layer.directory for layer in layers if os.path.isdir(layer.directory)]
    key = crc32("\n".join(present).encode())
    return os.path.join(cache_directory(environ), f"{program}-{key:08x}.sqlite")


def safe_layers(program: str, used: list[str], environ: Mapping[str, str], *, own: bool = True) -> list[Layer]:
    """The directories of the program and of those that it uses.

    Raises `DefinitionError` where others could have written a person's definitions: these decide what the words of the
    command line do. The shipped ones are as safe as the program itself.
    """
    found = layers_with(program, used, environ, own=own)
    for layer in found:
        if not (layer.optional or layer.variable):
            continue
        doubts = [changeable_by_others(layer.directory), *map(entry_changeable, entries_of(layer))]
        for doubt in filter(None, doubts):
            raise DefinitionError(f"definitions {doubt}", hint=doubt.remedy)
    return found


def fingerprint_of(used: list[str], found: list[Layer], bare: JsonObject | None = None) -> str:
    """Changes whenever a definition changes, or the engine is another. Its first line names the programs used.

    A person without definitions of their own has what there is without these: both come from one compiled file.
    `bare` stands in the place of a program whose own definitions do not count.
    """
    engine = f"{__version__} {FORMAT}"
    if bare:
        import json

        engine += json.dumps(bare)
    return "\n".join([" ".join(used), engine, *filter(None, map(state_of, found))])
