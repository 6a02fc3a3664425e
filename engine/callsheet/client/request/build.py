"""A request by method and path: which product, and so which host and credential, it belongs to."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, quote, urlsplit

from ...errors import UsageError, did_you_mean
from ...language.http_methods import METHODS
from ...language.merge import on_deployment
from ...language.parameter_text import OF_THE_CONNECTION, InvalidValue, value_as_text
from ...urls import SITE_LOGIN, refuse_login, url_origin
from .gate import Templates, leaves_base, with_safety
from .http_request import (
    OCTET_STREAM,
    Body,
    File,
    FileToSend,
    Form,
    Json,
    Multipart,
    MultipartPart,
    Placeholder,
    Raw,
    Request,
    is_form_media,
    is_json_media,
    is_multipart_media,
    is_text_media,
    media_essence,
    media_type_for_file,
    media_type_of_file,
    percent_encoded,
)
from .json_body import BodyFault, UnfitBody, body_faults, check_json, unfit_body
from .operation_call import JOINTS, Call, call_of, pairs_of, without_checks

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import Body as Documented
    from ...language.shape.rest import BodyPart, OperationParam
    from .http_request import RequestSite


def raw_request(
    catalog: Catalog,
    templates: Templates,
    site: RequestSite,
    *,
    method: str,
    target: str,
    query: tuple[tuple[str, str], ...],
    headers: tuple[tuple[str, str], ...],
    body: Body | None,
) -> Request:
    if method not in METHODS:
        raise UsageError(f"{method!r} is not a method: expected one of {', '.join(METHODS)}")
    if target.startswith("//"):
        raise UsageError(
            f"{target}: looks like a host; a path starts with one slash, and requests never go to another host"
        )
    products = _products_by_path(catalog, site.deployment)
    if "://" in target.partition("?")[0]:
        product, service, root, target = _find_by_url(products, site, target)
    else:
        product, service = _find_by_path(products, target)
        root = site.base_url(service)
    path, _, asked = target.partition("#")[0].partition("?")
    path = path if path.startswith("/") else f"/{path}"
    _check_path(path)
    own = tuple(parse_qsl(asked, keep_blank_values=True))
    request = Request(
        method=method,
        root=root,
        path=quote(path, safe="/%:@!$&'()*+,;=~"),
        query=own + query,
        headers=headers,
        body=body,
        product=product,
        service=service,
        reply="none",
    )
    return with_safety(templates, request)


def _check_path(path: str) -> None:
    if leaves_base(path):
        raise UsageError(f"{path}: `.` and `..` are not allowed in a path")


Products = list[tuple[str, str, str]]


def _products_by_path(catalog: Catalog, deployment: str) -> Products:
    """Product, service and base path on this deployment, by the products' order."""
    here: list[tuple[int, str, str, str]] = []
    for id, product in catalog.products.all().items():
        merged = on_deployment(product, deployment)
        if not merged.get("unavailable"):
            here.append((merged.get("order", 0), id, merged.get("service", id), merged.get("base", "")))
    if not here:
        raise UsageError("no product is defined for this site")
    return [row[1:] for row in sorted(here)]


def _find_by_path(products: Products, path: str) -> tuple[str, str]:
    """The product whose base is the longest that the path starts with; the first one where none is."""
    matching = [row for row in products if row[2] and (path + "/").startswith(row[2].rstrip("/") + "/")]
    product, service, _ = max(matching, key=lambda row: len(row[2])) if matching else products[0]
    return product, service


def _find_by_url(products: Products, site: RequestSite, url: str) -> tuple[str, str, str, str]:
    """Product, service, base URL and path of a full URL that lies on the site."""
    roots = {service: site.base_url(service) for _, service, _ in products}
    refuse_login(url, "path", SITE_LOGIN)
    inside = [(len(root), service, root) for service, root in roots.items() if _is_below(url, root)]
    if not inside:
        raise UsageError(f"{url_origin(url)} is not this site ({', '.join(sorted(set(roots.values())))})")
    longest = max(length for length, _, _ in inside)
    services = {service for length, service, _ in inside if length == longest}
    root = next(root for length, _, root in inside if length == longest)
    parts = urlsplit(url)
    path = parts.path[len(urlsplit(root).path) :] or "/"
    product, service = _find_by_path([row for row in products if row[1] in services], path)
    return product, service, root, f"{path}?{parts.query}"


