"""Whether command lines that definitions show can be given: examples, and what is suggested for other words."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from ...durations import parse_typed_duration
from ...errors import DefinitionError, did_you_mean
from ...registry import REGISTRIES
from ..command_line import bind_words, command_words, missing_parameters
from ..desugar import prints_list
from ..source_file import Definition, Definitions
from .problem import Finding, Findings, Key

if TYPE_CHECKING:
    from ..shape.commands import Param


# Whether the examples of commands are command lines that the commands take.


_ENDS = frozenset({"|", "<", ">", ">>", "&&", "||", ";"})  # what follows is the shell's


class CommandLines:
    """All that a command line of these definitions is read with."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions
        self.commands = {id: definition for (kind, id), definition in definitions.items() if kind == "command"}
        programs = [definition.table for (kind, _), definition in definitions.items() if kind == "program"]
        self.shared = [param for program in programs for param in program.get("options", ())]
        self.paging = [param for program in programs for param in program.get("paging", ())]
        self.journal = [param for program in programs for param in program.get("journal", ())]
        self.names = _names(definitions)
        self.removed = [id for kind, id in definitions.removed if kind == "command"]
        self.programs = [key for key in (*definitions, *definitions.removed) if key[0] == "program"]

    def fault(self, line: str, own_id: str | None) -> str | None:
        """Why a line cannot be given, or None; `own_id` is the command that it has to call."""
        try:
            words = shlex.split(line)
        except ValueError as error:
            return str(error).lower()
        words = words[: next((place for place, word in enumerate(words) if word in _ENDS), len(words))]
        found, rest = command_words(words, self.names, self.shared)
        command = self.commands[self.names[" ".join(found)]]
        if own_id is not None and command.id != own_id:
            return f"calls {command.id!r} instead"
        own = command.table.get("params", [])
        known = {param["name"] for param in own}
        paging = self.paging if prints_list(self.definitions, command.table) else []
        usual = [param for param in [*paging, *self.journal] if param["name"] not in known]
        values = bind_words(rest, [*own, *usual], self.shared)
        if lacking := missing_parameters(values, own):
            return f"does not give {', '.join(lacking)}"
        shared = [param for param in self.shared if param["name"] not in known]
        faults = (
            _misfit(param, value) for param in [*own, *usual, *shared] for value in _each(values.get(param["name"]))
        )
        return next((fault for fault in faults if fault), None)

    def about(self, line: str) -> tuple[Key, ...]:
        """What may be the cause where a line is not taken: the commands that it can mean, and the program."""
        commands = {id for name, id in self.names.items() if _starts(line, name)}
        commands |= {id for id in self.removed if _starts(line, id)}
        return (*(("command", id) for id in sorted(commands)), *self.programs)


def example_findings(_: Definitions, definition: Definition, lines: CommandLines) -> Findings:
    own_id = definition.id if definition.kind == "command" else None
    for place, line in enumerate(definition.table.get("examples", ())):
        try:
            fault = lines.fault(line, own_id)
        except DefinitionError as error:
            fault = error.message
        if fault:
            yield Finding(("examples", place), f"{line!r}: {fault}", lines.about(line))


def _names(definitions: Definitions) -> dict[str, str]:
    """Every way to call a command: its own words, with aliases of its groups and its own, and through defaults."""
    spelled: dict[str, list[str]] = {"": [""]}
    names: dict[str, str] = {}
    tree = [each for each in definitions.values() if each.kind in ("group", "command")]
    for each in sorted(tree, key=lambda each: each.id.count(" ")):
        parent, _, last = each.id.rpartition(" ")
        ways = [
            f"{before} {word}".strip()
            for before in spelled.get(parent, ())
            for word in (last, *each.table.get("aliases", ()))
        ]
        if each.kind == "group":
            spelled[each.id] = ways
            default = f"{each.id} {each.table.get('default')}"
            if ("command", default) in definitions:
                names |= dict.fromkeys(ways, default)
        else:
            names |= dict.fromkeys(ways, each.id)
    for program in (each for (kind, _), each in definitions.items() if kind == "program"):
        short = program.table.get("aliases", {})
        for word, line in short.items():
            names |= {f"{word}{name[len(line) :]}": id for name, id in list(names.items()) if _starts(name, line)}
    return names


def _starts(name: str, line: str) -> bool:
    return name == line or name.startswith(f"{line} ")


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None or value is True else [value]


def _misfit(param: Param, word: str) -> str | None:
    """Why a word of a command line cannot be a parameter's value, or None."""
    words = [*REGISTRIES.get(param["choices_of"], ())] if "choices_of" in param else param.get("choices")
    name, kind = param["name"], param.get("type", "text")
    for piece in word.split(",") if param.get("split") else [word]:
        if words is not None and piece.strip().casefold() not in {each.casefold() for each in words}:
            return f"{name}: {piece!r} is not one of the choices{did_you_mean(piece, words)}"
    if kind == "integer" and not word.lstrip("+-").isdigit():
        return f"{name}: expected a whole number, not {word!r}"
    if kind == "duration" and parse_typed_duration(word) is None:
        return f"{name}: expected a duration, not {word!r}"
    return None


# Whether the command lines that are suggested for other words can be given, and the commands that verbs mean exist.


def suggestion_findings(definitions: Definitions, definition: Definition, lines: CommandLines) -> Findings:
    """Of a group or a program."""
    yield from _instead(definitions, definition, lines)
    yield from _verbs(definitions, definition)
    yield from _options(definition, lines)


def _instead(definitions: Definitions, definition: Definition, lines: CommandLines) -> Findings:
    for word, suggested in definition.table.get("instead", {}).items():
        for place, line in enumerate(suggested):
            if ("group", line) in definitions:
                continue
            try:
                fault = lines.fault(line, None)
            except DefinitionError as error:
                fault = error.message
            if fault:
                about = tuple(key for key in lines.about(line) if key[0] == "command")
                yield Finding(("instead", word, place), f"{line!r}: {fault}", about)


def _verbs(definitions: Definitions, program: Definition) -> Findings:
    if not (verbs := program.table.get("verbs")):
        return
    names = {id.rpartition(" ")[2] for kind, id in definitions if kind == "command"}
    for verb, meant in verbs.items():
        for place, name in enumerate(meant):
            if name not in names:
                about = tuple(key for key in definitions.removed if key[1].rpartition(" ")[2] == name)
                yield Finding(("verbs", verb, place), f"no command {name!r}{did_you_mean(name, names)}", about)


def _options(program: Definition, lines: CommandLines) -> Findings:
    """An option that no command takes would never be suggested."""
    if not (options := program.table.get("other_options")):
        return
    own = [param for command in lines.commands.values() for param in command.table.get("params", ())]
    params = [*own, *lines.shared, *lines.paging, *lines.journal]
    names = {f"--{name}" for param in params for name in (param["name"], *param.get("aliases", ()))}
    names |= {f"-{param['short']}" for param in params if "short" in param}
    about = (*(("command", id) for id in lines.removed), *lines.programs)
    for option, meant in options.items():
        for place, line in enumerate(meant):
            name = line.partition(" ")[0]
            if name not in names:
                yield Finding(("other_options", option, place), f"no option {name!r}{did_you_mean(name, names)}", about)
