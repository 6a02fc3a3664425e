"""The requests that are made to try an action: of what its expressions look for, and of what the site has."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast
from urllib.parse import urlencode

import msgspec

from ..client.request.http_request import Form, Json, Multipart, Raw
from ..client.request.sample_values import body_sample, parameter_sample
from ..language.scopes import expressions_in, plain_paths, values_in
from ..language.template import texts_in
from .entities import Entities, render_expression

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.request.http_request import MultipartPart, Request
    from ..client.request.operation_call import Call
    from ..language.shape.rest import OperationParam
    from ..language.shape.sandbox import ActionHere, Listing
    from .entities import Entity

_BOUNDARY = "trial"
_CONTENT = b"trial"  # of each file
_MOST_TRIES = 100  # by chance, of one action in one state of the site
_MOST_VALUES = 60  # of one part of a request
_ANY = ["trial", 1, True, "2026-01-31"]  # where nothing says what a value is like

Arguments = dict[str, Any]
Path = tuple[str, ...]
Reached = tuple[str | int, ...]  # a condition of an action: ("find", "item"), ("check", 0)


class ActionToTry(Protocol):
    """What requests are made for."""

    entity: Entity
    operation: str
    definition: ActionHere
    call: Call

    @property
    def listing(self) -> Listing | None: ...


class Try(NamedTuple):
    """What a request is made of."""

    arguments: Arguments
    body: Any


def names_of_files(call: Call) -> list[str]:
    """Files as a command would give them; none is read."""
    body = call.operation.get("body", {})
    parts = [name for name, part in body.get("parts", {}).items() if part.get("file")]
    return [f"{name}={__file__}" for name in parts]


def content_of(request: Request) -> tuple[bytes, str]:
    """A body, and its media type."""
    match request.body:
        case Json(value, media):
            return msgspec.json.encode(value), media
        case Form(pairs, media):
            return urlencode(pairs).encode(), media
        case Raw(data, media):
            return data, media or ""
        case Multipart(parts):
            return b"".join(map(_part_of_form, parts)) + f"--{_BOUNDARY}--\r\n".encode(), (
                f"multipart/form-data; boundary={_BOUNDARY}"
            )
    return b"", ""


def _part_of_form(part: MultipartPart) -> bytes:
    name = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name={msgspec.json.encode(part.name).decode()}"
    file = '; filename="trial.txt"\r\nContent-Type: text/plain' if part.file else ""
    return f"{name}{file}\r\n\r\n".encode() + (_CONTENT if part.file else (part.text or "").encode()) + b"\r\n"


class MadeRequests:
    """The requests that are tried for one action: with what its expressions look for, and what the site has."""

    def __init__(self, entities: Entities, catalog: Catalog, action: ActionToTry) -> None:
        self.entities, self.catalog, self.action = entities, catalog, action
        texts = [*texts_in(action.definition)]
        expressions = [*texts, *expressions_in(texts)]
        written = [value for text in expressions for value in values_in(text)]
        self._written = [each for value in written for each in _scalars_in(value)]
        self._read = {tuple(path) for text in expressions for path in plain_paths(text)}
        self._named = {
            tuple(path): search["entity"]
            for search in action.definition.get("find", {}).values()
            for path in plain_paths(search.get("by", ""))
        }
        for each in (
            *action.definition.get("do", ()),
            *itertools.chain(*(case.get("do", ()) for case in action.definition.get("cases", ()))),
        ):
            named = (path for key in ("each", "patch", "delete") for path in plain_paths(each.get(key, "")))
            self._named |= {tuple(path): each["entity"] for path in named if "entity" in each}
        listing: Mapping[str, Any] = action.listing or {}
        self._queries = {tuple(path) for path in plain_paths(listing.get("query", ""))}
        self._there = [*self._values_of_items()]
        self._params = {param["name"]: self._param_values(param) for param in action.call.documented_params}
        self._required = [param["name"] for param in action.call.documented_params if param.get("required")]
        self._bodies = [*self._whole_bodies()]

    def first_try(self) -> Try:
        """With the first value of all that has to be given."""
        return Try({name: self._params[name][0] for name in self._required if self._params[name]}, self._bodies[0])

    def variants(self, tried: Try, reached: Reached) -> Iterator[Try]:
        """The same with other values of what a condition looks at: one of them at a time, then by chance all."""
        paths = sorted(self._paths_behind(reached))
        for path in paths:
            yield from (self._with_part(tried, path, value) for value in self._values_at(path))
        yield from (tried._replace(body=body) for body in self._bodies[1:])
        yield from (self._with_part(tried, ("body", name), None) for name in tried.body or ())
        draws = random.Random(self.action.operation)  # noqa: S311  nothing secret hangs on it
        for _ in range(_MOST_TRIES if len(paths) > 1 else 0):
            changed = tried
            for path in paths:
                changed = self._with_part(changed, path, draws.choice(self._values_at(path) or [None]))
            yield changed

    def draws(self, tried: Try) -> Iterator[Try]:
        """The same with anything that it may say besides, the same each time."""
        draws = random.Random(self.action.operation)  # noqa: S311  nothing secret hangs on it
        paths = sorted(path for path in self._read if path[0] in ("params", "body") and len(path) > 1)
        for _ in range(_MOST_TRIES if paths else 0):
            changed = tried._replace(body=draws.choice([tried.body, *self._bodies]))
            for path in paths:
                if draws.random() < 0.5 and (values := self._values_at(path)):
                    changed = self._with_part(changed, path, draws.choice(values))
            yield changed

    def only_path(self, reached: Reached) -> Path | None:
        """The part of the request that a condition looks at, where it is one."""
        paths = self._paths_behind(reached)
        return next(iter(paths)) if len(paths) == 1 else None

    def _paths_behind(self, reached: Reached, known: Reached = ()) -> set[Path]:
        """The parts of the request that a condition looks at, also by what was found, `known` left out."""
        action, texts = self.action.definition, list[str]()
        match reached:
            case ("find", name):
                search = action["find"][str(name)]
                texts = [search.get("by", ""), search.get("where", "")]
            case ("check", place):
                there = [action, *action.get("cases", ())]
                checks = [each.get("check", ())[int(place) : int(place) + 1] for each in there]
                texts = [check["unless"] for found in checks for check in found]
            case ("do",):
                return {path for path in self._read if path[0] in ("params", "body") and len(path) > 1}
        found = set[Path]()
        for path in (tuple(each) for text in texts for each in plain_paths(text)):
            if path[0] in ("params", "body"):
                found.add(path)
            elif path[0] in action.get("find", {}) and path[0] not in (*known, *reached[1:]):
                found |= self._paths_behind(("find", path[0]), (*known, *reached[1:]))
        return {path for path in found if len(path) > 1}

    def _values_at(self, path: Path) -> list[Any]:
        if path[0] == "params":
            return self._params.get(path[1], [])
        values = self._values_for(path)
        return [*values, *([each] for each in values[:10]), *(each + 1 for each in values if type(each) is int), None]

    @staticmethod
    def _with_part(tried: Try, path: Path, value: Any) -> Try:
        if path[0] == "params":
            return tried._replace(arguments={**tried.arguments, path[1]: value})
        return tried._replace(body=_with_value(path, value, tried.body)) if isinstance(tried.body, dict) else tried

    def values_of(self, param: str) -> list[Any]:
        return self._params[param]

    def _param_values(self, param: OperationParam) -> list[Any]:
        if "enum" in param:
            return param["enum"]
        values = self._values_for(("params", param["name"]))
        if param.get("type") in ("integer", "number"):
            values = [each for each in values if str(each).isdigit()]
        return [*values, parameter_sample(param)]

    def _values_for(self, path: Path) -> list[Any]:
        """What may be meant by a part of the request."""
        named: list[Any] = []
        if entity := self._named.get(path):
            for item in self.entities.state.items(entity):
                named += [item["id"], *self.entities[entity].names_of(item)]
        elif path in self._queries:
            named = [*self._made_queries()]
        elif listing := self.action.listing:
            named = [each for item in self.entities.state.items(listing["entity"]) for each in _scalars_in(item)]
        values = [*named, *self._written, *self._there, *_ANY]
        different = {(type(each), str(each)): each for each in values if not isinstance(each, dict | list)}
        return [*different.values()][:_MOST_VALUES]

    def _made_queries(self) -> Iterator[str]:
        """Conditions in the language of what is listed."""
        entity = self.entities[cast("Listing", self.action.listing)["entity"]]
        for name, query in (entity.query or {"fields": {}})["fields"].items():
            read = render_expression(query.get("value", "`null`"))
            for item in itertools.islice(self.entities.state.items(entity.name), 3):
                for value in _scalars_in(read(item)):
                    yield f'{name} = "{value}"'

    def _values_of_items(self) -> Iterator[Any]:
        product = self.action.entity.product
        for entity in self.entities:
            if entity.product == product:
                for item in itertools.islice(self.entities.state.items(entity.name), 10):
                    yield from _scalars_in(item)

    def _whole_bodies(self) -> Iterator[Any]:
        documented = self.action.call.operation.get("body")
        if documented is None:
            yield None
        elif schema := documented.get("schema"):
            for required_only in (False, True):
                body = body_sample(self.catalog, schema, required_only=required_only)
                of_pages = self._params_of_pages() if isinstance(body, dict) else ()
                yield {key: value for key, value in body.items() if key not in of_pages} if of_pages else body
        elif "parts" in documented:
            texts = [name for name, part in documented["parts"].items() if not part.get("file")]
            yield dict.fromkeys(texts, "trial") or None
        else:
            whole: Any = {}
            for path in self._paths_in_body():
                whole = _with_value(path, self._values_for(path)[0], whole)
            yield whole

    def _params_of_pages(self) -> set[str]:
        if (paging := self.action.call.operation.get("paginate")) is None:
            return set()
        paginator = self.catalog.paginators.get(paging["using"])
        return {paginator.get("send", ""), paginator.get("size", "")}

    def _paths_in_body(self) -> list[Path]:
        return sorted(path for path in self._read if path[0] == "body" and len(path) > 1)


def _with_value(path: Path, value: Any, body: Any) -> Any:
    """A copy of the body, with a value in its place; without that member where it is null."""
    _, *heads, last = path
    whole: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(body))
    table = whole
    for head in heads:
        inner = table.setdefault(head, {})
        table = inner if isinstance(inner, dict) else {}
    table[last] = value
    if value is None:
        del table[last]
    return whole


def _scalars_in(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _scalars_in(part)
    elif value is not None:
        yield value
