"""Whether the headers that definitions send are none that decide where or how a request is sent."""

from __future__ import annotations

from collections.abc import Mapping

from ..definition import Definition, Definitions
from ..deployment import ON
from ..headers import OF_THE_CONNECTION
from ..locate import Path
from .problem import Finding, Findings


def header_findings(_: Definitions, definition: Definition) -> Findings:
    """Of an operation or a product."""
    there = definition.table.get(ON, {})
    yield from _of(definition.table, ())
    for deployment, here in there.items():
        yield from _of(here, (ON, deployment))


def _of(table: Mapping[str, Mapping[str, str]], at: Path) -> Findings:
    for name in table.get("headers", ()):
        if name.lower() in OF_THE_CONNECTION:
            text = "the program sets this header: it decides where or how a request is sent"
            yield Finding((*at, "headers", name), text)
