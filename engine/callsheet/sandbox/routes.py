"""Which operation a method and a path belong to, also at a product's other base paths."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from ..client.request.call import replace_base
from ..language.merge import on_deployment
from ..richtext import convert_rich_text
from .entities import condition_holds

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation
    from ..language.shape.sandbox import OtherBase, SimulationDefinition


# Which operation a method and a path belong to.


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


# The base paths that a product's operations answer at besides its own, with texts in another format.


class PathBelow(NamedTuple):
    """A request's path as the operations have it; `other` where it stands below another base of its product."""

    path: str
    other: OtherForm | None = None


class OtherForm:
    """What requests and answers are like below another base."""

    def __init__(self, catalog: Catalog, product: str, own: str, base: str, definition: OtherBase) -> None:
        self.product, self.own, self.base = product, own, base
        self._catalog = catalog
        self._texts = definition.get("texts")

    def asked(self, body: Any) -> Any:
        """The body, with its texts in the format that items keep."""
        for path in self._texts["members"] if self._texts else ():
            _change(body, path.split("."), self._kept)
        return body

    def answered(self, value: Any, site: str) -> Any:
        """The answer, with its texts in the format of this base, and addresses below it."""
        if isinstance(value, list):
            return [self.answered(each, site) for each in value]
        if isinstance(value, str) and value.startswith(f"{site}{self.own}/"):
            return f"{site}{self.base}{value[len(site) + len(self.own) :]}"
        if not isinstance(value, dict):
            return value
        if self._texts and condition_holds(self._texts["where"], value):
            text = convert_rich_text(
                value, self._texts["kept"], self._texts["shown"], nodes=self._catalog.all("node")
            ).value
            return text.rstrip("\n")
        return {key: self.answered(each, site) for key, each in value.items()}

    def _kept(self, text: Any) -> Any:
        if self._texts is None or not isinstance(text, str):
            return text
        return convert_rich_text(text, self._texts["shown"], self._texts["kept"], nodes=self._catalog.all("node")).value


class OtherBases:
    """Those of all products."""

    def __init__(self, catalog: Catalog, simulations: dict[str, SimulationDefinition], bases: dict[str, str]) -> None:
        self._forms = [
            OtherForm(catalog, product, bases[product], base, form)
            for product, simulation in simulations.items()
            for base, form in simulation.get("other_bases", {}).items()
        ]

    def find(self, path: str) -> PathBelow:
        """Where no base but the product's own fits, the path as it is."""
        found = ((replace_base(path, form.base, form.own), form) for form in self._forms)
        return next((PathBelow(*each) for each in found if each[0] != path), PathBelow(path))


def _change(value: Any, path: list[str], change: Callable[[Any], Any]) -> None:
    """The member at the path is changed where it is, in each table of a list."""
    name, *rest = path
    for table in value if isinstance(value, list) else [value]:
        if not isinstance(table, dict) or name not in table:
            continue
        if rest:
            _change(table[name], rest, change)
        else:
            table[name] = change(table[name])
