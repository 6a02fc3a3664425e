"""A place of a definition that is changed, and the files that the change makes."""

from __future__ import annotations

import copy
import datetime as dt
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from callsheet.language.checks.references import ShapePlace
from callsheet.language.source_file import line_of

Tables = dict[str, dict[str, Any]]
Keys = tuple[str | int, ...]


class Files(NamedTuple):
    """`line` is where the fault is in the world's file, where it is in one place."""

    world: str
    overlay: str = ""
    line: int = 0


class Mutant(NamedTuple):
    """`near` is the right word that an error has to name. `build` writes it, which takes longer than to think of it."""

    kind: str
    operator: str
    what: str
    build: Callable[[], Files]
    near: str = ""


def written(tables: Any) -> str:
    """TOML with each key and each item of a list on a line of its own."""
    lines: list[str] = []
    for kind, definitions in tables.items():
        for id, table in definitions.items():
            lines.append(f"[{kind}.{json.dumps(id, ensure_ascii=False)}]")
            lines += [f"{json.dumps(key)} = {_value(value)}" for key, value in table.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any, *, is_outer: bool = True) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_value(v, is_outer=False)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        items = [_value(item, is_outer=False) for item in value]
        return "[\n" + "".join(f"  {item},\n" for item in items) + "]" if is_outer else f"[{', '.join(items)}]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return repr(value)


class Spot(NamedTuple):
    tables: Tables
    kind: str
    id: str
    place: ShapePlace

    def changed(self, operator: str, change: Callable[[Any, Any], None], what: str, near: str = "") -> Mutant:
        """The world with `change(parent, key)` done at this place."""
        path: Keys = (self.kind, self.id, *self.place.path)

        def build() -> Files:
            tables = copy.deepcopy(self.tables)
            change(_at(tables, path[:-1]), path[-1])
            text = written(tables)
            return Files(text, line=line_of(text, path))

        return self._mutant(operator, what, build, near)

    def inside(
        self, operator: str, change: Callable[[Any], None], what: str, below: Keys = (), near: str = ""
    ) -> Mutant:
        """The world with `change(value)` done to the table or list at this place."""
        path: Keys = (self.kind, self.id, *self.place.path)

        def build() -> Files:
            tables = copy.deepcopy(self.tables)
            change(_at(tables, path))
            text = written(tables)
            return Files(text, line=line_of(text, (*path, *below)))

        return self._mutant(operator, what, build, near)

    def _mutant(self, operator: str, what: str, build: Callable[[], Files], near: str) -> Mutant:
        where = ".".join(map(str, self.place.path))
        return Mutant(self.kind, operator, f'{self.kind} "{self.id}" {where}: {what}', build, near)


def _at(tables: Any, path: Keys) -> Any:
    for key in path:
        tables = tables[key]
    return tables


def is_closed(spot: Spot) -> bool:
    return isinstance(spot.place.value, dict) and spot.place.schema.get("additionalProperties") is False
