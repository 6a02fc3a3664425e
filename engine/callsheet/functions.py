"""The functions that expressions may use beyond JMESPath's own. Loaded with the first real expression."""

from __future__ import annotations

import re
from typing import Any

from jmespath import functions
from jmespath.parser import Parser
from jmespath.visitor import Options


class Functions(functions.Functions):
    """`slug(text)`: lower case, every run of other characters one hyphen."""

    @functions.signature({"types": ["string"]})
    def _func_slug(self, text: str) -> str:
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


OPTIONS = Options(custom_functions=Functions())
_PARSER = Parser()


def parse(expression: str) -> Any:
    return _PARSER.parse(expression)
