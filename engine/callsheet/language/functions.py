"""The functions that expressions may use beyond JMESPath's own: on names, points in time, texts, lists and trees.

`$name` is what the whole scope calls `name`, also where names are those of an item, as in a filter. JMESPath has no
such names: the lexer reads one as a field whose name begins with a sign that no other can begin with.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import takewhile
from math import isfinite
from typing import TYPE_CHECKING, Any

from jmespath import ast, exceptions, functions
from jmespath.lexer import Lexer
from jmespath.parser import ParsedResult, Parser
from jmespath.visitor import Options, TreeInterpreter

from ..errors import UsageError, did_you_mean
from ..jsontext import CONSTANTS, dump_json
from . import query_text as queries

if TYPE_CHECKING:
    from jmespath.functions import _Signature


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

    def _consume_literal(self) -> dict[str, Any]:
        """As jmespath does, without its warning: who knows `aws` writes a text between backticks, too."""
        lexer: Any = self  # its types leave out what a lexer is made of
        start = lexer._position  # noqa: SLF001 - as above
        lexeme = lexer._consume_until("`").replace("\\`", "`")  # noqa: SLF001 - as above
        for text in (lexeme, f'"{lexeme.lstrip()}"'):
            with suppress(ValueError):
                end = lexer._position - start  # noqa: SLF001 - as above
                return {"type": "literal", "value": json.loads(text), "start": start, "end": end}
        raise exceptions.LexerError(start, lexeme, f"Bad token {lexeme}")


class RootParser(Parser):
    """Raises an error also for `a.$b`: what follows a dot is a part of what stands before it."""

    def _parse(self, expression: str) -> ParsedResult:
        tokens = list(_RootLexer().tokenize(expression))
        for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], tokens[-1]], strict=False):
            if before["type"] == "dot" and str(token["value"]).startswith(ROOT):
                name = token["value"].replace(ROOT, "$", 1)
                raise exceptions.ParseError(token["start"], name, token["type"], f"no dot can stand before {name}")
            if token["type"] == "quoted_identifier" and _is_meant_as_text(
                before["type"], token["value"], after["type"]
            ):
                text = f"\"{token['value']}\" is the name of a member: a text is written '{token['value']}'"
                raise exceptions.ParseError(token["start"], token["value"], token["type"], text)
        self._tokens = tokens
        self._index = 0
        # The types that are published for the library leave out these two, which `Parser._parse` calls.
        parsed = self._expression(binding_power=0)  # type: ignore[attr-defined]
        if self._current_token() != "eof":  # type: ignore[attr-defined] # as above
            value = str(tokens[self._index]["value"]).replace(ROOT, "$", 1)
            place, kind = tokens[self._index]["start"], tokens[self._index]["type"]
            raise exceptions.ParseError(place, value, kind, f"Unexpected token: {value}")
        return ParsedResult(expression, parsed)


def _is_meant_as_text(before: str, words: str, after: str) -> bool:
    """Whether words in quotation marks stand where a text is compared or given, and are no odd name of a member."""
    is_argument = (before, after) in (("comma", "rparen"), ("lparen", "comma"))
    return (before in ("eq", "ne") or is_argument) and re.fullmatch(r"[\w ]+", words) is not None


class RootInterpreter(TreeInterpreter):
    """Evaluates one expression over one scope.

    A number is neither above nor below a text, which the library takes for an error of the program.
    """

    def __init__(self, options: Options, scope: Any) -> None:
        super().__init__(options)
        self._scope = scope

    def visit_field(self, node: Any, value: Any) -> Any:
        name = node["value"]
        if name.startswith(ROOT):
            return super().visit_field({"type": "field", "value": name[len(ROOT) :], "children": []}, self._scope)
        return super().visit_field(node, value)

    def visit_comparator(self, node: Any, value: Any) -> Any:
        try:
            return super().visit_comparator(node, value)
        except TypeError:
            return None


_FOREIGN = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+')
# Devices of Windows, with any ending, and what programs that get the name as a word read as an option or a home.
_SPECIAL = re.compile(r"(?:con(?:in\$|out\$)?|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]) *(?:\.|\Z)|[-~]", re.IGNORECASE)
_LONGEST_FILE_NAME = 200  # bytes: below the 255 of most file systems there is room for a number
_ENDING = 20


def file_name(text: str) -> str:
    """A name that stays inside its directory, is no device and no option, and is short enough; its ending is kept."""
    plain = _FOREIGN.sub("_", text).lstrip(".").rstrip(". ") or "unnamed"
    if _SPECIAL.match(plain):
        plain = f"_{plain}"
    stem, ending = os.path.splitext(plain)
    if len(ending) > _ENDING:
        stem, ending = plain, ""
    return _cut_to_bytes(stem, _LONGEST_FILE_NAME - len(ending.encode())) + ending


def _cut_to_bytes(text: str, size: int) -> str:
    """The text cut between characters, to so many bytes."""
    return text.encode()[:size].decode(errors="ignore")


_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FROM_NOW = re.compile(r"(?:(\S+) )?([+-]?)(\d{1,5})\s*(m|h|d|w)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def written_moment(text: str | None, form: str, *, past: bool = False) -> str:
    """A point in time, in the letters of strftime: see `parsed`.

    `%f` is milliseconds here. A time without zone is local; what is of the `past` is written in local time. Raises
    `UsageError`.
    """
    moment = parse_moment(text or "now", past=past)
    moment = moment.astimezone() if past else moment
    return moment.strftime(form.replace("%f", f"{moment.microsecond // 1000:03d}"))


_MOST_DAYS = 1000
_FORMS = {"date": "%Y-%m-%d", "date-time": "%Y-%m-%dT%H:%M:%SZ"}
_WORDY = re.compile(r"[A-Za-z ]+|[+-]?\d{1,5}\s*[A-Za-z]")


def iso_moment(text: str, form: str) -> str:
    """A word for a point in time (`today`, `-7d`) as a `date` or `date-time`; what is written out stays as it is.

    Raises `UsageError`.
    """
    if not _WORDY.fullmatch(text.strip()):
        return text
    moment = parse_moment(text)
    return (moment.astimezone(UTC) if form == "date-time" else moment).strftime(_FORMS[form])


def list_days(first: str, last: str) -> list[str]:
    """Each day from the first to the last, in local time, both included; at most 1000. Raises `UsageError`."""
    start, end = (parse_moment(text, past=True).astimezone().date() for text in (first, last))
    return [str(start + timedelta(days=n)) for n in range(min((end - start).days + 1, _MOST_DAYS))]


def parse_moment(text: str, *, past: bool = False) -> datetime:
    """An ISO date or time, `now`, `today`, `tomorrow`, the next day of a name (`friday`), or so far from now (`+3d`).

    So far may stand behind another time, too: `monday +2w`. Of what is `past`, the day of a name is the last one, today
    included. Raises `UsageError`.
    """
    word = text.strip().lower()
    now = datetime.now(UTC).astimezone()
    if word == "now":
        return now
    days = _DAYS.get(word, _days_until(word, now, past=past))
    if days is not None:
        return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)
    try:
        if match := _FROM_NOW.fullmatch(word):
            start = parse_moment(match[1].upper(), past=past) if match[1] else now
            length = int(match[3]) * _UNITS[match[4]]
            return start - length if match[2] == "-" else start + length
        moment = datetime.fromisoformat(text.strip())
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError):
        hint = "expected 2026-01-31, 2026-01-31T09:30, now, today, yesterday, tomorrow, friday, +3d or -2h"
        near = did_you_mean(word, [*_DAYS, "now", *_WEEKDAYS])
        raise UsageError(f"{text!r} is not a valid time{near}", hint=hint) from None


def _days_until(word: str, now: datetime, *, past: bool) -> int | None:
    """Days until the next day of that name, or of its first three letters; a week where that is today."""
    found = [place for place, name in enumerate(_WEEKDAYS) if word in (name, name[:3])]
    if not found:
        return None
    return -((now.weekday() - found[0]) % 7) if past else (found[0] - now.weekday() - 1) % 7 + 1


# Numbers as the letters of a short link: their bytes, the lowest first, in base64 without the zeros at the end.
#
# So the wiki writes the id of a page in `/x/LETTERS`.


_PLAIN = str.maketrans("-_", "/+")
_IN_LINKS = str.maketrans("/+", "-_")
_LONGEST = 11  # letters of eight bytes


def number_of(letters: str) -> int | None:
    """None for what no number is written as."""
    if not 0 < len(letters) <= _LONGEST:
        return None
    padded = letters.translate(_PLAIN) + "A" * (-len(letters) % 4)
    try:
        return int.from_bytes(base64.b64decode(padded, validate=True), "little")
    except (binascii.Error, ValueError):
        return None


def letters_of(number: int) -> str:
    data = number.to_bytes(max(1, (number.bit_length() + 7) // 8), "little")
    return base64.b64encode(data).decode().rstrip("=").translate(_IN_LINKS).rstrip("A") or "A"


# Sums of a number over things that are alike.


def sum_alike(items: list[Any], names: list[str], number: str) -> list[dict[str, Any]]:
    """For all items with the same values under `names` one object with these and the sum, in the order of the first.

    What is no number counts as nothing.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        alike = {name: item.get(name) for name in names}
        total = found.setdefault(tuple(map(repr, alike.values())), {**alike, number: 0})
        value = item.get(number)
        if isinstance(value, int | float) and not isinstance(value, bool):
            total[number] += value
    return list(found.values())


