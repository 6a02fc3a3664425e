"""A program out of an OpenAPI document: its operations, everyday commands for them, and how one signs in."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalog.compile import qualified_names
from ..errors import DefinitionError
from ..language.check import problems_in
from ..language.definition import Definitions
from ..language.layers import Layer
from ..language.load import load
from ..language.source_file import EXTEND, LANGUAGE, NEWEST
from ..openapi import ImportResult, import_document
from ..openapi.layout import layout
from ..openapi.sound import sound
from ..registry import names
from ..written import write
from .everyday import Api, TakenNames, everyday, shared_views
from .names import prefix_of

if TYPE_CHECKING:
    from ..language.shape.commands import CommandDefinition
    from ..language.shape.paging import PaginatorDefinition
    from ..language.shape.rest import OperationDefinition

_YOURS = "# Made by `callsheet new`, and yours from then on: importing the document again leaves this file alone.\n"
_HEAD = f"{_YOURS}\n{LANGUAGE} = {NEWEST}\n"
_IMPORTED = ("service", "product")  # which the import has defined already
_FILE = "program/program.toml"  # files at the top are a person's, and laid over all that is below
_READABLE = 0o644
_COMMAND = re.compile(r"^\[command\.(?:\"[^\"]*\"|[\w-]+)\]$", re.MULTILINE)
_GENERIC: dict[str, dict[str, Any]] = {
    "token": {"title": "A token", "scheme": "bearer", "secret": "token"},
    "basic": {"title": "User name and password", "scheme": "basic", "secret": "password"},
}
_NONE = {"title": "No credential", "scheme": "none"}
# Operations that tell who is asking, the likeliest first.
_WHO = ("me", "self", "whoami", "myself", "user", "account", "profile")


class ProgramSource(NamedTuple):
    """Where a program comes from. `base_url` and `title` stand in the place of what the document says."""

    text: str
    name: str
    base_url: str | None
    title: str | None


class Made(NamedTuple):
    """`files` by path relative to the program's directory of definitions."""

    files: dict[str, str]
    operations: int
    commands: int
    notes: list[str]


def create_empty(program: str, title: str, uses: Sequence[str], layers: Sequence[Layer]) -> Made:
    """A program that has what those have that it uses, and can have an API imported where it can call one."""
    kinds: dict[str, dict[str, Any]] = {
        "program": {program: {"title": title, "prefix": prefix_of(program), "uses": list(uses)}}
    }
    below = load([*layers])
    if ("command", "op call") in below and not any(kind == "deployment" for kind, _ in below):
        kinds |= _access(program, {})
    return Made({_FILE: f"{_HEAD}\n{layout(kinds)}"}, 0, 0, [])


def create(program: str, source: ProgramSource, uses: Sequence[str], layers: Sequence[Layer]) -> Made:
    """`layers` are the definitions of the programs that it uses. Raises `DefinitionError`; writes nothing.

    What of the document the program would not accept is left out with a note.
    """
    below = load([*layers])
    paginators = {id: each.table for (kind, id), each in below.items() if kind == "paginator"}
    own = {"program": {program: {"title": program, "prefix": prefix_of(program), "uses": list(uses)}}}
    imported = import_document(
        source.text,
        program,
        name=source.name,
        paginators=paginators,
        introduce=1,
        title=source.title,
        server=source.base_url,
        with_replies=True,
    )
    with _written({_FILE: layout({**own, **_access(program, imported.introduction.get("auth", {}))})}) as first:
        result = sound([*layers, first], imported, program).result
    notes = list(result.notes)
    made = _commands(program, result, below, paginators)
    files = {**result.files, **_files(program, result, uses, made)}
    files = _without_unsound(files, layers, notes)
    commands = sum(len(_COMMAND.findall(text)) for path, text in files.items() if path.startswith("commands/"))
    return Made(files, len(result.operations), commands, notes)


def _commands(
    program: str, result: ImportResult, below: Definitions, paginators: Mapping[str, PaginatorDefinition]
) -> dict[str, dict[str, dict[str, Any]]]:
    programs = [each.table for (kind, _), each in below.items() if kind == "program"]
    words = {id.split()[0] for kind, id in below if kind in ("group", "command")}
    taken = TakenNames(
        program,
        words | {alias for table in programs for alias in table.get("aliases", ())},
        {"help", "h", *_option_names(programs, "options")},
        _option_names(programs, "paging"),
        {id for kind, id in below if kind == "view"},
    )
    return everyday(Api(result.operations, result.schemas, result.replies, paginators), taken)


def _option_names(programs: list[dict[str, Any]], key: str) -> set[str]:
    options = [option for table in programs for option in table.get(key, ())]
    return {name for option in options for name in (option["name"], *option.get("aliases", ()))}


