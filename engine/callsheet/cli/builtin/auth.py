"""`init`, `auth` and `config`: from an address to a site that works, its credentials and its settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...commands.checkup import services_with_address
from ...commands.context import Context, ParameterValues
from ...commands.obtain_credential import (
    Asker,
    NewSecret,
    Verified,
    Verifier,
    check_options,
    check_way,
    obtain_credential,
    refusal_error,
    usual_way,
    ways_of,
)
from ...commands.signin_answers import Answers, Detected, Detector, SignInRequest, ready_store, save_sign_in
from ...errors import CallsheetError, NetworkError, NotAllowed, UsageError, did_you_mean
from ...sites.credentials.oauth import UnauthenticatedClient
from ...sites.credentials.secrets import account_of_secret, is_typed, open_store, takes_secret
from ...sites.profiles.choose import ChosenSite, Variables, profiles_path, read_profiles, site_settings
from ...sites.profiles.edit import edit_profiles, put_setting, remove_site, split_key, typed_setting
from ...sites.site import Site, above_products, usual_address
from ...urls import url_origin
from ..completion import site_words

if TYPE_CHECKING:
    from ...sites.credentials import CredentialRecord
    from ...sites.profiles.validate import Access, Profiles, SiteProfile


# `config`: the sites of the profiles file.


def read_profiles_here(context: Context) -> Profiles:
    return read_profiles(context.catalog, context.environ)


def use_site(context: Context, values: ParameterValues) -> None:

    name = values["site"]
    site_settings(read_profiles_here(context), name)
    if context.only_tries(f"commands would use {name}"):
        return
    with edit_profiles(context.catalog, context.environ) as document:
        put_setting(document, ("site",), name)
    context.note(f"now using site {name}")


def list_sites(context: Context, _values: ParameterValues) -> None:
    found = read_profiles_here(context)
    rows = []
    for name, site in found.get("sites", {}).items():
        addresses = [site.get("base_url"), *(s.get("base_url") for s in site.get("services", {}).values())]
        row = {"name": name, "active": name == found.get("site"), "base_url": [each for each in addresses if each]}
        rows.append({**row, "deployment": site.get("deployment"), "method": site.get("method")})
    context.output(context.catalog.views.get("site")).print_items(rows)


def view_settings(context: Context, values: ParameterValues) -> None:
    """The whole file, or one site of it. It holds no credential."""
    found = read_profiles_here(context)
    name = values.get("name") or context.option("site")
    shown = site_settings(found, name) if name else found
    if context.output_format in ("table", "id", "csv"):
        import tomlkit

        context.streams.out.write(tomlkit.dumps({"sites": {name: shown}} if name else shown))
    else:
        context.output().print_one(shown)


def print_settings_path(context: Context, _values: ParameterValues) -> None:
    context.streams.out.write(profiles_path(context.environ, context.program) + "\n")


def set_key(context: Context, values: ParameterValues) -> None:
    """`KEY VALUE`, where a key of the active site needs no `sites.NAME.` before it; an empty value takes it away."""
    keys = split_key(values["key"])
    if keys[0] not in ("site", "sites"):
        found = read_profiles_here(context)
        chosen = Variables(context.definition["prefix"], context.environ).get("SITE")
        name = context.option("site") or chosen or found.get("site")
        if not name:
            raise UsageError("no site selected", hint="name the key in full: sites.NAME.KEY")
        keys = ("sites", name, *keys)
    if keys[0] == "sites" and len(keys) > 1 and keys[-1] != "base_url":
        site_settings(read_profiles_here(context), keys[1])
    value = typed_setting(keys, values["value"])
    if context.only_tries(f"{'.'.join(keys)} would be set"):
        return
    with edit_profiles(context.catalog, context.environ) as document:
        put_setting(document, keys, None if values["value"] == "" else value)


def forget_site(context: Context, values: ParameterValues) -> None:
    """The site and what a store keeps for it."""
    name = values["site"]
    settings = site_settings(read_profiles_here(context), name)
    context.confirm(f"Remove site {name} and its credentials?")
    if context.only_tries(f"site {name} would be removed"):
        return
    for problem in delete_credentials(context, name, settings):
        context.note(problem)
    with edit_profiles(context.catalog, context.environ) as document:
        remove_site(document, name)
    context.note(f"removed site {name}")


def delete_credentials(context: Context, name: str, settings: SiteProfile) -> list[str]:
    """Delete the stored credentials of a site; what could not be deleted comes back, in words.

    Names that a shell was offered go with them: somebody else may sign in next.
    """
    site_words.forget_words(context.environ, context.program, name)
    problems = []
    variables = Variables(context.definition["prefix"], context.environ)
    for service, access in [("", settings), *settings.get("services", {}).items()]:
        if access.get("store"):
            kept_as = account_of_secret(name, settings, service)
            try:
                open_store(access["store"], variables, context.environ, context.program).delete(kept_as)
            except CallsheetError as error:
                problems.append(f"the credential {kept_as!r} is still stored: {error.message}")
    return problems


# `init`: from an address to a site that works.


def init_site(context: Context, values: ParameterValues) -> None:
    answers = Answers(context, values)
    answers.check_options()
    name = answers.option_value("name") or answers.option_value("site")
    known = read_profiles_here(context).get("sites", {})
    way = {**known.get(name, {}), **answers.network_keys()} if name else answers.network_keys()
    found = answers.until_right(
        "base-url", "BASE_URL", lambda: _find_installation(context, answers, way), (CallsheetError,)
    )
    service = answers.option_value("service") or found.service
    method = answers.until_right(
        "method", "METHOD", lambda: _choose_method(context, answers, found.deployment, service), (UsageError,)
    )
    wanted = SignInRequest(
        name=name or answers.until_right("name", "SITE", lambda: _name_for(answers, found.base_url), (UsageError,)),
        base_url=found.base_url,
        deployment=found.deployment,
        method=method,
        service=service,
        email=answers.option_value("email"),
        client_id=answers.option_value("client-id"),
        scopes=tuple(answers.ask_scopes([])),
    )
    _confirm_replacing(context, wanted, known.get(wanted.name, {}))
    if answers.option_value("skip-login"):
        if context.only_tries(f"site {wanted.name} would be saved"):
            return
        save_signin(context, answers, wanted, None)
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
        obtained = obtain_credential(context, answers, wanted, web)
        return obtained, verifier.verify_secret(
            obtained.wanted, obtained.secret, mode=answers.option_value("mode") or "auto"
        )

    asks = not answers.option_value("token-stdin") and is_typed(context.catalog.auth_methods.get(wanted.method))
    refused = (NotAllowed, UsageError) if asks else ()
    obtained, (verified, verdicts) = answers.until_right("token", "TOKEN", attempt, refused)
    for verdict in verdicts:
        access = f"{verdict.title}: {verdict.answer or 'no access'}"
        context.note(f"{access} ({verdict.error.message})" if verdict.error else access)
    if verified.cloud_id:
        context.note("requests go through the vendor's gateway, as this credential needs")
    save_signin(context, answers, verified, obtained.record, password)


def save_signin(
    context: Context,
    answers: Answers,
    wanted: SignInRequest,
    record: CredentialRecord | None,
    password: str | None = None,
) -> None:
    extra = answers.network_keys()
    if answers.option_value("read-only"):
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


def _find_installation(context: Context, answers: Answers, way: SiteProfile) -> Detected:
    """Address and deployment. What a person says about the deployment counts where the site hides itself."""
    address = answers.ask_address(usual_address(context.catalog))
    deployment = answers.option_value("deployment")
    if answers.option_value("skip-login") or context.option("dry-run"):
        deployments = context.catalog.deployments.all()
        plain = not any("detect" in definition for definition in deployments.values())
        address = above_products(context.catalog, address) if plain else address
        return Detected(deployment or next(iter(deployments)), address, None, None)
    web = UnauthenticatedClient(way_out(context, way), context.environ, home=address)
    detector = Detector(context.catalog, web)
    try:
        return detector.detect_site(address, deployment)
    except NetworkError as error:
        raise NetworkError(f"the site cannot be reached: {error.message}", hint=error.hint) from None
    except CallsheetError:
        if not deployment:
            raise
        return Detected(deployment, address, None, None)


def _choose_method(context: Context, answers: Answers, deployment: str, service: str | None) -> str:
    usual = usual_way(context.catalog, deployment, service, with_user=bool(answers.option_value("email")))
    known = ", ".join(ways_of(context.catalog, service))
    method = answers.ask_text("method", f"Way of signing in ({known})", variable="METHOD", default=usual)
    answers.known_word("method", "auth", method)
    check_way(context.catalog, service, method)
    check_options(context.catalog, method, answers.option_value)
    return method


def _name_for(answers: Answers, address: str) -> str:
    """The first part of the host name, unless a person wants another."""
    host = urlsplit(address).hostname or "site"
    first = host if re.fullmatch(r"[\d.:]+", host) else host.split(".")[0]
    usual = re.sub(r"[^A-Za-z0-9._-]", "-", first).strip("-._")
    return answers.site_name(answers.ask_text("name", "Name for this site", default=usual))


def _confirm_replacing(context: Context, wanted: SignInRequest, known: SiteProfile) -> None:
    """A name that stands for another host is not taken over silently."""
    before = known.get("services", {}).get(wanted.service, {}) if wanted.service else known
    address = before.get("base_url")
    if address and url_origin(address) != url_origin(wanted.base_url):
        context.confirm(f"Site {wanted.name} is {address}; make it {wanted.base_url}?")


# `auth`: credentials of sites that exist already.


def log_in(context: Context, values: ParameterValues) -> None:
    """Sign in again, or for the first time, to a site that `init` or a person wrote down."""
    answers = Answers(context, values)
    name = _named_site(context, answers)
    settings = site_settings(read_profiles_here(context), name)
    service = _choose_service(answers.option_value("service"), settings, name)
    own: Access = settings.get("services", {}).get(service or "", {})
    access: SiteProfile = {**settings, **own}
    deployment = settings.get("deployment") or context.catalog.deployments.ids()[0]
    email = answers.option_value("email") or access.get("email")
    usual = usual_way(context.catalog, deployment, service, with_user=bool(email))
    method = answers.option_value("method") or access.get("method") or usual
    answers.known_word("method", "auth", method)
    check_way(context.catalog, service, method)
    check_options(context.catalog, method, answers.option_value)
    wanted = SignInRequest(
        name=name,
        base_url=access["base_url"],
        deployment=deployment,
        method=method,
        service=service if own else None,
        email=email,
        client_id=answers.option_value("client-id") or settings.get("client_id"),
        scopes=tuple(settings.get("scopes", ())),
    )
    sign_in(context, answers, wanted, settings)


def _named_site(context: Context, answers: Answers) -> str:
    name = context.option("site") or answers.variables.get("SITE") or read_profiles_here(context).get("site")
    if not name:
        raise UsageError("no site to sign in to", hint=f"{context.program} init adds one")
    return str(name)


def _choose_service(chosen: str | None, settings: SiteProfile, name: str) -> str | None:
    """Which of a site's addresses is meant; needs no words where there is only one."""
    services = [key for key, access in settings.get("services", {}).items() if "base_url" in access]
    if chosen and chosen not in services:
        raise UsageError(f"site {name!r} has no address of its own for {chosen!r}{did_you_mean(chosen, services)}")
    if not chosen and "base_url" not in settings and len(services) > 1:
        raise UsageError(f"site {name!r} has several addresses", hint=f"say which with --service {'|'.join(services)}")
    return chosen or (services[0] if "base_url" not in settings else None)


