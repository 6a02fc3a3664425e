"""Whether what a simulated operation finds, changes and answers is there."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean, near_or_all, slip_of
from ..conditions import conditions_joined, fixed_truth, ways_to_hold
from ..http_methods import READING
from ..merge import deployment_variants, said_by_deployment
from ..problem import Finding, Findings
from ..scopes import (
    comparisons_in,
    expressions_in,
    is_list_of,
    looks_at_all,
    members_of_items,
    names_in,
    plain_paths,
    root_names,
)
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, evaluate, fill_template, is_true, texts_in
from .body_schemas import body_faults, resolved_schema
from .references import bare_value_faults, hidden_name_faults, not_known
from .value_uses import expressions_of

if TYPE_CHECKING:
    from ..shape.sandbox import ActionHere, EntityDefinition, EntityHere

_ANSWERS = ("list", "view", "reply", "file")
_OF_PAGES = ("items", "start", "size", "count", "total", "last", "next", "after", "link")
_USUAL_VIEWS = ("full", "brief")  # an item is shown by these where nothing says by which
_IN_SCOPE = ("params", "body", "me", "now", "site", "base", "files", "entry", "answers", "failed")


def entity_findings(definitions: Definitions, entity: Definition, aliases: Mapping[str, str]) -> Findings:
    views = {
        name
        for each in definitions.of_kind("entity")
        for here in (each.table, *deployment_variants(each.table).values())
        for name in here.get("views", {})
    }
    yield from _member_findings(definitions, entity)
    yield from _written_member_findings(definitions, entity)
    yield from _unshown_views(definitions, entity)
    yield from _shared_actions(definitions, entity, aliases)
    yield from _expression_findings(definitions, entity, aliases)
    for at, here in said_by_deployment(entity.table):
        yield from _seed_findings(here, entity.table, at)
        yield from _view_findings(definitions, here, entity.table, at)
        refs = {**entity.table.get("refs", {}), **here.get("refs", {})}
        for place, name in enumerate(here.get("takes", ())):
            if name not in refs:
                yield Finding((*at, "takes", place), f"{name!r} is not in `refs`{did_you_mean(name, refs)}")
        for name, child in here.get("children", {}).items():
            yield from _listed_findings(definitions, child, (*at, "children", name))
        yield from _query_findings(here.get("query", {}), (*at, "query"))
        kept = {*entity.table.get("history", ()), *here.get("history", ())}
        for name, field in here.get("query", {}).get("fields", {}).items():
            if (member := field.get("history")) is not None and member not in kept:
                text = f"{member!r} is not in `history` of the entity, which keeps what was{did_you_mean(member, kept)}"
                yield Finding((*at, "query", "fields", name, "history"), text)
        schema = resolved_schema(definitions, {"ref": entity.table.get("schema")})
        for place, item in enumerate(here.get("seed", ())):
            for key in item.keys() & schema.get("properties", {}).keys() - entity.table.get("refs", {}).keys():
                faults = body_faults(definitions, schema["properties"][key], item[key], (*at, "seed", place, key))
                yield from (Finding(*found) for found in faults)
        whole = deployment_variants(entity.table)[str(at[1])] if at else entity.table
        for id in here.get("actions", {}).keys() & whole.get("actions", {}).keys():  # and not taken away there
            operation = definitions.get(("operation", aliases.get(id, id)))
            if operation is not None:
                action, where = whole["actions"][id], (*at, "actions", id)
                yield from _action_findings(definitions, entity.id, action, operation.table, views, where)
                for part, answer in _answers_of(action):
                    yield from _listed_findings(definitions, answer.get("list", {}), (*where, *part, "list"))


def _answers_of(action: ActionHere) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """What an action answers, and in which cases it answers something else, with their places."""
    yield (), action
    yield from ((("cases", number), case) for number, case in enumerate(action.get("cases", ())))


def _listed_findings(definitions: Definitions, listing: Mapping[str, Any], at: Path) -> Findings:
    """What a list takes of an entity that does not have it."""
    entity = definitions.get(("entity", listing.get("entity", "")))
    if entity is None:
        return
    there = [here for _, here in said_by_deployment(entity.table)]
    views = {*chain.from_iterable(here.get("views", ()) for here in there)}
    if views and (view := listing.get("view")) is not None and view not in {*views, "brief", "full"}:
        yield Finding((*at, "view"), f"entity {entity.id!r} has no view {view!r}{near_or_all(view, views)}")
    if "query" in listing and not any("query" in here for here in there):
        yield Finding((*at, "query"), f"entity {entity.id!r} has no `query`: nothing says what its fields are")


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


def _view_findings(definitions: Definitions, here: EntityHere, whole: EntityDefinition, at: Path) -> Findings:
    """Members of an item that stand there as words."""
    schema = resolved_schema(definitions, {"ref": whole.get("schema")})
    known = {*schema.get("properties", ()), *whole.get("new", ()), *chain.from_iterable(whole.get("seed", ()))}
    for name, view in here.get("views", {}).items():
        for key, value in view.items() if isinstance(view, dict) else ():
            if value == key and key in known:
                yield Finding((*at, "views", name, key), f"is the word {key!r}: the value is written {{{key}}}")


def _changes_of(definitions: Definitions, id: str) -> list[Mapping[str, Any]]:
    """Those that make or change items of one entity, wherever they stand."""
    return [
        change
        for each in definitions.of_kind("entity")
        for _, here in said_by_deployment(each.table)
        for action in here.get("actions", {}).values()
        for _, part in _answers_of(action)
        for change in part.get("do", ())
        if _entity_changed(change, action.get("find", {}), each.id) == id
    ]


def _entity_changed(change: Mapping[str, Any], found: Mapping[str, Any], own: str) -> str:
    named = found.get(str(change.get("patch", change.get("delete", ""))), {}).get("entity")
    return str(change.get("create") or change.get("entity") or named or own)


_SEEN_BY_VIEWS = ("id", "of", "item", "site", "base", "params", "me", "now")


_ALONE = re.compile(r"\s*(\w+)(?:\.\w+)*\s*")


def _known_members(definitions: Definitions, id: str) -> set[str] | None:
    """What items have; nothing where that is whatever a request has."""
    entity = definitions.get(("entity", id))
    if entity is None:
        return None
    there = [here for _, here in said_by_deployment(entity.table)]
    values = [change.get("to", {}) for change in _changes_of(definitions, id)]
    kept = [each for here in there for each in (*here.get("seed", ()), here.get("new", {}))]
    if not all(isinstance(each, dict) for each in [*values, *kept]) or _is_run_on(definitions, id):
        return None
    schema = resolved_schema(definitions, {"ref": entity.table.get("schema")}).get("properties", ())
    known = {*schema, *chain.from_iterable([*values, *kept]), "id", "of", *_ids_shown(there)}
    for here in there:
        known |= {*here.get("refs", ()), *(["history"] if "history" in here else [])}
    return known


def _is_run_on(definitions: Definitions, id: str) -> bool:
    """Whether something is done with the items that no definition says."""
    changes = (change for each in definitions.of_kind("entity") for change in _all_changes(each))
    return any("run" in change and change.get("to", {}).get("entity") == id for change in changes)


def _all_changes(entity: Definition) -> Iterator[Mapping[str, Any]]:
    for _, here in said_by_deployment(entity.table):
        for action in here.get("actions", {}).values():
            for _, part in _answers_of(action):
                yield from part.get("do", ())


def _member_findings(definitions: Definitions, entity: Definition) -> Findings:
    """Members that no item ever has: in what an item is shown as, called and searched by."""
    own = _known_members(definitions, entity.id)
    if own is None:
        return
    own.add("item")
    finds = (
        action.get("find", ())
        for each in definitions.of_kind("entity")
        for action in each.table.get("actions", {}).values()
    )
    there = [here for _, here in said_by_deployment(entity.table)]
    shown = {*own, *_SEEN_BY_VIEWS, *chain.from_iterable([*finds, *(here.get("children", ()) for here in there)])}
    for at, here in said_by_deployment(entity.table):
        places: list[tuple[Path, Iterable[str], Collection[str]]] = [
            ((*at, "views", name), expressions_in(view), shown) for name, view in here.get("views", {}).items()
        ]
        places.append(((*at, "id", "value"), expressions_in(here.get("id", {}).get("value")), shown))
        places += [((*at, "names", place), [text], own) for place, text in enumerate(here.get("names", ()))]
        for name, field in here.get("query", {}).get("fields", {}).items():
            where = (*at, "query", "fields", name)
            keys = () if field.get("kind") == "query" else ("value", "sort")  # that one is a member of its `entity`
            places += [((*where, key), [field[key]], own) for key in keys if key in field]
        for path, expressions, known in places:
            alone = (_ALONE.fullmatch(text) for text in expressions)  # `a || ''` says what is shown instead
            for name in dict.fromkeys(found[1] for found in alone if found):
                if name not in known:
                    yield Finding(path, f"no item of {entity.id} has a member {name!r}{did_you_mean(name, known)}")


def _written_member_findings(definitions: Definitions, entity: Definition) -> Findings:
    """Members that an action writes with a slip: what shows the items looks for the other word."""
    for at, here in said_by_deployment(entity.table):
        for operation, action in here.get("actions", {}).items():
            for part, each in _answers_of(action):
                for place, change in enumerate(each.get("do", ())):
                    to, id = change.get("to", {}), _entity_changed(change, action.get("find", {}), entity.id)
                    read = _members_read(definitions, id) if isinstance(to, dict) and "run" not in change else set()
                    for name in (name for name in to if isinstance(name, str) and name not in read):
                        if (meant := slip_of(name, read)) is not None:
                            where = (*at, "actions", operation, *part, "do", place, "to", name)
                            yield Finding(where, f"nothing reads it of a {id}, did you mean {meant!r}?")


def _members_read(definitions: Definitions, id: str) -> set[str]:
    """What items of an entity start with, and what they are shown and searched by."""
    entity = definitions.get(("entity", id))
    if entity is None:
        return set()
    found = {*resolved_schema(definitions, {"ref": entity.table.get("schema")}).get("properties", ())}
    for _, here in said_by_deployment(entity.table):
        found |= {
            *chain.from_iterable(each for each in (*here.get("seed", ()), here.get("new")) if isinstance(each, dict))
        }
        for text in expressions_in([here.get("views", {}), here.get("id", {}).get("value")]):
            found |= {name for path in plain_paths(text) for name in path[:2]}
    return {name for name in found if isinstance(name, str)}


def _unshown_views(definitions: Definitions, entity: Definition) -> Findings:
    """Views of one's own that nothing shows an item by."""
    if entity.files[-1].shipped:
        return
    named = {*_USUAL_VIEWS, *texts_in([each.table for each in definitions.of_kind("entity")])}
    views = {name for _, here in said_by_deployment(entity.table) for name in here.get("views", {})}
    for at, here in said_by_deployment(entity.table):
        for name in here.get("views", {}):
            if name not in named and (
                near := did_you_mean(name, {*_USUAL_VIEWS} - views)
            ):  # else an expression may name it
                yield Finding((*at, "views", name), f"nothing shows it{near}")


