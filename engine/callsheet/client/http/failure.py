"""An answer that reports a failure → one readable error of the right class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...durations import in_words
from ...errors import CallsheetError, Conflict, NotAllowed, NotFound, RateLimited
from ...jsontext import JSONError, parse_json
from .reply import Reply, is_html, title_of
from .retry import IDEMPOTENT, STATUSES, QuotaState

if TYPE_CHECKING:
    from ...language.shape.rest import ProductDefinition, ServiceDefinition
    from ..request.http_request import Request

_CLASSES: dict[int, type[CallsheetError]] = {
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    410: NotFound,
    409: Conflict,
    412: Conflict,
    429: RateLimited,
}
_HINTS = {
    401: "the credential was not accepted: check it, and that it belongs to this site",
    403: "the account is known but may not do this: ask for the permission, or use another credential",
    404: "it does not exist, or this account may not see it",
    405: "the site does not offer this call: check the path and the kind of deployment",
    407: "the proxy asks for credentials: put them into its address, http://USER:PASSWORD@HOST:PORT",
    409: "it was changed meanwhile, or its state forbids this: read it again, then repeat the change",
    410: "it was removed for good",
    412: "it was changed meanwhile, or the call needs a header that was not sent",
    413: "the request is larger than the site accepts: send less at once",
    415: "the site does not take this media type",
    422: "the values were understood and refused: check them",
    429: "too many requests: wait, or slow down with --rps",
}
_SERVER_HINT = "the failure is on the site's side: try again later"
_TEXT_KEYS = ("message", "errorMessage", "detail", "title", "error_description", "translation", "text", "error", "name")
_LIST_KEYS = ("errorMessages", "errors", "messages", "error", "data")
_CHECK = "look whether it took effect before you send it again"
_NOT_DONE = (429, 501)  # too many requests, and what the site does not know how to do
_LONGEST = 500
_DEPTH = 6


def failure_of(
    reply: Reply, product: ProductDefinition, service: ServiceDefinition, *, url: str, state: QuotaState
) -> CallsheetError:
    """`url` is as it may be shown; its query is left out, which is long and hides the words that matter.

    The message is the first the body gives; the others are details.
    """
    texts = error_messages(reply, product) or [_status_phrase(reply.status)]
    denied = reply.headers.get(service.get("denied", "").lower() or "-")
    reason = [f"{service['denied']}: {denied}"] if denied else []
    error = _CLASSES.get(reply.status, CallsheetError)(
        f"{reply.request.method} {url.partition('?')[0]}: {reply.status}: {texts[0]}",
        hint=_CHECK if _may_have_changed(reply) else _hint_for_status(reply.status, product),
        details=[*texts[1:], *reason, *_change_status(reply), *_quota_details(reply, state)],
        status=reply.status,
        trace_id=trace_of(reply, service),
    )
    if isinstance(error, NotAllowed):
        error.denied = denied
        error.lacks_scope = reply.status == 403 or _is_true(reply, service.get("lacks_scope"))
    return error


def refused_credential(
    request: Request,
    headers: Mapping[str, str],
    names: Mapping[str, list[str]],
    product: ProductDefinition,
    *,
    url: str,
    status: int,
) -> NotAllowed | None:
    """The failure that a header of a success tells; `names` are the headers and the values that do."""
    for name, values in names.items():
        words = {word.strip().casefold() for word in headers.get(name.lower(), "").split(",")}
        found = [value for value in values if value.casefold() in words]
        if found:
            changed = request.method not in IDEMPOTENT and request.safety != "read"
            return NotAllowed(
                f"{request.method} {url}: {status}: the credential was not accepted ({name}: {found[0]})",
                hint=_hint_for_status(401, product),
                details=["the site answered as if nobody had signed in" + ", and may have been carried out" * changed],
                status=status,
            )
    return None


def trace_of(reply: Reply, service: ServiceDefinition) -> str | None:
    return reply.headers.get(service.get("trace", "").lower() or "-")


def _is_true(reply: Reply, expression: str | None) -> bool:
    if expression is None:
        return False
    from ...language.template import TemplateError, evaluate

    try:
        return evaluate(expression, parse_json(reply.content)) is True
    except (JSONError, TemplateError):
        return False


def _hint_for_status(status: int, product: ProductDefinition) -> str | None:
    own = product.get("hints", {}).get(str(status))
    return own or _HINTS.get(status) or (_SERVER_HINT if status >= 500 and status not in _NOT_DONE else None)


def _quota_details(reply: Reply, state: QuotaState) -> list[str]:
    if reply.status not in STATUSES:
        return []
    reason = [f"limit: {state.reason}"] if state.reason else []
    if not state.resets_in:
        return reason
    return [*reason, f"{'it resets in' if reply.status == 429 else 'it asks to wait'} {in_words(state.resets_in)}"]


def _change_status(reply: Reply) -> list[str]:
    """What is known about a change that must not be sent again blindly."""
    if _may_have_changed(reply):
        return ["it was sent once and not repeated: it may have been carried out"]
    return ["it was not carried out"] if _changes_something(reply) and reply.status in _NOT_DONE else []


def _may_have_changed(reply: Reply) -> bool:
    return _changes_something(reply) and reply.status >= 500 and reply.status not in _NOT_DONE


def _changes_something(reply: Reply) -> bool:
    return reply.request.method not in IDEMPOTENT and reply.request.safety != "read"


def _status_phrase(status: int) -> str:
    from http import HTTPStatus

    try:
        return HTTPStatus(status).phrase.lower()
    except ValueError:
        return "no reason given"


def error_messages(reply: Reply, product: ProductDefinition) -> list[str]:
    """Every text of an error body, first things first: the product's own expression, else the usual keys."""
    if is_html(reply):
        return [f"answered with a web page{title_of(reply.content)}"]
    try:
        body = parse_json(reply.content)
    except JSONError:
        line = " ".join(reply.text.split())
        return [line[:_LONGEST] + "…" * (len(line) > _LONGEST)] if line else []
    return texts_in(_error_part(body, product)) or texts_in(body)


def _error_part(body: Any, product: ProductDefinition) -> Any:
    from ...language.template import TemplateError, evaluate

    expression = product.get("errors")
    try:
        return evaluate(expression, body) if expression else None
    except TemplateError:  # the expression meets a body of another shape
        return None


def texts_in(found: Any) -> list[str]:
    """Texts out of nested lists and tables, each once."""
    return list(dict.fromkeys(text.strip()[:_LONGEST] for text in _texts_of_error(found, _DEPTH) if text.strip()))


def _texts_of_error(found: Any, depth: int) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, list) and depth:
        for item in found:
            yield from _texts_of_error(item, depth - 1)
    elif isinstance(found, Mapping) and depth:
        yield from _texts_of_table(found, depth)


def _texts_of_table(table: Mapping[str, Any], depth: int) -> Iterator[str]:
    """An error object gives its usual keys; a table of field → texts gives `field: text`."""
    usual = [key for key in _TEXT_KEYS if isinstance(table.get(key), str) and table[key].strip()]
    nested = [key for key in _LIST_KEYS if isinstance(table.get(key), list | Mapping)]
    if usual:
        yield table[usual[0]]
    for key in nested:
        yield from _texts_of_error(table[key], depth - 1)
    if usual or nested:
        return
    for key, value in table.items():
        yield from (f"{key}: {text}" for text in _texts_of_error(value, depth - 1) if text.strip())