def _is_below(url: str, root: str) -> bool:
    return url_origin(url) == url_origin(root) and (urlsplit(url).path + "/").startswith(urlsplit(root).path + "/")


_NOTHING = object()


class BodyBuilder:
    """One operation's body; `data` is raw text (bytes) still to be read, or a value already.

    A value that fits the schema is not checked again where it is the very same one in the next request, as for many
    items at once: whoever gives a value does not change it any more.
    """

    def __init__(self, call: Call, catalog: Catalog, program: str, *, strict: bool) -> None:
        self.call = call
        self.catalog = catalog
        self.program = program
        self.strict = strict
        self.documented: Documented | None = call.operation.get("body")
        self.media = (self.documented or cast("Documented", {})).get("media", "application/json")
        self._fitting: Any = _NOTHING

    def build_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body | None:
        """`fields` are parts given by name. None when the request goes without a body."""
        if data is None and not fields and not files:
            return self._no_body()
        if self.documented is None and self.strict:
            raise self._body_error("takes no body")
        for kind, make in self._MAKERS:
            if kind(self.media):
                return make(self, data, fields, files)
        return self._raw_body(data, fields, files)

    def _body_error(self, problem: str) -> UsageError:
        return UsageError(f"{self.call.id} {problem}", hint=f"{self.program} op describe {self.call.id}")

    def _no_body(self) -> Body | None:
        if self.documented is None or not self.strict or self.documented.get("optional"):
            return None
        if is_multipart_media(self.media) and not any(p.get("required") for p in self.documented_parts.values()):
            return None
        error = self._body_error(f"requires a body ({self._usage_hint()})")
        raise UnfitBody(error.message, self._required_members(), hint=error.hint)

    def _required_members(self) -> list[BodyFault]:
        """What must be there, of a body of which nothing is."""
        schema = (self.documented or cast("Documented", {})).get("schema")
        found = body_faults({}, schema, self.catalog) if schema else []
        required = [name for name, part in self.documented_parts.items() if part.get("required")]
        return [*(fault for fault in found if fault.missing), *(BodyFault((), "", name) for name in required)]

    def _usage_hint(self) -> str:
        if is_multipart_media(self.media) or not (is_json_media(self.media) or is_text_media(self.media)):
            return "--file PATH"
        return f"{media_essence(self.media)}: -d TEXT, -d @file or -d @-"

    def _json_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        self._refuse_files(files)
        value = self._parsed_json(data)
        schema = (self.documented or cast("Documented", {})).get("schema")
        if schema and self.strict and value is not self._fitting:
            check_json(value, schema, self.catalog, self.call.id, self.program)
            self._fitting = value
        return Json(value, self.media)

    def _parsed_json(self, data: Any) -> Any:
        from ...jsontext import JSONError, parse_json

        try:
            return parse_json(data) if isinstance(data, bytes) else data
        except JSONError as error:
            raise self._body_error(f"takes a JSON body: {error}") from None

    def _refuse_files(self, files: Sequence[FileToSend]) -> None:
        if files:
            raise self._body_error(f"takes {media_essence(self.media)}, not files: use -d @{_readable_path(files[0])}")

    def _text_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        if files:
            return self._raw_body(data, fields, files)
        return Raw(data if isinstance(data, bytes) else value_as_text(data).encode(), self.media)

    def _form_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        self._refuse_files(files)
        values = self._fields_of(data, fields)
        self._require_parts(values)
        pairs = tuple(
            pair for name, value in values.items() for pair in form_pairs(name, value, self.documented_parts.get(name))
        )
        return Form(pairs, self.media)

    def _multipart_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        values = self._fields_of(data, fields)
        parts = [
            MultipartPart(part, file=_check_file(path, media_type_of_file(name or path), name))
            for part, path, name in self._named_files(files)
        ]
        for name, value in values.items():
            part = self.documented_parts.get(name, {})
            self._check_part(name, value, part)
            pairs = form_pairs(name, value, part)
            parts += [MultipartPart(each, text=text, media=part.get("media")) for each, text in pairs]
        self._require_parts({**values, **{part.name: part for part in parts}})
        return Multipart(tuple(parts))

    def _check_part(self, name: str, value: Any, part: BodyPart) -> None:
        """By its schema; a text is sent as it was given."""
        if not self.strict or "schema" not in part:
            return
        several = part.get("many") and isinstance(value, list)
        places = {(name, at): each for at, each in enumerate(value)} if several else {(name,): value}
        faults = [
            fault._replace(path=(*place, *fault.path))
            for place, each in places.items()
            if not isinstance(each, str)
            for fault in body_faults(each, part["schema"], self.catalog)
        ]
        if faults:
            hint = f"{self.program} op describe {self.call.id}"
            raise unfit_body(self.call.id, faults, [fault.in_words() for fault in faults], hint)

    def _require_parts(self, given: Mapping[str, Any]) -> None:
        lacking = [name for name, part in self.documented_parts.items() if part.get("required") and name not in given]
        if lacking and self.strict:
            files = " (--file PATH)" if any(self.documented_parts[name].get("file") for name in lacking) else ""
            text = "requires the part " + ", ".join(f'"{name}"' for name in lacking) + files
            found = [BodyFault((), f'"{name}" is missing', name) for name in lacking]
            error = self._body_error(text)
            raise UnfitBody(error.message, found, hint=error.hint)

    @property
    def documented_parts(self) -> dict[str, Any]:
        return cast("dict[str, Any]", (self.documented or cast("Documented", {})).get("parts", {}))

    def _fields_of(self, data: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
        values = {} if data is None else self._parsed_json(data)
        if not isinstance(values, dict):
            raise self._body_error("takes its fields as a JSON object")
        values = {**values, **fields}
        for name in values:
            if self.strict and name not in self.documented_parts:
                raise self._body_error(f'has no part "{name}"{did_you_mean(name, self.documented_parts)}')
        return values

    def _named_files(self, files: Sequence[FileToSend]) -> list[tuple[str, str, str]]:
        """Part, path and name of each file: `part=path` where it names a part, else the operation's file part."""
        file_parts = [name for name, part in self.documented_parts.items() if part.get("file")] or ["file"]
        named: list[tuple[str, str, str]] = []
        for file in files:
            given, known_as = (file, "") if isinstance(file, str) else (str(file["path"]), str(file["name"]))
            name, equals, path = given.partition("=")
            if equals and not known_as and name in file_parts and not os.path.exists(given):
                named.append((name, path, ""))
            elif len(file_parts) == 1:
                named.append((file_parts[0], given, known_as))
            else:
                raise self._body_error(
                    f"has several file parts: --file NAME={given}, NAME one of {', '.join(file_parts)}"
                )
        self._check_repeats([part for part, _, _ in named])
        return named

    def _check_repeats(self, names: list[str]) -> None:
        for name in names:
            if self.strict and names.count(name) > 1 and not self.documented_parts.get(name, {}).get("many", False):
                raise self._body_error(f'takes one file as "{name}", {names.count(name)} were given')

    def _raw_body(self, data: Any, fields: Mapping[str, Any], files: Sequence[FileToSend]) -> Body:
        if len(files) + (data is not None) != 1:
            raise self._body_error(f"takes one body of type {media_essence(self.media)}: one --file")
        if files:
            path = _readable_path(files[0])
            return _check_file(path, media_type_for_file(path, self.media))
        if "*" in self.media:
            return _guess_media(data)
        return Raw(data if isinstance(data, bytes) else value_as_text(data).encode(), self.media)

    _Maker = Callable[["BodyBuilder", Any, Mapping[str, Any], Sequence[FileToSend]], Body]
    _MAKERS: tuple[tuple[Callable[[str], bool], _Maker], ...] = (
        (is_json_media, _json_body),
        (is_multipart_media, _multipart_body),
        (is_form_media, _form_body),
        (is_text_media, _text_body),
    )


def _guess_media(data: Any) -> Body:
    """Where any type is taken: JSON when it is JSON, else bytes."""
    from ...jsontext import JSONError, parse_json

    try:
        return Json(parse_json(data) if isinstance(data, bytes) else data)
    except JSONError:
        return Raw(data, OCTET_STREAM)


def form_pairs(name: str, value: Any, part: BodyPart | None) -> Iterator[tuple[str, str]]:
    """What is sent for one part of a form, in the style that its definition says."""
    style = (part or cast("BodyPart", {})).get("style", "repeat")
    if style == "deep":
        yield from _deep_object_pairs(name, value)
    elif isinstance(value, list) and style in JOINTS:
        yield name, JOINTS[style].join(map(value_as_text, value))
    else:
        yield from ((name, value_as_text(item)) for item in (value if isinstance(value, list) else [value]))


def _deep_object_pairs(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """`name[key]=value` and `name[0]=value`, at any depth."""
    if isinstance(value, Mapping):
        yield from (pair for key, inner in value.items() for pair in _deep_object_pairs(f"{name}[{key}]", inner))
    elif isinstance(value, list):
        yield from (pair for place, inner in enumerate(value) for pair in _deep_object_pairs(f"{name}[{place}]", inner))
    else:
        yield name, value_as_text(value)


def _readable_path(file: FileToSend) -> str:
    return file if isinstance(file, str) else str(file["path"])


def _check_file(path: str, media: str, name: str = "") -> File:
    """Found and readable now, so that a wrong path is told before anything is sent; and of a length that is known."""
    if isinstance(path, Placeholder):
        return File(path, media, name)
    try:
        os.path.basename(path).encode()
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise _cannot_read(path)
        with open(path, "rb"):
            return File(path, media, name)
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except ValueError:
        raise UsageError(f"{path!r}: the name is not valid UTF-8", hint="rename the file") from None


def _cannot_read(path: str) -> UsageError:
    if os.path.isdir(path):
        return UsageError(f"{path}: is a directory")
    return UsageError(f"{path}: not a regular file, so its length is not known", hint="write it to a file first")


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
    params = call.documented_params
    hint = f"{program} op describe {call.id}"
    placed = PlacedArguments(rest={name: value for name, value in given.items() if name not in call.known_names})
    if strict:
        _refuse_unknown(call, [name for name in placed.rest if name not in also], params, hint, also)
    _require_parameters(call, params, given, hint, strict=strict)
    path_values: dict[str, str] = {}
    for param in params:
        if param["name"] in given:
            pairs = _parameter_pairs(call, param, given[param["name"]], hint, strict=strict)
            _place_parameter(call, param, pairs, placed, path_values)
    placed.path = _HOLE.sub(lambda hole: path_values[hole[1]], call.path)
    return placed


def _check_text(call: Call, name: str, value: Any) -> None:
    try:
        f"{name}{value_as_text(value)}".encode()
    except UnicodeEncodeError:
        raise UsageError(f"{call.id}: {name!r} is not valid UTF-8") from None


class MissingArguments(UsageError):
    """An operation lacks parameters; `names` are those of its definition."""

    def __init__(self, operation: str, names: Sequence[str], hint: str | None) -> None:
        super().__init__(f"{operation} requires " + ", ".join(f'"{name}"' for name in names), hint=hint)
        self.names = names


def _require_parameters(
    call: Call, params: list[OperationParam], given: Mapping[str, Any], hint: str, *, strict: bool
) -> None:
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


def _parameter_pairs(
    call: Call, param: OperationParam, value: Any, hint: str, *, strict: bool
) -> list[tuple[str, str]]:
    try:
        return pairs_of(value, param if strict else without_checks(param))
    except InvalidValue as error:
        raise UsageError(f'{call.id}: "{param["name"]}": {error}', hint=hint) from None


def _place_parameter(
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
    return text if isinstance(text, Placeholder) else percent_encoded(text)


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

    def operation_call(self, operation: str) -> Call:
        """Each is read once: the catalog is not asked again for every page of a list."""
        if operation not in self._calls:
            self._calls[operation] = call_of(self.catalog, operation, self.site.deployment)
        return self._calls[operation]

    def build_request(
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
        call = self.operation_call(operation)
        bodies = self._body_builder(call, strict=strict)
        placed = place_arguments(call, arguments, program=self.program, strict=strict, also=bodies.documented_parts)
        fields = {name: value for name, value in placed.rest.items() if name in bodies.documented_parts}
        content = bodies.build_body(body, fields, files)
        undocumented = {name: value for name, value in placed.rest.items() if name not in fields}
        request = Request(
            method=call.method,
            root=self.site.base_url(call.service),
            path=placed.path,
            query=(*placed.query, *_undocumented_pairs(undocumented)),
            headers=_request_headers(call, placed.headers),
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

    def build_raw_request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Sequence[tuple[str, str]] = (),
        body: Body | None = None,
    ) -> Request:
        """A request no operation describes. `path` may be a full URL of the site; another host is refused."""
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
    from .operation_call import undocumented_pairs

    return [pair for name, value in rest.items() for pair in undocumented_pairs(name, value)]


def _request_headers(call: Call, given: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The product's and the operation's headers, under those given as parameters."""
    layers = [*call.product.get("headers", {}).items(), *call.operation.get("headers", {}).items(), *given]
    return tuple({name.lower(): (name, text) for name, text in layers}.values())
