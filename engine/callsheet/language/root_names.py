"""`$name` in expressions: what the whole scope calls `name`, also where names are those of an item, as in a filter.

JMESPath has no such names. The lexer reads one as a field whose name begins with a sign that no other can begin with.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from jmespath import exceptions
from jmespath.lexer import Lexer
from jmespath.parser import ParsedResult, Parser
from jmespath.visitor import Options, TreeInterpreter

ROOT = "\0"


class _RootLexer(Lexer):
    START_IDENTIFIER = Lexer.START_IDENTIFIER | {"$"}

    def tokenize(self, expression: str) -> Iterator[Any]:
        for token in super().tokenize(expression):
            if token["type"] == "unquoted_identifier" and token["value"].startswith("$"):
                if not token["value"][1:].isidentifier():
                    raise exceptions.LexerError(token["start"], "$", "a name has to follow $")
                token["value"] = ROOT + token["value"][1:]
            yield token


class RootParser(Parser):
    """Raises an error also for `a.$b`: what follows a dot is a part of what stands before it."""

    def _parse(self, expression: str) -> ParsedResult:
        tokens = list(_RootLexer().tokenize(expression))
        for before, token in pairwise(tokens):
            if before["type"] == "dot" and str(token["value"]).startswith(ROOT):
                name = token["value"].replace(ROOT, "$", 1)
                raise exceptions.ParseError(token["start"], name, token["type"], f"no dot can stand before {name}")
        self._tokens = tokens
        self._index = 0
        # The types that are published for the library leave out these two, which `Parser._parse` calls.
        parsed = self._expression(binding_power=0)  # type: ignore[attr-defined]
        if self._current_token() != "eof":  # type: ignore[attr-defined] # as above
            value = str(tokens[self._index]["value"]).replace(ROOT, "$", 1)
            place, kind = tokens[self._index]["start"], tokens[self._index]["type"]
            raise exceptions.ParseError(place, value, kind, f"Unexpected token: {value}")
        return ParsedResult(expression, parsed)


class RootInterpreter(TreeInterpreter):
    """Evaluates one expression over one scope."""

    def __init__(self, options: Options, scope: Any) -> None:
        super().__init__(options)
        self._scope = scope

    def visit_field(self, node: Any, value: Any) -> Any:
        name = node["value"]
        if name.startswith(ROOT):
            return super().visit_field({"type": "field", "value": name[len(ROOT) :], "children": []}, self._scope)
        return super().visit_field(node, value)
