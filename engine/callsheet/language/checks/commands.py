"""Whether commands, look-ups and their steps are sound, and whether each argument and option is used as described."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import date, time
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...durations import parse_typed_duration
from ...errors import did_you_mean
from ...jsontext import parse_json
from ...registry import CONVERTERS, JOURNAL, OPTIONS, PAGING, REGISTRIES
from ..conditions import names_left_out, never_holds
from ..desugar import prints_list
from ..merge import ACTION, ON, deployment_variants
from ..parameters import is_required, to_identifier
from ..problem import Finding, Findings
from ..safety import class_of_operation
from ..scopes import (
    is_list_of,
    member_names,
    names_in,
    root_names,
)
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, expressions_in_text, is_true, texts_in
from .body_schemas import resolved_schema
from .many_items import added_by, bulk_problems, idle_undo_problems, keep_problems, plan_problems
from .references import (
    RESERVED,
    bare_value_faults,
    expression_fault,
    expression_faults,
    part_faults,
    unusable_names,
    value_faults,
)
from .requests import (
    CallChecker,
    Names,
    Problems,
    answers_list,
    format_problems,
    value_problems,
    whole_answers,
)

if TYPE_CHECKING:
    from ..shape.commands import Ask, CommandDefinition, InputDefinition, Param
    from ..shape.rest import OperationDefinition
    from ..shape.steps import (
        Assignment,
        Batch,
        Each,
        ItemStep,
        KeywordDefinition,
        LookupDefinition,
        LookupHere,
        OnConflict,
        SnapshotDefinition,
        StepDefinition,
        UnlessSame,
    )


_PAGING = "paging"


def param_findings(definitions: Definitions, definition: Definition, *, usual: Mapping[str, Param]) -> Findings:
    """`usual` is what `paging_options` gives."""
    table = definition.table
    for key in ("params", "options", _PAGING, "journal"):
        for place, param in enumerate(table.get(key, ())):
            if "choices" in param or "default" in param:
                yield from (Finding((key, place, *path), text) for path, text in _default_faults(param))
            for name in (param["name"], *param.get("aliases", ())):
                is_one_word = " " not in name and not name.startswith("-")  # else that is told
                if is_one_word and not to_identifier(name).isidentifier():
                    yield Finding((key, place), f"{name!r} cannot be a name: letters, digits, - and _ only")
            if param.get("rest") and param.get("kind") != "argument":
                yield Finding(
                    (key, place, "rest"), 'only an argument takes all words that follow: say kind = "argument"'
                )
            for part in ("refuse", "step", "setting"):
                if part in param and (key != "params" or "builtin" in table):
                    text = "only commands that call something have rules, steps and values of the site"
                    yield Finding((key, place, part), text)
    for key, known in (("options", OPTIONS), (_PAGING, PAGING), ("journal", JOURNAL)):
        yield from _read_by_the_engine(table.get(key, ()), key, known)
    if definition.kind == "command" and "builtin" not in table:
        yield from _name_findings(table)
        yield from _paging_option_findings(definitions, table, usual)


def input_findings(_: Definitions, definition: Definition) -> Findings:
    yield from (Finding(path, text) for path, text in _default_faults(definition.table))


def _default_faults(param: Param | InputDefinition) -> Iterator[tuple[Path, str]]:
    if not param.get("choices", True):
        yield ("choices",), "expected at least one value"
    folded = [word.strip().casefold() for word in param.get("choices", ())]
    for place, word in enumerate(folded):
        if not word or word in folded[:place]:
            said = "is the same word as an earlier one" if word else "no word can be empty"
            yield ("choices", place), f"{param['choices'][place]!r}: {said}"
    if "default" not in param or param.get("kind") == "flag":
        return
    given = param["default"]
    if bool(param.get("multiple")) != isinstance(given, list):
        yield (
            ("default",),
            "expected a list, as for `multiple`" if param.get("multiple") else "expected one value, not a list",
        )
        return
    for value in given if isinstance(given, list) else [given]:
        if problem := value_misfit(param, value):
            yield ("default",), problem


def value_misfit(param: Param | InputDefinition, value: Any) -> str | None:
    """Why a value cannot be that of a parameter, or None."""
    kind = param.get("type", "text")
    words = REGISTRIES.get(param["choices_of"], {}) if "choices_of" in param else param.get("choices")
    if isinstance(value, date | time):
        return None  # what a file says without quotes, which is told of any value
    if not _is_of_kind(kind, value):
        return f"expected {_A[kind]}, not {value!r}"
    if words is not None and value not in words:
        return f"{value!r} is not one of the choices{did_you_mean(str(value), words)}"
    if param.get("convert") == "json" and isinstance(value, str) and value[:1] not in ("@", "-"):
        try:
            parse_json(value)
        except ValueError:
            return f"{value!r} is not JSON"
    return None


_A = {
    "text": "a text",
    "path": "a text",
    "integer": "a whole number",
    "number": "a number",
    "duration": "a duration, such as 90s or 15m",
}


def _is_of_kind(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if kind == "duration":
        return isinstance(value, int | float) or (isinstance(value, str) and parse_typed_duration(value) is not None)
    return isinstance(value, {"integer": int, "number": int | float}.get(kind, str))


def _read_by_the_engine(params: Any, key: str, known: Mapping[str, str]) -> Findings:
    """What the engine reads, of the type that it reads."""
    for place, param in enumerate(params):
        wanted = known.get(param["name"])
        given = "flag" if param.get("kind") == "flag" else param.get("type", "text")
        if wanted is not None and (given != wanted or param.get("multiple")):
            yield Finding((key, place), f"the engine reads {param['name']!r} as one {wanted}, not as {given}")


def _name_findings(table: CommandDefinition) -> Findings:
    for place, param in enumerate(table.get("params", ())):
        own = to_identifier(param["name"])
        if own in RESERVED:
            yield Finding(("params", place), f"expressions see something else as {own!r}: give it another name")


def paging_options(definitions: Definitions) -> dict[str, Param]:
    """The options of lists, by name."""
    return {
        param["name"]: param
        for (kind, _), definition in definitions.items()
        if kind == "program"
        for param in definition.table.get(_PAGING, ())
    }


def _paging_option_findings(definitions: Definitions, table: CommandDefinition, usual: Mapping[str, Param]) -> Findings:
    """An own option in the place of one of those of lists is read as that one is; of a journal's, by every command."""
    for place, param in enumerate(table.get("params", ())):
        model = usual.get(param["name"])
        if model is None or not (param["name"] in JOURNAL or prints_list(definitions, cast("dict[str, Any]", table))):
            continue
        for key, default in (("kind", "option"), ("type", "text"), ("multiple", False)):
            if param.get(key, default) != model.get(key, default):
                text = (
                    f"lists have an option {param['name']!r}, with {key} {model.get(key, default)!r}: say the same here"
                )
                yield Finding(("params", place), text)


