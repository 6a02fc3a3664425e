"""A program out of an OpenAPI document: its operations, everyday commands for them, and how one signs in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.checks.problem import Key
from ..language.layers import Layer
from ..language.load import load_definitions
from ..language.source_file import EXTEND, LANGUAGE, NEWEST, Definitions
from ..openapi import ImportResult, import_document
from ..openapi.definition_files import definition_file_text
from ..openapi.earlier import NO_IMPORT, EarlierImport
from ..openapi.security import CredentialPlace
from ..openapi.sound import SoundImport, without_unsound_operations
from .api_resources import Api
from .everyday import TakenNames, everyday, shared_views
from .naming import prefix_of, words_of
from .share import NO_MANIFEST, Manifest, changes_of_files, is_untouched

if TYPE_CHECKING:
    from ..language.shape.commands import CommandDefinition
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition

_YOURS = """\
# Made by `callsheet new`. It follows the document at each update, until you change it: then it is yours, and stays.
"""
_HEAD = f"{_YOURS}\n{LANGUAGE} = {NEWEST}\n"
_IMPORTED = ("service", "product")  # which the import has defined already
_FILE = "program/program.toml"  # files at the top are a person's, and laid over all that is below
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
    path: str | None = None  # where the text was, if files beside it may belong to it


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
    below = load_definitions([*layers])
    if ("command", "op call") in below and not any(kind == "deployment" for kind, _ in below):
        kinds |= _access(program, {})
    return Made({_FILE: f"{_HEAD}\n{definition_file_text(kinds)}"}, 0, 0, [])


def create(program: str, source: ProgramSource, uses: Sequence[str], layers: Sequence[Layer]) -> Made:
    """`layers` are the definitions of the programs that it uses. Raises `DefinitionError`; writes nothing.

    What of the document the program would not accept is left out with a note.
    """
    made, _ = renewed(program, source, uses, layers)
    return made


def renewed(
    program: str,
    source: ProgramSource,
    uses: Sequence[str],
    layers: Sequence[Layer],
    target: str | None = None,
    manifest: Manifest = NO_MANIFEST,
    earlier: EarlierImport = NO_IMPORT,
) -> tuple[Made, SoundImport]:
    """The same; where the program is at `target` already, with what a person has changed there since the `manifest`."""
    below = load_definitions([*layers])
    paginators = {id: each.table for (kind, id), each in below.items() if kind == "paginator"}
    imported = import_document(
        source.text,
        program,
        name=source.name,
        path=source.path,
        paginators=paginators,
        introduce=1,
        title=source.title,
        server=source.base_url,
        with_replies=True,
        earlier=earlier,
        credential_names=[
            CredentialPlace(place, name)
            for (kind, _), each in below.items()
            if kind == "program"
            for place, names in each.table.get("credentials", {}).items()
            for name in names
        ],
    )

    def build(result: ImportResult, without: Collection[Key]) -> dict[str, str]:
        files = _files(program, result, uses, _commands(program, result, below, paginators, without))
        if target is None:
            return files
        changes = changes_of_files(target, manifest, files)
        return {**changes.same, **changes.write}

    own = [] if target is None else [Layer(target)]
    leaving = [path for path in manifest.files if target is not None and is_untouched(target, manifest, path)]
    found = without_unsound_operations([*layers, *own], imported, program, target, build=build, leaving=leaving)
    built = _files(program, found.result, uses, _commands(program, found.result, below, paginators, found.dropped))
    commands = sum(len(_COMMAND.findall(text)) for path, text in built.items() if path.startswith("commands/"))
    return Made(
        {**found.result.files, **built}, len(found.result.operations), commands, list(found.result.notes)
    ), found


def _commands(
    program: str,
    result: ImportResult,
    below: Definitions,
    paginators: Mapping[str, PaginatorDefinition],
    without: Collection[Key],
) -> dict[str, dict[str, dict[str, Any]]]:
    programs = [each.table for (kind, _), each in below.items() if kind == "program"]
    tree = [each for (kind, _), each in below.items() if kind in ("group", "command")]
    words = {each.id.split()[0] for each in tree}
    words |= {alias for each in tree if " " not in each.id for alias in each.table.get("aliases", ())}
    taken = TakenNames(
        program,
        words | {alias for table in programs for alias in table.get("aliases", ())},
        {"help", "h", "d", *_option_names(programs, "options")},
        _option_names(programs, "paging"),
        {id for kind, id in below if kind == "view"},
        {id for kind, id in below if kind == "resource"},
        words_of([table.get("naming", {}) for table in programs]),
    )
    api = Api(result.operations, result.schemas, result.replies, paginators, taken.naming.nouns)
    made = everyday(api, taken)
    return {group: _kept(kinds, without) for group, kinds in made.items()} if without else made


def _kept(kinds: Mapping[str, Mapping[str, Any]], without: Collection[Key]) -> dict[str, dict[str, Any]]:
    """Without some resources, commands and views, and what refers to them; without its view a command prints all."""
    kept: dict[str, dict[str, Any]] = {}
    for kind, tables in kinds.items():
        kept[kind] = {id: table for id, table in tables.items() if (kind, id) not in without}
    for table in kept["command"].values():
        if ("view", table.get("view")) in without:
            del table["view"]
        if ("resource", table.get("keep", {}).get("snapshot")) in without:
            del table["keep"]
        for param in table.get("params", ()):
            for key in [key for key in ("lookup", "suggest") if ("resource", param.get(key)) in without]:
                del param[key]
    for table in kept["resource"].values():
        if ("command", table.get("agents", {}).get("command")) in without:
            del table["agents"]
    return kept


def _option_names(programs: list[dict[str, Any]], key: str) -> set[str]:
    options = [option for table in programs for option in table.get(key, ())]
    shorts = {option["short"] for option in options if "short" in option}
    return shorts | {name for option in options for name in (option["name"], *option.get("aliases", ()))}


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
    texts = {
        _FILE: f"{_HEAD}\n{definition_file_text(first)}"
        + (f"\n{definition_file_text(changes, EXTEND)}" if changes else "")
    }
    for group, kinds in made.items():
        present = {kind: tables for kind, tables in kinds.items() if tables}
        texts[f"commands/{group}.toml"] = f"{_HEAD}\n{definition_file_text(present)}"
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
