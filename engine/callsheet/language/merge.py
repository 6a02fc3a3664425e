"""One definition laid over another: overlays of files, and what differs on a deployment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

from ..errors import UsageError, did_you_mean

# One definition laid over another: the rule of overlays, and of what differs on a deployment.


Table = dict[str, Any]  # of a definition as its files have it, before its shape is checked

# The keys of one call. A table that names another `call`, or steps of its own, keeps nothing of the one below.
ACTION = (
    "call",
    "args",
    "body",
    "over",
    "files",
    "save",
    "hold",
    "limit",
    "value",
    "batch",
    "on_conflict",
    "unless_same",
)
CALLS = (*ACTION, "step")
# What stands in these are values for the service: a key called `call` in there is none of ours.
_VALUES = frozenset({"args", "body", "over", "result"})


def merge_tables(under: Table, over: Table, *, afresh: bool = False) -> Table:
    """`over` laid over `under`: tables key by key, lists of named tables name by name, all else replaced.

    A table with `remove = true` takes away what stands under it. Lists over nothing stay as they are: what an `on`
    table removes is only found when that table is laid over the rest. With `afresh`, a table in `over` that has a
    `call` or a `step` takes nothing of the call under it along.
    """
    merged = dict(under)
    if afresh and ("call" in over or "step" in over):
        merged = {key: value for key, value in under.items() if key not in CALLS}
    for key, value in over.items():
        below = merged.get(key)
        inside = afresh and key not in _VALUES
        if isinstance(value, dict):
            if key in merged and value.get("remove") is True:
                if not _is_removal(below):
                    del merged[key]
            else:
                merged[key] = merge_tables(below if isinstance(below, dict) else {}, value, afresh=inside)
        elif _has_names(below) and _has_names(value):
            merged[key] = _merge_named(below or [], value, afresh=inside)
        else:
            merged[key] = value
    return merged


def lay_over(under: Table, over: Table) -> Table:
    """`merge`, where `remove` in `over` may also list keys of `under` that are taken away first."""
    gone = removed_keys(over)
    if gone is None:
        return merge_tables(under, over)
    kept = {key: value for key, value in under.items() if key not in gone}
    return merge_tables(kept, {key: value for key, value in over.items() if key != "remove"})


def removed_keys(over: Table) -> list[Any] | None:
    """What a definition takes away from what lies under it, where it lists that."""
    gone = over.get("remove")
    return gone if isinstance(gone, list) else None


def _is_removal(below: Any) -> bool:
    """A removal in an `on` table stays one for what that is laid over, however often it is said."""
    return isinstance(below, dict) and below.get("remove") is True


def _has_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) and _has_name(x) for x in value)


def _has_name(item: Table) -> bool:
    """A name of another type is told when the shape is checked."""
    return isinstance(item.get("name"), str)


def _merge_named(under: list[Table], over: list[Table], *, afresh: bool) -> list[Table]:
    known = {item["name"] for item in under}
    changes: dict[str, Table] = {}
    added: list[Table] = []
    for item in over:
        if item["name"] in known:
            changes[item["name"]] = item
        elif item.get("remove") is not True:
            added.append(item)
    merged = [merge_tables(item, changes.get(item["name"], {}), afresh=afresh) for item in under]
    kept = {item["name"] for item in under if _is_removal(item)}
    gone = {name for name, item in changes.items() if item.get("remove") is True and name not in kept}
    return [item for item in merged if item["name"] not in gone] + added


def idle_removals(under: Table, over: Table) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Where `over` takes away an item that `under` does not have, and the name that may be meant, as an error says it.

    What `on` tables and values for the service hold is none of it: these are laid over something else, or nothing.
    """
    for place, key in enumerate(removed_keys(over) or ()):
        if not isinstance(key, str) or key not in under:
            yield ("remove", place), did_you_mean(str(key), under)
    yield from _idle_items(under, over)


def _idle_items(under: Table, over: Table) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Of the lists: in a table below the top, a key `remove` is one like the others."""
    for key, value in over.items():
        below = under.get(key)
        if key == "on" or key in _VALUES or key not in under:
            continue
        if isinstance(value, dict) and isinstance(below, dict):
            yield from (((key, *path), near) for path, near in _idle_items(below, value))
        elif _has_names(value):
            items = below if isinstance(below, list) else []
            names = [each["name"] for each in items if isinstance(each, dict) and "name" in each]
            for place, item in enumerate(value):
                if item.get("remove") is True and item["name"] not in names:
                    yield (key, place), did_you_mean(str(item["name"]), map(str, names))


# What a definition is on one deployment: its `on` tables, laid over the rest of it by one rule for every kind.


ON = "on"
_Definition = TypeVar("_Definition", bound=Mapping[str, Any])


def on_deployment(table: _Definition, deployment: str) -> _Definition:
    """The definition as it is there. `on` itself is gone from what comes back where something differs.

    The table of the deployment is laid over the rest as an overlay is: tables key by key, lists of named tables name
    by name, all else replaced. Where it has a `call` (or steps), what belonged to the call below does not go with it.
    """
    different = table.get(ON, {}).get(deployment)
    if not different:
        return table
    rest = {key: value for key, value in table.items() if key != ON}
    return cast("_Definition", merge_tables(rest, different, afresh=True))


def deployment_variants(table: _Definition) -> dict[str, _Definition]:
    """Deployment → the definition as it is there, for those that `on` names."""
    return {deployment: on_deployment(table, deployment) for deployment in table.get(ON, ())}


def said_by_deployment(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A table, and what it says differently for each deployment, as both are written, with their places."""
    yield (), table
    yield from (((ON, word), here) for word, here in table.get(ON, {}).items())


def missing_on(*tables: Mapping[str, Any]) -> list[str]:
    """The deployments that lack what these definitions are together, such as an operation and its product."""
    named = [(word, here) for table in tables for word, here in deployment_variants(table).items()]
    return list(dict.fromkeys(word for word, here in named if here.get("unavailable")))


def check_available(table: Mapping[str, Any], what: str, deployment: str) -> None:
    """Raises `UsageError` when a definition, as it is on this deployment, says that it does not exist there."""
    if reason := table.get("unavailable"):
        raise UsageError(f"{what} does not exist on {deployment}: {reason}")
