"""How types are written. Every name that a stub uses has an underscore: no command or parameter is called so."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence

IMPORTS = """\
from collections.abc import Iterable as _Iterable, Iterator as _Iterator, Mapping as _Mapping, Sequence as _Sequence
from datetime import date as _date
from os import PathLike as _PathLike
from typing import (
    Any as _Any, Callable as _Callable, Concatenate as _Concatenate, Generic as _Generic, Literal as _Literal,
    NotRequired as _NotRequired, ParamSpec as _ParamSpec, Required as _Required, Self as _Self,
    TypedDict as _TypedDict, TypeAlias as _TypeAlias, TypeVar as _TypeVar,
)
"""
ANY, FLAG, WHOLE, NUMBER, TEXT, PATH, TABLE = "_Any", "bool", "int", "float", "_Text", "_Path", "_Table"
ALIASES = """
_Text: _TypeAlias = str | float | _date
_Path: _TypeAlias = str | _PathLike[str]
_Table: _TypeAlias = _Mapping[str, _Any]
"""
_PARTS = re.compile(r"[^0-9A-Za-z]+")


def class_name(words: str) -> str:
    """`pages labels` → `PagesLabels`, `shop.OrderLine` → `ShopOrderLine`."""
    name = "".join(part[:1].upper() + part[1:] for part in _PARTS.split(words) if part)
    return f"_{name}" if not name or name[0].isdigit() or keyword.iskeyword(name) else name


def is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def literal_annotation(values: Iterable[object]) -> str:
    """One of these, where all can be written so; else what kind they are is not said."""
    known = list(dict.fromkeys(values))
    if not known or not all(value is None or isinstance(value, str | bool | int) for value in known):
        return ANY
    return f"_Literal[{', '.join(map(repr, known))}]"


def either(types: Sequence[str]) -> str:
    """One of several types."""
    known = list(dict.fromkeys(types))
    return ANY if ANY in known or not known else " | ".join(known)


def several_annotation(type: str) -> str:
    """One, or as many as one likes."""
    return f"{type} | _Iterable[{type}]"
