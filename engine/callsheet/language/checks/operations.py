"""Whether operations can be called: their paths, parameters and headers, and what becomes part of an address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...errors import UsageError, did_you_mean
from ...registry import PAGINATION, resolve_entry
from ...urls import LOGIN_PROBLEM, base_url_problem, holds_login, url_origin
from ..merge import ON, deployment_variants, said_by_deployment
from ..parameter_text import OF_THE_CONNECTION, InvalidValue, checked_text
from ..problem import Finding, Findings
from ..safety import by_method, class_of_operation
from ..scopes import expressions_in, looks_at_all, root_names
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, fill_template
from .references import pattern_fault, prefix_fault

if TYPE_CHECKING:
    from ..shape.access import ConsentAuth, DeploymentDefinition
    from ..shape.rest import (
        CompiledOperation,
        Count,
        Fetch,
        OperationDefinition,
        OperationHere,
        OperationParam,
        PagedOperation,
        ProductDefinition,
        ServiceDefinition,
    )


# Whether operations can be called: placeholders of the path, what each parameter says of its values, pages.


_BRACES = re.compile(r"[^{}]*(\{[^{}/]+\}[^{}]*)*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_HEADERS = ("next", "last", "total")
_JSON, _FORM = "application/json", "application/x-www-form-urlencoded"
_MULTIPART = "multipart/form-data"
_WHO_ASKS = "authorization"  # the header of a credential
_NUMBERS = ("integer", "number", "array")


def operation_problems(definitions: Definitions, definition: Definition) -> Findings:
    table: CompiledOperation = definition.table
    yield from _findings_at(table, ())
    yield from _safety_findings(table)
    yield from _paging_findings(definitions, table, ())
    for deployment, here in deployment_variants(table).items():
        path = str(here["http"]).partition(" ")[2]
        if not _BRACES.fullmatch(path):
            yield Finding((ON, deployment, "http"), "a parameter of the path stands in a pair of braces: {name}")
        for name in _lost_parameters(here, path):
            yield Finding((ON, deployment, "http"), f"the path has no {{{name}}}, a parameter that stands in the path")
        yield from _paging_findings(definitions, here, (ON, deployment))


def _lost_parameters(here: OperationDefinition, path: str) -> Iterator[str]:
    """Parameters of the path that the path of a deployment does not have, while it has another one."""
    placed = re.findall(r"{([^{}]+)}", path)
    said = [param["name"] for param in here.get("params", ()) if param.get("in") == "path"]
    yield from (name for name in said if name not in placed and not {*placed} <= {*said})


def taken_parameters(operation: OperationDefinition) -> dict[str, bool]:
    """Name → required, path parameters and the parts of a form included."""
    known: dict[str, bool] = dict.fromkeys(operation.get("body", {}).get("parts", {}), False)
    for param in operation.get("params", ()):
        if param.get("in") != "path" and not param.get("remove"):
            known[param["name"]] = bool(param.get("required"))
    return known | dict.fromkeys(parameters_in_path(operation), True)


def parameters_in_path(operation: OperationDefinition) -> list[str]:
    """The parameters in the path, which are texts unless more is said of them."""
    path = str(operation["http"]).partition(" ")[2]
    return [piece.partition("}")[0] for piece in path.split("{")[1:]]


def _findings_at(table: OperationDefinition, at: Path) -> Findings:
    path = str(table["http"]).partition(" ")[2]
    if not _BRACES.fullmatch(path):
        yield Finding((*at, "http"), "a parameter of the path stands in a pair of braces: {name}")
    if colon := re.search(r"/:([A-Za-z_]\w*)", path):
        yield Finding((*at, "http"), f"a parameter of the path stands in braces: {{{colon[1]}}}, not :{colon[1]}")
    placed = re.findall(r"{([^{}]+)}", path)
    if twice := next((name for name in placed if placed.count(name) > 1), None):
        yield Finding((*at, "http"), f"{{{twice}}} stands in the path twice")
    folded = {name.casefold(): name for name in placed}
    said: set[tuple[str, str]] = set()
    for index, param in enumerate(table.get("params", ())):
        where = param.get("in", "query")
        place = (param["name"].casefold() if where == "header" else param["name"], where)
        if place in said:
            yield Finding((*at, "params", index), f"there is another parameter {param['name']!r} already")
        said.add(place)
        if param.get("in") == "path" and f"{{{param['name']}}}" not in path:
            yield Finding((*at, "params", index), f"the path has no {{{param['name']}}}")
        elif where != "path" and param["name"] in placed:
            yield Finding((*at, "params", index), 'the path has one of this name: say in = "path" if it is that')
        elif "in" not in param and (other := folded.get(param["name"].casefold())) is not None:
            text = f'the path has {{{other}}} already: say in = "path" of that one, or in = "query" of another one'
            yield Finding((*at, "params", index), text)
        for key, text in _param_faults(param):
            yield Finding((*at, "params", index, *key), text)


def _param_faults(param: OperationParam) -> Iterator[tuple[Path, str]]:
    """What a parameter says of its values: of use for its type, and true of its own examples."""
    kind = param.get("type", "string")
    if not param.get("enum", True):
        yield ("enum",), "expected at least one value"
    shown = [repr(value) for value in param.get("enum", ())]
    if len(shown) > len({*shown}):
        yield from ((("enum", place), f"{text}: twice") for place, text in enumerate(shown) if text in shown[:place])
    if param.get("in", "query") != "query" and param.get("style", "comma") in ("deep", "repeat"):
        yield ("style",), "only a parameter of the query is sent so"
    if param.get("in") == "header" and not _TOKEN.fullmatch(param["name"]):
        yield ("name",), f"{param['name']!r} cannot be the name of a header"
    if param.get("in") == "header" and param["name"].lower() in {*OF_THE_CONNECTION, _WHO_ASKS}:
        yield ("name",), "the program sets this header: it decides where or how a request is sent"
    if param.get("in") == "header" and param["name"].lower() == "content-type":
        yield ("name",), "the body says it: `media` of the operation's body"
    if param.get("in") == "path" and param.get("required") is False:
        yield ("required",), "what stands in the path is always needed"
    if "style" in param and kind not in ("array", "object"):
        yield ("style",), f'says how several values are sent, and this is one of type {kind}: say type = "array"'
    if "pattern" in param and kind not in ("string", "array"):
        yield ("pattern",), f"only a text has one, this is of type {kind}"
    if "items" in param and kind != "array":
        yield ("items",), f"only an array has items, this is of type {kind}"
    for bound in ("minimum", "maximum"):
        if bound in param and kind not in _NUMBERS:
            yield (bound,), f"only a number has one, this is of type {kind}"
    if param.get("minimum", 0) > param.get("maximum", float("inf")) and "minimum" in param:
        yield ("minimum",), f"is above the maximum, {param['maximum']:g}"
    if pattern_fault(param.get("pattern", "")) is None:
        for key in ("default", "example"):
            if key in param and (fault := argument_misfit(param, param[key])):
                yield (key,), fault
        unlisted: OperationParam = {**param, "enum": []}
        takes_any_text = kind in ("string", "array") and not {"format", "pattern", "items"} & param.keys()
        for place, value in enumerate(param.get("enum", ())):
            if takes_any_text and isinstance(value, str):
                continue
            if fault := _misfit_of_one(unlisted, value):
                yield ("enum", place), fault


def argument_misfit(param: OperationParam, value: Any) -> str | None:
    """Why an operation would not take a value for a parameter, or None."""
    kind = param.get("type", "string")
    if kind == "object":
        return None
    if kind == "array" and isinstance(value, str) and param.get("style") == "comma":
        value = value.split(",")
    if isinstance(value, Mapping):
        return "takes a value, not a table"
    if isinstance(value, list) and kind != "array" and len(value) != 1:
        return f"takes one value, not {len(value)}"
    faults = (_misfit_of_one(param, each) for each in (value if isinstance(value, list) else [value]))
    return next((fault for fault in faults if fault), None)


def _misfit_of_one(param: OperationParam, value: Any) -> str | None:
    kind = param.get("type", "string")
    try:
        checked_text(value, param.get("items", "string") if kind == "array" else kind, param)
    except InvalidValue as error:
        return str(error)
    return None


def body_findings(_: Definitions, operation: Definition) -> Findings:
    """Forms that cannot hold what they are to hold."""
    for at, here in said_by_deployment(operation.table):
        body = here.get("body", {})
        media = body.get("media", _JSON)
        if "schema" in body and "json" not in media:
            yield Finding((*at, "body", "schema"), f"only JSON has one, this is {media}")
        if body and "parts" not in body and media in (_MULTIPART, _FORM):
            yield Finding((*at, "body"), f"{media} needs 'parts'")
        if "parts" in body and not media.startswith(("multipart/", _FORM)):
            yield Finding((*at, "body", "parts"), f"only {_MULTIPART} and {_FORM} have parts, this is {media}")
        for name, part in body.get("parts", {}).items() if media.startswith(_FORM) else ():
            if part.get("file"):
                yield Finding((*at, "body", "parts", name, "file"), f"{_FORM} holds no files: {_MULTIPART} does")


def _safety_findings(table: OperationDefinition) -> Findings:
    """Only where the method says nothing about it, as POST does, a definition can say that a call only reads."""
    said = table.get("safety")
    if said == "local":
        yield Finding(("safety",), "an operation is never local: it is sent")
    methods = {str(here["http"]).partition(" ")[0] for here in (table, *deployment_variants(table).values())}
    changing = sorted(method for method in methods if method != "POST" and by_method(method) != "read")
    if said == "read" and changing:
        yield Finding(("safety",), f"{changing[0]} changes something; only a POST can be said to read")


def _paging_findings(definitions: Definitions, table: CompiledOperation, at: Path) -> Findings:
    """Whether there is a way from one page to the next."""
    paging = table.get("paginate")
    paginator = definitions.get(("paginator", paging["using"])) if paging else None
    if not paging or paginator is None or table.get("unavailable"):
        return
    about = (("paginator", paginator.id),)
    if str(table["http"]).partition(" ")[0] not in ("GET", "POST", "QUERY") or table.get("reply") == "binary":
        yield Finding((*at, "paginate"), "only what answers a list comes in pages")
    merged = cast("PagedOperation", {**paginator.table, **paging})
    for key in _needed_keys(merged["kind"]):
        if key not in merged:
            text = f"paginator {paginator.id!r} can never go on: it does not say {key!r}, and neither does this"
            yield Finding((*at, "paginate"), text, about)
    send = merged.get("send")
    if "send" in _needed_keys(merged["kind"]) and send and not _takes_parameter(definitions, table, send):
        names = [param["name"] for param in table.get("params", ())]
        text = f"can never go on: it has no parameter {send!r}{did_you_mean(send, names)}"
        yield Finding((*at, "paginate", *(("send",) if "send" in paging else ())), text, about)
    yield from (Finding((*at, "paginate", *path), text, about) for path, text in _unread_paginator_keys(merged))
    size = paging.get("size")
    if size and not _takes_parameter(definitions, table, size):
        names = [param["name"] for param in table.get("params", ())]
        yield Finding((*at, "paginate", "size"), f"it has no parameter {size!r}{did_you_mean(size, names)}")
    for key in _OF_HEADERS if "items" not in paging and merged.get("reads") != "headers" else ():
        expression = str(cast("Mapping[str, Any]", merged).get(key, ""))
        if expression and _is_of_an_object(expression):
            text = f"without 'items' the answer is a list, which has no {expression!r}"
            yield Finding((*at, "paginate"), f"can never go on: {text}" if key == "next" else text, about)
    if merged.get("total", "").replace(" ", "") == f"length({paging.get('items', '@')})":
        text = "total counts the items of one page, so that the first would be taken for the last"
        yield Finding((*at, "paginate", *(("total",) if "total" in paging else ())), text, about)
    if _counts_items(merged["kind"]):
        for key in ("send", "size"):
            if (fault := _no_number(table, cast("str | None", merged.get(key)))) is not None:
                yield Finding((*at, "paginate", *((key,) if key in paging else ())), fault, about)


def _unread_paginator_keys(paginator: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """What a way of paging never looks at, and what headers never have."""
    kind: Any = resolve_entry(PAGINATION[paginator["kind"]]) if paginator["kind"] in PAGINATION else None
    reads = {"next": "next" in kind.needs, "root": "send" not in kind.needs, "first": kind.numbered} if kind else {}
    for key, is_read in reads.items():
        if key in paginator and not is_read:
            yield (), f"a paginator of kind {paginator['kind']!r} never reads {key!r}"
    is_word_of_headers = paginator["kind"] == "token" and paginator.get("reads") == "headers"
    if is_word_of_headers and "links" in root_names(paginator.get("next", "")):
        yield (), "next: what a Link header has is an address, which is followed by kind = 'link'"
    for key in _OF_HEADERS if paginator.get("reads") != "headers" else ():
        for name in root_names(paginator.get(key, "")) if key in paginator else ():
            if name.lower().startswith("x-"):
                yield (), f'{key}: {name!r} looks like a header: reads = "headers" looks there'
    for key in _OF_HEADERS if paginator.get("reads") == "headers" else ():
        for name in root_names(paginator.get(key, "")) if key in paginator else ():
            if name != name.lower():
                yield (), f"{key}: headers have their names in small letters: {name.lower()!r}, not {name!r}"
            elif name == "link":
                yield (), f"{key}: the target of a Link header is in 'links': links.next"
            elif name != "links" and f"{name}." in paginator[key]:
                yield (), f"{key}: {name!r} is a header, and has no parts; to look into the body, leave out `reads`"


def _is_of_an_object(expression: str) -> bool:
    """Whether it begins with a name, and so finds nothing in a list."""
    return any(root_names(expression)) and not looks_at_all(expression)


def _counts_items(kind: str) -> bool:
    found: Any = resolve_entry(PAGINATION[kind]) if kind in PAGINATION else None
    return bool(found and (found.counted or found.numbered))


def _no_number(table: OperationDefinition, name: str | None) -> str | None:
    """Why a parameter cannot take the number of a page, or of items, if that is so."""
    param = next((each for each in table.get("params", ()) if each["name"] == name), None)
    if param is None or not (fault := argument_misfit({**param, "minimum": -1, "maximum": 1}, 1)):
        return None
    return f"can never go on: {name!r} takes no number: {fault}"


def paginator_findings(definitions: Definitions, paginator: Definition) -> Findings:
    """Its parameters are two, and there is an operation that takes the one for the length of a page."""
    table = paginator.table
    size = table.get("size")
    if size is not None and size == table.get("send"):
        yield Finding(("size",), f"{size!r} says where a page starts already")
    if paginator.files[-1].shipped:  # a shared one may be used by no operation of this length
        return
    using = [
        here
        for operation in definitions.of_kind("operation")
        for here in (operation.table, *deployment_variants(operation.table).values())
        if (here.get("paginate") or {}).get("using") == paginator.id
    ]
    if not using:  # else it is told of them
        yield from (Finding(path, text) for path, text in _unread_paginator_keys(table))
    using = [here for here in using if "size" not in here["paginate"]]
    if using and size is not None and not any(_takes_parameter(definitions, here, size) for here in using):
        names = {param["name"] for here in using for param in here.get("params", ())}
        yield Finding(("size",), f"no operation that uses it has a parameter {size!r}{did_you_mean(size, names)}")


def fetch_findings(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Findings:
    """How a list is read by ids: by calls that only read and take what they are given."""
    table: OperationDefinition = definition.table
    paging = table.get("paginate")
    fetch = paging.get("fetch") if paging else None
    if not fetch:
        return
    at: Path = ("paginate", "fetch")
    lists: list[tuple[Path, Mapping[str, Any]]] = [(("list",), fetch["list"])]
    if "both_ends" in fetch:
        lists.append((("both_ends", "forwards"), fetch["both_ends"]["forwards"]))
        lists.append((("both_ends", "backwards"), fetch["both_ends"]["backwards"]))
    for place, given in lists:
        for name in given:
            if not _takes_parameter(definitions, table, name):
                names = [param["name"] for param in table.get("params", ())]
                yield Finding((*at, *place, name), f"this does not take it{did_you_mean(name, names)}")
    calls: list[tuple[Fetch | Count, Path]] = [(fetch, at)]
    if "count" in fetch:
        calls.append((fetch["count"], (*at, "count")))
    yield from (Finding(*found) for found in several_ids_faults(fetch, at))
    for call, where in calls:
        id = operations.get(call["call"], call["call"])
        called = definitions.get(("operation", id))
        if called is None:
            continue
        about = (("operation", id),)
        if class_of_operation(called.table) != "read":
            yield Finding((*where, "call"), f"a list is only read: {id} may change something", about)
        taken = taken_parameters(called.table)
        for name in [name for name in call.get("args", {}) if name not in taken]:
            yield Finding((*where, "args", name), f"{id} does not take it{did_you_mean(name, taken)}", about)
        for name, required in taken.items():
            if required and name not in call.get("args", {}):
                yield Finding((*where, "args"), f"{id} needs {name!r}", about)


_FIRST_ID = re.compile(r"\bids\[0\]")


def several_ids_faults(table: Any, at: Path) -> Iterator[tuple[Path, str]]:
    """Of a call for several things at once, whose arguments name one."""
    named = expressions_in([table.get("args"), table.get("body")])
    if table.get("size", 1) > 1 and any(_FIRST_ID.search(text) for text in named):
        yield (*at, "size"), "says several things a call, and the arguments name only one: ids[0]"


def _needed_keys(kind: str) -> tuple[str, ...]:
    return (
        cast("tuple[str, ...]", tuple(getattr(resolve_entry(PAGINATION[kind]), "needs", ())))
        if kind in PAGINATION
        else ()
    )


def _takes_parameter(definitions: Definitions, table: OperationDefinition, name: str) -> bool:
    if any(param["name"] == name and not param.get("remove") for param in table.get("params", ())):
        return True
    body = table.get("body")
    if body is None or "parts" in body:
        return False
    names = _members_of(definitions, {"ref": body["schema"]} if "schema" in body else {}, set())
    return name in names or not names


def _members_of(definitions: Definitions, schema: Any, seen: set[str]) -> set[str]:
    """The names that a schema has, with those of its parts; nothing where it tells of none."""
    if not isinstance(schema, Mapping):
        return set()
    names = {*schema["properties"]} if isinstance(schema.get("properties"), Mapping) else set()
    parts = [
        part for key in ("allOf", "anyOf", "oneOf") if isinstance(found := schema.get(key), list) for part in found
    ]
    reference = schema.get("ref")
    if isinstance(reference, str) and reference not in seen and ("schema", reference) in definitions:
        parts.append(definitions["schema", reference].table)
        seen.add(reference)
    return names.union(*(_members_of(definitions, part, seen) for part in parts))


# Whether the headers that definitions send are none that decide where or how a request is sent.


def header_findings(_: Definitions, definition: Definition) -> Findings:
    """Of an operation or a product."""
    there = definition.table.get(ON, {})
    yield from _address_findings(definition.table, ())
    for deployment, here in there.items():
        yield from _address_findings(here, (ON, deployment))


def _address_findings(table: Mapping[str, Any], at: Path) -> Findings:
    for name in table.get("headers", ()):
        if name.lower() in OF_THE_CONNECTION:
            text = "the program sets this header: it decides where or how a request is sent"
            yield Finding((*at, "headers", name), text)
        elif name.lower() == "content-type":
            yield Finding((*at, "headers", name), "the body says it: `media` of the operation's body")
        elif name.lower() == _WHO_ASKS:
            yield Finding((*at, "headers", name), "the credential of a site is sent so: `auth` of the service says how")
        elif name.lower() in {
            param["name"].lower() for param in table.get("params", ()) if param.get("in") == "header"
        }:
            yield Finding((*at, "headers", name), "it is a parameter, too")


_SET_BY_A_LOGIN = frozenset(
    {
        *("client_id", "client_secret", "code_challenge", "code_challenge_method", "redirect_uri", "response_type"),
        *("scope", "state"),
    }
)


def auth_findings(_: Definitions, auth: Definition) -> Findings:
    """Places where no secret can be, and two secrets in one."""
    table = auth.table
    parts = [((), table), *((("parts", place), part) for place, part in enumerate(table.get("parts", ())))]
    seen: dict[tuple[str, str], Path] = {}
    for at, part in parts:
        key = next((key for key in ("header", "query", "cookie", "body") if key in part), "header")
        name = str(part.get(key, _WHO_ASKS if part.get("scheme") == "bearer" else ""))
        place = (key, name.lower() if key == "header" else name)
        if name and seen.setdefault(place, at) != at:
            yield Finding(at, f"another secret is in the {key} {name!r} already")
        if (fault := prefix_fault(name if key == "header" else "", part.get("prefix", ""))) is not None:
            yield Finding((*at, "prefix"), fault)
        if key == "header" and name.lower() in OF_THE_CONNECTION:
            yield Finding((*at, key), "the program sets this header: it decides where or how a request is sent")
    for name in table.get("oauth", {}).get("params", ()):
        if name in _SET_BY_A_LOGIN:
            yield Finding(("oauth", "params", name), "signing in sets this itself")


def deployment_findings(definitions: Definitions, deployment: Definition) -> Findings:
    """The usual way of signing in is taken by a service where it is found."""
    method = deployment.table.get("method")
    named = {each.get("service") for each in deployment.table.get("detect", ())}
    services = [definitions[("service", id)] for id in named if id is not None and ("service", id) in definitions]
    ways = [each.table.get("auth", [method]) for each in services]
    if method is not None and services and len(services) == len(named) and not any(method in each for each in ways):
        text = f"service {services[0].id!r} does not take it: its `auth` names {', '.join(ways[0])}"
        yield Finding(("method",), text, (("service", services[0].id),))


def parameter_findings(definitions: Definitions, parameter: Definition) -> Findings:
    """What is said of a parameter of one product, of none that there is."""
    product, dot, _ = parameter.id.partition(".")
    known = [each.id for each in definitions.of_kind("product")]
    if dot and product not in known and (near := did_you_mean(product, known)):
        yield Finding((), f"no product {product!r}{near}")
    elif not all(file.shipped for file in parameter.files):
        name, here = (parameter.id[len(product) + 1 :], product) if dot and product in known else (parameter.id, "")
        names = _parameter_names(definitions, here)
        if name not in names and (near := did_you_mean(name, names)):  # else a later import may bring it
            yield Finding((), f"no operation{f' of {here}' if here else ''} has a parameter {name!r}{near}")


def _parameter_names(definitions: Definitions, product: str) -> set[str]:
    """What operations take, and what commands are given."""
    found = {param["name"] for command in definitions.of_kind("command") for param in command.table.get("params", ())}
    for operation in definitions.of_kind("operation"):
        if product in ("", operation.table["product"]):
            for here in (operation.table, *deployment_variants(operation.table).values()):
                body = here.get("body", {})
                found |= {*taken_parameters(here), *(param["name"] for param in here.get("params", ()))}
                found |= _members_of(definitions, {"ref": body["schema"]}, set()) if "schema" in body else set()
    return found


def service_findings(_: Definitions, service: Definition) -> Findings:
    """Each fact of a quota has a header of its own."""
    headers: dict[str, str] = {}
    for key, name in service.table.get("quota", {}).items():
        if isinstance(name, str) and (other := headers.setdefault(name.lower(), key)) != key:
            yield Finding(("quota", key), f"{name!r} is the header of {other!r} already")


def product_findings(definitions: Definitions, product: Definition) -> Findings:
    """Without a `service` it is the one of its own name."""
    if "service" not in product.table and ("service", product.id) not in definitions:
        own = (each.table for each in definitions.of_kind("operation") if each.table["product"] == product.id)
        if any("service" not in table for table in own):
            yield Finding(
                (), "needs a `service`: there is none that is called as the product is", (("service", product.id),)
            )


# Whether what becomes part of an address can only ever be the part that it is meant for.
#
# A request that would leave the site is refused at run time whatever built it; here an author reads which line
# would.


Problems = Iterator[tuple[Path, str]]
Address = tuple[Path, str, Callable[[str], str | None]]

_NOT_IN_A_PATH = re.compile(r"[?#\\\s]")
_SERVERS = ("authorize", "device", "token", "sites")


def address_problems(_: Definitions, definition: Definition) -> Problems:
    find = _ADDRESSES[definition.kind]
    plain = list(find(definition.table))
    yield from _judged_addresses(plain, ())
    for deployment, here in deployment_variants(definition.table).items():
        yield from _judged_addresses((address for address in find(here) if address not in plain), (ON, deployment))


def _judged_addresses(addresses: Iterable[Address], at: Path) -> Problems:
    for path, text, judge in addresses:
        if problem := judge(text):
            yield (*at, *path), problem


def path_problem(text: str) -> str | None:
    """Why a text cannot be the path of an address below a site, or None."""
    if not text.startswith("/") or text.startswith("//"):
        return f"expected a path that begins with one slash, not {text!r}"
    if any(part in (".", "..") for part in text.split("/")):
        return f"expected a path without . and .., not {text!r}"
    odd = _NOT_IN_A_PATH.search(text) or next((sign for sign in text if not sign.isprintable()), None)
    return None if odd is None else f"expected a path, which cannot contain {odd[0]!r}"


def _server_problem(text: str) -> str | None:
    """What no server has; whether a credential may go there is judged of a site."""
    scheme, _, rest = text.partition("://")
    if scheme.lower() not in ("http", "https") or not rest.strip("/"):
        return f"{text!r} is not an http(s) URL"
    if "?" in text or "#" in text:
        return f"{text!r}: expected an address without ? and #, since paths are put behind it"
    return LOGIN_PROBLEM if holds_login(text) else None


def _base_problem(text: str) -> str | None:
    return path_problem(text) or (None if text.strip("/") == text[1:] else f"expected no slash at the end of {text!r}")


def gateway_problem(text: str) -> str | None:
    """Why a template cannot be a gateway's address, or None."""
    try:
        one, other = (str(fill_template(text, {"cloudId": id})) for id in ("1", "2"))
        if one == other:
            return "is the same for every site: {cloudId} stands for the id of one"
        if url_origin(one) != url_origin(other):
            return "the id of a site must not stand in the host's name or port"
    except TemplateError:
        return None  # that is said of every template
    except UsageError as error:
        return error.message
    return base_url_problem(one)


