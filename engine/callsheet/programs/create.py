"""Making a program of an OpenAPI document, and what an update would change in it."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import UsageError
from ..language.checks.requests import class_of_command
from ..language.layers import Layer
from ..language.load import load_definitions
from ..language.merge import deployment_variants
from ..language.problem import Key
from ..language.source_file import EXTEND, LANGUAGE, NEWEST, PROGRAM, Definition, Definitions
from ..openapi import ImportResult, import_document
from ..openapi.definition_files import NO_IMPORT, EarlierImport, definition_file_text
from ..openapi.operation_definitions import file_slug
from ..openapi.security import CredentialPlace
from ..openapi.sound import SoundImport, without_unsound_operations
from ..reach import ITSELF, KEYS, OPTIONS, REACH, Reach
from .api_resources import Api, without_owners
from .everyday import TakenNames, everyday_definitions, shared_views
from .installed import NO_MANIFEST, Manifest, changes_of_files, is_untouched
from .naming import prefix_of, words_of

if TYPE_CHECKING:
    from ..language.shape.commands import CommandDefinition
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition


# A program out of an OpenAPI document: its operations, everyday commands for them, and how one signs in.


_YOURS = """\
# Made by `callsheet new`. It follows the document at each update, until you change it: then it is yours, and stays.
"""
_HEAD = f"{_YOURS}\n{LANGUAGE} = {NEWEST}\n"
_IMPORTED = ("service", "product")  # which the import has defined already
_FILE = "program/program.toml"  # files at the top are a person's, and laid over all that is below
_GENERIC: dict[str, dict[str, Any]] = {
    "token": {"title": "A token", "scheme": "bearer", "secret": "token"},
    "basic": {"title": "User name and password", "scheme": "basic", "secret": "password"},
}
_CALLS = ("command", "op call")
_NONE = {"title": "No credential", "scheme": "none"}
# Operations that tell who is asking, the likeliest first.
_LISTED = 3  # names in a note
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
    if _CALLS in below:
        kinds |= _signin_definitions(program, {}, below)
    return Made({_FILE: f"{_HEAD}\n{definition_file_text(kinds)}"}, 0, 0, [])


def create_program(program: str, source: ProgramSource, uses: Sequence[str], layers: Sequence[Layer]) -> Made:
    """`layers` are the definitions of the programs that it uses. Raises `DefinitionError`; writes nothing.

    What of the document the program would not accept is left out with a note.
    """
    made, _ = recreate_program(program, source, uses, layers)
    return made


def recreate_program(
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
    if _CALLS not in below:
        raise UsageError("--from needs the commands of `client`, which call operations", hint="add --uses client")
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

    built: dict[str, str] = {}
    made: dict[str, dict[str, dict[str, Any]]] = {}

    def build(result: ImportResult, without: Collection[Key]) -> dict[str, str]:
        built.clear()  # what is built last is what is taken
        made.clear()
        made.update(_command_definitions(program, result, below, paginators, without))
        built.update(_definition_files(program, result, uses, below, made))
        if target is None:
            return built
        changes = changes_of_files(target, manifest, built)
        return {**changes.same, **changes.write}

    own = [] if target is None else [Layer(target)]
    leaving = [path for path in manifest.files if target is not None and is_untouched(target, manifest, path)]
    found = without_unsound_operations([*layers, *own], imported, program, target, build=build, leaving=leaving)
    commands = [table for kinds in made.values() for table in kinds["command"].values()]
    resources = [table for kinds in made.values() for table in kinds["resource"].values()]
    called = {*_calls_in([commands, resources])}
    notes = [*found.result.notes, *_uncalled_note(program, [id for id in found.result.operations if id not in called])]
    return Made({**found.result.files, **built}, len(found.result.operations), len(commands), notes), found


def _calls_in(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("call"), str):
            yield value["call"]
        for key, part in value.items():
            if key != "params":
                yield from _calls_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _calls_in(part)


def _uncalled_note(program: str, ids: list[str]) -> Iterator[str]:
    if ids:
        listed = ", ".join(ids[:_LISTED]) + (f" and {len(ids) - _LISTED} more" if ids[_LISTED:] else "")
        yield f"operations without a command of their own: {listed}; `{program} op call ID` calls any operation"


def _command_definitions(
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
    tools = (each.table["agents"].get("name", "") for each in tree if "agents" in each.table)
    words |= {name.partition("_")[0] for name in tools}  # `inbox list` would be `inbox_list`, too
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
    made = everyday_definitions(api, taken)
    resources = {id: table for kinds in made.values() for id, table in kinds["resource"].items()}
    gone = {id for kind, id in without if kind == "resource"}
    left_out = {*without, *(("resource", id) for id in without_owners(resources, gone))}
    return {group: _keep_definitions(kinds, left_out) for group, kinds in made.items()} if without else made


def _keep_definitions(kinds: Mapping[str, Mapping[str, Any]], without: Collection[Key]) -> dict[str, dict[str, Any]]:
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


def _definition_files(
    program: str,
    result: ImportResult,
    uses: Sequence[str],
    below: Definitions,
    made: Mapping[str, dict[str, dict[str, Any]]],
) -> dict[str, str]:
    product = result.introduction["product"][program]
    groups = list(made)
    table: dict[str, Any] = {"title": _one_line(product["title"]), "prefix": prefix_of(program), "uses": list(uses)}
    examples = [each for kinds in made.values() for command in kinds["command"].values() for each in _first(command)]
    table["examples"] = [*examples[:3], "op list"]
    table["sections"] = {
        **({"Commands": groups} if groups else {}),
        "Everywhere": ["open", "ui", "watch", "undo", "journals", "alias"],
        "Whole sites": ["pull", "plan", "apply", "mirror", "sql"],
        "Any operation": ["op", "api"],
        "Webhooks": ["webhook"],
        "Agents": ["mcp", "agent"],
        "Set up": ["init", "sandbox", "auth", "config", "doctor", "definitions", "completion", "help", "version"],
    }
    if not {"client", "listener"} <= set(uses):
        del table["sections"]
    shared = shared_views(made)
    first = {
        "program": {program: table},
        **_signin_definitions(program, result.introduction.get("auth", {}), below),
        **({"view": shared} if shared else {}),
    }
    if probe := _credential_probe(result):
        first["product"] = {program: {"probe": probe}}
    changes = {kind: first.pop(kind) for kind in _IMPORTED if kind in first}
    texts = {
        _FILE: f"{_HEAD}\n{definition_file_text(first)}"
        + (f"\n{definition_file_text(changes, EXTEND)}" if changes else "")
    }
    for group, kinds in made.items():
        present = {kind: tables for kind, tables in kinds.items() if tables}
        texts[f"commands/{file_slug(group)}.toml"] = f"{_HEAD}\n{definition_file_text(present)}"
    return texts


def _first(command: CommandDefinition) -> list[str]:
    return list(command.get("examples", ()))[:1]


def _one_line(text: str) -> str:
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _signin_definitions(
    program: str, described: Mapping[str, Mapping[str, Any]], below: Definitions
) -> dict[str, dict[str, Any]]:
    """The ways of signing in besides those that the document describes, and which is the usual one.

    Where it only knows OAuth, a token that a person has already is one more way, and needs no app of one's own. A
    program that it uses may have deployments, and ways of its own, which stay those of its services.
    """
    ways: dict[str, dict[str, Any]] = {}
    if described and all(way["scheme"] == "oauth2" for way in described.values()):
        ways = {f"{program}-access-token": {"title": "An access token", "scheme": "bearer", "secret": "access token"}}
    own = [*ways, *described]
    if below.of_kind("deployment"):
        return {**({"auth": ways} if ways else {}), **_with_service(program, own)}
    ways = {"none": _NONE, **(ways if described else _GENERIC)}
    deployment = {"default": {"title": program, "method": next(iter(own), "none")}}
    return {"deployment": deployment, "auth": ways, **_with_service(program, [*own, "none"] if own else [])}


def _with_service(program: str, ways: list[str]) -> dict[str, dict[str, Any]]:
    return {"service": {program: {"auth": ways}}} if ways else {}


def _credential_probe(result: ImportResult) -> dict[str, Any] | None:
    """What tells whether a credential works: who one is, else any list that needs no parameter."""
    free = [
        id
        for id, table in result.operations.items()
        if table["http"].startswith("GET ") and "{" not in table["http"] and not _needs_arguments(table)
    ]
    for word in _WHO:
        for id in free:
            if result.operations[id]["http"].rstrip("/").lower().endswith(f"/{word}"):
                return {"call": id}
    lists = [id for id in free if result.replies[id].is_list]
    return {"call": lists[0]} if lists else None


def _needs_arguments(table: OperationDefinition) -> bool:
    return any(param.get("required") for param in table.get("params", ())) or "body" in table


# What definitions reach that would not be reached without them, in words to agree to.


_HOSTS = re.compile(r"(?:https?|wss?|nats|tls)://[^/\s\"'?#]+", re.IGNORECASE)
_LINKS_ONLY = frozenset({"docs", "page", "register", "documentation", "help", "about"})


class ReachedThing(NamedTuple):
    """One thing that is reached, and by what. All of it is others' text."""

    kind: Reach
    text: str


