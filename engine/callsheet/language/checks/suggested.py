"""Whether the command lines that are suggested for other words can be given, and the commands that verbs mean exist."""

from __future__ import annotations

from ...errors import DefinitionError, did_you_mean
from ..definition import Definition, Definitions
from .examples import CommandLines
from .problem import Finding, Findings


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
