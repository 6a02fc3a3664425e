"""Which keys of a table go together. Each shape's module states its own; the check and the JSON Schema follow them."""

from __future__ import annotations

from typing import Any, NamedTuple


class KeyRule(NamedTuple):
    """Of a table that has the key `having` (with one of `values`, where some are named).

    `needs`: it must have one of these as well. `without`: it must have none of these.
    """

    having: str
    values: tuple[Any, ...] = ()
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


Rules = dict[str, tuple[KeyRule, ...]]  # by the name of the shape
