"""What definitions reach that would not be reached without them, in words to agree to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import UsageError
from ..language.checks.calls import class_of_command
from ..language.merge import deployment_variants
from ..language.source_file import PROGRAM, Definition, Definitions
from ..reach import ITSELF, KEYS, OPTIONS, REACH, Reach

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
    if kind == "command":
        yield from _of_command(table, where)
    elif kind == "route":
        for handler in table["do"]:
            yield from _of_handler(handler, where)
    elif kind in ("tool", "toolset") or (kind == "resource" and "agents" in table):
        yield ReachedThing("offers", f"{where}: {json.dumps(_offered(table), ensure_ascii=False)}")
    elif kind == "queue":
        yield from _of_keys(table, _declared("queue", table["driver"]), where)
    elif kind == PROGRAM:
        for key in ("options", "paging", "journal"):
            yield from _of_params(table.get(key, ()), OPTIONS, where, tells_all=True)
        yield from (
            ReachedThing("sets", f"{where}: {alias} = {words}") for alias, words in table.get("aliases", {}).items()
        )


def _offered(table: dict[str, Any]) -> dict[str, Any]:
    """What agents read of it, and what it does with which values."""
    of_agents: dict[str, Any] = table.get("agents", {})
    return {key: table[key] for key in ("command", "commands", "default", "help", "values") if key in table} | of_agents


def _of_command(table: dict[str, Any], where: str) -> Iterator[ReachedThing]:
    builtin = table.get("builtin")
    declared = _declared("builtin", builtin) if builtin else {}
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
        named = f"{where}: --{param['name']} = {_shown(value)}"
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
    return ITSELF in {key for name in names for key in _declared("converter", name)}


def _of_handler(handler: dict[str, Any], where: str) -> Iterator[ReachedThing]:
    declared = _declared("handler", handler["handler"])
    kinds = dict.fromkeys(kind for key, kind in declared.items() if key in handler)
    yield from (ReachedThing(kind, f"{where}: {json.dumps(handler, ensure_ascii=False)}") for kind in kinds)


def _declared(registry: str, name: str) -> dict[str, Reach]:
    """Raises `UsageError` for a function that does not say what it reaches."""
    if name not in REACH[registry]:
        raise UsageError(f"{registry} {name!r} does not declare what it reaches, so this cannot be installed")
    return REACH[registry][name]


def _of_keys(value: Any, keys: dict[str, Reach], where: str) -> Iterator[ReachedThing]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in keys and not (keys[key] == "connects" and _HOSTS.search(str(inner))):  # these are told by host
                yield ReachedThing(keys[key], f"{where}: {key} = {_shown(inner)}")
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


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