def _shared_actions(definitions: Definitions, entity: Definition, aliases: Mapping[str, str]) -> Findings:
    """Operations that another entity answers, too: only one of the two ever does."""
    own = {aliases.get(id, id): id for id in entity.table.get("actions", {})}
    for other in definitions.of_kind("entity"):
        if other.id == entity.id:
            return  # it is told of the second one
        for id in other.table.get("actions", {}):
            if (operation := aliases.get(id, id)) in own:
                text = f"{other.id!r} answers {operation} already"
                yield Finding(("actions", own[operation]), text, (("entity", other.id),))


def _ids_shown(there: Iterable[EntityHere]) -> Iterator[str]:
    return (here["id"]["member"] for here in there if "member" in here.get("id", {}))


def _expression_findings(definitions: Definitions, entity: Definition, aliases: Mapping[str, str]) -> Findings:
    """What expressions take of a request that it does not have, and of an item that is not shown with it."""
    refs, children = ({**entity.table.get(key, {})} for key in ("refs", "children"))
    for path, text in expressions_of(entity):
        if "actions" in path:
            id = str(path[path.index("actions") + 1])
            operation = definitions.get(("operation", aliases.get(id, id)))
            if operation is not None:
                yield from (Finding(path, fault) for fault in _request_faults(text, operation.table))
                yield from (Finding(path, fault) for fault in _item_faults(definitions, entity, path, text))
        elif "views" in path:
            taken = [(name, {*rest[:1]}) for name, *rest in plain_paths(text) if name in refs]
            taken += [(name, members_of_items(text, name)) for name in children]
            for name, members in taken:
                other = refs.get(name) or children[name]["entity"]
                shown = _members_shown(definitions, other, children.get(name, {}).get("view", "brief"))
                for member in members if shown else ():
                    if member not in shown:
                        fault = f"{name!r} is shown without {member!r}{near_or_all(member, shown)}"
                        yield Finding(path, fault, (("entity", other),))


