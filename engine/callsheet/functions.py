"""The functions that expressions may use beyond JMESPath's own. Loaded with the first real expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from jmespath import exceptions, functions
from jmespath.parser import Parser
from jmespath.visitor import Options

from .errors import did_you_mean


class Functions(functions.Functions):
    """`slug(text)`: lower case, every run of other characters one hyphen."""

    @functions.signature({"types": ["string"]})
    def _func_slug(self, text: str) -> str:
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


OPTIONS = Options(custom_functions=Functions())
_PARSER = Parser()


def parse(expression: str) -> Any:
    """A parsed expression. Unknown functions are found here, not when first called: raises a `JMESPathError`."""
    parsed = _PARSER.parse(expression)
    for name in _called(parsed.parsed):
        if name not in Functions.FUNCTION_TABLE:
            near = did_you_mean(name, Functions.FUNCTION_TABLE)
            raise exceptions.UnknownFunctionError(f"no function {name}(){near}")
    return parsed


def _called(node: Any) -> Iterator[str]:
    if node["type"] == "function_expression":
        yield node["value"]
    for child in node["children"]:
        if isinstance(child, dict):
            yield from _called(child)