class ProgramDifference(NamedTuple):
    """`changed` and `gone`: what is there without the program, by kind and id; `destroys`: commands that do."""

    reached: list[ReachedThing]
    changed: list[str]
    gone: list[str]
    destroys: list[str]


def program_difference(definitions: Definitions, below: Definitions, aliases: dict[str, str]) -> ProgramDifference:
    """What `definitions` reach and change that `below`, the same without the program, do not.

    Both are whole: what is laid over, inherited and shared is in each table. Raises `UsageError` for a function of the
    engine that does not declare what it reaches.
    """
    reached: dict[ReachedThing, None] = {}
    changed: list[str] = []
    for (kind, id), definition in definitions.items():
        known = below.get((kind, id))
        if known is not None and known.table == definition.table:
            continue
        without = set(reached_by(known)) if known is not None else _programs_below(below) if kind == PROGRAM else set()
        reached |= dict.fromkeys(each for each in reached_by(definition) if each not in without)
        if known is not None:
            changed.append(f'{kind} "{id}"{_hiding(known, definition)}')
    gone = [f'{kind} "{id}"' for kind, id in below if kind != PROGRAM and (kind, id) not in definitions]
    destroys = [
        each.id
        for key, each in definitions.items()
        if key[0] == "command" and key not in below and class_of_command(definitions, each, aliases) == "destroy"
    ]
    return ProgramDifference(list(reached), changed, gone, destroys)


