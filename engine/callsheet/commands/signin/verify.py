"""Whether a site can be signed in to, and who one is there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from ...catalog.catalog import Catalog
from ...client.http.client import Client
from ...client.request.build import Builder
from ...errors import CallsheetError, NetworkError, NotAllowed
from ...language.merge import on_deployment
from ...language.template import TemplateError, evaluate
from ...sites.credentials.oauth import UnauthenticatedClient
from ...sites.credentials.schemes import takes_secret
from ...sites.site import Site
from .answers import Detector
from .request import SignInRequest, candidate_site

if TYPE_CHECKING:
    from ...client.http.reply import Reply
    from ...language.shape.access import Probe, Question
    from ...language.shape.rest import ProductDefinition
    from ...sites.profiles.validate import SiteProfile


# Whether a credential works: each product is asked the question that its definition names.


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


# Finding out whether a credential works before it is kept, and which part of it all failed when it does not.


class Verified(NamedTuple):
    """`wanted` may have gained the id that routes requests through the gateway."""

    wanted: SignInRequest
    results: list[ProbeResult]


class Verifier:
    def __init__(self, catalog: Catalog, program: str, environ: Mapping[str, str], way: SiteProfile) -> None:
        self._catalog = catalog
        self._program = program
        self._environ = environ
        self._way = way

    def verify(self, wanted: SignInRequest, secret: str, mode: str = "auto") -> Verified:
        """Ask the site; where it refuses a secret that its gateway takes, the gateway is used from then on.

        `mode` may insist: `site` never tries the gateway, `gateway` tries nothing else.

        Raises the failure in words that name its part: the host, the credential, its scopes, the product.
        """
        refusal: CallsheetError | None = None
        if mode != "gateway" or wanted.cloud_id:
            try:
                return Verified(wanted, self._ask(wanted, secret))
            except CallsheetError as error:
                refusal = error
        may_route = mode == "gateway" or (mode == "auto" and is_refusal(refusal))
        routed = self._through_gateway(wanted, secret) if may_route else None
        if routed is None:
            raise self._explain(refusal or CallsheetError("this site has no gateway"), wanted)
        try:
            return Verified(routed, self._ask(routed, secret))
        except CallsheetError as error:
            is_clearer = _lacks_scope(error) or refusal is None
            raise self._explain(error if is_clearer else refusal or error, wanted) from None

    def _ask(self, wanted: SignInRequest, secret: str) -> list[ProbeResult]:
        site = candidate_site(wanted, secret, self._way, self._catalog, self._environ)
        with closing(Asker(self._catalog, site, self._program, self._environ)) as asker:
            results = list(asker.probe_all({wanted.service} if wanted.service else None))
        stranger = not takes_secret(self._catalog.get("auth", wanted.method))
        error = refusal_error(results, stranger=stranger)
        if error is not None:
            raise error
        return results

    def _through_gateway(self, wanted: SignInRequest, secret: str) -> SignInRequest | None:
        """The same by way of the gateway, where there is one that is not in use yet."""
        gateways = any("gateway" in service for service in self._catalog.all("service").values())
        if wanted.cloud_id or not gateways:
            return None
        site = candidate_site(wanted, secret, self._way, self._catalog, self._environ)
        tenant = Detector(self._catalog, UnauthenticatedClient(site, self._environ, home=wanted.base_url)).tenant(
            wanted.base_url, wanted.deployment
        )
        return wanted._replace(cloud_id=tenant) if tenant else None

    def _explain(self, error: CallsheetError, wanted: SignInRequest) -> CallsheetError:
        part, hint = self._failed_part(error, wanted)
        return type(error)(
            f"{part}: {error.message}",
            hint=hint or error.hint,
            details=error.details,
            status=error.status,
            trace_id=error.trace_id,
        )

    def _failed_part(self, error: CallsheetError, wanted: SignInRequest) -> tuple[str, str | None]:
        if isinstance(error, NotAllowed) and error.denied:
            return (
                f"the site denies the login ({error.denied})",
                f"sign in at {wanted.base_url} in a browser, then try again",
            )
        if isinstance(error, NetworkError):
            return "the site cannot be reached", None
        if _lacks_scope(error):
            return "the credential lacks a scope or permission", "make one with read access to the products you use"
        if isinstance(error, NotAllowed):
            auth = self._catalog.get("auth", wanted.method)
            where = f" at {auth['page']}" if "page" in auth else ""
            return "the credential was refused", f"make a new {auth.get('secret', 'one')}{where}"
        if error.status == 404:
            return "the address answers, but not like the product", "check the address and its context path"
        return "the site could not be asked", None


def _lacks_scope(error: CallsheetError) -> bool:
    return isinstance(error, NotAllowed) and error.lacks_scope
