"""One request of an operation, or of a bare method and path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .arguments import header_text, place_arguments
from .body import BodyBuilder
from .call import Call, call_of
from .model import Body, FileToSend, Request
from .safety import Templates, with_safety

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ..site_access import RequestSite


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
    from .parameter_values import undocumented_pairs

    return [pair for name, value in rest.items() for pair in undocumented_pairs(name, value)]


def _headers(call: Call, given: list[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The product's and the operation's headers, under those given as parameters."""
    layers = [*call.product.get("headers", {}).items(), *call.operation.get("headers", {}).items(), *given]
    return tuple({name.lower(): (name, text) for name, text in layers}.values())
