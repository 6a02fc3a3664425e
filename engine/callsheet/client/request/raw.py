"""A request by method and path: which product, and so which host and credential, it belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlsplit

from ...errors import UsageError
from ...language.merge import on_deployment
from ...urls import url_origin
from .model import Body, Request
from .safety import Templates, leaves_base, with_safety

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ..site_access import RequestSite

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "QUERY")


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
    products = _products(catalog, site.deployment)
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


def _products(catalog: Catalog, deployment: str) -> Products:
    """Product, service and base path on this deployment, by the products' order."""
    here: list[tuple[int, str, str, str]] = []
    for id, product in catalog.all("product").items():
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
    if urlsplit(url).username is not None:
        raise UsageError("a URL with a user name or password in it is refused: credentials belong to the site")
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
