"""Whether definitions are what the language allows: shapes, references, expressions, the tree of commands.

Raises one `DefinitionError` that names every problem with file, line, key path and the closest right word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cache, partial
from typing import Any

from pydantic import ValidationError

from ..errors import DefinitionError, closest_names, count_of, did_you_mean, near_or_all
from ..registry import NODES
from ..validation_messages import validation_message
from .checks.body_schemas import SCHEMA_KEYWORDS, body_example_findings, endless_schemas, schema_problems
from .checks.command_tree import (
    CommandLines,
    alias_problems,
    case_findings,
    companion_findings,
    default_problems,
    example_findings,
    folded_name,
    option_problems,
    options_of_programs,
    place_problems,
    program_problems,
    shadow_findings,
    suggestion_findings,
    words_by_group,
)
from .checks.commands import (
    command_problems,
    input_findings,
    paging_options,
    param_findings,
    unused_findings,
)
from .checks.listener import (
    broker_findings,
    envelope_findings,
    event_findings,
    listener_findings,
    signin_findings,
    source_findings,
)
from .checks.lookups import lookup_problems, names_handed_over, naming_problems, snapshot_problems
from .checks.operations import (
    address_problems,
    auth_findings,
    body_findings,
    deployment_findings,
    fetch_findings,
    header_findings,
    operation_problems,
    paginator_findings,
    parameter_findings,
    product_findings,
    service_findings,
)
from .checks.references import ShapePlace, adapter_of, allowed_keys, place_findings, schema_at, together_findings
from .checks.requests import (
    reading_findings,
    safety_findings,
)
from .checks.resources import (
    container_findings,
    first_at_addresses,
    host_findings,
    name_findings,
    page_address_findings,
    rename_findings,
    resource_findings,
    tool_findings,
    tools_by_name,
    toolset_findings,
)
from .checks.routes import route_findings
from .checks.sandbox import entity_findings, query_findings, simulation_findings
from .checks.value_uses import arguments_with_needed, expression_findings, part_findings, value_use_findings
from .checks.views import change_findings, column_findings, need_findings, reorder_findings, shown_findings
from .desugar import is_derived
from .merge import ON, idle_removals
from .problem import Finding, Findings, Key, Problem, spot_with_bases, stale_by, word_problem
from .renames import lost_definition
from .shape import COMPLETED, KINDS
from .shape.base import EXPECTED, NEVER_QUOTED
from .source_file import DEFAULTS, EXTEND, PARTS, RESOURCE, Definition, Definitions, Path, Stale


def node_findings(definitions: Definitions, node: Definition) -> Findings:
    """A block of one's own that may stand nowhere in a document, or whose macro has no place for what stands in it."""
    table = _with_base(definitions, node)
    kinds = {id for kind, id in definitions if kind == "node"}
    for keys, word in _kinds_named(node.table):
        if word not in kinds:
            yield Finding(keys, f"no kind of node {word!r}{did_you_mean(word, kinds)}")
    if table.get("group") != "block" or all(file.shipped for file in node.files):
        return
    forms = table.get("adf", [])
    forms = forms if isinstance(forms, list) else [forms]
    if forms and not _is_held(definitions, node.id, forms):
        yield Finding(("adf",), 'a document has no place for it: say where it may stand, such as within = ["doc"]')
    if "html" in table or "alerts" in table or any(form.get("holds") for form in forms):
        for place, form in enumerate(node.table.get("storage", ())):
            if "macro" in form and "body" not in form:
                text = 'the words in it would be lost: say body = "rich" (blocks) or body = "plain" (text)'
                yield Finding(("storage", place, "macro"), text)


