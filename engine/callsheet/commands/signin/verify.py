"""Whether a credential works: each product is asked the question that its definition names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.catalog import Catalog
from ...client.http.client import Client
from ...client.request.build import Builder
from ...errors import CallsheetError, NetworkError, NotAllowed
from ...language.deployment import on_deployment
from ...language.template import TemplateError, evaluate
from ...sites.site import Site

if TYPE_CHECKING:
    from ...language.shape.access import Question
    from ...language.shape.rest import ProductDefinition


class ProbeResult(NamedTuple):
    """`answer` is what the probe's `value` makes of the reply; `error` is why there is none."""

    product: str
    title: str
    answer: str | None
    error: CallsheetError | None


class Asker:
    """Asks a site's products what their definitions say. Owns a client: close it."""

    def __init__(self, catalog: Catalog, site: Site, program: str, environ: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._site = site
        self._builder = Builder(catalog, site, program)
        self._client = Client(site, catalog, environ=environ)

    def close(self) -> None:
        self._client.close()

    def verdicts(self, services: set[str] | None = None) -> Iterator[ProbeResult]:
        """Of every product that exists on this deployment, has a probe, and belongs to one of the services."""
        for id, product in self._catalog.all("product").items():
            here = on_deployment(product, self._site.deployment)
            wanted = services is None or here.get("service", id) in services
            if wanted and "probe" in here and "unavailable" not in here:
                yield self._verdict(id, here)

    def _verdict(self, id: str, product: ProductDefinition) -> ProbeResult:
        try:
            return ProbeResult(id, product["title"], self.ask(product["probe"]), None)
        except CallsheetError as error:
            return ProbeResult(id, product["title"], None, error)

    def ask(self, question: Question) -> str:
        """A question's answer in words; raises what the client raises."""
        request = self._builder.build(question["call"], question.get("args", {}))
        answer = self._client.send(request).json()
        try:
            found = evaluate(question["value"], answer) if "value" in question else None
        except TemplateError:
            found = None
        return ", ".join(map(str, found)) if isinstance(found, list) else str(found or "yes")


def verify(asker: Asker, services: set[str] | None) -> list[ProbeResult]:
    """What each product says. Raises when none accepts the credential, with the error that tells most."""
    verdicts = list(asker.verdicts(services))
    errors = [verdict.error for verdict in verdicts if verdict.error is not None]
    if not verdicts or len(errors) < len(verdicts):
        return verdicts
    raise most_telling(errors)


def most_telling(errors: list[CallsheetError]) -> CallsheetError:
    """A refused credential says more than a network failure, and that more than a product that is not there."""
    ranked = [
        *(error for error in errors if error.status == 401),
        *(error for error in errors if isinstance(error, NetworkError)),
        *(error for error in errors if isinstance(error, NotAllowed)),
        *errors,
    ]
    return ranked[0]
