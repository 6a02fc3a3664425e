"""The ways of signing in that a site has, a credential by one of them, and whether it works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from ..catalog.catalog import Catalog
from ..client.http.http_client import Client
from ..client.request.build import Builder
from ..errors import CallsheetError, NetworkError, NotAllowed, UsageError, did_you_mean
from ..language.merge import on_deployment
from ..language.template import TemplateError, evaluate
from ..sites.credentials.oauth import CLIENT_CREDENTIALS, Authority, Pending, UnauthenticatedClient, returned_url
from ..sites.credentials.secrets import clean_token, scheme_named, strip_pasted, takes_secret
from ..sites.site import Site, first_services
from ..urls import url_origin
from .signin_answers import Answers, Detector, SignInRequest, candidate_site

if TYPE_CHECKING:
    from ..client.http.reply import Reply
    from ..language.shape.access import AuthPart, ConsentAuth, Probe, Question, SeveralAuth
    from ..language.shape.rest import ProductDefinition
    from ..sites.credentials import CredentialRecord
    from ..sites.profiles.validate import SiteProfile
    from .context import Context


# Which ways of signing in a site offers: those of one service, or those that no service keeps for itself.


_OF_CONSENT = ("client-id", "client-secret", "scopes", "no-browser", "port")
_OF_A_TOKEN = ("token", "token-stdin")


def ways_of(catalog: Catalog, service: str | None) -> list[str]:
    """Ids of auth definitions, the usual way first where the service says so."""
    services = first_services(catalog)
    service = next(iter(services)) if service is None and len(services) == 1 else service
    own = services[service].get("auth") if service in services else None
    if own:
        return list(own)
    claimed = {way for each in services.values() for way in each.get("auth", ())}
    return [id for id in catalog.auth_methods.ids() if id not in claimed]


def usual_way(catalog: Catalog, deployment: str, service: str | None, *, with_user: bool) -> str:
    """The way that is meant where nobody says one; `with_user`: an address or user name was given."""
    ways = ways_of(catalog, service)
    if with_user:
        named = [id for id in ways if scheme_named(catalog.auth_methods.get(id)["scheme"]).takes_user]
        if named:
            return named[0]
    usual: str = catalog.deployments.get(deployment)["method"]
    return usual if usual in ways else ways[0]


def check_way(catalog: Catalog, service: str | None, method: str) -> None:
    """Raises `UsageError` for a way that the service does not take."""
    ways = ways_of(catalog, service)
    if method not in ways:
        whose = f" to {service}" if service else ""
        near = did_you_mean(method, ways)
        raise UsageError(f"--method: {method!r} is not a way to sign in{whose}{near} (one of: {', '.join(ways)})")


def check_options(catalog: Catalog, method: str, given: Callable[[str], Any]) -> None:
    """Raises `UsageError` for an option of sign-in that the method has no use for; `given` gives its value."""
    options = (*_OF_CONSENT, *_OF_A_TOKEN, "email")
    unused = (
        name for name in options if given(name) not in (None, False, ()) and not _method_takes(name, catalog, method)
    )
    if (wrong := next(unused, None)) is None:
        return
    takes = [id for id in catalog.auth_methods.ids() if _method_takes(wrong, catalog, id)]
    hint = f"it goes with --method {' or '.join(takes)}" if takes else None
    raise UsageError(f"--{wrong} cannot be used with --method {method}", hint=hint)


def _method_takes(option: str, catalog: Catalog, method: str) -> bool:
    how = scheme_named(catalog.auth_methods.get(method)["scheme"])
    if option in _OF_CONSENT:
        return how.by_consent
    return how.takes_user if option == "email" else how.takes_secret and not how.by_consent


# Signing in with OAuth 2.0: consent in the browser, then the site that the token is for.


_SLOWER = 5.0  # seconds added by `slow_down` (RFC 8628, section 3.5)


def ask_consent(
    authority: Authority,
    scopes: list[str],
    *,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
    typed: TextIO,
) -> CredentialRecord:
    """The tokens a person agreed to; raises `NotAllowed`, `CallsheetError`."""
    redirect = authority.redirect_url(port)
    attempt = authority.start_sign_in(redirect, scopes)
    return attempt.finish_sign_in(
        returned_url(attempt.url, redirect, attempt.state, browser=browser, say=say, typed=typed)
    )


def device_consent(
    authority: Authority, scopes: list[str], *, say: Callable[[str], None], sleep: Callable[[float], None]
) -> CredentialRecord:
    """The tokens a person agreed to on another device; raises `NotAllowed` when the code has ended before that."""
    code = authority.start_on_device(scopes)
    say(f"open {code.address} on any device and enter the code {code.user_code}")
    pause, left = code.pause, code.life
    while left > 0:
        sleep(pause)
        left -= pause
        try:
            return authority.poll_device(code)
        except Pending as pending:
            pause += _SLOWER if pending.slower else 0.0
    raise NotAllowed("nobody entered the code in time", hint="start the sign-in again")


def granted_site(authority: Authority, record: CredentialRecord, wanted: str) -> str | None:
    """The id of the site at the address `wanted` among those that the token reaches.

    None where the server lists no sites; `NotAllowed` when it is not among them.
    """
    sites = authority.reachable_sites(record["access_token"])
    for site in sites:
        with suppress(UsageError):  # an address that is none
            if url_origin(str(site.get("url"))) == url_origin(wanted):
                return str(site["id"])
    if not sites and not authority.lists_sites:
        return None
    reached = ", ".join(str(site.get("url")) for site in sites) or "no site"
    raise NotAllowed(
        f"the token does not reach {wanted}, only {reached}", hint="sign in again and choose that site in the browser"
    )


# Getting the secret that an authentication method needs.


class NewSecret(NamedTuple):
    """`record` is what a store keeps; None where the method knows no secret."""

    wanted: SignInRequest
    record: CredentialRecord | None

    @property
    def secret(self) -> str:
        """What is presented to the site."""
        record = self.record or {}
        return str(record.get("access_token") or record.get("token") or "")

    def __repr__(self) -> str:
        return f"NewSecret({self.wanted!r}, ...)"


def obtain_credential(
    context: Context, answers: Answers, wanted: SignInRequest, web: UnauthenticatedClient
) -> NewSecret:
    auth = context.catalog.auth_methods.get(wanted.method)
    how = scheme_named(auth["scheme"])
    if not how.takes_secret:
        return NewSecret(wanted, None)
    if how.by_consent:
        return _sign_in_by_consent(context, answers, wanted, cast("ConsentAuth", auth), web)
    answers.check_host(wanted.base_url)
    if "parts" in auth:
        lines = _ask_parts(answers, cast("SeveralAuth", auth)["parts"])
        return NewSecret(wanted._replace(email=None), {"token": lines})
    name = auth.get("secret", "secret")
    if answers.interactive and "page" in auth and not answers.option_value("token"):
        context.say(f"{name}: create one at {auth['page']}")
    if how.takes_user:
        wanted = wanted._replace(email=_user_name(answers, wanted))
        return NewSecret(
            wanted, {"token": strip_pasted(answers.ask_secret("token", name, variable="TOKEN"), f"the {name}")}
        )
    token = clean_token(answers.ask_secret("token", name, variable="TOKEN"), f"the {name}")
    return NewSecret(wanted._replace(email=None), {"token": token})


def _ask_parts(answers: Answers, parts: list[AuthPart]) -> str:
    """A line for each part: all at once from an option or a variable, else asked for one by one."""
    names = [part.get("secret", "secret") for part in parts]
    lines = [line.strip() for line in answers.ask_secrets(names)]
    if len(lines) != len(names):
        raise UsageError(f"{len(lines)} secrets were given, expected {len(names)}: {', '.join(names)}, one a line")
    return "\n".join(clean_token(line, f"the {name}") for line, name in zip(lines, names, strict=True))


def _user_name(answers: Answers, wanted: SignInRequest) -> str:
    return answers.ask_text("email", "E-mail address (or user name)", variable="EMAIL", default=wanted.email or "")


def _sign_in_by_consent(
    context: Context, answers: Answers, wanted: SignInRequest, auth: ConsentAuth, web: UnauthenticatedClient
) -> NewSecret:
    table = auth["oauth"]
    client_id = answers.ask_text(
        "client-id", "Client id of your app", variable="CLIENT_ID", default=wanted.client_id or ""
    )
    secret = ""
    if table.get("confidential") or table.get("grant") == CLIENT_CREDENTIALS:
        secret = answers.ask_secret("client-secret", auth.get("secret", "client secret"), variable="CLIENT_SECRET")
    authority = Authority(table, client_id, secret, web)
    scopes = answers.ask_scopes(list(wanted.scopes) or table.get("scopes", []))
    record = _granted_tokens(context, answers, authority, scopes)
    cloud_id = granted_site(authority, record, wanted.base_url)
    known = wanted._replace(client_id=client_id, scopes=tuple(scopes), cloud_id=cloud_id, email=None)
    return NewSecret(known, record)


def _granted_tokens(context: Context, answers: Answers, authority: Authority, scopes: list[str]) -> CredentialRecord:
    """Tokens, in the way that the server grants them."""
    if authority.grant == CLIENT_CREDENTIALS:
        return authority.grant_to_app(scopes)
    if authority.grant == "device_code":
        return device_consent(authority, scopes, say=context.say, sleep=time.sleep)
    return ask_consent(
        authority,
        scopes,
        port=answers.option_value("port"),
        browser=not answers.option_value("no-browser"),
        say=context.say,
        typed=context.streams.input,
    )


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
        for id, product in self._catalog.products.all().items():
            here = on_deployment(product, self._site.deployment)
            wanted = services is None or here.get("service", id) in services
            if wanted and "probe" in here and "unavailable" not in here:
                yield self._probe_one(id, here)

    def _probe_one(self, id: str, product: ProductDefinition) -> ProbeResult:
        probe = product["probe"]
        identifies_user = "person" in probe
        try:
            answer = self._user_name(probe) if identifies_user else self.ask_question(probe)
        except CallsheetError as error:
            return ProbeResult(id, product["title"], None, error, identifies_user)
        return ProbeResult(id, product["title"], answer, None, identifies_user)

    def ask_question(self, question: Question) -> str:
        """A question's answer in words; raises what the client raises."""
        found = _evaluate_answer(question.get("value"), self._question_reply(question).json())
        return ", ".join(map(str, found)) if isinstance(found, list) else str(found or "yes")

    def _user_name(self, probe: Probe) -> str:
        reply = self._question_reply(probe)
        found = _evaluate_answer(probe["person"], reply.json())
        if not found:
            raise NotAllowed(
                f"{reply.request.name} answered as if you were not signed in: the site does not accept this credential",
                status=reply.status,
            )
        return str(found)

    def _question_reply(self, question: Question) -> Reply:
        return self._client.send(self._builder.build_request(question["call"], question.get("args", {})))


