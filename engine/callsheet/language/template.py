"""JMESPath expressions, and texts with `{expression}` placeholders in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError
from ..jsontext import CONSTANTS, dump_json
from ..patterns import lazy_pattern

if TYPE_CHECKING:
    from jmespath.parser import ParsedResult

Scope = dict[str, Any]  # what expressions see, by the names that they use
Part = str | Callable[[Mapping[str, Any]], Any]

_PATH = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\Z")
_MOST_PATHS = 4
_QUOTES = "'\"`"
# What functions raise, the library's and our own, when a value is of another kind than they are made for.
_UNFIT = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError)


class Precomputed:
    """A value in the place of a template, which is filled with nothing any more."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class TemplateError(CallsheetError, ValueError):
    """An expression or a placeholder that does not parse, or that meets values it is not made for."""


class UnfitValue(TemplateError):
    """An expression met values that it is not made for.

    As text it says what failed in the expression, to who wrote that. The message is for a person who gave a command:
    the values came from an answer, and what the command wanted there.
    """

    def __init__(self, expression: str, problem: str, paths: Iterable[str]) -> None:
        super().__init__(f"{expression}: {problem}")
        # a name that only definitions use begins with a character that no answer's has
        looked_at = ", ".join(list(dict.fromkeys(path for path in paths if "\0" not in path))[:_MOST_PATHS])
        self.message = "unexpected answer from the site" + f"; look at {looked_at} in it" * bool(looked_at)
        self.hint = "-v shows what was asked, and the expression that failed"
        self.problem = str(self)


def evaluate(expression: str, scope: Any) -> Any:
    """The value of a JMESPath expression over `scope`; null where the path leads nowhere."""
    return compile_expression(expression)(scope)


def evaluate_part(expression: str, value: Any, scope: Any) -> Any:
    """The same over a `value` that is no scope, such as an answer: `$name` in it is a name of `scope`."""
    return _compile_jmespath(expression)(value, scope) if "$" in expression else evaluate(expression, value)


@lru_cache(maxsize=4096)
def compile_expression(expression: str) -> Callable[[Any], Any]:
    """An expression ready to be applied; raises `TemplateError` when it does not parse.

    A plain path is followed without loading the JMESPath library: most placeholders and columns are one.
    """
    if _PATH.match(expression) and CONSTANTS.isdisjoint(keys := expression.split(".")):
        return partial(_follow_keys, keys)
    apply = _compile_jmespath(expression)
    return lambda scope: apply(scope, scope)


def _follow_keys(keys: list[str], value: Any) -> Any:
    """As JMESPath does it: whatever has a `get` has parts."""
    for key in keys:
        get = getattr(value, "get", None)
        if get is None:
            return None
        value = get(key)
    return value


@lru_cache(maxsize=4096)
def _compile_jmespath(expression: str) -> Callable[[Any, Any], Any]:
    from jmespath import exceptions

    from .functions import evaluate_parsed, parse_expression, paths_in_expression

    try:
        parsed: ParsedResult = parse_expression(expression)
    except exceptions.JMESPathError as error:
        raise TemplateError(_first_line(error)) from None

    def apply(value: Any, scope: Any) -> Any:
        try:
            return evaluate_parsed(parsed, value, scope)
        except TemplateError:
            raise
        except (exceptions.JMESPathError, *_UNFIT) as error:
            looked_at = map(".".join, paths_in_expression(parsed.parsed))
            raise UnfitValue(expression, _first_line(error), looked_at) from None

    return apply


def fill_template(value: Any, scope: Mapping[str, Any]) -> Any:
    """`value` with every placeholder in it replaced.

    A text that is one placeholder takes the expression's value and type. Null drops its key or item, and a
    table or list emptied that way becomes null itself. Results are never searched for placeholders again.
    """
    if isinstance(value, str):
        return fill_text(value, scope)
    if isinstance(value, Mapping):
        table = {key: filled for key, item in value.items() if (filled := fill_template(item, scope)) is not None}
        return table if table or not value else None
    if isinstance(value, list):
        items = [filled for item in value if (filled := fill_template(item, scope)) is not None]
        return items if items or not value else None
    return value.value if isinstance(value, Precomputed) else value


def fill_text(text: str, scope: Mapping[str, Any]) -> Any:
    parts = compile_template(text)
    if len(parts) == 1 and not isinstance(parts[0], str):
        return parts[0](scope)
    return "".join(part if isinstance(part, str) else to_text(part(scope)) for part in parts)


def is_true(value: Any) -> bool:
    """As expressions see it: false are null, false, and empty texts, lists and tables; zero is true."""
    return bool(value) or (isinstance(value, int | float) and value is not False)


def to_text(value: Any) -> str:
    """How a value reads inside a longer text: null is nothing, lists and tables are JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return dump_json(value)


@lru_cache(maxsize=4096)
def compile_template(text: str) -> tuple[Part, ...]:
    return tuple(compile_expression(piece) if is_expression else piece for is_expression, piece in split_template(text))


@lru_cache(maxsize=4096)
def expressions_in_text(text: str) -> tuple[str, ...]:
    """The expressions that stand in a text; raises `TemplateError`."""
    return tuple(piece for is_expression, piece in split_template(text) if is_expression)


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a (nested) value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from texts_in(part)
    elif isinstance(value, dict) or (type(value) not in _PLAIN and isinstance(value, Mapping)):
        for part in value.values():
            yield from texts_in(part)


_PLAIN = (bool, int, float, type(None))  # to ask of each whether it maps takes longer than all the rest


_LITERAL = lazy_pattern(r"[^{}]+")


def split_template(text: str) -> Iterator[tuple[bool, str]]:
    """Literal pieces and expressions of a text, in order; raises `TemplateError` on a lone brace."""
    literal, position = "", 0
    while position < len(text):
        character = text[position]
        if plain := _LITERAL.match(text, position):
            literal, position = literal + plain[0], plain.end()
        elif text[position : position + 2] == character * 2:
            literal, position = literal + character, position + 2
        elif character == "{":
            end = _closing_brace(text, position)
            if literal:
                yield False, literal
            yield True, text[position + 1 : end].strip()
            literal, position = "", end + 1
        else:
            raise TemplateError(f"column {position + 1}: '}}' without '{{' (write '}}}}' for the character)")
    if literal or not text:
        yield False, literal


def _closing_brace(text: str, start: int) -> int:
    depth, quote, position = 0, "", start
    while position < len(text):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in _QUOTES:
            quote = character
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return position
        position += 1
    raise TemplateError(f"column {start + 1}: '{{' without '}}' (write '{{{{' for the character)")


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(":")