# Whether commands, lookups and their steps are sound: one verb each, known parameters, names that exist there.


VERBS = ("builtin", "call", "step")
ITEM_VERBS = ("call", "edit", "find", "value", "confirm", "fail", "note")
STEP_VERBS = (*ITEM_VERBS, "each")
# The options of lists are parameters too, where a command has them.
ALWAYS = RESERVED | {"limit", "max", "all", "page_token"}
_PLACEHOLDERS = (
    *("args", "body", "over", "files", "save", "hold", "limit", "edit"),
    *("hint", "fail", "tolerate", "note", "more", "find", "confirm"),
)


_TOLD: dict[str, Names] = {"tolerate": {"error"}, "hint": {"error"}, "more": {"total"}}


def command_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    """`operations` holds further names of operations → their ids."""
    table = definition.table
    there = deployment_variants(table)
    everywhere = {each.id for each in definitions.of_kind("deployment")}
    if everywhere and all("unavailable" in there.get(word, {}) for word in everywhere):
        yield (ON,), "it is available on no deployment"
    checker = Checker(definitions, operations, lambda word: word not in there)
    found = list(checker.command_problems(table, ()))
    yield from found or _unused_answers(definitions, definition)  # else a misspelt name would be told twice
    for deployment, here in there.items():
        if "unavailable" not in here:
            checker = Checker(definitions, operations, deployment.__eq__)
            yield from checker.command_problems(here, (ON, deployment))


def params_of_commands(definitions: Definitions) -> Iterator[Param]:
    for command in definitions.of_kind("command"):
        for here in (command.table, *deployment_variants(command.table).values()):
            yield from here.get("params", ())