def _request_faults(expression: str, operation: Mapping[str, Any]) -> Iterator[str]:
    there = (operation, *deployment_variants(operation).values())
    params = {name for here in there for name in _params_of(here)}
    for first, *rest in plain_paths(expression):
        if first == "params" and rest and rest[0] not in params:
            yield f"the operation has no parameter {rest[0]!r}{did_you_mean(rest[0], params)}"
        if first == "body" and all("body" not in here for here in there):
            yield "the operation has no body: what stands in the address is in params"
        if first == "body" and rest and any(_is_file(here, rest[0]) for here in there):
            yield f"{rest[0]!r} is a file, and these are seen as files: a list of tables of name, media and size"
    for (first, *rest), value in comparisons_in(expression):
        if first == "params" and len(rest) == 1 and isinstance(value, int | float):
            written = str(value).lower() if isinstance(value, bool) else value
            yield f"parameters come as texts: {rest[0]!r} is compared with '{written}'"


def _is_file(operation: Mapping[str, Any], part: str) -> bool:
    return bool(operation.get("body", {}).get("parts", {}).get(part, {}).get("file"))


def _item_faults(definitions: Definitions, entity: Definition, path: Path, expression: str) -> Iterator[str]:
    """Members that no item has of what was found, and words that seeds write in other letters."""
    found, tables = dict[str, str](), [entity.table]
    for key in path[:-1]:
        tables.append(tables[-1][key])
    for table in tables:
        finds = table.get("find", {}) if isinstance(table, dict) else {}
        found |= {name: search["entity"] for name, search in finds.items() if "several" not in search}
    yield from hidden_name_faults(expression, found.keys() - {"item"})
    if path[-1] in ("where", "sort"):
        found["item"] = tables[-1]["entity"]
    for first, *rest in plain_paths(expression):
        known = _known_members(definitions, found[first]) if rest and first in found else None
        if known is not None and rest[0] not in known:
            yield f"no item of {found[first]} has a member {rest[0]!r}{did_you_mean(rest[0], known)}"
    for (first, *rest), value in comparisons_in(expression):
        other = definitions.get(("entity", found.get(first, "")))
        for item in other.table.get("seed", ()) if other is not None and len(rest) == 1 else ():
            said = item.get(rest[0])
            if isinstance(said, str) and said != value and said.casefold() == str(value).casefold():
                yield f"{value!r} is {said!r} in the seed of {found[first]}"
                return