def _kinds_named(table: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Where the forms in documents name kinds, and each word of `a>b`."""
    forms = table.get("adf", [])
    for place, form in enumerate(forms) if isinstance(forms, list) else [(None, forms)]:
        for key in ("holds", "starts", "marks", "within"):
            for word in form.get(key, ()):
                path: Path = ("adf", key) if place is None else ("adf", place, key)
                yield from ((path, kind) for kind in word.split(">") if kind != "inline")


def _with_base(definitions: Definitions, node: Definition) -> dict[str, Any]:
    """The table with what it takes from the kind that it is `like`."""
    base = definitions.get(("node", str(node.table.get("like"))))
    table = {**(base.table if base else {}), **node.table}
    own, other = node.table.get("adf"), base.table.get("adf") if base else None
    return {**table, "adf": {**other, **own}} if isinstance(own, dict) and isinstance(other, dict) else table


def _is_held(definitions: Definitions, id: str, forms: list[dict[str, Any]]) -> bool:
    if any(form.get("within") for form in forms):
        return True
    for (kind, _), other in definitions.items():
        adf = other.table.get("adf", []) if kind == "node" else []
        for form in adf if isinstance(adf, list) else [adf]:
            if id in form.get("holds", ()):
                return True
    return False


def check_definitions(
    definitions: Definitions, aliases: Mapping[str, Mapping[str, str]], registries: Mapping[str, set[str]]
) -> None:
    """Raise `DefinitionError` unless every definition is sound; the rest is as for `problems_in`."""
    refuse_problems(problems_in(definitions, aliases, registries), definitions)


def problems_in(
    definitions: Definitions,
    aliases: Mapping[str, Mapping[str, str]],
    registries: Mapping[str, set[str]],
    only: Collection[Key] | None = None,
) -> list[Problem]:
    """All that is wrong, or what is with `only` some, where all others are known to be sound.

    `aliases` holds further ids that references may use, and what they stand for, by kind; `registries` the names
    of the engine's own functions that definitions may mention.
    """
    chosen = definitions if only is None else {key: each for key, each in definitions.items() if key in only}
    whole = [definition for definition in chosen.values() if not definition.within]
    problems = [problem for definition in whole for problem in _shape_problems(definition, definitions)]
    if not problems:
        known = _known_ids(definitions, aliases) | {f"engine:{name}": names for name, names in registries.items()}
        known["engine:completer"] = {*known.get("engine:completer", ()), *COMPLETED}
        clean: set[Any] = set()
        for definition in whole:
            found = place_findings(definition, known, _together_and_shadowed, clean)
            problems.extend(Problem(definition, finding) for finding in found)
        problems.extend(_further_problems(definitions, chosen, aliases.get("operation", {})))
        problems.extend(_removed_problems(definitions))
    said = (problem for problem in problems if not is_derived(problem.definition, definitions))
    return [_of_what_is_gone(problem, definitions) for problem in said]


def _together_and_shadowed(place: ShapePlace) -> Findings:
    yield from together_findings(place)
    yield from shadow_findings(place)


def _of_what_is_gone(problem: Problem, definitions: Definitions) -> Problem:
    """In the words that say what to use instead, where something is missing that there was once.

    What is wrong with a part of a resource is wrong with that.
    """
    definition = problem.definition
    told = next(filter(None, (lost_definition(definitions, *key) for key in problem.finding.about)), None)
    path, text, about = problem.finding
    if problem.definition.within:
        problem = problem._replace(definition=definitions[RESOURCE, problem.definition.id])
        path = (definition.within, *path)
    about = tuple((RESOURCE if kind in PARTS.values() else kind, id) for kind, id in about)
    return problem._replace(finding=Finding(path, told or text, about))


def stale_among(
    problems: list[Problem], definitions: Definitions, without: Collection[tuple[str, str, str]] = ()
) -> list[Stale]:
    """The definitions of a person's own that need what is gone, or what was left out for that."""
    told = (stale_by(_of_what_is_gone(problem, definitions), definitions, without) for problem in problems)
    return [each for each in told if each is not None]


def _removed_problems(definitions: Definitions) -> Iterator[Problem]:
    for (kind, id), removed in definitions.removed.items():
        if kind == "node" and id in NODES and (kind, id) not in definitions:
            yield Problem(removed, Finding((), "rich text cannot do without it: it can be changed, not removed"))


def refuse_problems(problems: list[Problem], definitions: Definitions) -> None:
    """Raise `DefinitionError` with the file and line of each problem, if there is any."""
    if problems or definitions.idle or definitions.stale:
        told = {word_problem(problem, definitions) for problem in _told_once(problems)}
        details = sorted({*told, *definitions.idle, *(each.text for each in definitions.stale)}, key=_by_line)
        count = len(details)
        raise DefinitionError(f"{count_of(count, 'problem')} in definitions", details=details)


def _told_once(problems: list[Problem]) -> Iterator[Problem]:
    """Without those that a definition has of another one that it is built on, and that is told of itself."""
    found = [(problem, spot_with_bases(problem.definition, problem.finding.path)) for problem in problems]
    own = {(at.file.path, at.keys, problem.finding.text) for problem, at in found if at.owner is problem.definition}
    for problem, at in found:
        if at.owner is problem.definition or (at.file.path, at.keys, problem.finding.text) not in own:
            yield problem


def _known_ids(definitions: Definitions, aliases: Mapping[str, Mapping[str, str]]) -> dict[str, set[str]]:
    known: dict[str, set[str]] = {kind: set(aliases.get(kind, ())) for kind in (*KINDS, *PARTS.values())}
    for kind, id in definitions:
        known[kind].add(id)
    return known


def _shape_problems(definition: Definition, definitions: Definitions) -> Iterator[Problem]:
    if definition.kind not in KINDS:
        text = f"unknown kind {definition.kind!r}{did_you_mean(definition.kind, (*KINDS, EXTEND, DEFAULTS))}"
        yield Problem(definition, Finding((), text))
        return
    if (unquoted := _unquoted_id(definition, definitions)) is not None:
        yield Problem(definition, Finding(*unquoted))
        return
    try:
        adapter_of(definition.kind).validate_python(definition.table)
    except ValidationError as error:
        items: list[tuple[Path, dict[str, Any]]] = [
            (_place_without_alternatives(definition.table, item["loc"]), dict(item))
            for item in error.errors(include_url=False)
        ]
        for path, item in items:
            types = {each["type"] for at, each in items if at == path}
            if item["type"] == "bool_type" and "literal_error" in types:
                continue  # it is told with the other values
            of_a_form = len(path) < len(item["loc"]) and item["type"].endswith("_type")
            nearer = types if not all(each.endswith("_type") for each in types) else ()
            if of_a_form and (nearer or any(other[: len(path)] == path and other != path for other, _ in items)):
                continue  # it has several forms, and another one comes nearer
            also = ", or true or false" if item["type"] == "literal_error" and "bool_type" in types else ""
            yield Problem(definition, Finding(path, _expected_text(definition, path, item, definitions) + also))


def _unquoted_id(definition: Definition, definitions: Definitions) -> tuple[Path, str] | None:
    """Of a table such as [schema.shop.Order], which TOML reads as a key of `shop`: what to write instead."""
    parts = {key: part for key, part in definition.table.items() if isinstance(part, dict) and part}
    known = ({*allowed_keys(definition.kind, definition.table, ())} or {*SCHEMA_KEYWORDS}) if parts else set()
    for key, part in parts.items():
        if key not in known and known.issuperset(part):
            sign = " " if any(" " in id for kind, id in definitions if kind == definition.kind) else "."
            text = f'[{definition.kind}."{definition.id}{sign}{key}"]'
            return (key,), f"unknown key: an id of more than one word stands in quotes, {text}"
    return None


def _place_without_alternatives(table: Any, location: Path) -> Path:
    """A place without the names that pydantic gives to alternatives and keys."""
    path: Path = ()
    for place, key in enumerate(location):
        is_there = key in table if isinstance(table, dict) else isinstance(table, list) and isinstance(key, int)
        if is_there:
            table = table[key]
        elif not (isinstance(table, dict) and place == len(location) - 1 and key != "[key]"):
            continue
        path += (key,)
    return path


def _expected_text(definition: Definition, path: Path, item: dict[str, Any], definitions: Definitions) -> str:
    if item["type"] == "extra_forbidden":
        if path[-1] == "remove":
            return "nothing to remove"
        known, key = allowed_keys(definition.kind, definition.table, path[:-1]), str(path[-1])
        return f"unknown key{did_you_mean(key, [*known, 'remove']) or near_or_all(key, known)}"
    if item["type"] == "missing" and isinstance(path[-2:][0], int):
        return f"required key is missing{_meant_entry(definition.table, path[:-1])}"
    if item["type"] == "missing":
        return f"required key is missing{_meant_definition(definition, definitions) if len(path) == 1 else ''}"
    if item["type"] == "literal_error":
        return f"unknown value {item['input']!r}, expected one of {item['ctx']['expected']}"
    there = schema_at(definition.kind, definition.table, path)
    pattern = str(item.get("ctx", {}).get("pattern", there.get("pattern", "")))
    given = f" (given: {item['input']!r})" if isinstance(item["input"], str | int | float) else ""
    if item["type"] == "dict_type" or pattern in NEVER_QUOTED:
        given = ""  # a secret, where a table that says how to find it is expected
    misfit = item["type"] == "string_type" and pattern and not re.search(pattern, str(item["input"]))
    if item["type"] == "string_pattern_mismatch" or (misfit and given):
        return f"expected {EXPECTED[pattern]}{given}"
    return validation_message(item) + given


def _meant_entry(table: Any, path: Path) -> str:
    """Of an entry of a list that is not whole: its name, and the entry that it may have been meant to change."""
    for key in path[:-1]:
        table = table[key]
    names = [str(each.get("name", "")) if isinstance(each, dict) else "" for each in table]
    name = names.pop(int(path[-1]))
    near = closest_names(name, filter(None, names)) if name else []
    return f" in {name!r}; did you mean to change {near[0]!r}?" if near else f" in {name!r}" if name else ""


def _meant_definition(definition: Definition, definitions: Definitions) -> str:
    """Where a definition is not whole, and another one has nearly its id: this may have been meant to change that."""
    others = [id for kind, id in definitions if kind == definition.kind and id != definition.id]
    near = closest_names(definition.id, others)
    return f'; did you mean to change {definition.kind} "{near[0]}"?' if near else ""


def _further_problems(
    definitions: Definitions, chosen: Mapping[Key, Definition], operations: Mapping[str, str]
) -> Iterator[Problem]:
    """What takes more than a shape to say."""
    checks = _checks_by_kind(definitions, operations)
    for (kind, _), definition in chosen.items():
        there = definition.table.get(ON)
        for word, here in there.items() if isinstance(there, dict) and kind != "schema" else ():
            for path, near in idle_removals(definition.table, here):
                if len(definition.files) > 1 and not near:
                    continue  # a later file has taken it away everywhere
                yield Problem(definition, Finding((ON, word, *path), f"nothing to remove{near}"))
        for find in checks.get(kind, ()):
            for found in find(definitions, definition):
                yield Problem(definition, Finding(*found))


Check = Callable[..., Iterable[tuple[Any, ...]]]


def _checks_by_kind(definitions: Definitions, operations: Mapping[str, str]) -> dict[str, tuple[Check, ...]]:
    lines, words = CommandLines(definitions), words_by_group(definitions)
    examples, suggested = partial(example_findings, lines=lines), partial(suggestion_findings, lines=lines)
    schemas = {id for kind, id in definitions if kind == "schema"}
    shared = options_of_programs(definitions)
    options = partial(option_problems, shared=shared, folded={folded_name(name): name for name in shared})
    programs = [each.table for each in definitions.of_kind("program")]
    uses = partial(
        value_use_findings,
        asking_arguments=cache(partial(arguments_with_needed, definitions)),
        shared=[param for each in programs for key in ("options", "paging") for param in each.get(key, ())],
    )
    handed_over = cache(partial(names_handed_over, definitions))
    snapshots = partial(snapshot_problems, operations=operations, handed_over=handed_over)
    named = partial(name_findings, tools=tools_by_name(definitions))
    usual = paging_options(definitions)
    params = partial(param_findings, usual=usual)
    reading = partial(reading_findings, operations=operations)
    return {
        "command": (
            place_problems,
            partial(alias_problems, words=words),
            named,
            tool_findings,
            options,
            params,
            partial(unused_findings, usual=usual),
            examples,
            partial(command_problems, operations=operations),
            expression_findings,
            uses,
            partial(safety_findings, aliases=operations),
            reorder_findings,
            partial(shown_findings, shared=shared),
        ),
        "group": (place_problems, partial(alias_problems, words=words), default_problems, suggested),
        "program": (options, params, partial(program_problems, lines=lines), examples, suggested, reading),
        "input": (input_findings,),
        "view": (need_findings, change_findings, column_findings),
        "node": (node_findings,),
        "renamed": (rename_findings,),
        "part": (reading, part_findings),
        "lookup": (partial(lookup_problems, operations=operations), reading),
        "container": (container_findings,),
        "listener": (listener_findings,),
        "operation": (
            operation_problems,
            body_findings,
            body_example_findings,
            address_problems,
            header_findings,
            partial(fetch_findings, operations=operations),
        ),
        "paginator": (paginator_findings,),
        "deployment": (address_problems, deployment_findings),
        "auth": (address_problems, auth_findings),
        "product": (address_problems, header_findings, product_findings, reading),
        "service": (address_problems, companion_findings, signin_findings, service_findings),
        "schema": (partial(schema_problems, known=schemas, endless=endless_schemas(definitions)),),
        "assignment": (case_findings,),
        "naming": (reading, partial(naming_problems, operations=operations)),
        "snapshot": (reading, snapshots),
        "toolset": (toolset_findings,),
        "resource": (partial(resource_findings, aliases=operations, addresses=first_at_addresses(definitions)),),
        "address": (page_address_findings,),
        "host": (host_findings,),
        "entity": (partial(entity_findings, aliases=operations),),
        "source": (source_findings, companion_findings),
        "envelope": (envelope_findings,),
        "broker": (broker_findings,),
        "event": (event_findings,),
        "parameter": (parameter_findings,),
        "query": (query_findings,),
        "simulation": (simulation_findings,),
        "route": (route_findings,),
    }


def _by_line(text: str) -> tuple[str, int, str]:
    path, _, rest = text.partition(".toml:")
    line = rest.partition(":")[0]
    return path, int(line) if line.isdigit() else 0, rest
