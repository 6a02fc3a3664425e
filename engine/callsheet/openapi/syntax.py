"""JSON or YAML text → plain values."""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import TYPE_CHECKING, Any

from ..errors import DefinitionError

if TYPE_CHECKING:
    from ..jsontext import JsonObject

# What is no text in YAML 1.2's core schema, as OpenAPI asks. PyYAML reads 1.1, where `on`, dates and 12:30 are not.
_PLAIN = (
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"^(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("merge", r"^<<$", "<"),
)

# How a text can hold what definitions cannot: halves of surrogate pairs, and numbers beyond all bounds.
_UNSAYABLE = re.compile(r"\\u[dD][89a-fA-F]|NaN|Infinity|\d[eE]\+?\d{3}")
_HALVES = re.compile("[\ud800-\udfff]")


def parse_document(text: str, name: str) -> Any:
    """Raises `DefinitionError` with the line of a syntax error; `name` is how the message calls the text."""
    value = _json(text, name) if text.lstrip()[:1] in ("{", "[") else _yaml(text, name)
    return _sayable(value, name) if _UNSAYABLE.search(text) else value


def _sayable(value: Any, name: str) -> Any:
    """What definitions can say too: a half of a surrogate pair is replaced, a number without an end refused."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_sayable(key, name): _sayable(inner, name) for key, inner in value.items()}
    if isinstance(value, list):
        return [_sayable(inner, name) for inner in value]
    if isinstance(value, float) and not isfinite(value):
        raise DefinitionError(f"{name}: {value} is a number that definitions cannot hold")
    return value


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = "cut off" if error.pos >= len(text.rstrip()) else error.msg
        raise DefinitionError(f"{name}:{error.lineno}: not JSON: {problem} (column {error.colno})") from None
    except RecursionError:
        raise DefinitionError(f"{name}: nested too deeply") from None


def _yaml(text: str, name: str) -> Any:
    import yaml

    try:
        return _loader()(text).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        raise DefinitionError(f"{name}{line}: not YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise DefinitionError(f"{name}: not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise DefinitionError(f"{name}: nested too deeply") from None


def _loader() -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        yaml_implicit_resolvers: JsonObject = {}  # noqa: RUF012  PyYAML keeps them in the class

    for kind, pattern, first in _PLAIN:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(pattern), list(first))
    return Loader
