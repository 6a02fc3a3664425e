"""Names for the ids in a table: one call for many of them, once the items are there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..client.listed import listed_in
from ..errors import CallsheetError
from ..language.template import evaluate, fill_template, to_text

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..client.http.http_client import Client
    from ..client.request.build import Builder
    from ..language.shape.steps import NamingDefinition


class Namings:
    """The names that a service knows; `note` is told where it does not say them."""

    def __init__(self, catalog: Catalog, builder: Builder, client: Client, note: Callable[[str], None]) -> None:
        self._catalog = catalog
        self._builder = builder
        self._client = client
        self._note = note

    def names_of(self, id: str, values: list[str]) -> dict[str, str]:
        """Id → name, as far as the service tells; a table is shown with ids rather than not at all."""
        naming = self._catalog.namings.get(id)
        ids = [value for value in dict.fromkeys(values) if re.fullmatch(naming["pattern"], value)]
        found: dict[str, str] = {}
        try:
            for start in range(0, len(ids), naming["size"]):
                found |= self._names_of_batch(naming, ids[start : start + naming["size"]])
        except CallsheetError as error:
            self._note(f"some names could not be read, so ids are shown: {error.message}")
        return found

    def _names_of_batch(self, naming: NamingDefinition, ids: list[str]) -> dict[str, str]:
        items = self._naming_items(naming, ids)
        pairs = ((evaluate(naming["id"], item), evaluate(naming["name"], item)) for item in items)
        return {to_text(id): to_text(name) for id, name in pairs if id is not None and name}

    def _naming_items(self, naming: NamingDefinition, ids: list[str]) -> list[Any]:
        from ..client.pagination.fetch_pages import fetch_pages
        from ..client.pagination.paging_plan import plan_of

        body = fill_template(naming["body"], {"ids": ids}) if "body" in naming else None
        request = self._builder.build_request(
            naming["call"], fill_template(naming.get("args", {}), {"ids": ids}) or {}, body
        )
        plan = plan_of(self._catalog, self._builder.operation_call(naming["call"]))
        if plan is not None and "items" not in naming:
            return [item for page in fetch_pages(self._client.send, plan, request) for item in page.items]
        reply = self._client.send(request)
        answer, under = reply.json(), naming.get("items")
        return listed_in(reply, evaluate(under, answer) if under else answer, under)