def _members_shown(definitions: Definitions, entity: str, view: str) -> Collection[str]:
    """What an item has where another one shows it; nothing where that is not written out."""
    definition = definitions.get(("entity", entity))
    members: list[str] = []
    for _, here in said_by_deployment(definition.table) if definition is not None else ():
        views = {**(definition.table if definition else here).get("views", {}), **here.get("views", {})}
        shown = views.get(view, views.get("full"))
        if not isinstance(shown, dict) or "@members" in shown:
            return ()
        members += shown
    return members


def _query_findings(query: Mapping[str, Any], at: Path) -> Findings:
    fields = query.get("fields", {})
    for name, field in fields.items():
        if (like := field.get("like")) is not None and like not in fields:
            yield Finding((*at, "fields", name, "like"), f"no field is called {like!r}{did_you_mean(like, fields)}")
        if name != name.lower():
            yield Finding((*at, "fields", name), f"is looked for in small letters: {name.lower()!r}")
        for key in ("value", "sort"):
            for first, *rest in plain_paths(field.get(key, "`null`")):
                if first == "item" and rest:
                    text = f"sees the members of an item: write {rest[0]}, not item.{rest[0]}"
                    yield Finding((*at, "fields", name, key), text)


def query_findings(_: Definitions, query: Definition) -> Findings:
    for name in query.table.get("functions", {}):
        if name != name.lower():
            yield Finding(("functions", name), f"is looked for in small letters: {name.lower()!r}")