def sum_so_far(items: list[Any], number: str) -> list[dict[str, Any]]:
    """Each object of the list with the sum of `number` up to it; what is no number counts as nothing."""
    found: list[dict[str, Any]] = []
    total: int | float = 0
    for item in items:
        if isinstance(item, dict):
            value = item.get(number)
            total += value if isinstance(value, int | float) and not isinstance(value, bool) else 0
            found.append({**item, number: total})
    return found


# Lists of things that name what they are below, as trees.


_INDENT = "  "


def indented_tree(items: list[Any], id: str, parent: str) -> Iterator[dict[str, Any]]:
    """Each item behind the one it is below, in the order of the list, with its `indent`.

    What is below nothing in the list is at the top; what is below itself comes last, so that nothing is left out.
    """
    tables = [item for item in items if isinstance(item, dict)]
    known = {str(item.get(id)) for item in tables}
    below: dict[str, list[dict[str, Any]]] = {}
    for item in tables:
        above = str(item.get(parent))
        below.setdefault(above if above in known else "", []).append(item)
    seen: set[int] = set()
    waiting = [(item, 0) for item in reversed(below.get("", []))]
    while waiting:
        item, level = waiting.pop()
        if id_of(item) in seen:
            continue
        seen.add(id_of(item))
        yield {**item, "indent": _INDENT * level}
        waiting += [(each, level + 1) for each in reversed(below.get(str(item.get(id)), []))]
    yield from ({**item, "indent": ""} for item in tables if id_of(item) not in seen)


