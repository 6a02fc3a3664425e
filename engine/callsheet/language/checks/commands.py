"""Whether commands, lookups and their steps are sound: one verb each, known parameters, names that exist there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ...registry import CONVERTERS
from ..definition import Definition, Definitions
from ..deployment import ON, variants
from ..identifier import identifier
from ..locate import Path
from ..merge import ACTION
from ..safety import class_of_operation
from ..scopes import names_in
from ..template import TemplateError, expressions
from .bodies import body_faults
from .items import added_by, bulk_problems, keep_problems, plan_problems
from .names import expression_faults, value_faults
from .operations import misfit

Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`
Names = set[str]

VERBS = ("builtin", "call", "step")
ITEM_VERBS = ("call", "edit", "find", "confirm", "fail", "note")
STEP_VERBS = (*ITEM_VERBS, "each")
# What expressions see besides the parameters; the options of lists are parameters too, where a command has them.
RESERVED = frozenset({"given", "named", "site", "output", "columns", "needed"})
ALWAYS = RESERVED | {"limit", "max", "all", "page_token"}
_PLACEHOLDERS = (
    *("args", "body", "over", "files", "save", "limit", "edit"),
    *("hint", "fail", "tolerate", "note", "more", "find", "confirm"),
)


_TOLD: dict[str, Names] = {"tolerate": {"error"}, "more": {"total"}}


def command_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    """`operations` holds further names of operations → their ids."""
    table = definition.table
    there = variants(table)
    yield from Checker(definitions, operations, lambda word: word not in there).command(table, ())
    for deployment, here in there.items():
        if "unavailable" not in here:
            checker = Checker(definitions, operations, deployment.__eq__)
            yield from checker.command(here, (ON, deployment))


def lookup_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    table = definition.table
    there = variants(table)
    if not {"call", "pattern", "urls", "keywords"} & table.keys():
        yield (), "needs one of: call, pattern, urls, keywords"
    each: list[tuple[Path, dict[str, Any], Callable[[str], bool]]] = [((), table, lambda word: word not in there)]
    each += [((ON, word), here, word.__eq__) for word, here in there.items()]
    for at, here, applies in each:
        checker = Checker(definitions, operations, applies)
        for path, part in _calls_of_lookup(here):
            yield from checker.arguments(part, (*at, *path))
        if "suggest" in here:
            yield from checker.suggest(here, (*at, "suggest"))


def _calls_of_lookup(table: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    if "call" in table:
        yield (), table
    for name, keyword in table.get("keywords", {}).items():
        if "call" in keyword:
            yield ("keywords", name), keyword


class Checker:
    """`applies` tells for which deployments what is checked here holds."""

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        self.definitions = definitions
        self.operations = operations
        self.applies = applies
        self.converters = CONVERTERS
        self.single: Names = set()
        self.choices: dict[str, list[str]] = {}  # of the parameters that have some

    def _table(self, kind: str, id: str) -> dict[str, Any] | None:
        found = self.definitions.get((kind, self.operations.get(id, id) if kind == "operation" else id))
        return found.table if found else None

    def command(self, table: dict[str, Any], at: Path) -> Problems:
        verbs = [verb for verb in VERBS if verb in table]
        if len(verbs) != 1:
            given = f"has {' and '.join(verbs)}, expected one of them" if verbs else f"needs one of: {', '.join(VERBS)}"
            yield at, given
        params = table.get("params", ())
        made = {param[key] for param in params for key in ("front", "beside") if key in param}
        names = {identifier(param["name"]) for param in params} | made | ALWAYS
        yield from self._params(table, names)
        self.choices = {identifier(param["name"]): param["choices"] for param in params if "choices" in param}
        self.single = {identifier(param["name"]) for param in params if _is_single(param)}
        yield from value_faults(table.get("confirm"), names, (*at, "confirm"))
        if "call" in table:
            yield from self._step({key: table[key] for key in ACTION if key in table}, names, at, {}, STEP_VERBS)
        bound: dict[str, int] = {}
        for place, param in enumerate(params):
            names = yield from self._steps(param.get("step", ()), names, (*at, "params", place, "step"), bound)
        names = yield from self._steps(table.get("step", ()), names, (*at, "step"), bound)
        yield from value_faults(table.get("result"), names, (*at, "result"))
        yield from self._convert(table, names, (*at, "convert"))

    def _steps(
        self, steps: Any, names: Names, at: Path, bound: dict[str, int], verbs: tuple[str, ...] = STEP_VERBS
    ) -> Generator[tuple[Any, ...], None, Names]:
        """Returns the names that are known after the steps."""
        for place, step in enumerate(steps):
            yield from self._step(step, names, (*at, place), bound, verbs)
            new = step.get("as", ())
            added = set(new) if isinstance(new, dict) else {new} if new else set()
            for name in sorted(added & RESERVED):
                yield (*at, place, "as"), f"expressions see something else as {name!r}: give it another name"
            bound.update(dict.fromkeys(added, place))
            names = self._known(names, added)
        return names

    def _known(self, names: Names, added: Names) -> Names:
        """With names that may hide parameters."""
        self.single -= added
        self.choices = {name: words for name, words in self.choices.items() if name not in added}
        return names | added

    def _params(self, table: dict[str, Any], names: Names) -> Problems:
        for place, param in enumerate(table.get("params", ())):
            yield from self._convert(param, names, ("params", place, "convert"))
            if "folder" in param and identifier(param["folder"]) not in names:
                yield (
                    ("params", place, "folder"),
                    f"no parameter {param['folder']!r}{did_you_mean(param['folder'], names)}",
                )
            yield from self._assigned(param.get("assign", ""), names, ("params", place, "assign"))
            for number, rule in enumerate(param.get("refuse", ())):
                yield from expression_faults(rule["when"], names, ("params", place, "refuse", number, "when"))
                for key in ("fail", "hint"):
                    yield from value_faults(rule.get(key), names, ("params", place, "refuse", number, key))
            lookup = self._table("lookup", param.get("lookup", ""))
            for _, part in _calls_of_lookup(lookup) if lookup else ():
                for name in sorted(set(names_in(part.get("args"))) - names - {"word"}):
                    text = f"the lookup {param['lookup']!r} needs {name!r}, which this command does not have"
                    yield ("params", place, "lookup"), text

    def suggest(self, lookup: dict[str, Any], at: Path) -> Problems:
        """Words to complete with come from a call that only reads, and are what the lookup is given."""
        said = lookup["suggest"]
        call = {key: said.get(key, lookup.get(key)) for key in ("call", "args") if key in said or "call" not in said}
        operation = self._table("operation", call.get("call") or "")
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
        assignment = self._table("assignment", id) or {}
        used = [name for case in assignment.get("cases", ()) for name in names_in(case.get("value"))]
        for name in sorted(set(used) - names - {"text", "field"}):
            yield at, f"the assignment {id!r} needs {name!r}, which this command does not have"

    def _convert(self, param: dict[str, Any], names: Names, at: Path) -> Problems:
        convert = param.get("convert")
        yield from value_faults(convert, names, at)
        if convert is not None and "{" not in convert and convert not in self.converters:
            yield at, f"no converter {convert!r}{did_you_mean(convert, self.converters)}"

    def _step(
        self, step: dict[str, Any], names: Names, at: Path, bound: Mapping[str, int], verbs: tuple[str, ...]
    ) -> Problems:
        does = [verb for verb in verbs if verb in step]
        if len(does) != 1:
            several = f"has {'both ' if len(does) == 2 else ''}{' and '.join(does)}, expected one of them"
            given = several if does else f"needs one of: {', '.join(verbs)}"
            yield at, given
        inner = names | {"batch", "item"} if "batch" in step else names
        for key in _PLACEHOLDERS:
            yield from value_faults(step.get(key), inner | _TOLD.get(key, set()), (*at, key))
        if "when" in step:
            yield from expression_faults(step["when"], names, (*at, "when"))
        for key in ("batch", "each"):
            if key in step:
                yield from self._list(step[key], names, (*at, key))
        if "each" in step:
            yield from self._each(step["each"], names, (*at, "each"), bound)
        if "on_conflict" in step:
            yield from self._on_conflict(step["on_conflict"], names, (*at, "on_conflict"), bound)
        if "call" in step:
            yield from self.arguments(step, at)

    def _list(self, table: dict[str, Any], names: Names, at: Path) -> Problems:
        items = table["items"]
        yield from expression_faults(items, names, (*at, "items"))
        if items.strip() in self.single:
            yield (*at, "items"), f"{items!r} is one value, not a list: the parameter needs `multiple`"
        yield from value_faults(table["done"], names | {"done", "total"}, (*at, "done"))

    def _each(self, each: dict[str, Any], names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        """What its steps name is known in them alone."""
        item = each.get("item", "item")
        if item in RESERVED or not item.isidentifier():
            why = "expressions see something else by that name" if item in RESERVED else "it cannot be written there"
            yield (*at, "item"), f"{item!r} cannot name an item in expressions: {why}"
        single, choices = set(self.single), self.choices
        inner = self._known(names, {item})
        inner = yield from self._steps(each["step"], inner, (*at, "step"), dict(bound), ITEM_VERBS)
        yield from value_faults(each.get("result"), inner, (*at, "result"))
        yield from plan_problems(each.get("plan", {}), names, (*at, "plan"))
        if bulk := each.get("bulk"):
            yield from bulk_problems(bulk, names, (*at, "bulk"))
            yield from self.arguments(bulk, (*at, "bulk"))
            if "task" in bulk:
                yield from self.arguments(bulk["task"], (*at, "bulk", "task"))
        if not any("call" in step for step in each["step"]):
            yield (*at, "step"), "nothing is called for an item"
        yield from self._undo(each, inner - added_by(each["step"]), at)
        self.single, self.choices = single, choices

    def _undo(self, each: dict[str, Any], names: Names, at: Path) -> Problems:
        """What puts an item back sees what the command named before the item's own steps, and what it was."""
        if keep := each.get("keep"):
            snapshot = self._table("snapshot", keep["snapshot"])
            yield from keep_problems(keep, snapshot, names - {each.get("item", "item")}, (*at, "keep"))
        yield from self._steps(each.get("undo", ()), names | {"was"}, (*at, "undo"), {}, ITEM_VERBS)

    def _on_conflict(self, rule: dict[str, Any], names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        if rule["step"] not in bound:
            yield (*at, "step"), f"no earlier step is called {rule['step']!r}{did_you_mean(rule['step'], bound)}"
        yield from value_faults(rule["fail"], names | {"who"}, (*at, "fail"))
        if "call" in rule:
            yield from self.arguments(rule, at)

    def arguments(self, step: dict[str, Any], at: Path) -> Problems:
        """What a call gives its operation: nothing it does not take, everything it must have."""
        operation = self._table("operation", step["call"])
        if operation is None:
            return
        about = (("operation", self.operations.get(step["call"], step["call"])),)
        given = step.get("args", {})
        known = dict.fromkeys(name for here in (operation, *variants(operation).values()) for name in _takes(here))
        for name in given:
            if name not in known:
                yield (*at, "args", name), f"{step['call']} does not take it{did_you_mean(name, known)}", about
        yield from self._values(operation, given, at)
        bodies = [here.get("body") for here in self._variants(operation) if not here.get("unavailable")]
        for key in ("body", "over", "files"):
            if key in step and bodies and all(body is None for body in bodies):
                yield (*at, key), f"{step['call']} takes no body", about
        schema = operation.get("body", {}).get("schema")
        if schema and "body" in step and "on" not in operation:
            faults = body_faults(self.definitions, {"ref": schema}, step["body"])
            yield from (((*at, "body", *path), text) for path, text in faults)
        for here in self._variants(operation):
            missing = [name for name, required in _takes(here).items() if required and name not in given]
            if missing and not here.get("unavailable"):
                yield (*at, "call"), f"{step['call']} requires {', '.join(missing)} in args", about

    def _values(self, operation: dict[str, Any], given: Mapping[str, Any], at: Path) -> Problems:
        """Constants, and the choices of a parameter that is handed on, against what the operation documents."""
        here = next(iter(self._variants(operation)), operation)
        params = {param["name"]: param for param in here.get("params", ()) if not param.get("remove")}
        for name, value in given.items():
            if name not in params:
                continue
            choices = self.choices.get(value[1:-1].strip(), ()) if isinstance(value, str) and value[:1] == "{" else ()
            for each in choices or (() if is_filled(value) else (value,)):
                if fault := misfit(params[name], each):
                    yield (*at, "args", name), fault
                    break

    def _variants(self, operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The operation as it is on each deployment that matters here; as it is elsewhere for those not named."""
        there = variants(operation)
        if self.applies("") or not any(self.applies(word) for word in there):
            yield operation
        yield from (table for word, table in there.items() if self.applies(word))


def is_filled(value: Any) -> bool:
    """Whether a value has placeholders; one that is broken counts as none of this check's business."""
    if isinstance(value, str):
        try:
            return bool(expressions(value))
        except TemplateError:
            return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(is_filled(part) for part in parts)


def _takes(operation: Mapping[str, Any]) -> dict[str, bool]:
    """Name → required, path parameters and the parts of a form included."""
    path = str(operation["http"]).partition(" ")[2]
    known: dict[str, bool] = dict.fromkeys(operation.get("body", {}).get("parts", {}), False)
    for param in operation.get("params", ()):
        if param.get("in") != "path" and not param.get("remove"):
            known[param["name"]] = bool(param.get("required"))
    return known | {piece.partition("}")[0]: True for piece in path.split("{")[1:]}


def _is_single(param: Mapping[str, Any]) -> bool:
    """Whether a parameter is never a list, whatever is given for it."""
    return not (param.get("multiple") or param.get("split") or "convert" in param)
