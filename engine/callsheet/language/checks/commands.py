"""Whether commands, lookups and their steps are sound: one verb each, known parameters, names that exist there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...errors import did_you_mean
from ...registry import CONVERTERS
from ..definition import Definition, Definitions
from ..deployment import ON, deployment_variants
from ..identifier import to_identifier
from ..locate import Path
from ..merge import ACTION
from ..safety import class_of_operation
from ..scopes import names_in
from .calls import CallChecker, Names, Problems
from .constants import format_problems, value_problems
from .expression_names import RESERVED, expression_faults, part_faults, unusable_names, value_faults
from .items import added_by, bulk_problems, keep_problems, plan_problems

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param
    from ..shape.rest import OperationDefinition
    from ..shape.steps import (
        Assignment,
        Batch,
        Each,
        KeywordDefinition,
        LookupDefinition,
        LookupHere,
        SnapshotDefinition,
        StepDefinition,
    )
    from ..shape.versions import OnConflict, UnlessSame

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
    yield from Checker(definitions, operations, lambda word: word not in there).command(table, ())
    for deployment, here in there.items():
        if "unavailable" not in here:
            checker = Checker(definitions, operations, deployment.__eq__)
            yield from checker.command(here, (ON, deployment))


def lookup_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    table: LookupDefinition = definition.table
    there = deployment_variants(table)
    if not {"call", "pattern", "urls", "keywords"} & table.keys():
        yield (), "needs one of: call, pattern, urls, keywords"
    each: list[tuple[Path, LookupHere, Callable[[str], bool]]] = [((), table, lambda word: word not in there)]
    each += [((ON, word), here, word.__eq__) for word, here in there.items()]
    for at, here, applies in each:
        checker = Checker(definitions, operations, applies)
        for path, part in _calls_of_lookup(here):
            yield from checker.arguments(part, (*at, *path))
        if "every" in here and "call" in here:
            for path, *found in checker.arguments({**here, "args": here["every"]}, at):
                yield (tuple("every" if key == "args" else key for key in path), *found)
        if "suggest" in here:
            yield from checker.suggest(here, (*at, "suggest"))


def snapshot_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    """What puts a thing back sees nothing of the command that changed it."""
    table: SnapshotDefinition = definition.table
    there = deployment_variants(table)
    yield from Checker(definitions, operations, lambda word: word not in there).undo(table.get("undo", ()), ())
    for deployment, here in there.items():
        yield from Checker(definitions, operations, deployment.__eq__).undo(here.get("undo", ()), (ON, deployment))


def _calls_of_lookup(table: LookupHere) -> Iterator[tuple[Path, LookupHere | KeywordDefinition]]:
    if "call" in table:
        yield (), table
    for name, keyword in table.get("keywords", {}).items():
        if "call" in keyword:
            yield ("keywords", name), keyword


class Checker(CallChecker):
    """`applies` tells for which deployments what is checked here holds."""

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        super().__init__(definitions, operations, applies)
        self.converters = CONVERTERS

    def command(self, table: CommandDefinition, at: Path) -> Problems:
        verbs = [verb for verb in VERBS if verb in table]
        if len(verbs) != 1:
            given = f"has {' and '.join(verbs)}, expected one of them" if verbs else f"needs one of: {', '.join(VERBS)}"
            yield at, given
        params = table.get("params", ())
        made = {param[key] for param in params for key in ("front", "beside") if key in param}
        names = {to_identifier(param["name"]) for param in params} | made | ALWAYS
        yield from self._params(table, names)
        self.params = {to_identifier(param["name"]): param for param in params}
        yield from value_faults(table.get("confirm"), names, (*at, "confirm"))
        if "call" in table:
            yield from self._step(_own_action(table), names, at, {}, STEP_VERBS)
        bound: dict[str, int] = {}
        for place, param in enumerate(params):
            names = yield from self._steps(param.get("step", ()), names, (*at, "params", place, "step"), bound)
        names = yield from self._steps(table.get("step", ()), names, (*at, "step"), bound)
        yield from value_faults(table.get("result"), names, (*at, "result"))
        if "keep" in table:
            own = {to_identifier(param["name"]) for param in params}
            if to_identifier(table["keep"]["of"]) not in own:
                yield (
                    (*at, "keep", "of"),
                    f"no parameter {table['keep']['of']!r}{did_you_mean(table['keep']['of'], own)}",
                )
            yield from self._undo(table, names - added_by(table.get("step", ())), at)
        if "items" in table:
            yield from part_faults(table["items"], names, (*at, "items"))
        yield from self._convert(table, names, (*at, "convert"))

    def _steps(
        self, steps: Any, names: Names, at: Path, bound: dict[str, int], verbs: tuple[str, ...] = STEP_VERBS
    ) -> Generator[tuple[Any, ...], None, Names]:
        """Returns the names that are known after the steps."""
        end: int | None = None
        for place, step in enumerate(steps):
            if end is not None:
                yield (*at, place), f"never reached: step {end} always fails"
            elif "fail" in step and "when" not in step:
                end = place
            yield from self._step(step, names, (*at, place), bound, verbs)
            new = step.get("as", ())
            added = set(new) if isinstance(new, dict) else {new} if isinstance(new, str) and "as" in step else set()
            yield from (((*at, place, "as"), text) for text in unusable_names(added))
            bound.update(dict.fromkeys(added, place))
            names = self._known(names, added)
        return names

    def _known(self, names: Names, added: Names) -> Names:
        """With names that may hide parameters."""
        self.params = {name: param for name, param in self.params.items() if name not in added}
        return names | added

    def _params(self, table: CommandDefinition, names: Names) -> Problems:
        taken = {to_identifier(param["name"]) for param in table.get("params", ())}
        for place, param in enumerate(table.get("params", ())):
            yield from self._convert(param, names, ("params", place, "convert"))
            for key in ("front", "beside"):
                yield from ((("params", place, key), text) for text in unusable_names({*_text_at(param, key)}, taken))
            if "folder" in param and to_identifier(param["folder"]) not in names:
                yield (
                    ("params", place, "folder"),
                    f"no parameter {param['folder']!r}{did_you_mean(param['folder'], names)}",
                )
            yield from self._assigned(param.get("assign", ""), names, ("params", place, "assign"))
            for number, rule in enumerate(param.get("refuse", ())):
                yield from expression_faults(rule["when"], names, ("params", place, "refuse", number, "when"))
                for key in ("fail", "hint"):
                    yield from value_faults(rule.get(key), names, ("params", place, "refuse", number, key))
            lookup: LookupDefinition | None = self.table_of("lookup", param.get("lookup", ""))
            for _, part in _calls_of_lookup(lookup) if lookup else ():
                for name in sorted(set(names_in(part.get("args"))) - names - {"word"}):
                    text = f"the lookup {param['lookup']!r} needs {name!r}, which this command does not have"
                    yield ("params", place, "lookup"), text

    def suggest(self, lookup: LookupHere, at: Path) -> Problems:
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
            yield from self.arguments({key: value for key, value in call.items() if value is not None}, at)
        if "word" not in said and lookup.get("label") not in lookup.get("match", ()):
            yield at, "needs `word`: the lookup does not compare words with its label"
        if "word" in names_in(call.get("args")):
            yield (*at, "args"), "nothing is typed yet that `word` could be"

    def _assigned(self, id: str, names: Names, at: Path) -> Problems:
        """The values of an assignment see the command's names too, the text, and the field."""
        assignment: Assignment | None = self.table_of("assignment", id)
        used = [name for case in (assignment["cases"] if assignment else ()) for name in names_in(case.get("value"))]
        for name in sorted(set(used) - names - {"text", "field"}):
            yield at, f"the assignment {id!r} needs {name!r}, which this command does not have"

    def _convert(self, param: Param | CommandDefinition, names: Names, at: Path) -> Problems:
        convert = param.get("convert")
        yield from value_faults(convert, names, at)
        if convert is not None and "{" not in convert and convert not in self.converters:
            yield at, f"no converter {convert!r}{did_you_mean(convert, self.converters)}"

    def _step(
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
            yield from value_faults(step.get(key), inner | told.get(key, set()), (*at, key))
        if "when" in step:
            yield from expression_faults(step["when"], names, (*at, "when"))
        if does == ["value"]:
            yield from expression_faults(step["value"], names, (*at, "value"))
        for where, part in _parts(step):
            yield from part_faults(part, inner, (*at, *where))
        if "batch" in step:
            yield from self._list(step["batch"], names, (*at, "batch"))
        if "each" in step:
            yield from self._list(step["each"], names, (*at, "each"))
            yield from self._each(step["each"], names, (*at, "each"), bound)
        if "on_conflict" in step:
            yield from self._on_conflict(step["on_conflict"], names, (*at, "on_conflict"), bound)
        if "unless_same" in step:
            yield from self._unless_same(step["unless_same"], names, (*at, "unless_same"), bound)
        if "call" in step:
            yield from self.arguments(step, at)
            yield from self.amount(step, at)
            yield from value_problems(step, at)
        if "edit" in step:
            yield from format_problems(step["edit"], (*at, "edit"))

    def _list(self, table: Batch | Each, names: Names, at: Path) -> Problems:
        items = table["items"]
        yield from expression_faults(items, names, (*at, "items"))
        if (param := self.params.get(items.strip())) is not None and _is_single(param):
            yield (*at, "items"), f"{items!r} is one value, not a list: the parameter needs `multiple`"
        yield from value_faults(table["done"], names | {"done", "total"}, (*at, "done"))

    def _each(self, each: Each, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        """What its steps name is known in them alone."""
        item = each.get("item", "item")
        yield from (((*at, "item"), text) for text in unusable_names({item}))
        params = self.params
        inner = self._known(names, {item})
        inner = yield from self._steps(each["step"], inner, (*at, "step"), dict(bound), ITEM_VERBS)
        yield from value_faults(each.get("result"), inner, (*at, "result"))
        if plan := each.get("plan"):
            yield from plan_problems(plan, names, (*at, "plan"))
        if bulk := each.get("bulk"):
            yield from bulk_problems(bulk, names, (*at, "bulk"))
            yield from self.arguments(bulk, (*at, "bulk"))
            if "read" in bulk:
                yield from self.arguments(bulk["read"], (*at, "bulk", "read"))
            if "task" in bulk:
                yield from self.arguments(bulk["task"], (*at, "bulk", "task"))
        if not any("call" in step for step in each["step"]):
            yield (*at, "step"), "nothing is called for an item"
        yield from self._undo(each, inner - added_by(each["step"]), at)
        self.params = params

    def _undo(self, each: Each | CommandDefinition, names: Names, at: Path) -> Problems:
        """What puts an item back sees what the command named before the item's own steps, and what it was."""
        if keep := each.get("keep"):
            snapshot: SnapshotDefinition | None = self.table_of("snapshot", keep["snapshot"])
            yield from keep_problems(keep, snapshot, names - {str(each.get("item", "item"))}, (*at, "keep"))
        yield from self._steps(each.get("undo", ()), names | {"was"}, (*at, "undo"), {}, ITEM_VERBS)

    def _unless_same(self, rule: UnlessSame, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        yield from _earlier(rule["step"], at, bound)
        yield from value_faults(rule["body"], names | {"asked"}, (*at, "body"))
        yield from value_faults(rule.get("note"), names, (*at, "note"))

    def undo(self, steps: Any, at: Path) -> Problems:
        yield from self._steps(steps, {*RESERVED, "thing", "was"}, (*at, "undo"), {}, ITEM_VERBS)

    def _on_conflict(self, rule: OnConflict, names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        yield from _earlier(rule["step"], at, bound)
        yield from value_faults(rule["fail"], names | {"who"}, (*at, "fail"))
        if "call" in rule:
            yield from self.arguments(rule, at)


def _earlier(name: str, at: Path, bound: Mapping[str, int]) -> Problems:
    if name not in bound:
        yield (*at, "step"), f"no earlier step is called {name!r}{did_you_mean(name, bound)}"


def _parts(step: StepDefinition) -> Iterator[tuple[Path, str]]:
    """The expressions over the answer of a step."""
    if "value" in step and "call" in step:
        yield ("value",), step["value"]
    named = step.get("as")
    if isinstance(named, dict):
        yield from ((("as", name), part) for name, part in named.items())


def _text_at(param: Param, key: str) -> tuple[str, ...]:
    value = param.get(key)
    return (value,) if isinstance(value, str) else ()


def _own_action(table: CommandDefinition) -> StepDefinition:
    """What a command without steps does."""
    return cast("StepDefinition", {key: value for key, value in table.items() if key in ACTION})


def _is_single(param: Param) -> bool:
    """Whether a parameter is never a list, whatever is given for it."""
    return not (param.get("multiple") or param.get("split") or "convert" in param)