def log_out(context: Context, values: ParameterValues) -> None:
    """Forget the stored credentials of a site; its settings stay."""
    answers = Answers(context, values)
    name = _named_site(context, answers)
    settings = site_settings(read_profiles_here(context), name)
    if context.only_tries(f"the credentials of site {name} would be deleted"):
        return
    problems = delete_credentials(context, name, settings)
    if problems:
        raise CallsheetError(problems[0], details=problems[1:])
    with edit_profiles(context.catalog, context.environ) as document:
        for service in settings.get("services", {}):
            put_setting(document, ("sites", name, "services", service, "store"), None)
        put_setting(document, ("sites", name, "store"), None)
    context.note(f"deleted the credentials of site {name} from this machine; to be sure, revoke them at the site too")


def show_signin_status(context: Context, _values: ParameterValues) -> None:
    """How one is known at the site: a row for each product. Fails when none takes the credential."""
    site = context.site()
    with closing(Asker(context.catalog, site, context.program, context.environ)) as asker:
        verdicts = list(asker.probe_all(set(services_with_address(context, site)) or None))
    if not verdicts:
        context.note("no product of this site says how to ask who is signed in: give one a `probe` in its definition")
    rows = []
    for verdict in verdicts:
        service = context.catalog.products.get(verdict.product).get("service", verdict.product)
        access = site.access_to(service)
        row = {
            "site": site.name,
            "product": verdict.product,
            "base_url": access.get("base_url"),
            "route": _site_route(site, service),
        }
        row |= {
            "method": site.method_of(service),
            "email": access.get("email"),
            "credential": site.place_of_secret(service),
        }
        rows.append({**row, "answer": verdict.answer, "error": verdict.error.message if verdict.error else None})
    context.output(context.catalog.views.get("sign-in")).print_items(rows)
    error = refusal_error(verdicts, stranger=all(row["method"] in _methods_without_credential(context) for row in rows))
    if error is not None:
        raise (
            error
            if isinstance(error, NotAllowed) or error.status is None
            else NotAllowed(error.message, hint=error.hint)
        )


def _methods_without_credential(context: Context) -> list[str]:
    """The methods that present no credential."""
    return [id for id, auth in context.catalog.auth_methods.all().items() if not takes_secret(auth)]


def _site_route(site: Any, service: str) -> str:
    try:
        return "gateway" if site.base_url(service) != site.address(service) else "site"
    except CallsheetError:
        return "none"


# Options that were given without a value.


def refuse_empty(values: Mapping[str, Any], *names: str) -> None:
    """Most empty values come of a variable that is not set: taken for none, something else would happen than was meant.

    Raises `UsageError`.
    """
    for name in names:
        given = values.get(name)
        if any(not text.strip(", ") for text in ([given] if isinstance(given, str) else given or ())):
            raise UsageError(f"--{name} is empty", hint="give it a value, or omit it")
