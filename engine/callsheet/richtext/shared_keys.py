"""Dictionaries that hold the same few keys again and again, as nodes of a document do, in half the memory.

CPython stores the keys of an object's attributes once for all objects of a class (PEP 412), and a copy of such a
dictionary stores them there too: 88 bytes instead of 184 for two keys in 3.11 to 3.13. It is a plain `dict` to
everybody. Elsewhere it is one that is larger.
"""

from __future__ import annotations

from functools import cache
from typing import Any

TIGHT = 40  # objects that a class must have had before it keeps room for no more attributes than they have


@cache
def blank_keys(*keys: str) -> dict[str, Any]:
    """A dictionary of these keys, each None, in this order; to be copied by `copy`, and then filled."""
    keys_of = type("Keys", (), {})
    found: dict[str, Any] = {}
    for _ in range(TIGHT):
        one = keys_of()
        for key in keys:
            setattr(one, key, None)
        found = vars(one)
    return found


def share_keys(values: dict[str, Any]) -> dict[str, Any]:
    """The same keys and values in less memory; for keys of a few sets, since each set is remembered."""
    found = blank_keys(*values).copy()
    for key, value in values.items():
        found[key] = value
    return found
