"""Queries in languages of conditions, composed so that quoting and a trailing clause are respected."""

from __future__ import annotations

import re
from collections.abc import Iterable

EXCEPT = "not:"  # before a value: without it
_QUOTES = "\"'"


def quote_query_text(text: str) -> str:
    """A text in double quotes; what would end it or break the line is escaped."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    for character, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        escaped = escaped.replace(character, escape)
    return f'"{escaped}"'


def narrow_query(query: str | None, conditions: Iterable[str | None], tail: str) -> str | None:
    """All conditions and the query's own, joined by AND; a clause that starts with `tail` stays last.

    The query is put in parentheses, because it may hold an OR. None when nothing is asked at all.
    """
    asked = [condition for condition in conditions if condition]
    head, clause = split_tail(query or "", tail)
    if head:
        asked = [f"({head})" if asked else head, *asked]
    return " ".join([" AND ".join(asked), clause]).strip() or None


def among_condition(field: str, values: Iterable[str | None]) -> str | None:
    """The condition that a field has one of the values and none that begin with `not:`; None for no values.

    A value that is null is an empty field, `not:` alone a field that is not empty. Who leaves values out does not mean
    to leave out fields without a value.
    """
    found = list(values)
    wanted = [value for value in found if value is not None and not value.startswith(EXCEPT)]
    refused = [value.removeprefix(EXCEPT) for value in found if value is not None and value.startswith(EXCEPT)]
    either = [_equals_condition(field, wanted, "=", "in")] if wanted else []
    either += [f"{field} is EMPTY"] if None in found else []
    conditions = [_any_condition(either)] if either else []
    if named := [value for value in refused if value]:
        conditions.append(
            _any_condition(
                [_equals_condition(field, named, "!=", "not in"), *([] if either else [f"{field} is EMPTY"])]
            )
        )
    conditions += [f"{field} is not EMPTY"] if "" in refused else []
    return " AND ".join(conditions) or None


def _equals_condition(field: str, values: list[str], one: str, several: str) -> str:
    if len(values) == 1:
        return f"{field} {one} {quote_query_text(values[0])}"
    return f"{field} {several} ({', '.join(map(quote_query_text, values))})"


def _any_condition(conditions: list[str]) -> str:
    return conditions[0] if len(conditions) == 1 else f"({' OR '.join(conditions)})"


def split_tail(query: str, tail: str) -> tuple[str, str]:
    """What stands before the clause that starts with the words `tail`, and that clause. Quoted text is skipped."""
    pattern = re.compile(r"\b" + r"\s+".join(map(re.escape, tail.split())) + r"\b", re.IGNORECASE)
    for match in pattern.finditer(query):
        if not _inside_quotes(query, match.start()):
            return query[: match.start()].strip(), query[match.start() :].strip()
    return query.strip(), ""


def _inside_quotes(query: str, position: int) -> bool:
    quote, index = "", 0
    while index < position:
        character = query[index]
        if quote and character == "\\":
            index += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in _QUOTES:
            quote = character
        index += 1
    return bool(quote)