def _programs_below(below: Definitions) -> set[ReachedThing]:
    return {each for (kind, _), known in below.items() if kind == PROGRAM for each in reached_by(known)}


def _hiding(known: Definition, definition: Definition) -> str:
    hidden = not known.table.get("hidden") and definition.table.get("hidden")
    return " (hidden)" if hidden else ""


def reached_by(definition: Definition) -> Iterator[ReachedThing]:
    kind, table = definition.kind, definition.table
    where = "the program" if kind == PROGRAM else f'{kind} "{definition.id}"'
    yield from _of_addresses(table)
    if table.get("scheme") != "none":  # then there is no credential
        yield from _of_keys(table, KEYS.get(kind, {}), where)
    if offered := _offered_to_agents(kind, table):
        yield ReachedThing("offers", f"{where}: {json.dumps(offered, ensure_ascii=False)}")
    if kind == "command":
        yield from _of_command(table, where)
    elif kind == "route":
        for handler in table["do"]:
            yield from _of_handler(handler, where)
    elif kind == "queue":
        yield from _of_keys(table, _declared_reach("queue", table["driver"]), where)
    elif kind == PROGRAM:
        for key in ("options", "paging", "journal"):
            yield from _of_params(table.get(key, ()), OPTIONS, where, tells_all=True)
        yield from (
            ReachedThing("sets", f"{where}: {alias} = {words}") for alias, words in table.get("aliases", {}).items()
        )


