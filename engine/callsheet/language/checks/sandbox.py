"""Whether what a simulated operation finds, changes and answers is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ..conditions import fixed_truth
from ..http_methods import READING
from ..merge import ON, deployment_variants
from ..problem import Finding, Findings
from ..scopes import looks_at_all, plain_paths, root_names
from ..source_file import Definition, Definitions, Path
from .body_schemas import body_faults, resolved_schema

if TYPE_CHECKING:
    from ..shape.sandbox import ActionHere, EntityHere

_ANSWERS = ("list", "view", "reply", "file")
_IN_SCOPE = ("params", "body", "me", "now", "site", "base", "files", "entry", "made", "answers", "failed")


def entity_findings(definitions: Definitions, entity: Definition, aliases: Mapping[str, str]) -> Findings:
    views = {
        name
        for each in definitions.of_kind("entity")
        for here in (each.table, *deployment_variants(each.table).values())
        for name in here.get("views", {})
    }
    written = entity.table.get(ON, {})
    for at, here in [((), entity.table), *(((ON, word), each) for word, each in written.items())]:
        yield from _seed_findings(here, entity.table, at)
        schema = resolved_schema(definitions, {"ref": here.get("schema", entity.table.get("schema"))})
        for place, item in enumerate(here.get("seed", ())):
            for key in item.keys() & schema.get("properties", {}).keys() - entity.table.get("refs", {}).keys():
                faults = body_faults(definitions, schema["properties"][key], item[key], (*at, "seed", place, key))
                yield from (Finding(*found) for found in faults)
        for id, action in here.get("actions", {}).items():
            operation = definitions.get(("operation", aliases.get(id, id)))
            if operation is not None:
                yield from _action_findings(action, operation.table, views, (*at, "actions", id))


def _seed_findings(here: EntityHere, whole: EntityHere, at: Path) -> Findings:
    identity = here.get("id", whole.get("id"))
    member = identity.get("member", "id") if identity else "id"
    seen: list[Any] = []
    for place, item in enumerate(here.get("seed", ())):
        if member not in item:
            if identity and identity["kind"] == "given" and "value" not in identity:
                yield Finding((*at, "seed", place), f"has no {member!r}, and none is made up: it is given")
        elif str(item[member]) in seen:
            yield Finding((*at, "seed", place, member), f"{item[member]!r} is the id of an item before it")
        else:
            seen.append(str(item[member]))


def _action_findings(action: ActionHere, operation: Mapping[str, Any], views: Collection[str], at: Path) -> Findings:
    there = (operation, *deployment_variants(operation).values())
    params = {name for here in there for name in _params_of(here)}
    for name, search in action.get("find", {}).items():
        for first, *rest in plain_paths(search.get("by", "")):
            if first == "params" and rest and rest[0] not in params:
                text = f"the operation has no parameter {rest[0]!r}{did_you_mean(rest[0], params)}"
                yield Finding((*at, "find", name, "by"), text)
    yield from _answer_findings(action, views, at)
    for place, case in enumerate(action.get("cases", ())):
        yield from _answer_findings(case, views, (*at, "cases", place))
    yield from _unreached_cases(action, at)
    changes = [((*at, "do", place), change) for place, change in enumerate(action.get("do", ()))]
    for number, case in enumerate(action.get("cases", ())):
        changes += [((*at, "cases", number, "do", place), each) for place, each in enumerate(case.get("do", ()))]
    names = {*action.get("find", {}), *_IN_SCOPE, *(change.get("name", "made") for _, change in changes)}
    only_reads = all(str(here.get("http", "")).partition(" ")[0] in READING for here in there)
    for where, change in changes:
        if "delete" in change and only_reads:
            yield Finding((*where, "delete"), "a request that only reads takes nothing away")
        for verb in ("patch", "delete"):
            expression = str(change.get(verb, ""))
            for name in root_names(expression) if verb in change and not looks_at_all(expression) else ():
                if name not in names:
                    yield Finding((*where, verb), f"nothing is found or made as {name!r}{did_you_mean(name, names)}")


def _unreached_cases(action: ActionHere, at: Path) -> Findings:
    """What has to be found is there, or the request was refused before."""
    found = {name for name, each in action.get("find", {}).items() if not {"optional", "several"} & each.keys()}
    cases = action.get("cases", [])
    for place, case in enumerate(cases[:-1]):
        when = case.get("when")
        if when is None or when in found or fixed_truth(when):
            yield Finding((*at, "cases", place + 1), f"is never reached: case {place} always counts")
            return


def _answer_findings(answer: Mapping[str, Any], views: Collection[str], at: Path) -> Findings:
    said = [key for key in _ANSWERS if key in answer]
    for key in said[1:]:
        yield Finding((*at, key), f"cannot stand beside {said[0]}: there is one answer")
    if said and answer.get("status") == 204:
        yield Finding((*at, "status"), f"204 is an answer without a body: there is no {said[0]}")
    for path, view in ((("view",), answer.get("view")), (("list", "view"), answer.get("list", {}).get("view"))):
        if isinstance(view, str) and view not in views:
            yield Finding((*at, *path), f"no entity has a view {view!r}{did_you_mean(view, views)}")


def _params_of(operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (piece.partition("}")[0] for piece in str(operation.get("http", "")).split("{")[1:])
    yield from (param["name"] for param in operation.get("params", ()) if "name" in param)
