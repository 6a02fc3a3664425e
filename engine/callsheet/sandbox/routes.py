"""Which operation a method and a path belong to."""

from __future__ import annotations

from collections.abc import Collection, Container
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ..client.request.call import replace_base
from ..language.deployment import on_deployment

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation

_OPERATION = ""


class RouteMatch(NamedTuple):
    """An operation, and what stands in its path in the place of its parameters."""

    operation: str
    definition: CompiledOperation
    values: dict[str, str]


class Routes:
    """The operations of all products as a tree of the parts of their paths; words go before parameters."""

    def __init__(
        self,
        catalog: Catalog,
        deployment: str,
        simulated: Container[str],
        products: Collection[str] | None = None,
    ) -> None:
        self._simulated = simulated  # of two operations with one path, the one that does something answers
        self._tree: dict[str, Any] = {}
        self.products: list[tuple[str, str]] = []  # base and product, the longest base first
        plain = catalog.all("product")
        here = {name: on_deployment(product, deployment) for name, product in plain.items()}
        for name, product in here.items():
            if "unavailable" not in product and name in (products or here):
                self.products.append((product.get("base", ""), name))
        self.products.sort(key=lambda each: -len(each[0]))
        for id, operation in catalog.all("operation").items():
            own = on_deployment(operation, deployment)
            product = here[own["product"]]
            if "unavailable" in own or "unavailable" in product or own["product"] not in (products or here):
                continue
            method, _, path = own["http"].partition(" ")
            if own["http"] == operation["http"]:
                path = replace_base(path, plain[own["product"]].get("base", ""), product.get("base", ""))
            self._add(method, path, id, own)

    def _add(self, method: str, path: str, id: str, operation: CompiledOperation) -> None:
        place = self._tree
        names = []
        for part in path.strip("/").split("/"):
            is_parameter = part.startswith("{") and part.endswith("}")
            if is_parameter:
                names.append(part[1:-1])
            place = place.setdefault("{}" if is_parameter else part, {})
        methods = place.setdefault(_OPERATION, {})
        if method not in methods or id in self._simulated:
            methods[method] = (id, operation, names)

    def find(self, method: str, path: str) -> RouteMatch | None:
        parts = [unquote(part) for part in path.strip("/").split("/")]
        found = self._search(self._tree, method, parts, 0, [])
        if found is None:
            return None
        (id, operation, names), values = found
        return RouteMatch(id, operation, dict(zip(names, values, strict=True)))

    def _search(self, place: dict[str, Any], method: str, parts: list[str], depth: int, values: list[str]) -> Any:
        if depth == len(parts):
            entry = place.get(_OPERATION, {}).get(method)
            return (entry, values) if entry else None
        part = parts[depth]
        if part and part != "{}" and part in place:
            found = self._search(place[part], method, parts, depth + 1, values)
            if found:
                return found
        if part and "{}" in place:
            return self._search(place["{}"], method, parts, depth + 1, [*values, part])
        return None

    def methods(self, path: str, known: tuple[str, ...] = ("GET", "POST", "PUT", "PATCH", "DELETE")) -> list[str]:
        return [method for method in known if self.find(method, path)]

    def product_of(self, path: str) -> str | None:
        """The product whose paths begin like this one."""
        return next((name for base, name in self.products if path.startswith(base)), None)
