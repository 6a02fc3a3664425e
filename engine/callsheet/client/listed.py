"""A list where one was expected in an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError
from ..language.template import evaluate_part

if TYPE_CHECKING:
    from .http.reply import Reply

_HINT = "a proxy or a page to sign in may have answered in the place of the site; -v shows what was asked"

_HINT_OF_CHANGE = "the change may have been made: look at it before you try again"


_PATH = re.compile(r"\w[\w.]*")
_ODD = {list: "an empty list", str: "a text", bool: "true or false"}


def list_in_answer(found: Any, under: str | None = None) -> list[Any]:
    """What was found in an answer `under` an expression; raises `CallsheetError` where it is no list.

    A definition says where a service may leave a list out, as in "values || `[]`".
    """
    if isinstance(found, list):
        return found
    raise CallsheetError(f"the site answered without {_expected_list(under)}", hint=_HINT)


def thing_in_answer(found: Any, id: str, *, odd: Sequence[Any] = (), is_changed: bool = False) -> None:
    """Raises `CallsheetError` where an answer is no thing, by the expression for its `id`.

    `odd` are the answers that were no object. They may be lists of things; other texts and lists were made of answers.
    """
    if found is None or isinstance(found, dict):
        _refuse_without_id(found, id, is_changed)
        return
    for part in [found, *(found if isinstance(found, list) else ())]:
        if not any(part is each for each in odd):
            continue
        if not isinstance(part, list) or not part:
            what = _ODD.get(type(part), "a number")
            raise CallsheetError(
                f"the site answered with {what} in the place of what was asked for",
                hint=_HINT_OF_CHANGE if is_changed else _HINT,
            )
        for thing in part:
            _refuse_without_id(thing, id, is_changed)


def _refuse_without_id(found: Any, id: str, is_changed: bool) -> None:
    if evaluate_part(id, found, {}) is None:
        from ..language.functions import fields_in_words
        from .http.failure import texts_in

        missing = f"the site answered without what was asked for: it has no {fields_in_words([id]) or id}"
        said = ": ".join([missing, *texts_in(found)[:1]])
        raise CallsheetError(said, hint=_HINT_OF_CHANGE if is_changed else _HINT)


def part_of(expression: str, answer: Any, scope: Any) -> Any:
    """What a definition takes of an answer; raises `CallsheetError` where it looks into a list and there is none."""
    if "[" in expression:  # else it looks into no list, and the library of expressions need not be loaded
        from ..language.functions import evaluate_parsed, first_list, paths_in_expression

        inside = first_list(expression)
        if inside is not None:
            list_in_answer(
                evaluate_parsed(inside, answer, scope), next(map(".".join, paths_in_expression(inside.parsed)), None)
            )
    return evaluate_part(expression, answer, scope)


def listed_in(reply: Reply, found: Any, under: str | None) -> list[Any]:
    """The same, of a reply: the error says what the site says instead."""
    if isinstance(found, list):
        return found
    from .http.failure import texts_in

    address = reply.redactor.url(reply.url).partition("?")[0]
    said = texts_in(reply.json())[:1]
    message = ": ".join([f"{reply.request.method} {address} answered without {_expected_list(under)}", *said])
    error = CallsheetError(message, hint=_HINT, status=reply.status)
    reply.redactor.error(error)
    raise error


def _expected_list(under: str | None) -> str:
    is_path = (
        under is not None and _PATH.fullmatch(under) is not None
    )  # a definition's expression tells nobody else more
    return "the list that was expected" + (f" under {under!r}" if is_path else "")