def _action_findings(
    definitions: Definitions,
    own: str,
    action: ActionHere,
    operation: Mapping[str, Any],
    views: Collection[str],
    at: Path,
) -> Findings:
    for part, answer in _answers_of(action):
        yield from _answer_findings(answer, views, (*at, *part))
    yield from _unreached_cases(action, at)
    changes = [
        ((*at, *part, "do", place), change)
        for part, each in _answers_of(action)
        for place, change in enumerate(each.get("do", ()))
    ]
    found = action.get("find", {})
    for name, search in found.items():
        if not {"by", "several"} & search.keys():
            yield Finding(
                (*at, "find", name), "finds nothing: say `by` what it is called, or that `several` are wanted"
            )
    named = {change.get("name", "made") for _, change in changes if "create" in change}
    runs = any("run" in change for _, change in changes)
    names = {*found, *_IN_SCOPE, *named, *(["made"] if runs else [])}
    yield from _unknown_names(action, found, changes, names, at)
    for place, name in enumerate(action.get("event", {}).get("shows", ())):
        known = {*found, *named, *(each["create"] for _, each in changes if "create" in each), own}
        if name not in known:
            yield Finding(
                (*at, "event", "shows", place), f"{name!r} is neither found nor changed{did_you_mean(name, known)}"
            )
    yield from _event_findings(definitions, action, operation, (*at, "event"))
    for part, each in _answers_of(action):
        yield from _value_findings(each.get("reply"), found, names, (*at, *part, "reply"))
    for where, change in changes:
        itself = {change.get("name")} - {*found, *(each.get("name") for _, each in changes if each is not change)}
        yield from _value_findings(change.get("to"), found, names - itself, (*where, "to"))
        for name, value in change["to"].items() if isinstance(change.get("to"), dict) else ():
            if isinstance(value, str) and value.strip("{ }") in ("`null`", "null"):
                yield Finding((*where, "to", name), "null is left out, and changes nothing: `clear` takes members away")
            whole = value[1:-1] if isinstance(value, str) and value[:1] == "{" else ""
            if whole in found and not found[whole].get("several"):
                yield Finding(
                    (*where, "to", name), f"{value} is all of an item, and items know others by ids: {whole}.id"
                )
    for part, answer in _answers_of(action):
        where = (*at, *part)
        says = "shown" in {**action, **answer} or "repeat" in action or runs
        if "view" in answer and not says and not {"item", "made"} & {*found, *named}:
            yield Finding((*where, "view"), "shows nothing: name what in `shown`, or find it as `item`")
        yield from _list_findings(answer.get("list", {}), found, names, operation, (*where, "list"))
    there = (operation, *deployment_variants(operation).values())
    for where, change in changes:
        if not {"create", "patch", "delete", "run"} & change.keys():
            yield Finding(where, "does nothing: say what it is to create, patch, delete or run")
    only_reads = all(str(here.get("http", "")).partition(" ")[0] in READING for here in there)
    is_delete = all(str(here.get("http", "")).startswith("DELETE ") for here in there)
    if is_delete and not changes and not {"like", "reply"} & action.keys():
        yield Finding(at, "takes nothing away: say `do = [{ delete = ... }]`")
    for where, change in changes:
        if "delete" in change and only_reads:
            yield Finding((*where, "delete"), "a request that only reads takes nothing away")
        only = {*root_names(str(change.get("patch", change.get("delete", ""))))} if "run" not in change else set()
        if only and only <= {"body", "params"} and "entity" not in change:
            yield Finding((*where, "entity"), "is missing: of which entity the ids are that the request names")
        for verb in ("patch", "delete"):
            expression = str(change.get(verb, ""))
            for name in root_names(expression) if verb in change and not looks_at_all(expression) else ():
                if name not in names:
                    yield Finding((*where, verb), f"nothing is found or made as {name!r}{did_you_mean(name, names)}")


