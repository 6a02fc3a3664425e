"""`auth`: credentials of sites that exist already."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from ...commands.checkup.remote import services_with_address
from ...commands.context import Context, ParameterValues
from ...commands.signin.answers import Answers
from ...commands.signin.request import SignInRequest
from ...commands.signin.verify import Asker, refusal_error
from ...commands.signin.ways import check_options, check_way, usual_way
from ...errors import CallsheetError, NotAllowed, UsageError, did_you_mean
from ...sites.credentials.schemes import takes_secret
from ...sites.profiles.choose import site_settings
from .config import delete_credentials, read_profiles_here
from .init import sign_in

if TYPE_CHECKING:
    from ...sites.profiles.model import Access, SiteProfile


def login(context: Context, values: ParameterValues) -> None:
    """Sign in again, or for the first time, to a site that `init` or a person wrote down."""
    answers = Answers(context, values)
    name = _named(context, answers)
    settings = site_settings(read_profiles_here(context), name)
    service = _service(answers.option("service"), settings, name)
    own: Access = settings.get("services", {}).get(service or "", {})
    access: SiteProfile = {**settings, **own}
    deployment = settings.get("deployment") or context.catalog.ids("deployment")[0]
    email = answers.option("email") or access.get("email")
    usual = usual_way(context.catalog, deployment, service, with_user=bool(email))
    method = answers.option("method") or access.get("method") or usual
    answers.word("method", "auth", method)
    check_way(context.catalog, service, method)
    check_options(context.catalog, method, answers.option)
    wanted = SignInRequest(
        name=name,
        base_url=access["base_url"],
        deployment=deployment,
        method=method,
        service=service if own else None,
        email=email,
        client_id=answers.option("client-id") or settings.get("client_id"),
        scopes=tuple(settings.get("scopes", ())),
    )
    sign_in(context, answers, wanted, settings)


def _named(context: Context, answers: Answers) -> str:
    name = context.option("site") or answers.variables.get("SITE") or read_profiles_here(context).get("site")
    if not name:
        raise UsageError("no site to sign in to", hint=f"{context.program} init adds one")
    return str(name)


def _service(chosen: str | None, settings: SiteProfile, name: str) -> str | None:
    """Which of a site's addresses is meant; needs no words where there is only one."""
    services = [key for key, access in settings.get("services", {}).items() if "base_url" in access]
    if chosen and chosen not in services:
        raise UsageError(f"site {name!r} has no address of its own for {chosen!r}{did_you_mean(chosen, services)}")
    if not chosen and "base_url" not in settings and len(services) > 1:
        raise UsageError(f"site {name!r} has several addresses", hint=f"say which with --service {'|'.join(services)}")
    return chosen or (services[0] if "base_url" not in settings else None)


def logout(context: Context, values: ParameterValues) -> None:
    """Forget the stored credentials of a site; its settings stay."""
    from ...sites.profiles.edit import edit_profiles, put_setting

    answers = Answers(context, values)
    name = _named(context, answers)
    settings = site_settings(read_profiles_here(context), name)
    if context.only_tries(f"the credentials of site {name} would be forgotten"):
        return
    problems = delete_credentials(context, name, settings)
    if problems:
        raise CallsheetError(problems[0], details=problems[1:])
    with edit_profiles(context.catalog, context.environ) as document:
        for service in settings.get("services", {}):
            put_setting(document, ("sites", name, "services", service, "store"), None)
        put_setting(document, ("sites", name, "store"), None)
    context.note(f"deleted the credentials of site {name} from this machine; to be sure, revoke them at the site too")


def status(context: Context, values: ParameterValues) -> None:
    """How one is known at the site: a row for each product. Fails when none takes the credential."""
    del values
    site = context.site()
    with closing(Asker(context.catalog, site, context.program, context.environ)) as asker:
        verdicts = list(asker.probe_all(set(services_with_address(context, site)) or None))
    if not verdicts:
        context.note("no product of this site says how to ask who is signed in: give one a `probe` in its definition")
    rows = []
    for verdict in verdicts:
        service = context.catalog.get("product", verdict.product).get("service", verdict.product)
        access = site.access(service)
        row = {
            "site": site.name,
            "product": verdict.product,
            "base_url": access.get("base_url"),
            "route": _route(site, service),
        }
        row |= {
            "method": site.method(service),
            "email": access.get("email"),
            "credential": site.place_of_secret(service),
        }
        rows.append({**row, "answer": verdict.answer, "error": verdict.error.message if verdict.error else None})
    context.output(context.catalog.get("view", "sign-in")).items(rows)
    error = refusal_error(verdicts, stranger=all(row["method"] in _methods_without_credential(context) for row in rows))
    if error is not None:
        raise (
            error
            if isinstance(error, NotAllowed) or error.status is None
            else NotAllowed(error.message, hint=error.hint)
        )


def _methods_without_credential(context: Context) -> list[str]:
    """The methods that present no credential."""
    return [id for id, auth in context.catalog.all("auth").items() if not takes_secret(auth)]


def _route(site: Any, service: str) -> str:
    try:
        return "gateway" if site.base_url(service) != site.address(service) else "site"
    except CallsheetError:
        return "none"
