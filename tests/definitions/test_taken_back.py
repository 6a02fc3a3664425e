"""Whatever a command of `suite` changes of a thing that can be read and sent back, `undo` can put back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from support.cases import nobody

# A sprint that has begun or ended does not go back.
APART = {"sprints start", "sprints close"}


def calls(table: Any) -> Iterator[str]:
    if isinstance(table, dict):
        yield from ([table["call"]] if isinstance(table.get("call"), str) else [])
        for key, part in table.items():
            if key not in ("undo", "on_conflict"):
                yield from calls(part)
    for part in table if isinstance(table, list) else ():
        yield from calls(part)


def test_every_update_of_a_thing_can_be_taken_back(tmp_path_factory: pytest.TempPathFactory) -> None:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    updates = {
        table["update"]["call"]: id
        for id, table in catalog.resources.all().items()
        if table.keys() >= {"read", "update", "fields"}
    }
    assert all(catalog.snapshots.find(id) for id in updates.values())
    assert len(updates) > 12
    commands = catalog.commands.all().items()
    changing = {id: table for id, table in commands if set(calls(table.get("step"))) & updates.keys()}
    catalog.close()
    assert {id for id, table in changing.items() if "journal" not in table} == APART
