"""Whether a credential works: each product is asked the question that its definition names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog.catalog import Catalog
from ...client.http.client import Client
from ...client.request.build import Builder
from ...errors import CallsheetError, NetworkError, NotAllowed
from ...language.deployment import on_deployment
from ...language.template import TemplateError, evaluate
from ...sites.site import Site

if TYPE_CHECKING:
    from ...client.http.reply import Reply
    from ...language.shape.access import Probe, Question
    from ...language.shape.rest import ProductDefinition


class ProbeResult(NamedTuple):
    """`answer` is the reply in words, `error` is why there is none. `identifies_user`: it names who is signed in."""

    product: str
    title: str
    answer: str | None
    error: CallsheetError | None
    identifies_user: bool


class Asker:
    """Asks a site's products what their definitions say. Owns a client: close it."""

    def __init__(self, catalog: Catalog, site: Site, program: str, environ: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._site = site
        self._builder = Builder(catalog, site, program)
        self._client = Client(site, catalog, environ=environ)

    def close(self) -> None:
        self._client.close()

    def probe_all(self, services: set[str] | None = None) -> Iterator[ProbeResult]:
        """Of every product that exists on this deployment, has a probe, and belongs to one of the services."""
        for id, product in self._catalog.all("product").items():
            here = on_deployment(product, self._site.deployment)
            wanted = services is None or here.get("service", id) in services
            if wanted and "probe" in here and "unavailable" not in here:
                yield self._probe_one(id, here)

    def _probe_one(self, id: str, product: ProductDefinition) -> ProbeResult:
        probe = product["probe"]
        identifies_user = "person" in probe
        try:
            answer = self._user_name(probe) if identifies_user else self.ask(probe)
        except CallsheetError as error:
            return ProbeResult(id, product["title"], None, error, identifies_user)
        return ProbeResult(id, product["title"], answer, None, identifies_user)

    def ask(self, question: Question) -> str:
        """A question's answer in words; raises what the client raises."""
        found = _evaluated(question.get("value"), self._reply(question).json())
        return ", ".join(map(str, found)) if isinstance(found, list) else str(found or "yes")

    def _user_name(self, probe: Probe) -> str:
        reply = self._reply(probe)
        found = _evaluated(probe["person"], reply.json())
        if not found:
            raise NotAllowed(
                f"{reply.request.name} answered as if nobody were signed in: the site does not know this credential",
                status=reply.status,
            )
        return str(found)

    def _reply(self, question: Question) -> Reply:
        return self._client.send(self._builder.build(question["call"], question.get("args", {})))


def _evaluated(expression: str | None, answer: Any) -> Any:
    try:
        return evaluate(expression, answer) if expression else None
    except TemplateError:
        return None


def refusal_error(results: list[ProbeResult], *, stranger: bool = False) -> CallsheetError | None:
    """Why the credential counts as refused, in the error that tells most, or None.

    Where a product can say who is signed in, one that can must do so: lists may answer everybody. Without a credential
    (`stranger`) any answer will do.
    """
    counted = results if stranger else [each for each in results if each.identifies_user] or results
    errors = [result.error for result in counted if result.error is not None]
    return most_specific_error(errors) if errors and len(errors) == len(counted) else None


def is_refusal(error: CallsheetError | None) -> bool:
    """Whether an error says that the credential is not known; one that is known and lacks a right is another matter."""
    return isinstance(error, NotAllowed) and error.status != 403


def most_specific_error(errors: list[CallsheetError]) -> CallsheetError:
    """A refused credential says more than a network failure, and that more than a product that is not there."""
    ranked = [
        *(error for error in errors if is_refusal(error)),
        *(error for error in errors if isinstance(error, NetworkError)),
        *(error for error in errors if isinstance(error, NotAllowed)),
        *errors,
    ]
    return ranked[0]
