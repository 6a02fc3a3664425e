"""Whether commands, lookups and their steps are sound: one verb each, known parameters, names that exist there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import did_you_mean
from ..registry import CONVERTERS
from .load import Definition, Definitions, merge
from .locate import Path
from .scopes import names_in, roots

Problems = Iterator[tuple[Path, str]]
Names = set[str]

VERBS = ("builtin", "call", "step")
ACTION = ("call", "args", "body", "over", "files", "save", "most", "value", "batch", "reread")
ALWAYS = frozenset({"given", "site", "output", "columns", "limit", "max", "all", "page_token"})
_PLACEHOLDERS = ("args", "body", "over", "files", "save", "most", "hint", "fail", "tolerate")


def identifier(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def command_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    """`operations` holds further names of operations → their ids."""
    table = definition.table
    own = table.get("on", {})
    yield from Checker(definitions, operations, lambda word: word not in own).command(table, ())
    for deployment, different in own.items():
        if "unavailable" not in different:
            checker = Checker(definitions, operations, deployment.__eq__)
            yield from checker.command(variant(table, different), ("on", deployment))


def variant(table: dict[str, Any], different: dict[str, Any]) -> dict[str, Any]:
    """A command as it is on a deployment. Another `call` starts afresh, steps are replaced as a whole."""
    rest = {key: value for key, value in table.items() if key != "on"}
    if "call" in different or "step" in different:
        rest = {key: value for key, value in rest.items() if key not in (*ACTION, "step")}
    return merge(rest, different)


def lookup_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    table = definition.table
    own = table.get("on", {})
    if not {"call", "pattern", "urls", "keywords"} & table.keys():
        yield (), "needs one of: call, pattern, urls, keywords"
    variants: list[tuple[Path, dict[str, Any], Callable[[str], bool]]] = [((), table, lambda word: word not in own)]
    variants += [(("on", word), {**table, **different}, word.__eq__) for word, different in own.items()]
    for at, variant_, applies in variants:
        checker = Checker(definitions, operations, applies)
        for path, part in _calls_of_lookup(variant_):
            yield from checker.arguments(part, (*at, *path))


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

    def _table(self, kind: str, id: str) -> dict[str, Any] | None:
        found = self.definitions.get((kind, self.operations.get(id, id) if kind == "operation" else id))
        return found.table if found else None

    def command(self, table: dict[str, Any], at: Path) -> Problems:
        verbs = [verb for verb in VERBS if verb in table]
        if len(verbs) != 1:
            given = f"has {' and '.join(verbs)}, expected one of them" if verbs else f"needs one of: {', '.join(VERBS)}"
            yield at, given
        if "confirm" not in table and table["safety"] == "destroy" and "builtin" not in table:
            yield at, "a command that destroys needs 'confirm'"
        names = {identifier(param["name"]) for param in table.get("params", ())} | ALWAYS
        yield from self._params(table, names)
        yield from _unknown(names_in(table.get("confirm")), names, (*at, "confirm"))
        if "call" in table:
            yield from self._step({key: table[key] for key in ACTION if key in table}, names, at, {})
        bound: dict[str, int] = {}
        for place, step in enumerate(table.get("step", ())):
            yield from self._step(step, names, (*at, "step", place), bound)
            new = step.get("as", ())
            added = set(new) if isinstance(new, dict) else {new} if new else set()
            bound.update(dict.fromkeys(added, place))
            names = names | added
        yield from _unknown(names_in(table.get("result")), names, (*at, "result"))
        yield from self._convert(table, names, (*at, "convert"))

    def _params(self, table: dict[str, Any], names: Names) -> Problems:
        for place, param in enumerate(table.get("params", ())):
            yield from self._convert(param, names, ("params", place, "convert"))
            lookup = self._table("lookup", param.get("lookup", ""))
            for _, part in _calls_of_lookup(lookup) if lookup else ():
                for name in sorted(set(names_in(part.get("args"))) - names - {"word"}):
                    text = f"the lookup {param['lookup']!r} needs {name!r}, which this command does not have"
                    yield ("params", place, "lookup"), text

    def _convert(self, param: dict[str, Any], names: Names, at: Path) -> Problems:
        convert = param.get("convert")
        yield from _unknown(names_in(convert), names, at)
        if convert is not None and "{" not in convert and convert not in self.converters:
            yield at, f"no converter {convert!r}{did_you_mean(convert, self.converters)}"

    def _step(self, step: dict[str, Any], names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        if ("call" in step) == ("fail" in step):
            yield at, "has both call and fail, expected one of them" if "call" in step else "needs one of: call, fail"
        inner = names | {"batch", "item"} if "batch" in step else names
        for key in _PLACEHOLDERS:
            yield from _unknown(
                names_in(step.get(key)), inner | ({"error"} if key == "tolerate" else set()), (*at, key)
            )
        if "when" in step:
            yield from _unknown(roots(step["when"]), names, (*at, "when"))
        if "batch" in step:
            yield from _unknown(roots(step["batch"]["items"]), names, (*at, "batch", "items"))
            yield from _unknown(names_in(step["batch"]["done"]), names | {"done", "total"}, (*at, "batch", "done"))
        if "reread" in step:
            yield from self._reread(step["reread"], names, (*at, "reread"), bound)
        if "call" in step:
            yield from self.arguments(step, at)

    def _reread(self, rule: dict[str, Any], names: Names, at: Path, bound: Mapping[str, int]) -> Problems:
        if rule["step"] not in bound:
            yield (*at, "step"), f"no earlier step is called {rule['step']!r}{did_you_mean(rule['step'], bound)}"
        yield from _unknown(names_in(rule["fail"]), names | {"who"}, (*at, "fail"))
        if "tell" in rule:
            yield from self.arguments({"call": rule["tell"], **rule}, at)

    def arguments(self, step: dict[str, Any], at: Path) -> Problems:
        """What a call gives its operation: nothing it does not take, everything it must have."""
        operation = self._table("operation", step["call"])
        if operation is None:
            return
        given = step.get("args", {})
        known = dict.fromkeys(
            name for here in ({}, *operation.get("on", {}).values()) for name in _takes(operation, here)
        )
        for name in given:
            if name not in known:
                yield (*at, "args", name), f"{step['call']} does not take it{did_you_mean(name, known)}"
        for here in self._variants(operation):
            missing = [name for name, required in _takes(operation, here).items() if required and name not in given]
            if missing and not here.get("unavailable"):
                yield (*at, "call"), f"{step['call']} requires {', '.join(missing)} in args"

    def _variants(self, operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What the operation says differently on each deployment that matters here; nothing on those not named."""
        different = operation.get("on", {})
        if self.applies("") or not any(self.applies(word) for word in different):
            yield {}
        yield from (table for word, table in different.items() if self.applies(word))


def _takes(operation: dict[str, Any], here: Mapping[str, Any]) -> dict[str, bool]:
    """Name → required, path parameters and the parts of a form included."""
    path = str(here.get("http", operation["http"])).partition(" ")[2]
    body = here.get("body", operation.get("body", {}))
    known: dict[str, bool] = dict.fromkeys(body.get("parts", {}), False)
    for param in (*operation.get("params", ()), *here.get("params", ())):
        if param.get("remove"):
            known.pop(param["name"], None)
        elif param.get("in") != "path":
            known[param["name"]] = bool(param.get("required"))
    return known | {piece.partition("}")[0]: True for piece in path.split("{")[1:]}


def _unknown(used: Iterable[str], names: Iterable[str], at: Path) -> Problems:
    known = set(names)
    for name in dict.fromkeys(used):
        if name not in known:
            yield at, f"{name!r} is not known here{did_you_mean(name, known)}"