def id_of(item: dict[str, Any]) -> int:
    """What tells an item from others that say the same of themselves."""
    return id(item)


# The functions that expressions may use beyond JMESPath's own. Loaded with the first real expression.


_TEXT: _Signature = {"types": ["string"]}
_OF_UNKNOWN = frozenset({"add", "not_null", "to_array"})
_ANY: _Signature = {"types": []}


class Functions(functions.Functions):
    """Of what a dry run does not know yet (it has a `plus`), most functions make nothing else."""

    def call_function(self, function_name: str, resolved_args: Iterable[Any]) -> Any:
        arguments = list(resolved_args)
        if function_name not in _OF_UNKNOWN:
            for part in (part for a in arguments for part in (a if isinstance(a, list) else [a])):
                if hasattr(part, "plus"):
                    return part
        return super().call_function(function_name, arguments)

    @functions.signature(_TEXT, {"types": ["array"]})
    def _func_join(self, separator: str, items: list[Any]) -> str:
        """The members of a list as one text, numbers too; those that are null are left out."""
        return separator.join(_as_text(item) for item in items if item is not None)

    @functions.signature(_TEXT)
    def _func_slug(self, text: str) -> str:
        """Lower case, every run of other characters one hyphen."""
        return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")

    @functions.signature(_TEXT)
    def _func_lower(self, text: str) -> str:
        """The text in lower case."""
        return text.lower()

    @functions.signature(_TEXT)
    def _func_upper(self, text: str) -> str:
        """The text in upper case."""
        return text.upper()

    @functions.signature(_ANY, _ANY)
    def _func_add(self, left: Any, right: Any) -> Any:
        """The sum of two numbers; null with null."""
        if hasattr(left, "plus"):
            return left.plus(right)
        if left is None or right is None:
            return None
        if not (is_number(left) and is_number(right)) or not isfinite(left + right):
            raise exceptions.JMESPathError("add() takes two numbers")
        return left + right

    @functions.signature(_ANY, _ANY)
    def _func_minus(self, left: Any, right: Any) -> Any:
        """The difference of two numbers; null with null."""
        return None if right is None else self._func_add(left, -right if is_number(right) else right)

    @functions.signature(_TEXT)
    def _func_quoted(self, text: str) -> str:
        """The text in double quotes, with quotes and backslashes in it escaped."""
        return queries.quote_query_text(text)

    @functions.signature(_ANY, {"types": ["array"]}, _TEXT)
    def _func_narrowed(self, query: str | None, conditions: list[Any], tail: str) -> str | None:
        """`query AND each condition`, the clause that starts with `tail` (`ORDER BY`) kept at the end."""
        return queries.narrow_query(query, conditions, tail)

    @functions.signature(_TEXT, _TEXT)
    def _func_clause(self, query: str, start: str) -> str:
        """The last clause of a query, if it starts with these words (`ORDER BY`); else an empty text."""
        return queries.split_tail(query, start)[1]

    @functions.signature(_TEXT, _ANY)
    def _func_among(self, field: str, values: Any) -> str | None:
        """The condition that a field has one of some values, and none of those that begin with `not:`."""
        return queries.among_condition(field, [values] if isinstance(values, str) else values or [])

    @functions.signature(_TEXT, _TEXT)
    def _func_split(self, text: str, separator: str) -> list[str]:
        """The pieces of a text without surrounding white space; empty ones are left out."""
        return [piece.strip() for piece in text.split(separator) if piece.strip()]

    @functions.signature(_ANY, _ANY)
    def _func_chosen(self, items: Any, ids: Any) -> Any:
        """The items with one of these ids; all of them without ids."""
        tables = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        return [item for item in tables if not ids or str(item.get("id")) in ids]

    @functions.signature(_ANY, _ANY, _TEXT)
    def _func_joined(self, items: Any, others: Any, key: str) -> Any:
        """Each item with what the last of the others has that is called the same by `key`."""
        known = {id: other for other in others or [] if isinstance(id := other.get(key), str | int)}
        unknown = next((name for name in known if hasattr(name, "plus")), None)
        if unknown is not None:
            return unknown
        ids = [item.get(key) for item in items or []]
        named = [known.get(id, {}) if isinstance(id, str | int) else {} for id in ids]
        return [{**item, **more} for item, more in zip(items or [], named, strict=True)]

    @functions.signature(_ANY, _ANY)
    def _func_lost(self, before: Any, after: Any) -> list[dict[str, Any]]:
        """The name of each list of a table that another table has too, with the items that are not in its list.

        An object stands for every one that has all its values.
        """
        return [
            {"name": name, "items": gone}
            for name, items in _pairs_of(after)
            if isinstance(items, list)
            and isinstance(there := (before or {}).get(name), list)
            and (gone := [item for item in there if not any(_stands_for(each, item) for each in items)])
        ]

    @functions.signature(_ANY, _ANY)
    def _func_as_wanted(self, there: Any, wanted: Any) -> dict[str, Any] | None:
        """What a table has by the names of another, in its words where both say the same; null where it has no name."""
        table = there or {}
        return {
            name: value if _is_so(table.get(name), value) else table.get(name) for name, value in _pairs_of(wanted)
        } or None

    @functions.signature(_ANY, _ANY)
    def _func_zip(self, names: Any, values: Any) -> list[Any]:
        """Pairs of what stands in the same place of two lists, as far as the shorter one goes."""
        return [list(pair) for pair in zip(names or [], values or [], strict=False)]

    @functions.signature(_ANY, _ANY)
    def _func_picked(self, table: Any, names: Any) -> dict[str, Any]:
        """What a table has under these names, without nulls."""
        return {name: table[name] for name in names or [] if table and table.get(name) is not None}

    @functions.signature(_ANY, _TEXT, _TEXT)
    def _func_nested(self, items: Any, id: str, parent: str) -> list[Any]:
        """Items as a tree, each behind what it is below, with an `indent` of two spaces a level."""
        return list(indented_tree(items or [], id, parent))

    @functions.signature({"types": ["array"]})
    def _func_from_items(self, pairs: list[Any]) -> dict[str, Any]:
        """An object of pairs of a name and its value; a text is a pair too, with `=` between the two."""
        split = (pair.partition("=")[::2] if isinstance(pair, str) else pair for pair in pairs)
        return {str(name): value for name, value in split}

    @functions.signature(_ANY, {"types": ["object"]})
    def _func_measured(self, text: Any, units: dict[str, Any]) -> int | None:
        """The sum of a measure as people write it (`1h 30m`), by what each unit counts; null where it is none."""
        parts = re.findall(r"(\d+)\s*([^\d\s]+)", text) if isinstance(text, str) else []
        if not parts or any(unit not in units for _, unit in parts):
            return None
        return sum(int(number) * int(units[unit]) for number, unit in parts)

    @functions.signature(_ANY)
    def _func_filename(self, text: Any) -> str:
        """A name that stays inside its directory: no separators, control characters or leading dots, nor too long."""
        return file_name(_as_text(text))

    @functions.signature(_TEXT)
    def _func_basename(self, path: str) -> str:
        """The name of a file of this machine, without its folder."""
        return os.path.basename(path)

    @functions.signature(_TEXT)
    def _func_from_letters(self, text: str) -> int | None:
        """The number that the letters of a short link stand for; null for others."""
        return number_of(text)

    @functions.signature({"types": ["number"]})
    def _func_to_letters(self, number: float) -> str | None:
        """The letters of a short link for a whole number."""
        return letters_of(int(number)) if number >= 0 else None

    @functions.signature(_TEXT, _TEXT)
    def _func_difference(self, before: str, after: str) -> str:
        """What changed between two texts, as the lines of a unified diff."""
        import difflib

        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", n=2, lineterm="")
        return "\n".join(lines)

    @functions.signature(_ANY, _TEXT)
    def _func_moment(self, text: str | None, form: str) -> str | None:
        """A date or time (now, where it is null) written as `form` says, in the letters of strftime."""
        return written_moment(text, form)

    @functions.signature(_ANY, _TEXT)
    def _func_since(self, text: str | None, form: str) -> str | None:
        """The same for something that has been: the name of a day is the last day of that name, not the next."""
        return written_moment(text, form, past=True)

    @functions.signature(_ANY, _TEXT)
    def _func_iso(self, text: str | None, form: str) -> str | None:
        """A `date` or `date-time` of a word such as today or -7d; what is written out already stays as it is."""
        return text and iso_moment(text, form)

    @functions.signature(_ANY, {"types": ["array-string"]}, _TEXT)
    def _func_totals(self, items: Any, names: list[str], number: str) -> list[dict[str, Any]]:
        """One object for all items that have the same under these names, with the sum of one of their numbers."""
        return sum_alike(items or [], names, number)

    @functions.signature({"types": ["array", "null"]}, _TEXT)
    def _func_running(self, items: Any, number: str) -> list[dict[str, Any]]:
        """The items, with the sum of one of their numbers up to each in its place."""
        return sum_so_far(items or [], number)

    @functions.signature({"types": ["string", "null"]}, {"types": ["string", "null"]})
    def _func_days(self, first: str | None, last: str | None) -> list[str]:
        """The days from one to the other as `2026-01-31`, both included; at most 1000, and none without one of them."""
        return list_days(first, last) if first and last else []

    @functions.signature(_ANY, _TEXT)
    def _func_unwound(self, items: Any, name: str) -> list[dict[str, Any]]:
        """The members of a list that each item has by that name, each with what its item says beside them."""
        objects = _require_objects(items)
        rest = [{key: item[key] for key in item if key != name} for item in objects]
        return [
            {**of, **each} for of, item in zip(rest, objects, strict=True) for each in _require_objects(item.get(name))
        ]


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _require_objects(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else dump_json(value)


def _pairs_of(table: Any) -> Iterable[tuple[str, Any]]:
    return table.items() if isinstance(table, dict) else ()


def _is_so(there: Any, wanted: Any) -> bool:
    """A service tells more of a thing than whoever names it, lists in an order of its own, and texts in its lines."""
    if isinstance(wanted, list) and isinstance(there, list):
        return len(there) == len(wanted) and all(any(_stands_for(each, item) for each in wanted) for item in there)
    if isinstance(wanted, str) and isinstance(there, str):
        return wanted.splitlines() == there.splitlines()
    return (not _says_something(wanted) and not _says_something(there)) or _stands_for(wanted, there)


def _says_something(value: Any) -> bool:
    return value not in (None, "", [], {})


def _stands_for(other: Any, item: Any) -> bool:
    if isinstance(other, dict) and isinstance(item, dict):
        return other.items() <= item.items()
    return bool(other == item)


_OPTIONS = Options(custom_functions=Functions())
_PARSER = RootParser()
_NAME_ALONE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_PARSING = threading.Lock()  # a parser is made for one thread at a time


def parse_expression(expression: str) -> Any:
    """A parsed expression. Unknown functions are found here, not when first called: raises a `JMESPathError`."""
    if _NAME_ALONE.fullmatch(expression) and expression not in CONSTANTS:  # most are: nothing in it to find
        name: Any = ast.field(expression)
        return ParsedResult(expression, name)
    return _parse_whole(expression)


@lru_cache(maxsize=4096)  # as many as a large program has; each is asked for by several checks
def _parse_whole(expression: str) -> Any:
    try:
        with _PARSING:
            parsed = _PARSER.parse(expression)
        if _negates_a_root(parsed.parsed):
            raise exceptions.JMESPathError("!a.b is read as (!a).b: write !(a.b)")
        if (name := _piped_name(parsed.parsed)) is not None:
            text = f"'| {name}' is the member {name}, not the function: write {name}(...), or .{name} for the member"
            raise exceptions.JMESPathError(text)
        for word in CONSTANTS.intersection(field_names(parsed.parsed)):
            if f'"{word}"' not in expression:
                raise exceptions.JMESPathError(f"{word} is the name of a member here: write `{word}`")
        for call in _function_calls(parsed.parsed):
            _check_call(call["value"], call["children"])
        if "`" in expression and not _is_finite(parsed.parsed):
            raise exceptions.JMESPathError("a number in ` ` is too large, or none: no request could hold it")
    except RecursionError:
        raise exceptions.JMESPathError("nested too deeply") from None
    return parsed


def field_names(node: Any) -> Iterator[str]:
    if node["type"] == "field":
        yield node["value"]
    for child in node["children"]:
        if isinstance(child, dict):
            yield from field_names(child)


def _is_finite(found: Any) -> bool:
    """Whether every number in it is one; an expression is a table too, whose literals are below `value`."""
    if isinstance(found, dict):
        return all(map(_is_finite, found.values()))
    if isinstance(found, list):
        return all(map(_is_finite, found))
    return not isinstance(found, float) or isfinite(found)


def paths_in_expression(node: Any) -> Iterator[tuple[str, ...]]:
    """The plain paths in a parsed expression: `a.b` and `c` in `a.b || length(c)`; those in filters are left out.

    Where one item of a list is taken, its place is left out: `a.b` of `a[0].b`.
    """
    yield from (path for path, _ in _paths_from(node))


def _paths_from(node: Any) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The paths, and whether a name behind the expression goes on with them."""
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] == "field":
        yield (node["value"],), True
    elif node["type"] == "subexpression":
        names = [*takewhile(bool, map(_name_followed, children[1:]))]
        for path, is_open in _paths_from(children[0]):
            yield ((*path, *names), len(names) == len(children) - 1) if is_open else (path, False)
    elif node["type"] == "index_expression":
        yield from _paths_from(children[0])
    elif node["type"] in ("projection", "filter_projection", "value_projection"):
        yield from ((path, False) for path, _ in _paths_from(children[0]))
    else:
        is_either = node["type"] == "or_expression"
        yield from ((path, is_open and is_either) for child in children for path, is_open in _paths_from(child))


def _name_followed(node: Any) -> str:
    """The name in a part of a path, `b` of `b[0]`; nothing of what is none."""
    while node["type"] == "index_expression":
        node = node["children"][0]
    return str(node["value"]) if node["type"] == "field" else ""


def fields_in_words(expressions: Iterable[str]) -> str:
    """What some expressions look at, for a person: `key or id` of "key || id"."""
    parsed = (parse_expression(expression).parsed for expression in expressions)
    return " or ".join(dict.fromkeys(".".join(path) for node in parsed for path in paths_in_expression(node)))


_INTO_A_LIST = ("filter_projection", "projection", "flatten", "index_expression")
_FROM_THE_LEFT = (*_INTO_A_LIST, "subexpression", "pipe")


@lru_cache(maxsize=1024)
def first_list(expression: str) -> Any:
    """Of an expression that looks into a list, the parsed part that leads to it: `a.b` of `a.b[?c].d`; else None."""
    node, found = parse_expression(expression).parsed, None
    while node["type"] in _FROM_THE_LEFT:
        found = node["children"][0] if node["type"] in _INTO_A_LIST else found
        node = node["children"][0]
    return found and ParsedResult(expression, found)


def evaluate_parsed(parsed: Any, value: Any, scope: Any) -> Any:
    """The value of a parsed expression over a value; `$name` is looked up in the scope."""
    return RootInterpreter(_OPTIONS, scope).visit(parsed.parsed, value)


def _function_calls(node: Any) -> Iterator[Any]:
    if node["type"] == "function_expression":
        yield node
    for child in node["children"]:
        if isinstance(child, dict):
            yield from _function_calls(child)


def _check_call(name: str, arguments: list[Any]) -> None:
    """Raises a `JMESPathError` for what can be seen before the call: no such function, too few or wrong arguments."""
    if name not in Functions.FUNCTION_TABLE:
        raise exceptions.UnknownFunctionError(f"no function {name}(){did_you_mean(name, Functions.FUNCTION_TABLE)}")
    signature = Functions.FUNCTION_TABLE[name]["signature"]
    least = len(signature)
    if len(arguments) < least or (len(arguments) > least and not (signature and signature[-1].get("variadic"))):
        raise exceptions.JMESPathError(f"{name}() takes {_counted_text(least)}, not {len(arguments)}")
    for place, (wanted, argument) in enumerate(zip(signature, arguments, strict=False), 1):
        kind = _literal_kind(argument)
        if wanted["types"] == ["expref"] and kind != "expref":
            raise exceptions.JMESPathError(f"{name}(): argument {place} is an expression of each item: write &...")
        if wanted["types"] and kind is not None and kind not in {each.partition("-")[0] for each in wanted["types"]}:
            expected = " or ".join(each.replace("expref", "expression (&...)") for each in wanted["types"])
            raise exceptions.JMESPathError(f"{name}(): argument {place} must be of type {expected}, not {kind}")


def _counted_text(number: int) -> str:
    return f"{number} argument{'s'[: number != 1]}"


_LITERALS: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (bool, "boolean"),
    (str, "string"),
    ((int, float), "number"),
    (list, "array"),
    (dict, "object"),
    (type(None), "null"),
)


def _literal_kind(node: Any) -> str | None:
    """The type of an argument that is written out; None for one that is only known when it is called."""
    if node["type"] == "expref":
        return "expref"
    if node["type"] != "literal":
        return None
    return next((name for kind, name in _LITERALS if isinstance(node["value"], kind)), None)


def _piped_name(node: Any) -> str | None:
    """The name of a function alone behind a pipe, where other languages call it: here it is a member, mostly null."""
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] == "pipe" and children[1]["type"] == "field" and children[1]["value"] in Functions.FUNCTION_TABLE:
        return str(children[1]["value"])
    return next((name for name in map(_piped_name, children) if name is not None), None)


def _negates_a_root(node: Any) -> bool:
    """`!` binds tighter than the dot, which nobody expects; such an expression is always null."""
    children = [child for child in node["children"] if isinstance(child, dict)]
    if node["type"] == "subexpression" and children and children[0]["type"] == "not_expression":
        return True
    return any(_negates_a_root(child) for child in children)
