"""YAML that readers of both YAML 1.1 and 1.2 take for the same values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from ..jsontext import ExactFloat
from ..terminal import escape_text

_NOT_PRINTED_BY_C = re.compile(r"\\U000")
_QUOTED_LINES = re.compile("[\x85\u2028\u2029]")
# Texts that some reader takes for another type although PyYAML does not: octal 0o7, floats without a point or
# with an unsigned exponent, one-letter truth values, base 60, numbers with underscores.
_AMBIGUOUS = re.compile(
    r"0o[0-7_]+|[-+]?0[bx][0-9a-fA-F_]+|[-+]?(?:\.[0-9_]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?|[-+]?\.(?:inf|Inf|INF)|[yYnN]|\d{4}-\d\d?-\d\d?.*"
)


class _Represent(yaml.representer.SafeRepresenter):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.representer.SafeRepresenter, value: str) -> yaml.Node:
    style = None
    if _QUOTED_LINES.search(value) or escape_text(value) != value:
        style = '"'
    elif "\n" in value and _fits_block(value):
        style = "|"
    elif _AMBIGUOUS.fullmatch(value):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _fits_block(value: str) -> bool:
    """Whether a literal block says it plainly: no leading blank, no blank at a line's end."""
    return value[0] not in " \n\t" and not re.search(r"[ \t](\n|\Z)", value) and "\t" not in value


def _exact_float(dumper: yaml.representer.SafeRepresenter, value: float) -> yaml.Node:
    """YAML 1.1 wants a point, and a sign in the exponent; the digits stay."""
    mantissa, mark, exponent = repr(value).lower().partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    if mark and exponent[0] not in "+-":
        exponent = f"+{exponent}"
    return dumper.represent_scalar("tag:yaml.org,2002:float", f"{mantissa}{mark}{exponent}")


_Represent.add_representer(str, _represent_text)
_Represent.add_representer(float, _exact_float)
_Represent.add_representer(ExactFloat, _exact_float)


class _PureDumper(_Represent, yaml.SafeDumper):
    """Prints every character, slowly."""


class _FastDumper(_Represent, getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc] # chosen at run time
    """Escapes what lies beyond the basic plane."""


def yaml_text(value: Any) -> str:
    try:
        text = _dump_with(value, _FastDumper)
    except UnicodeEncodeError:  # half a surrogate pair
        text = _dump_with(value, _PureDumper)
    if _NOT_PRINTED_BY_C.search(text):
        text = _dump_with(value, _PureDumper)
    return text.removesuffix("...\n")


def dump_items(items: Iterable[Any]) -> Iterator[str]:
    """A sequence, one item after the other."""
    empty = True
    for item in items:
        empty = False
        yield yaml_text([item])
    if empty:
        yield "[]\n"


def _dump_with(value: Any, dumper: type[Any]) -> str:
    text: str = yaml.dump(value, Dumper=dumper, allow_unicode=True, sort_keys=False, width=1 << 20)
    return text
