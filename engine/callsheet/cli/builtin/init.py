"""`init`: from an address to a site that works."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...commands.context import Context, ParameterValues
from ...commands.signin.answers import Answers
from ...commands.signin.detect import Detected, Detector
from ...commands.signin.obtain import NewSecret, obtain
from ...commands.signin.request import SignInRequest
from ...commands.signin.store import ready_store, save_sign_in
from ...commands.signin.verified import Verified, Verifier
from ...commands.signin.ways import check_options, check_way, usual_way, ways_of
from ...errors import CallsheetError, NetworkError, NotAllowed, UsageError
from ...sites.credentials.schemes import is_typed
from ...sites.credentials.unauthenticated_client import UnauthenticatedClient
from ...sites.profiles.choose import ChosenSite
from ...sites.site import Site, above_products, usual_address
from ...urls import url_origin
from .config import read_profiles_here

if TYPE_CHECKING:
    from ...sites.credentials.record import CredentialRecord
    from ...sites.profiles.model import SiteProfile


def init(context: Context, values: ParameterValues) -> None:
    answers = Answers(context, values)
    answers.check_options()
    name = answers.option("name") or answers.option("site")
    known = read_profiles_here(context).get("sites", {})
    way = {**known.get(name, {}), **answers.network_keys()} if name else answers.network_keys()
    found = answers.until_right("base-url", "BASE_URL", lambda: _found(context, answers, way), (CallsheetError,))
    service = answers.option("service") or found.service
    method = answers.until_right(
        "method", "METHOD", lambda: _method(context, answers, found.deployment, service), (UsageError,)
    )
    wanted = SignInRequest(
        name=name or answers.until_right("name", "SITE", lambda: _name_for(answers, found.base_url), (UsageError,)),
        base_url=found.base_url,
        deployment=found.deployment,
        method=method,
        service=service,
        email=answers.option("email"),
        client_id=answers.option("client-id"),
        scopes=tuple(answers.scopes([])),
    )
    _confirm_replacing(context, wanted, known.get(wanted.name, {}))
    if answers.option("skip-login"):
        if context.only_tries(f"site {wanted.name} would be saved"):
            return
        save(context, answers, wanted, None)
        context.note(f"no credential yet: {context.program} auth login --site {wanted.name}")
        return
    sign_in(context, answers, wanted, way)


def sign_in(context: Context, answers: Answers, wanted: SignInRequest, way: SiteProfile) -> None:
    """Get the secret, see that it works, and only then keep it."""
    if context.only_tries(f"nothing was sent or saved; the site would be {wanted.base_url}"):
        return
    password = ready_store(context, answers, wanted)
    web = UnauthenticatedClient(way_out(context, way), context.environ, home=wanted.base_url)
    verifier = Verifier(context.catalog, context.program, context.environ, way)

    def attempt() -> tuple[NewSecret, Verified]:
        obtained = obtain(context, answers, wanted, web)
        return obtained, verifier.verify(obtained.wanted, obtained.secret, mode=answers.option("mode") or "auto")

    asks = not answers.option("token-stdin") and is_typed(context.catalog.get("auth", wanted.method))
    refused = (NotAllowed, UsageError) if asks else ()
    obtained, (verified, verdicts) = answers.until_right("token", "TOKEN", attempt, refused)
    for verdict in verdicts:
        told = f"{verdict.title}: {verdict.answer or 'no access'}"
        context.note(f"{told} ({verdict.error.message})" if verdict.error else told)
    if verified.cloud_id:
        context.note("requests go through the vendor's gateway, as this credential needs")
    save(context, answers, verified, obtained.record, password)


def save(
    context: Context,
    answers: Answers,
    wanted: SignInRequest,
    record: CredentialRecord | None,
    password: str | None = None,
) -> None:
    extra = answers.network_keys()
    if answers.option("read-only"):
        extra["read_only"] = True
    store = save_sign_in(context, wanted, record, extra, password)
    where = {"file": "in the encrypted file", "keyring": "in the key store"}.get(store or "", "")
    if password:
        name = answers.variables.name("KEYRING_PASSWORD")
        context.note(f"from now on set {name}, or {name}_FILE to a file that only you can read, to this password")
    context.note(f"site {wanted.name} is saved" + (f", its credential {where}" if where else "") + ", and selected")


def way_out(context: Context, way: SiteProfile) -> Site:
    """A site of which only the way to it is known: proxy and certificates."""
    variables = Answers(context, {}).variables
    return Site(ChosenSite("", way, token=True), context.catalog, variables, context.environ)


def _found(context: Context, answers: Answers, way: SiteProfile) -> Detected:
    """Address and deployment. What a person says about the deployment counts where the site hides itself."""
    address = answers.address(usual_address(context.catalog))
    deployment = answers.option("deployment")
    if answers.option("skip-login") or context.option("dry-run"):
        deployments = context.catalog.all("deployment")
        plain = not any("detect" in definition for definition in deployments.values())
        address = above_products(context.catalog, address) if plain else address
        return Detected(deployment or next(iter(deployments)), address, None, None)
    web = UnauthenticatedClient(way_out(context, way), context.environ, home=address)
    detector = Detector(context.catalog, web)
    try:
        return detector.detect(address, deployment)
    except NetworkError as error:
        raise NetworkError(f"the site cannot be reached: {error.message}", hint=error.hint) from None
    except CallsheetError:
        if not deployment:
            raise
        return Detected(deployment, address, None, None)


def _method(context: Context, answers: Answers, deployment: str, service: str | None) -> str:
    usual = usual_way(context.catalog, deployment, service, with_user=bool(answers.option("email")))
    known = ", ".join(ways_of(context.catalog, service))
    method = answers.text("method", f"Way of signing in ({known})", variable="METHOD", default=usual)
    answers.word("method", "auth", method)
    check_way(context.catalog, service, method)
    check_options(context.catalog, method, answers.option)
    return method


def _name_for(answers: Answers, address: str) -> str:
    """The first part of the host name, unless a person wants another."""
    host = urlsplit(address).hostname or "site"
    first = host if re.fullmatch(r"[\d.:]+", host) else host.split(".")[0]
    usual = re.sub(r"[^A-Za-z0-9._-]", "-", first).strip("-._")
    return answers.site_name(answers.text("name", "Name for this site", default=usual))


def _confirm_replacing(context: Context, wanted: SignInRequest, known: SiteProfile) -> None:
    """A name that stands for another host is not taken over silently."""
    before = known.get("services", {}).get(wanted.service, {}) if wanted.service else known
    address = before.get("base_url")
    if address and url_origin(address) != url_origin(wanted.base_url):
        context.confirm(f"Site {wanted.name} is {address}; make it {wanted.base_url}?")
