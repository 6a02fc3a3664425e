"""Names that people know in the place of ids, for the columns of a table that say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .columns import Column
from .formats import FormatContext


def with_names(columns: Sequence[Column], items: Sequence[Any], context: FormatContext) -> list[Column]:
    """The columns with the names of the ids that they hold in these items; an id without a name stays as it is."""
    if context.names is None:
        return list(columns)
    wanted: dict[str, list[str]] = {}
    for column in columns:
        if column.names:
            wanted.setdefault(column.names, []).extend(_ids(column, items))
    known = {naming: context.names(naming, ids) for naming, ids in wanted.items() if ids}
    return [_named(column, known[column.names]) if column.names in known else column for column in columns]


def _ids(column: Column, items: Iterable[Any]) -> list[str]:
    values = (column.value(item) for item in items)
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


def _named(column: Column, names: Mapping[str, str]) -> Column:
    def value(item: Any) -> Any:
        found = column.value(item)
        return names.get(found, found) if isinstance(found, str) else found

    return column._replace(value=value)
