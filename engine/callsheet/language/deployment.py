"""What a definition is on one deployment: its `on` tables, laid over the rest of it by one rule for every kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from ..errors import UsageError
from .merge import merge_tables

ON = "on"
Table = TypeVar("Table", bound=Mapping[str, Any])


def on_deployment(table: Table, deployment: str) -> Table:
    """The definition as it is there. `on` itself is gone from what comes back where something differs.

    The table of the deployment is laid over the rest as an overlay is: tables key by key, lists of named tables name
    by name, all else replaced. Where it has a `call` (or steps), what belonged to the call below does not go with it.
    """
    different = table.get(ON, {}).get(deployment)
    if not different:
        return table
    rest = {key: value for key, value in table.items() if key != ON}
    return cast("Table", merge_tables(rest, different, afresh=True))


def deployment_variants(table: Table) -> dict[str, Table]:
    """Deployment → the definition as it is there, for those that `on` names."""
    return {deployment: on_deployment(table, deployment) for deployment in table.get(ON, ())}


def missing_on(*tables: Mapping[str, Any]) -> list[str]:
    """The deployments that lack what these definitions are together, such as an operation and its product."""
    named = [(word, here) for table in tables for word, here in deployment_variants(table).items()]
    return list(dict.fromkeys(word for word, here in named if here.get("unavailable")))


def check_available(table: Mapping[str, Any], what: str, deployment: str) -> None:
    """Raises `UsageError` when a definition, as it is on this deployment, says that it does not exist there."""
    if reason := table.get("unavailable"):
        raise UsageError(f"{what} does not exist on {deployment}: {reason}")