def _operation_addresses(table: OperationDefinition | OperationHere) -> Iterator[Address]:
    if "http" in table:
        yield ("http",), table["http"].partition(" ")[2], path_problem


def _product_addresses(table: ProductDefinition) -> Iterator[Address]:
    if table.get("base"):
        yield ("base",), table["base"], _base_problem


def _service_addresses(table: ServiceDefinition) -> Iterator[Address]:
    if "base_url" in table:
        yield ("base_url",), table["base_url"], _server_problem
    if "gateway" in table:
        yield ("gateway",), table["gateway"], gateway_problem


def _deployment_addresses(table: DeploymentDefinition) -> Iterator[Address]:
    for index, each in enumerate(table.get("detect", ())):
        yield ("detect", index, "path"), each["path"], path_problem
    if "tenant" in table:
        yield ("tenant", "path"), table["tenant"]["path"], path_problem


def _auth_addresses(table: ConsentAuth) -> Iterator[Address]:
    consent = table.get("oauth", {})
    known = {key: value for key, value in consent.items() if key in _SERVERS}
    yield from ((("oauth", key), str(value), base_url_problem) for key, value in known.items())
    if "path" in consent:
        yield ("oauth", "path"), consent["path"], path_problem


_ADDRESSES: dict[str, Callable[[Any], Iterator[Address]]] = {
    "operation": _operation_addresses,
    "product": _product_addresses,
    "service": _service_addresses,
    "deployment": _deployment_addresses,
    "auth": _auth_addresses,
}
