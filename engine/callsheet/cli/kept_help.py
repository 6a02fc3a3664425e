"""Help that was shown before and still holds: it is shown again without loading what makes it.

It follows from the definitions, the width and this engine alone. A page is kept beside the compiled definitions, with
the fingerprint that these had.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TextIO

from ..catalog.fingerprint import compiled_path, fingerprint_of, safe_layers
from ..commands.streams import Streams
from ..errors import CallsheetError
from ..files import changeable_by_others, open_regular, write_atomically
from ..language.layers import layers_with
from ..output.stream import terminal_size
from ..terminal import guard_standard_streams

_NARROWEST, _WIDEST = 50, 80  # columns of a page
_LAID_OUT_BY = ("tree.py", "options.py")  # in a checkout these change without the version


def help_width(stream: TextIO) -> int:
    """As click would make it, which loads five modules to find that out."""
    return max(min(terminal_size(stream).columns, _WIDEST) - 2, _NARROWEST)


def keep_help(program: str, words: Sequence[str], fingerprint: str, text: str) -> None:
    """Keep what `program words --help` shows. `fingerprint` is that of the definitions that it was made of."""
    path = _page_path(program, words, os.environ)
    with suppress(CallsheetError):  # nowhere to write: it is made again the next time
        if path is not None:
            page = f"{_head(program, words)}\n{fingerprint}\0{text}\0"
            write_atomically(path, page.encode(), follow=False, sync=False)


def show_kept_help(program: str, words: Sequence[str]) -> bool:
    """Show what is kept of `program words --help`; whether there is such a page, and it still holds."""
    try:
        path = _page_path(program, words, os.environ)
        if path is None or changeable_by_others(path) is not None:
            return False
        with open_regular(path) as file:
            kept, text, end = file.read().decode().split("\0")
        used = kept.split("\n", 2)[1].split()
        now = fingerprint_of(used, safe_layers(program, used, os.environ))
        if end or kept != f"{_head(program, words)}\n{now}":
            return False
        guard_standard_streams()
        out = Streams().out
        out.write(f"{text}\n")
        out.flush()
    except (OSError, ValueError, IndexError, CallsheetError):  # what shows it anew says what is wrong
        return False
    return True


def _page_path(program: str, words: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """None where no page has such a name."""
    if not all(word.replace("-", "").isalnum() for word in words):
        return None
    layers = layers_with(program, [], environ)
    return f"{compiled_path(program, environ, layers)}.{'.'.join(words)}.{help_width(Streams().out)}.help"


def _head(program: str, words: Sequence[str]) -> str:
    here = os.path.dirname(os.path.abspath(__file__))
    states = [os.stat(os.path.join(here, name)) for name in _LAID_OUT_BY]
    return f"{program} {' '.join(words)} {' '.join(f'{each.st_size}.{each.st_mtime_ns}' for each in states)}"
