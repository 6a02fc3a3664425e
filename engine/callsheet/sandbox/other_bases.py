"""The base paths that a product's operations answer at besides its own, with texts in another format."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..client.request.call import replace_base
from ..richtext import convert_rich_text
from .rendering import condition_holds

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.sandbox import OtherBase, SimulationDefinition


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
