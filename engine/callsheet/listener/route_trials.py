"""What is made of routes before anything listens: what could not be made is defined wrongly."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..errors import CallsheetError, did_you_mean
from ..language.load import program_names
from ..language.problem import Finding, Problem
from ..language.source_file import Definition, Definitions
from ..registry import HANDLERS, resolve_entry
from .handlers import HandlerContext
from .handlers.brokers import ClientMissing
from .routes import make_route

if TYPE_CHECKING:
    from .handlers.base_handler import Base

_LOGIN = "user:word"  # of nobody
_TIMEOUT = 10.0


def trial_problems_of_routes(definitions: Definitions, environ: Mapping[str, str]) -> Iterator[Problem]:
    """Secrets that are named are taken to be there, and so are programs, files and clients of brokers."""
    envelopes = {each.id: each.table for each in definitions.of_kind("envelope")}
    brokers = {each.id: each.table for each in definitions.of_kind("broker")}
    for route in definitions.of_kind("route"):
        tables = [cast("dict[str, Any]", table) for table in route.table["do"]]
        named = {name for table in tables for name in _variables_of(table)}
        folder = os.path.dirname(os.path.abspath(route.files[-1].path))
        context = HandlerContext(
            folder, {**environ, **dict.fromkeys(named, _LOGIN)}, frozenset(), lambda _: None, _TIMEOUT, _run_nothing,
            envelopes=envelopes, brokers=brokers, stored=lambda _: _LOGIN,
        )  # fmt: skip
        yield from (Problem(route, finding) for finding in _findings_of_route(route, tables, context))


def _findings_of_route(route: Definition, tables: Sequence[Any], context: HandlerContext) -> Iterator[Finding]:
    made: list[Base] = []
    for place, table in enumerate(tables):
        kind = cast("type[Base]", resolve_entry(HANDLERS[table["handler"]]))
        try:
            if not kind.imports_code and not _is_elsewhere(table.get("program"), context.environ):
                made.append(kind(table, context))
        except ClientMissing:
            pass
        except CallsheetError as error:
            yield Finding(("do", place), error.message.removeprefix(f"handler {table['handler']!r}: "))
            return
    if "reply" in route.table and len(made) == len(tables):
        try:
            make_route(route.id, route.table, made, lambda _: None)
        except CallsheetError as error:
            yield Finding(("reply",), error.message)


def _is_elsewhere(program: str | None, environ: Mapping[str, str]) -> bool:
    """Whether it may be a program that another machine has: none that is here is called nearly so."""
    known = program_names(environ) if program is not None else ()
    return program is not None and program not in known and not did_you_mean(program, known)


def _variables_of(table: Mapping[str, Any]) -> Iterator[str]:
    yield from table.get("secrets", ())
    if variable := table.get("login", {}).get("env"):
        yield variable


def _run_nothing(*_: Any, **__: Any) -> int:
    return 0