def _offered_to_agents(kind: str, table: dict[str, Any]) -> dict[str, Any]:
    """What agents read of it, and what it does with which values."""
    return table if kind == "toolset" else cast("dict[str, Any]", table.get("agents", {}))


def _of_command(table: dict[str, Any], where: str) -> Iterator[ReachedThing]:
    builtin = table.get("builtin")
    declared = _declared_reach("builtin", builtin) if builtin else {}
    if ITSELF in declared:
        yield ReachedThing(declared[ITSELF], f"{where}: {builtin}")
    for here in (table, *deployment_variants(table).values()):
        yield from _of_params(here.get("params", ()), declared, where, tells_all=bool(builtin))


def _of_params(
    params: Iterable[dict[str, Any]], declared: dict[str, Reach], where: str, *, tells_all: bool
) -> Iterator[ReachedThing]:
    """Values that nobody types. With `tells_all`, also those of which nothing is declared: the engine acts on them."""
    for param in params:
        reads = _reads_files(param.get("convert"))
        if "default" not in param:
            continue
        value = param["default"]
        named = f"{where}: --{param['name']} = {_shown_value(value)}"
        if param["name"] in declared:
            yield ReachedThing(declared[param["name"]], named)
        elif param.get("type") == "path" or (reads and _names_file(value)):
            yield ReachedThing("reads", named)
        elif tells_all:
            yield ReachedThing("sets", named)


def _names_file(value: Any) -> bool:
    return any(str(each).startswith(("@", "-")) for each in (value if isinstance(value, list) else [value]))


def _reads_files(converter: str | None) -> bool:
    """Whether it does where a value names one; a converter that is only known when the command runs may be any."""
    names = REACH["converter"] if converter and "{" in converter else [converter] if converter else []
    return ITSELF in {key for name in names for key in _declared_reach("converter", name)}


def _of_handler(handler: dict[str, Any], where: str) -> Iterator[ReachedThing]:
    declared = _declared_reach("handler", handler["handler"])
    kinds = dict.fromkeys(kind for key, kind in declared.items() if key in handler)
    yield from (ReachedThing(kind, f"{where}: {json.dumps(handler, ensure_ascii=False)}") for kind in kinds)


def _declared_reach(registry: str, name: str) -> dict[str, Reach]:
    """Raises `UsageError` for a function that does not say what it reaches."""
    if name not in REACH[registry]:
        raise UsageError(f"{registry} {name!r} does not declare what it reaches, so this cannot be installed")
    return REACH[registry][name]


def _of_keys(value: Any, keys: dict[str, Reach], where: str) -> Iterator[ReachedThing]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and not (keys[key] == "connects" and _HOSTS.search(str(inner))):  # these are told by host
                yield ReachedThing(keys[key], f"{where}: {key} = {_shown_value(inner)}")
            else:
                yield from _of_keys(inner, keys, where)
    elif isinstance(value, list):
        for inner in value:
            yield from _of_keys(inner, keys, where)


def _of_addresses(value: Any, key: str = "") -> Iterator[ReachedThing]:
    """Hosts that something may be sent to: any text that has one, but for links that only people follow."""
    if isinstance(value, str) and key not in _LINKS_ONLY:
        yield from (ReachedThing("connects", found.lower()) for found in _HOSTS.findall(value))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _of_addresses(inner, str(name))
    elif isinstance(value, list):
        for inner in value:
            yield from _of_addresses(inner, key)


def _shown_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
