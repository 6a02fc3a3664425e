"""Whether what becomes part of an address can only ever be the part that it is meant for.

A request that would leave the site is refused at run time whatever built it; here an author reads which line would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...urls import base_url_problem, url_origin
from ..definition import Definition, Definitions
from ..deployment import ON, deployment_variants
from ..locate import Path
from ..template import TemplateError, fill_template

if TYPE_CHECKING:
    from ..shape.access import ConsentAuth, DeploymentDefinition
    from ..shape.rest import OperationDefinition, OperationHere, ProductDefinition, ServiceDefinition

Problems = Iterator[tuple[Path, str]]
Address = tuple[Path, str, Callable[[str], str | None]]

_ENDS_A_PATH = frozenset("?#\\")
_SERVERS = ("authorize", "device", "token", "sites")


def address_problems(_: Definitions, definition: Definition) -> Problems:
    find = _ADDRESSES[definition.kind]
    plain = list(find(definition.table))
    yield from _judged(plain, ())
    for deployment, here in deployment_variants(definition.table).items():
        yield from _judged((address for address in find(here) if address not in plain), (ON, deployment))


def _judged(addresses: Iterable[Address], at: Path) -> Problems:
    for path, text, judge in addresses:
        if problem := judge(text):
            yield (*at, *path), problem


def path_problem(text: str) -> str | None:
    """Why a text cannot be the path of an address below a site, or None."""
    if not text.startswith("/") or text.startswith("//"):
        return f"expected a path that begins with one slash, not {text!r}"
    if any(part in (".", "..") for part in text.split("/")):
        return f"expected a path without . and .., not {text!r}"
    odd = next((sign for sign in text if sign in _ENDS_A_PATH or sign.isspace() or not sign.isprintable()), None)
    return None if odd is None else f"expected a path, which cannot contain {odd!r}"


def gateway_problem(text: str) -> str | None:
    """Why a template cannot be a gateway's address, or None."""
    try:
        one, other = (str(fill_template(text, {"cloudId": id})) for id in ("1", "2"))
        if url_origin(one) != url_origin(other):
            return "the id of a site must not stand in the host's name or port"
    except TemplateError:
        return None  # that is said of every template
    except UsageError as error:
        return error.message
    return base_url_problem(one)


def _operation(table: OperationDefinition | OperationHere) -> Iterator[Address]:
    if "http" in table:
        yield ("http",), table["http"].partition(" ")[2], path_problem


def _product(table: ProductDefinition) -> Iterator[Address]:
    if table.get("base"):
        yield ("base",), table["base"], path_problem


def _service(table: ServiceDefinition) -> Iterator[Address]:
    if "gateway" in table:
        yield ("gateway",), table["gateway"], gateway_problem


def _deployment(table: DeploymentDefinition) -> Iterator[Address]:
    for index, each in enumerate(table.get("detect", ())):
        yield ("detect", index, "path"), each["path"], path_problem
    if "tenant" in table:
        yield ("tenant", "path"), table["tenant"]["path"], path_problem


def _auth(table: ConsentAuth) -> Iterator[Address]:
    consent = table.get("oauth", {})
    known = {key: value for key, value in consent.items() if key in _SERVERS}
    yield from ((("oauth", key), str(value), base_url_problem) for key, value in known.items())
    if "path" in consent:
        yield ("oauth", "path"), consent["path"], path_problem


_ADDRESSES: dict[str, Callable[[Any], Iterator[Address]]] = {
    "operation": _operation,
    "product": _product,
    "service": _service,
    "deployment": _deployment,
    "auth": _auth,
}