def _event_findings(definitions: Definitions, action: ActionHere, operation: Mapping[str, Any], at: Path) -> Findings:
    """What is sent as an event has a form."""
    simulation = definitions.get(("simulation", operation["product"]))
    if "event" in action and not any(
        "event" in here for _, here in (said_by_deployment(simulation.table) if simulation is not None else ())
    ):
        text = f"is never sent: no `event` of simulation {operation['product']!r} says what it looks like"
        yield Finding(at, text, (("simulation", operation["product"]),))


def _value_findings(value: Any, found: Mapping[str, Any], names: Collection[str], at: Path) -> Findings:
    """Expressions without their braces, members of what is a list, and what neither the request nor the action has."""
    for name in dict.fromkeys(names_in(value)):
        if name not in names and name != "made":  # that is told with more words
            yield Finding(at, f"{name!r} is not known here{did_you_mean(name, names)}")
    for text in texts_in(value):
        yield from (Finding(at, fault) for fault in bare_value_faults(text, names))
    for expression in expressions_in(value):
        for name in (name for name, search in found.items() if search.get("several")):
            if is_list_of(expression, name) is False:
                yield Finding(at, f"{name!r} is a list: members of each are {name}[].NAME")


def _unknown_names(
    action: ActionHere,
    found: Mapping[str, Any],
    changes: Sequence[tuple[Path, Mapping[str, Any]]],
    names: Collection[str],
    at: Path,
) -> Findings:
    """What neither the request nor the action has."""
    expressions: list[tuple[Path, Any]] = [((*at, "find", name, "by"), each.get("by")) for name, each in found.items()]
    expressions += [((*at, "find", name, "where"), each.get("where")) for name, each in found.items()]
    expressions += [((*where, key), change.get(key)) for where, change in changes for key in ("when", "each", "clear")]
    for path, text in expressions:
        for name in root_names(text) if isinstance(text, str) and not looks_at_all(text) else ():
            sees_each = path[-1] == "where"
            if name not in {*names, *(["item"] if sees_each else [])}:
                yield Finding(path, f"{name!r} is not known here{_as_item(name, names, sees_each=sees_each)}")
    if "made" not in names:
        for key in ("reply", "shown"):
            if (
                "made" in (names_in(action[key]) if key == "reply" else root_names(action[key]))
                if key in action
                else ()
            ):
                yield Finding((*at, key), "nothing is made here as 'made': `name` says how a new item is called")


def _list_findings(
    listing: Mapping[str, Any],
    found: Mapping[str, Any],
    names: Collection[str],
    operation: Mapping[str, Any],
    at: Path,
) -> Findings:
    for key in ("where", "sort", "of", "only", "descending", "query"):
        sees_each = key in ("where", "sort")
        for name in root_names(listing[key]) if key in listing and not looks_at_all(listing[key]) else ():
            if name not in {*names, *(["item"] if sees_each else [])}:
                yield Finding((*at, key), f"{name!r} is not known here{_as_item(name, names, sees_each=sees_each)}")
    for name in dict.fromkeys(names_in(listing.get("envelope"))):
        if name not in {*names, *_OF_PAGES}:
            yield Finding((*at, "envelope"), not_known(name, {*names, *_OF_PAGES}))
    of = listing.get("of")
    if isinstance(of, str) and of in found and "several" not in found[of]:
        yield Finding((*at, "of"), f"is the item itself, and an id is wanted: write {of}.id")
    if "paginate" in operation:
        yield from _page_findings(listing.get("envelope"), (*at, "envelope"))


