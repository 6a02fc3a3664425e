"""Finding out whether a credential works before it is kept, and which part of it all failed when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from ...catalog.catalog import Catalog
from ...errors import CallsheetError, NetworkError, NotAllowed
from ...sites.credentials.schemes import takes_secret
from ...sites.credentials.unauthenticated_client import UnauthenticatedClient
from .detect import Detector
from .request import SignInRequest, candidate_site
from .verify import Asker, ProbeResult, is_refusal, refusal_error

if TYPE_CHECKING:
    from ...sites.profiles.model import SiteProfile


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
