"""The items that a new site starts with."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from .moments import span
from .rendering import compiled, without_null

if TYPE_CHECKING:
    from .entities import Entities

AGO = "ago"


def seed(entities: Entities) -> None:
    """Each is made as an operation would make it; `ago` says how long ago that was."""
    now = datetime.now().astimezone()
    for entity in entities:
        for entry in entity.seed:
            when = now - span(entry.get(AGO, "0m"), "m")
            moment = when.isoformat(timespec="milliseconds")
            scope: dict[str, Any] = {"now": moment, "me": None, "site": entities.site, "body": {}, "params": {}}
            members = without_null(compiled({name: value for name, value in entry.items() if name != AGO})(scope))
            entities.create(entity.name, members, scope)