def _always_given(when: str, params: Sequence[Param]) -> str | None:
    """The parameter that must be missing for a condition to hold, where nobody can leave it out."""
    missing = names_left_out(when)
    for param in (each for each in params if to_identifier(each["name"]) in missing):
        default: Any = param.get("default")
        is_given = (is_required(param) and param.get("kind") != "flag") or (default is not None and is_true(default))
        if is_given and not param.get("multiple") and not {"ask", "setting", "members"} & param.keys():
            return param["name"]
    return None


def calls_of_lookup(table: LookupHere) -> Iterator[tuple[Path, LookupHere | KeywordDefinition]]:
    if "call" in table:
        yield (), table
    for name, keyword in table.get("keywords", {}).items():
        if "call" in keyword:
            yield ("keywords", name), keyword


class Checker(CallChecker):
    """`applies` tells for which deployments what is checked here holds."""

    sends_fields = False

    def asking_problems(self, table: Any, at: Path) -> Problems:
        """A call that asks for several things by `ids`."""
        self.lists = frozenset({"ids"})
        yield from self.argument_problems(table, at)
        size, body = table.get("size", 1), table.get("body")
        known = self._schema_of(table["call"]).get("properties", {})
        for name, value in body.items() if isinstance(body, dict) else ():
            most = known.get(name, {}).get("maxItems")
            if value == "{ids}" and isinstance(most, int) and size > most:
                yield (*at, "size"), f"{table['call']} takes at most {most} in {name!r}"

    def put_back_problems(self, table: Any, at: Path) -> Problems:
        """A thing as it was that is sent back whole, where the schema takes less of it."""
        state = member_names(table.get("state", ""))
        for place, step in enumerate(table.get("undo", ()) if state else ()):
            schema = self._schema_of(step.get("call", "")) if step.get("body") == "{was}" else {}
            known = schema.get("properties", {})
            more = [name for name in state or () if name not in known]
            if more and schema.get("additionalProperties") is False:
                text = f"{step['call']} takes no {', '.join(more)}, which the state has"
                yield (*at, "undo", place, "body"), text

    def _schema_of(self, operation: str) -> Mapping[str, Any]:
        table = self.table_of("operation", operation) or {}
        return resolved_schema(self.definitions, {"ref": table.get("body", {}).get("schema")})

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        super().__init__(definitions, operations, applies)
        self.converters = CONVERTERS

    def command_problems(self, table: CommandDefinition, at: Path) -> Problems:
        verbs = [verb for verb in VERBS if verb in table]
        if len(verbs) != 1:
            given = f"has {' and '.join(verbs)}, expected one of them" if verbs else f"needs one of: {', '.join(VERBS)}"
            yield at, given
        params = table.get("params", ())
        made = {param[key] for param in params for key in ("front", "beside") if key in param}
        names = {to_identifier(param["name"]) for param in params} | made | ALWAYS
        yield from self._param_problems(table, names)
        self.params = {to_identifier(param["name"]): param for param in params}
        yield from value_faults(table.get("confirm"), names, (*at, "confirm"))
        if "call" in table:
            yield from self._step_problems(_own_action(table), names, at, {}, STEP_VERBS)
        bound: dict[str, int] = {}
        for place, param in enumerate(params):
            names = yield from self._steps_problems(param.get("step", ()), names, (*at, "params", place, "step"), bound)
        names = yield from self._steps_problems(table.get("step", ()), names, (*at, "step"), bound)
        yield from _late_question_problems(table.get("step", ()), (*at, "step"))
        yield from _result_problems(table.get("result"), names, (*at, "result"))
        if "keep" in table:
            own = {to_identifier(param["name"]) for param in params}
            if to_identifier(table["keep"]["of"]) not in own:
                yield (
                    (*at, "keep", "of"),
                    f"no parameter {table['keep']['of']!r}{did_you_mean(table['keep']['of'], own)}",
                )
            called = self.table_of("operation", table.get("call", ""))
            if called is not None and class_of_operation(called) == "read":
                yield (*at, "keep"), f"{table['call']} only reads: nothing is to be put back"
            yield from self._item_undo_problems(table, names - added_by(table.get("step", ())), at)
        if "items" in table:
            yield from part_faults(table["items"], names, (*at, "items"))
            if "call" in table and answers_list(self.definitions, {**table, "as": ""}):
                yield from member_of_list_faults(table["call"], table["items"], (*at, "items"))
        yield from self._converter_problems(table, names, (*at, "convert"))

    def _steps_problems(
        self, steps: Any, names: Names, at: Path, bound: dict[str, int], verbs: tuple[str, ...] = STEP_VERBS
    ) -> Generator[tuple[Any, ...], None, Names]:
        """Returns the names that are known after the steps."""
        end: int | None = None
        for place, step in enumerate(steps):
            if end is not None:
                yield (*at, place), f"never reached: step {end} always fails"
            elif "fail" in step and "when" not in step:
                end = place
            yield from self._step_problems(step, names, (*at, place), bound, verbs)
            new = step.get("as", ())
            added = set(new) if isinstance(new, dict) else {new} if isinstance(new, str) and "as" in step else set()
            yield from (((*at, place, "as"), text) for text in unusable_names(added))
            bound.update(dict.fromkeys(added, place))
            self.lists = (self.lists - added) | frozenset(added if answers_list(self.definitions, step) else set())
            self.answers = {name: verb for name, verb in self.answers.items() if name not in added}
            self.answers |= whole_answers(self.definitions, step)
            self.found = {text: each for text, each in self.found.items() if text.partition(".")[0] not in added}
            if "find" in step and isinstance(step.get("as"), str):
                text = f"{step['as']}.value"
                self.found[text] = {"name": text, "lookup": step["find"]["lookup"]}
            guarded = root_names(step["when"]) if "fail" in step and "when" in step else ()
            self.may_lack = self.may_lack.difference(added, guarded) | (added - names if "when" in step else set())
            names = self._known_names(names, added)
        return names

    def _known_names(self, names: Names, added: Names) -> Names:
        """With names that may hide parameters."""
        self.params = {name: param for name, param in self.params.items() if name not in added}
        return names | added

    def _param_problems(self, table: CommandDefinition, names: Names) -> Problems:
        taken = {to_identifier(param["name"]) for param in table.get("params", ())}
        for place, param in enumerate(table.get("params", ())):
            yield from self._converter_problems(param, names, ("params", place, "convert"))
            for key in ("front", "beside"):
                if key in param:
                    made = unusable_names({*_text_at(param, key)}, taken)
                    yield from ((("params", place, key), text) for text in made)
            if "folder" in param and to_identifier(param["folder"]) not in names:
                yield (
                    ("params", place, "folder"),
                    f"no parameter {param['folder']!r}{did_you_mean(param['folder'], names)}",
                )
            if "assign" in param:
                yield from self._assignment_problems(param["assign"], names, ("params", place, "assign"))
            if "front" in param and param.get("convert") == "json":
                yield ("params", place, "convert"), "JSON has no front matter, and `front` reads that of a file"
            asked: dict[Path, str] = {
                ("refuse", number): rule["when"] for number, rule in enumerate(param.get("refuse", ()))
            }
            asked |= {("ask",): param["ask"]["when"]} if "when" in param.get("ask", {}) else {}
            for path, when in asked.items():
                if (always := _always_given(when, table["params"])) is not None:
                    yield ("params", place, *path, "when"), f"is never true: {always!r} is always given"
            for number, rule in enumerate(param.get("refuse", ())):
                yield from expression_faults(rule["when"], names, ("params", place, "refuse", number, "when"))
                for key in ("fail", "hint"):
                    yield from value_faults(rule.get(key), names, ("params", place, "refuse", number, key))
            if "ask" in param:
                yield from self._ask_problems(param["ask"], param, names, ("params", place, "ask"))
            lookup: LookupDefinition | None = self.table_of("lookup", param.get("lookup", ""))
            for _, part in calls_of_lookup(lookup) if lookup else ():
                needed = set(names_in(part.get("args")))
                for name in sorted(needed - names - {"word"}):
                    text = f"the lookup {param['lookup']!r} needs {name!r}, which this command does not have"
                    yield ("params", place, "lookup"), text
                behind = [
                    each for each in table["params"][place + 1 :] if {"lookup", "assign", "members"} & each.keys()
                ]
                later = {to_identifier(each["name"]) for each in behind}  # the others are as they were typed
                for name in sorted(needed & later - {"word"}):
                    text = (
                        f"the lookup {param['lookup']!r} needs {name!r}, which is found later: put it before this one"
                    )
                    yield ("params", place, "lookup"), text

    def _ask_problems(self, ask: Ask, param: Param, names: Names, at: Path) -> Problems:
        """What is asked at a terminal, and what is read to begin a text with."""
        if any(expression_faults(ask.get("when", "`null`"), names, at)):
            # A parameter that commands share may look at others that only some of them have.
            others = {to_identifier(param["name"]) for param in params_of_commands(self.definitions)}
            yield from expression_faults(ask["when"], names | others, (*at, "when"))
        own = {to_identifier(param["name"])}
        when = ask.get("when", "")
        if when and not expression_fault(when) and {*root_names(when)} == own and never_holds(when, min(own), [None]):
            yield (*at, "when"), f"is never true: it is asked for where nobody gave {param['name']!r}"
        menu: LookupDefinition | None = self.table_of("lookup", ask.get("lookup", ""))
        if menu is not None and "every" not in menu and "word" in names_in(menu.get("args")):
            text = f"{ask['lookup']!r} finds what fits a word, and has no `every` with which all come, for a menu"
            yield (*at, "lookup"), text
        if "start" in ask:
            start, place = ask["start"], (*at, "start")
            for key, known in (("args", names), ("format", names), ("before", names | {"found"})):
                yield from value_faults(start.get(key), known, (*place, key))
            yield from self.argument_problems(start, place)
            yield from format_problems(start, place)

    def suggestion_problems(self, lookup: LookupHere, at: Path) -> Problems:
        """Words to complete with come from a call that only reads, and are what the lookup is given."""
        said = lookup["suggest"]
        call: dict[str, Any] = {
            key: said.get(key, lookup.get(key)) for key in ("call", "args") if key in said or "call" not in said
        }
        operation: OperationDefinition | None = self.table_of("operation", call.get("call") or "")
        if call.get("call") is None:
            yield at, "needs `call`: the lookup has none"
        elif operation is not None and class_of_operation(operation) != "read":
            yield (*at, "call"), f"words to complete with only come from what reads: {call['call']} does not"
        else:
            yield from self.argument_problems({key: value for key, value in call.items() if value is not None}, at)
        if "word" not in said and lookup.get("label") not in lookup.get("match", ()):
            yield at, "needs `word`: the lookup does not compare words with its label"
        if "word" in names_in(call.get("args")):
            yield (*at, "args"), "nothing is typed yet that `word` could be"

    def _assignment_problems(self, id: str, names: Names, at: Path) -> Problems:
        """The values of an assignment see the command's names too, the text, and the field."""
        assignment: Assignment | None = self.table_of("assignment", id)
        used = [name for case in (assignment["cases"] if assignment else ()) for name in names_in(case.get("value"))]
        for name in sorted(set(used) - names - {"text", "field"}):
            yield at, f"the assignment {id!r} needs {name!r}, which this command does not have"

    def _converter_problems(self, param: Param | CommandDefinition, names: Names, at: Path) -> Problems:
        if "convert" not in param:
            return
        convert = param["convert"]
        yield from value_faults(convert, names, at)
        if "{" not in convert and convert not in self.converters:
            yield at, f"no converter {convert!r}{did_you_mean(convert, self.converters)}"

    def _step_problems(
        self, step: StepDefinition, names: Names, at: Path, bound: Mapping[str, int], verbs: tuple[str, ...]
    ) -> Problems:
        does = [verb for verb in verbs if verb in step and not (verb == "value" and "call" in step)]
        if len(does) != 1:
            several = f"has {'both ' if len(does) == 2 else ''}{' and '.join(does)}, expected one of them"
            given = several if does else f"needs one of: {', '.join(verbs)}"
            yield at, given
        inner = names | {"batch", "item"} if "batch" in step else names
        told = _TOLD if "call" in step else {**_TOLD, "hint": set()}
        for key in _PLACEHOLDERS:
            if key in step:
                yield from value_faults(step.get(key), inner | told.get(key, set()), (*at, key))
        bare = (fault for text in texts_in(step.get("edit")) for fault in bare_value_faults(text, inner))
        yield from (((*at, "edit"), fault) for fault in bare)
        if "when" in step:
            yield from expression_faults(step["when"], names, (*at, "when"))
        word = str(step["find"].get("word", "")) if "find" in step else ""
        if self.params.get(word, {"name": "", "kind": "flag"}).get("kind") != "flag":
            yield (*at, "find", "word"), f"is the word {word!r}: the value is written {{{word}}}"
        if does == ["value"]:
            yield from expression_faults(step["value"], names, (*at, "value"))
        comes_in_pages = "call" in step and answers_list(self.definitions, {"call": step["call"], "as": ""})
        for where, part in _answer_expressions(step):
            yield from part_faults(part, inner, (*at, *where))
            if comes_in_pages:
                yield from member_of_list_faults(step["call"], part, (*at, *where))
        if "batch" in step:
            yield from self._list_problems(step["batch"], names, (*at, "batch"))
            sent = [step.get(key) for key in _PLACEHOLDERS]
            if not {"batch", "item"} & {*names_in(sent)}:
                yield (*at, "batch"), "nothing of the step uses `batch`: each would be sent the same"
            if step["batch"]["size"] > 1 and "item" in names_in(sent) and "item" not in names:
                yield (*at, "batch", "size"), "'item' is the one of a batch of size 1: of several it sees `batch`"
        if "each" in step:
            yield from self._list_problems(step["each"], names, (*at, "each"))
            may_lack, answers, found = self.may_lack, self.answers, self.found
            # Nothing is done for an item where the step is left out, or the list is what may lack.
            self.may_lack = frozenset() if "when" in step else may_lack.difference(root_names(step["each"]["items"]))
            yield from self._each_problems(step["each"], names, (*at, "each"), bound)
            self.may_lack, self.answers, self.found = may_lack, answers, found
        if "on_conflict" in step:
            yield from self._on_conflict(step["on_conflict"], names, (*at, "on_conflict"), bound)
        if "unless_same" in step:
            yield from self._unless_same(step["unless_same"], names, (*at, "unless_same"), bound)
        if "call" in step:
            yield from self.argument_problems(step, at)
            yield from self.amount_problems(step, at)
            yield from self.answer_problems(step, at)
            yield from value_problems(step, at)
        if "edit" in step:
            yield from format_problems(step["edit"], (*at, "edit"))

    def _list_problems(self, table: Batch | Each, names: Names, at: Path) -> Problems:
        items = table["items"]
        yield from expression_faults(items, names, (*at, "items"))
        if (param := self.params.get(items.strip())) is not None and _is_single(param):
            yield (*at, "items"), f"{items!r} is one value, not a list: the parameter needs `multiple`"
        yield from value_faults(table["done"], names | {"done", "total"}, (*at, "done"))

    def _each_problems(self, each: Each, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        """What its steps name is known in them alone."""
        item = each.get("item", "item")
        yield from (((*at, "item"), text) for text in unusable_names({item}))
        params = self.params
        inner = self._known_names(names, {item})
        inner = yield from self._steps_problems(each["step"], inner, (*at, "step"), dict(bound), ITEM_VERBS)
        yield from _result_problems(each.get("result"), inner, (*at, "result"))
        if plan := each.get("plan"):
            yield from plan_problems(plan, names, (*at, "plan"))
        if bulk := each.get("bulk"):
            yield from bulk_problems(bulk, names, (*at, "bulk"))
            yield from self.argument_problems(bulk, (*at, "bulk"))
            if "read" in bulk:
                yield from self.argument_problems(bulk["read"], (*at, "bulk", "read"))
            if "task" in bulk:
                yield from self.argument_problems(bulk["task"], (*at, "bulk", "task"))
        if not any("call" in step for step in each["step"]):
            yield (*at, "step"), "nothing is called for an item"
        yield from self._item_undo_problems(each, inner - added_by(each["step"]), at)
        self.params = params

    def _item_undo_problems(self, each: Each | CommandDefinition, names: Names, at: Path) -> Problems:
        """What puts an item back sees what the command named before the item's own steps, and what it was."""
        if keep := each.get("keep"):
            snapshot: SnapshotDefinition | None = self.table_of("snapshot", keep["snapshot"])
            yield from keep_problems(keep, snapshot, names - {str(each.get("item", "item"))}, (*at, "keep"))
        yield from self._steps_problems(each.get("undo", ()), names | {"was"}, (*at, "undo"), {}, ITEM_VERBS)
        yield from idle_undo_problems(each, partial(self.table_of, "operation"), (*at, "undo"))

    def _unless_same(self, rule: UnlessSame, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        yield from _earlier_name_problems(rule["step"], at, bound)
        yield from value_faults(rule["body"], names | {"asked"}, (*at, "body"))
        yield from value_faults(rule.get("note"), names, (*at, "note"))

    def undo_problems(self, steps: Any, at: Path) -> Problems:
        yield from self._steps_problems(steps, {*RESERVED, "thing", "was"}, (*at, "undo"), {}, ITEM_VERBS)

    def _on_conflict(self, rule: OnConflict, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        yield from _earlier_name_problems(rule["step"], at, bound)
        yield from value_faults(rule["fail"], names | {"who"}, (*at, "fail"))
        if "call" in rule:
            yield from self.argument_problems(rule, at)


def _result_problems(result: Any, names: Names, at: Path) -> Problems:
    yield from value_faults(result, names, at)
    yield from ((at, fault) for text in texts_in(result) for fault in bare_value_faults(text, names))


def _late_question_problems(steps: Sequence[ItemStep], at: Path) -> Problems:
    """A question with nothing behind it that an answer could keep from being done."""
    for place, step in enumerate(steps):
        if "confirm" in step and not any(_DOING & other.keys() for other in steps[place + 1 :]):
            yield (*at, place, "confirm"), "is asked when all is done already: put it before what it asks about"


_DOING = {"call", "each", "edit", "use"}


def _earlier_name_problems(name: str, at: Path, bound: Mapping[str, int]) -> Problems:
    if name not in bound:
        yield (*at, "step"), f"no earlier step is called {name!r}{did_you_mean(name, bound)}"


def _answer_expressions(step: StepDefinition) -> Iterator[tuple[Path, str]]:
    """The expressions over the answer of a step."""
    if "value" in step and "call" in step:
        yield ("value",), step["value"]
    named = step.get("as")
    if isinstance(named, dict):
        yield from ((("as", name), part) for name, part in named.items())


def member_of_list_faults(call: str, part: str, at: Path) -> Problems:
    """A member of an answer that is a list of items."""
    if is_list_of(part) is False:
        yield at, f"{call} answers the list itself: there is no {root_names(part)[0]!r} around it"


def _text_at(param: Param, key: str) -> tuple[str, ...]:
    value = param.get(key)
    return (value,) if isinstance(value, str) else ()


def _own_action(table: CommandDefinition) -> StepDefinition:
    """What a command without steps does."""
    return cast("StepDefinition", {key: value for key, value in table.items() if key in ACTION})


def _is_single(param: Param) -> bool:
    """Whether a parameter is never a list, whatever is given for it."""
    return not (param.get("multiple") or param.get("split") or "convert" in param)


# Whether a command does something with each of its arguments and options.


_WORD = re.compile(r"[A-Za-z_]\w*")
_OF_AN_ANSWER = ("value", "items")  # begin in it, and see what the command knows by $ alone
_MARKED = re.compile(r"\$(\w+)")
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'")
_NAME_ALONE = re.compile(r"(?<![\w-])[A-Za-z_]\w*(?![\w-])")  # no part of an id such as filter-of-issues
# What sees the command's names too.
_REFERENCES = {"lookup": "lookup", "suggest": "lookup", "assign": "assignment", "use": "steps"}
_NAMES_OF_OTHERS = frozenset({*_REFERENCES, "setting", "short", "metavar", "help", "complete", "type"})
_TEMPLATES = ("args", "body", "over", "files", "save", "hold", "result", "confirm", "fail", "hint", "note", "tolerate")
_NO_EXPRESSIONS = frozenset(
    {
        *("name", "help", "about", "examples", "aliases", "metavar", "choices", "default", "call", "view"),
        *("kind", "type", "short", "members", "multiple"),
    }
)


def unused_findings(definitions: Definitions, definition: Definition, *, usual: Mapping[str, Param]) -> Findings:
    """A parameter that nothing uses: mostly a misspelt name. What a builtin uses is not known here.

    `usual` are the options that lists have anyway.
    """
    table: CommandDefinition = definition.table
    params = table.get("params", ())
    if "builtin" in table or not params:
        return
    sent = {*texts_in([table.get(key) for key in ("args", "body", "over", "files")])}
    if all(f"{{{to_identifier(param['name'])}}}" in sent for param in params):
        return  # as in nearly every one that is made of a document
    used = {*ALWAYS, *(to_identifier(param["folder"]) for param in params if "folder" in param)}
    used |= _words_of_expressions(definitions, {**table, "params": None})
    words = [_words_of_expressions(definitions, param) for param in params]
    used_anywhere = used.union(*words)
    for place, param in enumerate(params):
        used_here = used_anywhere
        if "lookup" in param:  # has its name, and does not use it
            own = _words_of_expressions(definitions, {**param, "lookup": None})
            used_here = used.union(own, *words[:place], *words[place + 1 :])
        seen_as = {to_identifier(param["name"]), *(param[key] for key in ("front", "beside") if key in param)}
        is_of_lists = param["name"] in usual and (param["name"] in JOURNAL or prints_list(definitions, {**table}))
        if not seen_as & used_here and not is_of_lists and not param.get("overrides"):
            near = did_you_mean(param["name"], [other["name"] for other in params if other is not param])
            if to_identifier(param["name"]) in texts_in([table.get(key) for key in _TEMPLATES]):
                near = f", did you mean '{{{to_identifier(param['name'])}}}'?"
            elif any(to_identifier(param["name"]) in root_names(text) for text in _answers_read(table)):
                near = f": what is read out of an answer sees it as ${to_identifier(param['name'])}"
            yield Finding(("params", place), f"nothing in the command uses {param['name']!r}{near}")


def _answers_read(table: CommandDefinition) -> list[str]:
    steps = [step for step in (table, *table.get("step", ())) if "call" in step]
    return [step[key] for step in steps for key in _OF_AN_ANSWER if isinstance(step.get(key), str)]


def _unused_answers(definitions: Definitions, command: Definition) -> Problems:
    """What steps name and nothing looks at, but for the last answer, which is printed."""
    steps = command.table.get("step", ())
    if len(steps) < 2 and not any("each" in step for step in steps):  # as nearly every one that is made of a document
        return
    parts = [part.table for part in definitions.of_kind("part") if part.table["command"] == command.id]
    used = set(_words_in_texts(definitions, _without_names([command.table, parts])))
    for place, step in enumerate(steps[:-1]):
        for name in added_by([step]) - used:
            yield ("step", place, "as"), f"nothing in the command uses {name!r}"
        for name in added_by([step]) & used:
            after = next((at for at, other in enumerate(steps) if at > place and name in added_by([other])), place)
            between = steps[place + 1 : after + 1]
            if between and "when" not in step and name not in _words_in_texts(definitions, _without_names(between)):
                yield ("step", place, "as"), f"step {after} is called {name!r} too, before anything uses this one"
    for place, step in enumerate(command.table.get("step", ())):
        each = {**step.get("each", {}), "items": "", "item": ""}
        item = step["each"].get("item", "item") if "each" in step else None
        if item and item not in set(_words_in_texts(definitions, _without_names(each))):
            yield ("step", place, "each"), f"nothing that is done for an item uses {item!r}"


def _without_names(value: Any) -> Any:
    """Without what names an answer."""
    if isinstance(value, list):
        return [_without_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key: list(said.values()) if isinstance(said, dict) else "" for key, said in value.items() if key == "as"}
    return {key: _without_names(said) for key, said in {**value, **named}.items()}


def _words_of_expressions(definitions: Definitions, table: Mapping[str, Any]) -> set[str]:
    if _NO_EXPRESSIONS.issuperset(table):
        return set()
    said = {key: value for key, value in table.items() if key not in _NO_EXPRESSIONS}
    return set(_words_in_texts(definitions, said))


def _words_in_texts(definitions: Definitions, value: Any, *, is_template: bool = False) -> Iterator[str]:
    """Every word of a table's texts that could be a name in an expression: rather too many than too few."""
    if isinstance(value, str):
        try:
            sent = expressions_in_text(value) if is_template else (value,)
        except TemplateError:
            sent = (value,)
        for text in sent:
            yield from _WORD.findall(_QUOTED.sub("", text) if is_template else text)
    elif isinstance(value, list):
        for item in value:
            yield from _words_in_texts(definitions, item, is_template=is_template)
    elif isinstance(value, dict):
        for key, item in value.items():
            if "call" in value and key in _OF_AN_ANSWER and isinstance(item, str) and not is_template:
                yield from _MARKED.findall(item)
            elif is_template or key not in _NAMES_OF_OTHERS:
                yield from _words_in_texts(definitions, item, is_template=is_template or key in _TEMPLATES)
            other = definitions.get((_REFERENCES[key], item)) if key in _REFERENCES and isinstance(item, str) else None
            yield from _NAME_ALONE.findall(str({**other.table, "title": ""})) if other else ()
