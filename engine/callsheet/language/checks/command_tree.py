"""Whether groups and commands make a tree, what in it can never be reached, and whether its examples can be given."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...durations import parse_typed_duration
from ...errors import DefinitionError, did_you_mean
from ...registry import REGISTRIES
from ..command_line import bind_words, command_words, missing_parameters
from ..compiled_jmespath import expression_tree
from ..desugar import prints_list
from ..parameters import first_argument, to_identifier
from ..problem import Finding, Findings, Key
from ..source_file import Definition, Definitions
from ..template import evaluate, is_true
from .references import ShapePlace, expression_fault

if TYPE_CHECKING:
    from ..shape.commands import Param


# Whether groups and commands make a tree, and arguments and options can be told apart.


HELP = ("help", "h")
_IN_THE_TREE = ("group", "command")

# Group → word → what it means there: kind, id, and the place among its aliases; -1 is the name itself.
Words = dict[str, dict[str, list[tuple[str, str, int]]]]


def place_problems(definitions: Definitions, definition: Definition) -> Findings:
    """Every word is one, the words before the last are a group, and nothing else is called the same."""
    id = definition.id
    if id.split(" ") != id.split() or not id:
        yield Finding((), "the id must be words with single spaces between them")
        return
    if id.startswith("-"):
        yield Finding((), "the id begins with a hyphen: it would be taken for an option")
    parent = id.rpartition(" ")[0]
    if parent and ("group", parent) not in definitions:
        groups = [name for of, name in definitions if of == "group"]
        yield Finding((), f"no group {parent!r}{did_you_mean(parent, groups)}", (("group", parent),))
    if definition.kind == "command" and ("group", id) in definitions:
        yield Finding((), f"a group is called {id!r} as well", (("group", id),))


def alias_problems(_: Definitions, definition: Definition, words: Words) -> Findings:
    """An alias that means something else already would never be reached, or would hide that."""
    names = words.get(definition.id.rpartition(" ")[0], {})
    own = (definition.kind, definition.id)
    for place, alias in enumerate(definition.table.get("aliases", ())):
        for other in names.get(alias, ()):
            if other[:2] != own or other[2] != place:
                kind, id, _place = other
                said = "an earlier alias of its own" if other[:2] == own else f"{kind} {id!r}"
                if other[:2] != own or other[2] < place:
                    yield Finding(("aliases", place), f"{alias!r} means {said} already", ((kind, id),))


def words_by_group(definitions: Definitions) -> Words:
    found: Words = {}
    for (kind, id), definition in definitions.items():
        if kind in _IN_THE_TREE:
            above, _, name = id.rpartition(" ")
            for place, word in enumerate([name, *definition.table.get("aliases", ())], -1):
                found.setdefault(above, {}).setdefault(word, []).append((kind, id, place))
    return found


def default_problems(definitions: Definitions, group: Definition) -> Findings:
    """The default of a group is one of its own commands, and so are those that bare words call."""
    yield from _bare_problems(definitions, group, f"{group.id} ")
    default, under = group.table.get("default"), f"{group.id} "
    if default is not None and ("command", under + default) not in definitions:
        yield _no_command(("default",), definitions, under, default)


def _bare_problems(definitions: Definitions, owner: Definition, under: str) -> Findings:
    for place, name in enumerate(owner.table.get("bare", ())):
        command = definitions.get(("command", under + name))
        if command is None:
            yield _no_command(("bare", place), definitions, under, name)
        elif "lookup" not in (first_argument(command.table) or ()):
            yield Finding(("bare", place), "its first argument has no `lookup`, so nobody knows which words it takes")


def _no_command(at: tuple[str | int, ...], definitions: Definitions, under: str, name: str) -> Finding:
    names = [id.removeprefix(under) for kind, id in definitions if kind == "command" and id.startswith(under)]
    return Finding(at, f"no command {under + name!r}{did_you_mean(name, names)}", (("command", under + name),))


def program_problems(definitions: Definitions, program: Definition, lines: CommandLines) -> Findings:
    """Aliases and headings name commands and groups that there are, and so do the commands of bare words."""
    yield from _bare_problems(definitions, program, "")
    tree = [id for kind, id in definitions if kind in _IN_THE_TREE]
    top = [id for id in tree if " " not in id]
    taken = words_by_group(definitions).get("", {})
    for word, line in program.table.get("aliases", {}).items():
        if word in taken:
            yield Finding(("aliases", word), f"{word!r} means {taken[word][0][0]} {taken[word][0][1]!r} already")
        try:
            words = shlex.split(line)
        except ValueError as error:
            yield Finding(("aliases", word), f"{line!r}: {str(error).lower()}")
            continue
        if words[:1] and words[0] in program.table["aliases"]:
            if word not in taken and (way := _alias_circle(program.table["aliases"], word)):
                yield Finding(("aliases", word), f"stands for itself: {' → '.join(way)}")
            continue
        meant = " ".join(word for word in words if word[:1] not in ("-", "$"))
        if not _is_callable(definitions, meant):
            text = f"no command or group {meant!r}{did_you_mean(meant, tree)}"
            yield Finding(("aliases", word), text, _both_keys(meant))
        elif (fault := lines.fault_of_alias(words)) is not None:
            yield Finding(("aliases", word), f"{line!r}: {fault}")
    for heading, names in program.table.get("sections", {}).items():
        for place, name in enumerate(names):
            if name not in top:
                text = f"no command or group {name!r} at the top{did_you_mean(name, top)}"
                yield Finding(("sections", heading, place), text, _both_keys(name))


def _alias_circle(aliases: Mapping[str, str], word: str) -> list[str]:
    """The way from an alias back to itself, if there is one."""
    way = [word]
    while (following := (aliases[way[-1]].split() or [""])[0]) in aliases and following not in way:
        way.append(following)
    return [*way, word] if following == word else []


def _is_callable(definitions: Definitions, words: str) -> bool:
    """Whether words call something: a group, or a command with its arguments, which a default command may have too."""
    for (kind, id), definition in definitions.items():
        takes_more = kind == "command" or (kind == "group" and "default" in definition.table)
        if kind in _IN_THE_TREE and (words == id or (takes_more and words.startswith(f"{id} "))):
            return True
    return False


def _both_keys(id: str) -> tuple[Key, ...]:
    return (("command", id), ("group", id))


def option_problems(
    _: Definitions, definition: Definition, *, shared: Mapping[str, Key], folded: Mapping[str, str]
) -> Findings:
    """No two share a name, none takes the one of the help page, and at most the last argument is a list.

    `shared` is what `options_of_programs` gives, and `folded` its names by what people read in them.
    """
    is_command = definition.kind == "command"
    shared, folded = (shared, folded) if is_command else ({}, {})
    for key in ("params",) if is_command else ("options", "paging", "journal"):
        yield from _option_clashes(definition.table.get(key, ()), key, shared, folded)


def _option_clashes(params: Any, key: str, shared: Mapping[str, Key], folded: Mapping[str, str]) -> Findings:
    seen: dict[str, str] = dict.fromkeys(HELP, "the help page")
    alike: dict[str, str] = {}
    for index, param in enumerate(params):
        at = (key, index)
        for name in _option_names(param):
            if name in seen:
                yield Finding(at, f"{name!r} is taken by {seen[name]}")
            if " " in name or name.startswith("-"):
                yield Finding(at, f"{name!r}: a name is one word{' without hyphens in front' * name.startswith('-')}")
            seen[name] = "an earlier one"
            if (other := alike.setdefault(folded_name(name), name)) != name:
                yield Finding(
                    at, f"{name!r} and {other!r} cannot be told apart: case and the characters - _ . make no difference"
                )
        if param.get("kind") != "argument":
            yield from (Finding(at, *found) for found in _overridden_options(param, shared, folded))
    yield from _argument_findings(params, key)


def _argument_findings(params: Sequence[Param], key: str) -> Findings:
    """Options that may stand without their names come behind all arguments."""
    arguments = [(place, param) for place, param in enumerate(params) if param.get("kind") == "argument"]
    arguments += [
        (place, {**param, "required": False}) for place, param in enumerate(params) if param.get("positional")
    ]
    listed = optional = rest = ""
    for index, param in arguments:
        at = (key, index)
        if rest:
            yield Finding(at, f"never given: {rest!r} before it takes all words that follow")
        rest = rest or (param["name"] if param.get("rest") else "")
        if listed and param.get("multiple"):
            yield Finding(at, f"only one argument can be a list, and {listed!r} is one")
        if optional and param.get("required", "default" not in param) and not listed:
            yield Finding(
                at, f"it must be given, and {optional!r} before it need not: no one could tell which is meant"
            )
        listed = param["name"] if param.get("multiple") else listed
        optional = param["name"] if not param.get("required", "default" not in param) else optional


def _overridden_options(
    param: Param, shared: Mapping[str, Key], folded: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Key, ...]]]:
    taken = [name for name in _option_names(param) if name in shared]
    for name in _option_names(param) if not taken else ():
        if (other := folded.get(folded_name(name))) is not None:
            yield f"{name!r} cannot be told apart from {other!r}, an option of the program", (shared[other],)
    if taken and not param.get("overrides"):
        text = f"{taken[0]!r} is an option of the program: give another name, or say `overrides = true` if it is meant"
        yield text, (shared[taken[0]],)
    if param.get("overrides") and not taken:
        yield "overrides nothing: no option of the program is called so", ()


def options_of_programs(definitions: Definitions) -> dict[str, Key]:
    """The names of all options that every command takes → the program that has them."""
    programs = [definition for (kind, _), definition in definitions.items() if kind == "program"]
    return {
        name: (program.kind, program.id)
        for program in programs
        for param in program.table.get("options", ())
        for name in _option_names(param)
    }


def folded_name(name: str) -> str:
    """Of one letter, `-n` and `-N` are two options that people tell apart."""
    return to_identifier(name).casefold() if len(name) > 1 else name


def _option_names(param: Param) -> list[str]:
    short = [param["short"]] if "short" in param else []
    return [param["name"], *short, *param.get("aliases", ())]


# What can never be reached, or never counts, because something else stands before it.


# Definitions of the first kind are of no use without one of the second.
_COMPANIONS = {"service": "deployment", "source": "listener"}


_NO_WORDS = (("at",), ("aliases",), ("choices",))  # the keys that lead to a place; what is told elsewhere


def shadow_findings(place: ShapePlace) -> Findings:
    value = place.value
    if isinstance(value, list):
        items = place.schema.get("items", {})
        are_arguments = items.get("format") == "template"  # of which two may be the same
        is_words = items.get("type") == "string" and not are_arguments and place.path[-1:] not in _NO_WORDS
        yield from (Finding((*place.path, index), text) for index, text in _repeated_names(value, words=is_words))
    if isinstance(value, dict) and place.schema.get("title"):
        told_elsewhere = place.schema["title"] == "RouteDefinition"  # a route may be switched off so
        if isinstance(value.get("when"), str) and _constant_truth(value["when"]) is False and not told_elsewhere:
            yield Finding((*place.path, "when"), f"{value['when']!r} is never true")
        for key in ("keywords", "styles"):
            if isinstance(value.get(key), dict):
                yield from (Finding((*place.path, key, name), text) for name, text in _same_keywords(value[key]))


def case_findings(_: Definitions, assignment: Definition) -> Findings:
    """The first case that is true counts; what follows one that is always true is never looked at."""
    before: dict[str, int] = {}
    for place, case in enumerate(assignment.table["cases"]):
        when = case.get("when")
        if "" in before:
            yield Finding(("cases", place), f"never reached: case {before['']} is for every field")
        elif when is not None and when in before:
            yield Finding(("cases", place, "when"), f"never reached: case {before[when]} has the same condition")
        elif fault := _case_taken_before(assignment.table["cases"], place):
            yield Finding(("cases", place, "example"), fault)
        always = when is None or _constant_truth(when) is True
        before.setdefault("" if always else str(when), place)


def _case_taken_before(cases: list[Any], place: int) -> str | None:
    """What is wrong with the example of a case: an earlier case is true for it, or this one is not."""
    if "example" not in cases[place] or any(expression_fault(each.get("when", "@")) for each in cases[: place + 1]):
        return None
    example = cases[place]["example"]
    first = next((index for index, each in enumerate(cases) if evaluate(each.get("when", "`true`"), example)), None)
    if first is not None and first < place:
        return f"never reached for it: case {first} stands before and is true too"
    return None if first == place else "the condition of its case is not true for it"


def _repeated_names(items: list[Any], *, words: bool) -> Iterator[tuple[int, str]]:
    """Two of a name in one list: which of them counts nobody can tell. `words`: whether the list is of words."""
    seen: set[Any] = set()
    for place, item in enumerate(items):
        if words and isinstance(item, str):
            if item in seen:
                yield place, f"{item!r} stands there already"
            seen.add(item)
        if isinstance(item, dict) and ("value" in item or "call" in item) and isinstance(item.get("name"), str):
            name = item["name"].casefold()
            if name in seen:
                yield place, f"{item['name']!r} is the name of an earlier one"
            seen.add(name)


def _same_keywords(keywords: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for name in keywords:
        if (folded := name.strip().casefold()) in seen:
            yield name, f"never reached: {seen[folded]!r} is the same word"
        seen.setdefault(folded, name)


def _constant_truth(expression: str) -> bool | None:
    """Whether an expression that looks at nothing is true; None where it looks at something."""
    node = expression_tree(expression) if expression_fault(expression) is None else None
    return is_true(node["value"]) if node and node["type"] == "literal" else None


def companion_findings(definitions: Definitions, definition: Definition) -> Findings:
    """What works only together with a definition of another kind."""
    wanted = _COMPANIONS[definition.kind]
    if definition is definitions.of_kind(definition.kind)[0] and not definitions.of_kind(wanted):
        gone: tuple[Key, ...] = tuple(key for key in definitions.removed if key[0] == wanted)
        yield Finding((), f"a program with a {definition.kind} needs a [{wanted}.<id>] too", gone)


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
        self.names = _command_lines(definitions)
        self.removed = [id for kind, id in definitions.removed if kind == "command"]
        self.programs = [key for key in (*definitions, *definitions.removed) if key[0] == "program"]

    def fault_of_line(self, line: str, own_id: str | None) -> str | None:
        """The line and why it cannot be given, or None; `own_id` is the command that it has to call."""
        try:
            fault = self._fault_of_words(line, own_id)
        except DefinitionError as error:
            fault = error.message
        return fault if fault is None or fault.startswith(repr(line)) else f"{line!r}: {fault}"

    def _fault_of_words(self, line: str, own_id: str | None) -> str | None:
        try:
            words = shlex.split(line)
        except ValueError as error:
            return str(error).lower()
        words = words[: next((place for place, word in enumerate(words) if word in _ENDS), len(words))]
        if (
            words
            and ("program", words[0]) in self.definitions
            and words[0] not in {name.partition(" ")[0] for name in self.names}
        ):
            return f"begins with the program's name: leave out {words[0]!r}"
        found, rest = command_words(words, self.names, self.shared)
        command = self.commands[self.names[" ".join(found)]]
        if own_id is not None and command.id != own_id:
            return f"calls {command.id!r} instead"
        own = self._own_params(command)
        values = bind_words(rest, own, self.shared)
        if lacking := missing_parameters(values, own):
            return f"does not give {', '.join(lacking)}"
        known = {param["name"] for param in own}
        faults = (
            _misfit_of_word(param, value) or self._unknown_operation(param, value)
            for param in [*own, *(param for param in self.shared if param["name"] not in known)]
            for value in _each_value(values.get(param["name"]))
        )
        return next((fault for fault in faults if fault), None)

    def _own_params(self, command: Definition) -> list[Param]:
        """What a command takes beside the options of the program."""
        own = command.table.get("params", [])
        known = {param["name"] for param in own}
        paging = self.paging if prints_list(self.definitions, command.table) else []
        return [*own, *(param for param in [*paging, *self.journal] if param["name"] not in known)]

    def fault_of_alias(self, words: list[str]) -> str | None:
        """Why the options in the words of an alias cannot be given, or None; more words may follow them."""
        try:
            found, rest = command_words(words, self.names, self.shared)
        except DefinitionError:
            return None  # a group, which has no options of its own
        own = self._own_params(self.commands[self.names[" ".join(found)]])
        with suppress(DefinitionError):
            bind_words([*rest, "value"], own, self.shared)  # as a value that is typed behind the last option
            return None
        try:
            bind_words(rest, own, self.shared)
        except DefinitionError as error:
            return error.message
        return None

    def _unknown_operation(self, param: Param, word: str) -> str | None:
        """A word in capitals stands for any."""
        if (
            param.get("complete") != "operation"
            or word.isupper()
            or "." in word
            or ("operation", word) in self.definitions
        ):
            return None
        return (
            f"no operation {word!r}{did_you_mean(word, [id for kind, id in self.definitions if kind == 'operation'])}"
        )

    def causes_of_fault(self, line: str) -> tuple[Key, ...]:
        """What may be the cause where a line is not taken: the commands that it can mean, and the program."""
        commands = {id for name, id in self.names.items() if _line_starts_with(line, name)}
        commands |= {id for id in self.removed if _line_starts_with(line, id)}
        return (*(("command", id) for id in sorted(commands)), *self.programs)


def example_findings(_: Definitions, definition: Definition, lines: CommandLines) -> Findings:
    own_id = definition.id if definition.kind == "command" else None
    for place, line in enumerate(definition.table.get("examples", ())):
        if (fault := lines.fault_of_line(line, own_id)) is not None:
            yield Finding(("examples", place), fault, lines.causes_of_fault(line))


def _command_lines(definitions: Definitions) -> dict[str, str]:
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
            names |= {
                f"{word}{name[len(line) :]}": id for name, id in list(names.items()) if _line_starts_with(name, line)
            }
    return names


def _line_starts_with(name: str, line: str) -> bool:
    return name == line or name.startswith(f"{line} ")


def _each_value(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None or value is True else [value]


def _misfit_of_word(param: Param, word: str) -> str | None:
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
    yield from _instead_findings(definitions, definition, lines)
    yield from _verb_findings(definitions, definition)
    yield from _unknown_options(definition, lines)


def _instead_findings(definitions: Definitions, definition: Definition, lines: CommandLines) -> Findings:
    for word, suggested in definition.table.get("instead", {}).items():
        taken = f"{definition.id} {word}" if definition.kind == "group" else word
        is_there = taken in lines.names or ("group", taken) in definitions
        if " " not in word and is_there and not _is_added_later(definitions, definition, taken):
            text = f"{word!r} is a command or a group of its own: this is never shown"
            yield Finding(("instead", word), text, (("command", taken),))
        for place, line in enumerate(suggested):
            if ("group", line) in definitions:
                continue
            if (fault := lines.fault_of_line(line, None)) is not None:
                about = tuple(key for key in lines.causes_of_fault(line) if key[0] == "command")
                yield Finding(("instead", word, place), fault, about)


def _is_added_later(definitions: Definitions, definition: Definition, command: str) -> bool:
    """A command of one's own may take a word for which a shipped group suggests another one: it wins."""
    added = definitions.get(("command", command)) or definitions.get(("group", command))
    return added is not None and added.files[0].layer > definition.files[-1].layer


def _verb_findings(definitions: Definitions, program: Definition) -> Findings:
    if not (verbs := program.table.get("verbs")):
        return
    names = {id.rpartition(" ")[2] for kind, id in definitions if kind == "command"}
    for verb, meant in verbs.items():
        for place, name in enumerate(meant):
            if name not in names:
                about = tuple(key for key in definitions.removed if key[1].rpartition(" ")[2] == name)
                yield Finding(("verbs", verb, place), f"no command {name!r}{did_you_mean(name, names)}", about)


def _unknown_options(program: Definition, lines: CommandLines) -> Findings:
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
