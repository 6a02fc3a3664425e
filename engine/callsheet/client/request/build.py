"""An operation with its arguments → one request; every fault is found before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, did_you_mean
from ...language.headers import OF_THE_CONNECTION
from ...language.parameter_text import InvalidValue, text_of
from .body import BodyBuilder
from .call import Call, call_of, pairs_of, without_checks
from .model import Body, FileToSend, Placeholder, Request, encoded
from .safety import Templates, with_safety

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import OperationParam
    from ..site_access import RequestSite
    from .call import Call


# Arguments of an operation → path, query and headers; every fault is found before anything is sent.


_HOLE = re.compile(r"\{([^{}]+)\}")
_HEADER_TEXT = re.compile(r"[\t\x20-\x7e]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")


@dataclass(slots=True)
class PlacedArguments:
    """Where the arguments went; `rest` holds those that no parameter takes."""

    path: str = ""
    query: list[tuple[str, str]] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    rest: dict[str, Any] = field(default_factory=dict)


def place_arguments(
    call: Call, arguments: Mapping[str, Any], *, program: str, strict: bool, also: Collection[str]
) -> PlacedArguments:
    """Check the arguments and put each where it belongs; names in `also` are known to the body."""
    given = {name: value for name, value in arguments.items() if value is not None and value != []}
    for name, value in given.items():
        _check_text(call, name, value)
    params = call.documented
    hint = f"{program} op describe {call.id}"
    placed = PlacedArguments(rest={name: value for name, value in given.items() if name not in call.known})
    if strict:
        _refuse_unknown(call, [name for name in placed.rest if name not in also], params, hint, also)
    _require(call, params, given, hint, strict=strict)
    path_values: dict[str, str] = {}
    for param in params:
        if param["name"] in given:
            pairs = _pairs(call, param, given[param["name"]], hint, strict=strict)
            _add(call, param, pairs, placed, path_values)
    placed.path = _HOLE.sub(lambda hole: path_values[hole[1]], call.path)
    return placed


def _check_text(call: Call, name: str, value: Any) -> None:
    try:
        f"{name}{text_of(value)}".encode()
    except UnicodeEncodeError:
        raise UsageError(f"{call.id}: {name!r} is not valid UTF-8") from None


class MissingArguments(UsageError):
    """An operation lacks parameters; `names` are those of its definition."""

    def __init__(self, operation: str, names: Sequence[str], hint: str | None) -> None:
        super().__init__(f"{operation} requires " + ", ".join(f'"{name}"' for name in names), hint=hint)
        self.names = names


def _require(call: Call, params: list[OperationParam], given: Mapping[str, Any], hint: str, *, strict: bool) -> None:
    missing = [
        param["name"]
        for param in params
        if param.get("in") == "path" or (strict and param.get("required"))
        if param["name"] not in given
    ]
    if missing:
        raise MissingArguments(call.id, missing, hint)


def _refuse_unknown(
    call: Call, unknown: list[str], params: list[OperationParam], hint: str, also: Collection[str]
) -> None:
    if not unknown:
        return
    known = [*(param["name"] for param in params), *also]
    guess = did_you_mean(unknown[0], known)
    if not guess:
        guess = f"; it takes {', '.join(known)}" if known else "; it takes no parameters"
    names = ", ".join(f'"{name}"' for name in unknown)
    raise UsageError(f"{call.id} has no parameter {names}{guess}", hint=hint)


def _pairs(call: Call, param: OperationParam, value: Any, hint: str, *, strict: bool) -> list[tuple[str, str]]:
    try:
        return pairs_of(value, param if strict else without_checks(param))
    except InvalidValue as error:
        raise UsageError(f'{call.id}: "{param["name"]}": {error}', hint=hint) from None


def _add(
    call: Call,
    param: OperationParam,
    pairs: list[tuple[str, str]],
    placed: PlacedArguments,
    path_values: dict[str, str],
) -> None:
    where = param.get("in", "query")
    if where == "query":
        placed.query += pairs
    elif where == "header":
        placed.headers += [(name, header_text(call.id, name, text)) for name, text in pairs]
    else:
        path_values[param["name"]] = _path_segment(call, param["name"], pairs[0][1])


def _path_segment(call: Call, name: str, text: str) -> str:
    """A value fills one path segment and never changes which path it is."""
    if text in {"", ".", ".."}:
        problem = f"{text!r} is not allowed in a path" if text else "it must not be empty"
        raise UsageError(f'{call.id}: "{name}": {problem}')
    return text if isinstance(text, Placeholder) else encoded(text)


def header_text(where: str, name: str, text: str) -> str:
    """`text` when a header of this name may carry it."""
    if not _HEADER_NAME.fullmatch(name):
        raise UsageError(f"{where}: {name!r} is not the name of a header")
    if name.lower() in OF_THE_CONNECTION:
        raise UsageError(f"{where}: header {name!r}: the program sets it: it decides where or how a request is sent")
    if not isinstance(text, Placeholder) and not _HEADER_TEXT.fullmatch(text):
        raise UsageError(f"{where}: header {name!r}: expected plain ASCII text without line breaks")
    return text


# One request of an operation, or of a bare method and path.


class Builder:
    """Builds the requests of one site; whatever can be found wrong locally is a `UsageError`."""

    def __init__(self, catalog: Catalog, site: RequestSite, program: str) -> None:
        self.catalog = catalog
        self.templates = Templates(catalog)
        self.site = site
        self.program = program
        self._calls: dict[str, Call] = {}
        self._bodies: dict[tuple[str, bool], BodyBuilder] = {}

    def call(self, operation: str) -> Call:
        """Each is read once: the catalog is not asked again for every page of a list."""
        if operation not in self._calls:
            self._calls[operation] = call_of(self.catalog, operation, self.site.deployment)
        return self._calls[operation]

    def build(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        body: Any = None,
        files: Sequence[FileToSend] = (),
        *,
        strict: bool = True,
    ) -> Request:
        """Check everything that can be checked locally.

        `arguments`: name → text, typed value or list. `body`: a JSON value, or bytes still to be read as the
        operation's media type asks. `files`: paths, or `part=path`, for raw and multipart bodies, or tables of
        `path` and the `name` that a file of a form is sent under.
        Without `strict` nothing is validated and unknown arguments go into the query.
        """
        call = self.call(operation)
        bodies = self._body_builder(call, strict=strict)
        placed = place_arguments(call, arguments, program=self.program, strict=strict, also=bodies.parts)
        fields = {name: value for name, value in placed.rest.items() if name in bodies.parts}
        content = bodies.build(body, fields, files)
        undocumented = {name: value for name, value in placed.rest.items() if name not in fields}
        request = Request(
            method=call.method,
            root=self.site.base_url(call.service),
            path=placed.path,
            query=(*placed.query, *_undocumented_pairs(undocumented)),
            headers=_headers(call, placed.headers),
            body=content,
            operation=call.id,
            product=call.product_id,
            service=call.service,
            safety=call.safety,
            reply=call.operation.get("reply", "json"),
        )
        return with_safety(self.templates, request, known=call.safety)

    def _body_builder(self, call: Call, *, strict: bool) -> BodyBuilder:
        if (call.id, strict) not in self._bodies:
            self._bodies[call.id, strict] = BodyBuilder(call, self.catalog, self.program, strict=strict)
        return self._bodies[call.id, strict]

    def raw(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Sequence[tuple[str, str]] = (),
        body: Body | None = None,
    ) -> Request:
        """A request no operation describes. `path` may be a full URL of the site; another host is refused."""
        from .raw import raw_request

        named = tuple((name, header_text(method, name, text)) for name, text in headers)
        return raw_request(
            self.catalog,
            self.templates,
            self.site,
            method=method.upper(),
            target=path,
            query=tuple(query),
            headers=named,
            body=body,
        )


def _undocumented_pairs(rest: Mapping[str, Any]) -> list[tuple[str, str]]:
    from .call import undocumented_pairs

    return [pair for name, value in rest.items() for pair in undocumented_pairs(name, value)]


def _headers(call: Call, given: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The product's and the operation's headers, under those given as parameters."""
    layers = [*call.product.get("headers", {}).items(), *call.operation.get("headers", {}).items(), *given]
    return tuple({name.lower(): (name, text) for name, text in layers}.values())