def _as_item(name: str, names: Collection[str], *, sees_each: bool) -> str:
    return f": each is seen as `item`, so write item.{name}" if sees_each else did_you_mean(name, names)


def _page_findings(around: Any, at: Path) -> Findings:
    if around is not None and "items" not in {*names_in(around)}:
        yield Finding(at, 'holds no list: say where {items} stand, as in "@items" = "{items}"')


def simulation_findings(definitions: Definitions, simulation: Definition) -> Findings:
    product = definitions.get(("product", simulation.id))
    if product is None:
        known = [each.id for each in definitions.of_kind("product")]
        yield Finding((), f"no product is called so{did_you_mean(simulation.id, known)}")
    for at, here in said_by_deployment(simulation.table):
        if product is not None and "error" in here:
            yield from _error_findings(here["error"], product, (*at, "error"))
        for name, around in here.get("pages", {}).items():
            yield from _page_findings(around, (*at, "pages", name))
            yield from _place_findings(definitions, simulation.id, name, around, (*at, "pages", name))


def _error_findings(body: Any, product: Definition, at: Path) -> Findings:
    """Errors in which the product does not find the message."""
    with suppress(TemplateError):
        error = fill_template(body, {"status": 400, "message": "m", "fields": {"f": "m"}, "site": "s", "path": "p"})
        read = [here["errors"] for _, here in said_by_deployment(product.table) if "errors" in here]
        if read and not any(is_true(evaluate(each, error)) for each in read):
            yield Finding(at, f"the product reads messages as {read[0]!r}, which finds nothing in it")


def _place_findings(definitions: Definitions, product: str, paginator: str, around: Any, at: Path) -> Findings:
    """Items that stand elsewhere than in the answers of each operation that comes in such pages."""
    places = [key for key, value in around.items() if value == "{items}"] if isinstance(around, dict) else []
    own = [each.table for each in definitions.of_kind("operation") if each.table.get("product") == product]
    there = [here.get("paginate") or {} for table in own for here in (table, *deployment_variants(table).values())]
    paging = [each.get("items") for each in there if each.get("using") == paginator]
    if own and not paging:
        yield Finding(at, f"no operation of {product} comes in pages by {paginator!r}")
    if len(places) == 1 and places[0] not in ("@items", *paging) and paging and all(paging):
        yield Finding((*at, places[0]), f'the answers have them in {paging[0]!r}: "@items" stands for where they are')


def _unreached_cases(action: ActionHere, at: Path) -> Findings:
    """What has to be found is there, or the request was refused before."""
    found = {name for name, each in action.get("find", {}).items() if not {"optional", "several"} & each.keys()}
    cases = action.get("cases", [])
    for place, case in enumerate(cases[:-1]):
        when = case.get("when")
        if when is None or when in found or fixed_truth(when):
            yield Finding((*at, "cases", place + 1), f"is never reached: case {place} always counts")
            return
        for number, later in enumerate(cases[place + 1 :], place + 1):
            asked = {*conditions_joined(later.get("when", ""))}
            if any({*each} <= asked for each in ways_to_hold(when)):
                text = f"is never reached: case {place} is true wherever this one is"
                yield Finding((*at, "cases", number), text)
                return


def _answer_findings(answer: Mapping[str, Any], views: Collection[str], at: Path) -> Findings:
    said = [key for key in _ANSWERS if key in answer]
    for key in said[1:]:
        yield Finding((*at, key), f"cannot stand beside {said[0]}: there is one answer")
    if said and answer.get("status") == 204:
        yield Finding((*at, "status"), f"204 is an answer without a body: there is no {said[0]}")
    view = answer.get("view")
    if isinstance(view, str) and view not in views:
        yield Finding((*at, "view"), f"no entity has a view {view!r}{did_you_mean(view, views)}")


def _params_of(operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (piece.partition("}")[0] for piece in str(operation.get("http", "")).split("{")[1:])
    yield from (param["name"] for param in operation.get("params", ()) if "name" in param)
