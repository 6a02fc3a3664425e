"""Comma-separated values (RFC 4180, with the platform's line ends) that a spreadsheet opens without harm."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .clean import spreadsheet_cell

_QUOTED = re.compile('[",;]')


def rows(header: Sequence[str] | None, cells: Iterable[Sequence[str]]) -> Iterator[str]:
    """One line for the header and for each row, with its line break."""
    if header is not None:
        yield _line(header)
    for row in cells:
        yield _line(row)


def _line(cells: Sequence[str]) -> str:
    line = ",".join(_cell(text) for text in cells)
    return f"{line}\n" if line else '""\n'


def _cell(text: str) -> str:
    cell = spreadsheet_cell(text)
    if _QUOTED.search(cell) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell
