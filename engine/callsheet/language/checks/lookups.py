"""Whether what is looked up can be found, and whether names and states of things can be asked for and put back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...errors import did_you_mean
from ..merge import ON, deployment_variants
from ..parameters import to_identifier
from ..scopes import conflicting_forms, names_in
from ..source_file import RESOURCE, Definition, Definitions, Path
from .commands import Checker, calls_of_lookup, member_of_list_faults, params_of_commands
from .operations import several_ids_faults
from .references import RESERVED, pattern_fault, value_faults
from .requests import Problems, answers_list, each_deployment

if TYPE_CHECKING:
    from ..shape.steps import LookupDefinition, LookupHere

_GROUP_THAT_PICKS = re.compile(r"\((?!\?)[^()|]*\)(?![?*+{])")  # no alternatives, and no amount
_ANY_WORDS = ("a", "7", "Two words", "\u00e9-_/.@")


def lookup_problems(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Problems:
    """What cannot be found, or is looked for by what no candidate has."""
    table: LookupDefinition = definition.table
    there = deployment_variants(table)
    pattern = table.get("pattern")
    if pattern == "":
        yield ("pattern",), "fits no word"
    elif pattern is not None and pattern_fault(pattern) is None:
        if "id" not in re.compile(pattern).groupindex and _GROUP_THAT_PICKS.search(pattern):
            yield ("pattern",), "a group that is the id is called so, (?P<id>...); any other is written (?:...)"
        elif "match" in table and all(re.fullmatch(pattern, word) for word in _ANY_WORDS):
            yield ("pattern",), "fits every word, so nothing is ever looked up"
    for place, url in enumerate(table.get("urls", ())):
        if re.match(r"\^?\(?(?:\?:)?https?", url):
            text = "fits nothing: only the path and the query of an address are compared, not https:// and the host"
            yield ("urls", place), text
    if "match" in table and not any("call" in here for here in (table, *there.values())):
        yield ("match",), "is compared with nothing: say `call`, or give the resource a `list`"
    if not {"call", "pattern", "urls", "keywords"} & table.keys():
        yield (), "needs one of: call, pattern, urls, keywords"
    each: list[tuple[Path, LookupHere, Callable[[str], bool]]] = [((), table, lambda word: word not in there)]
    each += [((ON, word), here, word.__eq__) for word, here in there.items()]
    for at, here, applies in each:
        checker = Checker(definitions, operations, applies)
        for path, part in calls_of_lookup(here):
            yield from checker.argument_problems(part, (*at, *path))
            if path and "value" in part and answers_list(definitions, {"call": part["call"], "as": ""}):
                yield from member_of_list_faults(part["call"], part["value"], (*at, *path, "value"))
        yield from _unseen_names(definitions, definition, here, at)
        if (sole := here.get("sole")) is not None and sole == here.get("value", table.get("value", "id")):
            yield (*at, "sole"), "is true of every candidate, which would be taken for any word"
        read: dict[Path, str] = {("match", place): text for place, text in enumerate(here.get("match", ()))}
        read |= {(key,): str(here[key]) for key in ("value", "label", "where") if key in here}
        for path, other in conflicting_forms(read):
            yield (*at, *path), f"takes one candidate as a list, and `{other[0]}` takes it as a table"
        if "every" in here and "call" in here:
            for path, *found in checker.argument_problems({**here, "args": here["every"]}, at):
                yield (tuple("every" if key == "args" else key for key in path), *found)
        if "suggest" in here:
            yield from checker.suggestion_problems(here, (*at, "suggest"))


def _unseen_names(definitions: Definitions, lookup: Definition, here: LookupHere, at: Path) -> Problems:
    """What a look-up that no command uses needs of one: of the others it is told there."""
    resource = definitions.get((RESOURCE, lookup.id))
    parents = map(to_identifier, resource.table.get("parent", ()) if resource is not None else ())
    known = {"word", *RESERVED, *parents}
    needed = {*names_in(here.get("args")), *names_in(here.get("every"))} - known
    params = [*params_of_commands(definitions)] if needed else []
    if not any(param.get("lookup") == lookup.id for param in params):
        known |= {to_identifier(param["name"]) for param in params if "name" in param}
        for name in sorted(needed - known):
            yield (*at, "args"), f"{name!r} is not a parameter of any command{did_you_mean(name, known)}"


def names_handed_over(definitions: Definitions) -> dict[str, set[str]]:
    """Snapshot → what the commands that keep one hand over."""
    found: dict[str, set[str]] = {}
    for command in definitions.of_kind("command"):
        for here in (command.table, *deployment_variants(command.table).values()):
            steps = here.get("step", ())
            for each in (here, *steps, *(step["each"] for step in steps if "each" in step)):
                if "keep" in each:
                    found.setdefault(each["keep"]["snapshot"], set()).update(each["keep"].get("args", ()))
    return found


def snapshot_problems(
    definitions: Definitions,
    definition: Definition,
    operations: Mapping[str, str],
    handed_over: Callable[[], Mapping[str, set[str]]],
) -> Problems:
    """What puts a thing back sees nothing of the command that changed it, and of several things each is read."""
    handed = handed_over().get(definition.id, set())
    for applies, here, at in each_deployment(definition.table):
        found = list(several_ids_faults(here, at))
        if here.get("size", 1) > 1 and "items" not in here and not found:
            yield (*at, "size"), "needs `items` beside it: where the things are in the answer"
        yield from found
        checker = Checker(definitions, operations, applies)
        yield from checker.undo_problems(here.get("undo", ()), at)
        yield from checker.put_back_problems(here, at)
        yield from checker.asking_problems(here, at)
        for key in ("args", "body"):
            yield from value_faults(here.get(key), {"ids", *RESERVED, *handed}, (*at, key))


def naming_problems(definitions: Definitions, naming: Definition, operations: Mapping[str, str]) -> Problems:
    for applies, here, at in each_deployment(naming.table):
        yield from several_ids_faults(here, at)
        yield from Checker(definitions, operations, applies).asking_problems(here, at)