def _files(
    program: str, result: ImportResult, uses: Sequence[str], made: Mapping[str, dict[str, dict[str, Any]]]
) -> dict[str, str]:
    product = result.introduction["product"][program]
    groups = list(made)
    table: dict[str, Any] = {"title": _one_line(product["title"]), "prefix": prefix_of(program), "uses": list(uses)}
    examples = [each for kinds in made.values() for command in kinds["command"].values() for each in _first(command)]
    table["examples"] = [*examples[:3], "op list"]
    table["sections"] = {
        **({"Commands": groups} if groups else {}),
        "Any operation": ["op", "api"],
        "Webhooks": ["webhook"],
        "Set up": ["init", "sandbox", "auth", "config", "doctor", "alias", "definitions", "completion", "version"],
    }
    if not {"client", "listener"} <= set(uses):
        del table["sections"]
    shared = shared_views(made)
    first = {
        "program": {program: table},
        **_access(program, result.introduction.get("auth", {})),
        **({"view": shared} if shared else {}),
    }
    if probe := _probe(result):
        first["product"] = {program: {"probe": probe}}
    changes = {kind: first.pop(kind) for kind in _IMPORTED if kind in first}
    texts = {_FILE: f"{_HEAD}\n{layout(first)}" + (f"\n{layout(changes, EXTEND)}" if changes else "")}
    for group, kinds in made.items():
        present = {kind: tables for kind, tables in kinds.items() if tables}
        texts[f"commands/{group}.toml"] = f"{_HEAD}\n{layout(present)}"
    return texts


def _first(command: CommandDefinition) -> list[str]:
    return list(command.get("examples", ()))[:1]


def _one_line(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _access(program: str, described: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The ways of signing in besides those that the document describes, and which is the usual one.

    Where it only knows OAuth, a token that a person has already is one more way, and needs no app of one's own.
    """
    if described and all(way["scheme"] == "oauth2" for way in described.values()):
        token = f"{program}-access-token"
        return {
            "deployment": {"default": {"title": program, "method": token}},
            "auth": {"none": _NONE, token: {"title": "An access token", "scheme": "bearer", "secret": "access token"}},
            "service": {program: {"auth": [token, *described, "none"]}},
        }
    usual = next(iter(described), "none")
    ways = {"none": _NONE} if described else {"none": _NONE, **_GENERIC}
    service = {"service": {program: {"auth": [*described, "none"]}}} if described else {}
    return {"deployment": {"default": {"title": program, "method": usual}}, "auth": ways, **service}


def _probe(result: ImportResult) -> dict[str, Any] | None:
    """What tells whether a credential works: who one is, else any list that needs no parameter."""
    free = [
        id
        for id, table in result.operations.items()
        if table["http"].startswith("GET ") and "{" not in table["http"] and not _needs(table)
    ]
    for word in _WHO:
        for id in free:
            if result.operations[id]["http"].rstrip("/").lower().endswith(f"/{word}"):
                return {"call": id}
    lists = [id for id in free if result.replies[id].is_list]
    return {"call": lists[0]} if lists else None


def _needs(table: OperationDefinition) -> bool:
    return any(param.get("required") for param in table.get("params", ())) or "body" in table


class _written:  # noqa: N801 - reads as the context manager that it is
    """Files in a directory that is gone afterwards, as a layer."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files
        self._directory = tempfile.TemporaryDirectory()

    def __enter__(self) -> Layer:
        save(self._files, self._directory.name)
        return Layer(self._directory.name)

    def __exit__(self, *_: object) -> None:
        self._directory.cleanup()


def save(files: Mapping[str, str], directory: str) -> None:
    for path, text in files.items():
        place = os.path.join(directory, *path.split("/"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        write(place, text.encode(), _READABLE)


def _without_unsound(files: dict[str, str], layers: Sequence[Layer], notes: list[str]) -> dict[str, str]:
    """The files without the commands that the check refuses; anything else that is wrong raises `DefinitionError`."""
    import tomllib

    with _written(files) as layer:
        definitions = load([*layers, layer])
        problems = problems_in(definitions, {"operation": qualified_names(definitions)}, names())
    if not problems:
        return files
    wrong = {(each.definition.kind, each.definition.id): f"{each.where}{each.finding.text}" for each in problems}
    others = [f'{kind} "{id}": {told}' for (kind, id), told in wrong.items() if kind not in ("command", "view")]
    if others:
        raise DefinitionError(others[0], details=others[1:])
    kept = dict(files)
    for path, text in files.items():
        if path.startswith("commands/"):
            kinds = {kind: tables for kind, tables in tomllib.loads(text).items() if kind != LANGUAGE}
            for kind, id in wrong:
                kinds.get(kind, {}).pop(id, None)
            kinds["command"] = {
                id: {key: value for key, value in table.items() if key != "view" or ("view", value) not in wrong}
                for id, table in kinds.get("command", {}).items()
            }
            kept[path] = f"{_HEAD}\n{layout({kind: tables for kind, tables in kinds.items() if tables})}"
    notes += [f'command "{id}" is left out: {told}' for (kind, id), told in wrong.items() if kind == "command"]
    return kept