def _evaluate_answer(expression: str | None, answer: Any) -> Any:
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

    def verify_secret(self, wanted: SignInRequest, secret: str, mode: str = "auto") -> Verified:
        """Ask the site; where it refuses a secret that its gateway takes, the gateway is used from then on.

        `mode` may insist: `site` never tries the gateway, `gateway` tries nothing else.

        Raises the failure in words that name its part: the host, the credential, its scopes, the product.
        """
        refusal: CallsheetError | None = None
        if mode != "gateway" or wanted.cloud_id:
            try:
                return Verified(wanted, self._ask_products(wanted, secret))
            except CallsheetError as error:
                refusal = error
        may_route = mode == "gateway" or (mode == "auto" and is_refusal(refusal))
        routed = self._through_gateway(wanted, secret) if may_route else None
        if routed is None:
            raise self._explain_error(refusal or CallsheetError("this site has no gateway"), wanted)
        try:
            return Verified(routed, self._ask_products(routed, secret))
        except CallsheetError as error:
            is_clearer = _lacks_scope(error) or refusal is None
            raise self._explain_error(error if is_clearer else refusal or error, wanted) from None

    def _ask_products(self, wanted: SignInRequest, secret: str) -> list[ProbeResult]:
        site = candidate_site(wanted, secret, self._way, self._catalog, self._environ)
        with closing(Asker(self._catalog, site, self._program, self._environ)) as asker:
            results = list(asker.probe_all({wanted.service} if wanted.service else None))
        stranger = not takes_secret(self._catalog.auth_methods.get(wanted.method))
        error = refusal_error(results, stranger=stranger)
        if error is not None:
            raise error
        return results

    def _through_gateway(self, wanted: SignInRequest, secret: str) -> SignInRequest | None:
        """The same by way of the gateway, where there is one that is not in use yet."""
        gateways = any("gateway" in service for service in self._catalog.services.all().values())
        if wanted.cloud_id or not gateways:
            return None
        site = candidate_site(wanted, secret, self._way, self._catalog, self._environ)
        tenant = Detector(self._catalog, UnauthenticatedClient(site, self._environ, home=wanted.base_url)).tenant_id(
            wanted.base_url, wanted.deployment
        )
        return wanted._replace(cloud_id=tenant) if tenant else None

    def _explain_error(self, error: CallsheetError, wanted: SignInRequest) -> CallsheetError:
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
            auth = self._catalog.auth_methods.get(wanted.method)
            where = f" at {auth['page']}" if "page" in auth else ""
            return "the credential was refused", f"make a new {auth.get('secret', 'one')}{where}"
        if error.status == 404:
            return "the address answers, but not like the product", "check the address and its context path"
        return "the site could not be asked", None


def _lacks_scope(error: CallsheetError) -> bool:
    return isinstance(error, NotAllowed) and error.lacks_scope
