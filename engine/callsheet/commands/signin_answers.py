"""What a person answers about a site, what its address tells, and where that is stored."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from ..catalog.catalog import Catalog
from ..errors import CallsheetError, DefinitionError, NotAllowed, UsageError, did_you_mean
from ..language.template import TemplateError, evaluate
from ..sites.credentials.oauth import UnauthenticatedClient
from ..sites.credentials.secrets import FILE, KEYRING, Store, chosen_name, open_store, takes_secret
from ..sites.profiles.choose import ChosenSite, Variables, refuse_other_host
from ..sites.profiles.edit import edit_profiles, put_setting, put_site
from ..sites.site import Site, above_products, first_services
from ..urls import SITE_NAME, base_url, proxy_problem, url_origin

if TYPE_CHECKING:
    from ..language.shape.access import Detection
    from ..sites.credentials import CredentialRecord
    from ..sites.profiles.validate import SiteProfile
    from .context import Context


# What a person says about a site: by option, by variable, by line of standard input, or when asked at a terminal.


_WAY = ("ca-bundle", "client-cert", "client-key", "proxy")


Result = TypeVar("Result")


class Answers:
    """`values` are the options of the command."""

    def __init__(self, context: Context, values: Mapping[str, Any]) -> None:
        self._context = context
        self._values = values
        self.variables = Variables(context.definition["prefix"], context.environ)
        streams = context.streams
        self.interactive = streams.input.isatty() and streams.err.isatty()

    def option_value(self, name: str) -> Any:
        """The command's own option, else the program's option of the same name."""
        value = self._values.get(name)
        return value if value not in (None, ()) else self._context.option(name)

    def until_right(
        self, name: str, variable: str, act: Callable[[], Result], wrong: tuple[type[CallsheetError], ...]
    ) -> Result:
        """What `act` makes of an answer. Who typed it at the terminal is told what is `wrong`, and asked again.

        What came as an option or from the environment is not asked again: the error is raised.
        """
        while True:
            try:
                return act()
            except wrong as error:
                if not self.interactive or self.option_value(name) or self.variables.get(variable):
                    raise
                self._context.say(
                    f"{error.message}{f' ({error.hint})' if error.hint else ''}; try again, or press Ctrl-C"
                )

    def ask_text(self, name: str, prompt: str, *, variable: str = "", default: str = "") -> str:
        """Raises `UsageError` where nobody can be asked."""
        found = self.option_value(name) or (self.variables.get(variable) if variable else "")
        if not found and self.interactive:
            found = self._context.ask(prompt, default=default or None).strip()
        if not found and not default:
            raise UsageError(f"--{name} is needed", hint=f"it is the {prompt[:1].lower()}{prompt[1:]}")
        return str(found or default).strip()

    def ask_secret(self, name: str, prompt: str, *, variable: str) -> str:
        """Asked for without echo; `--token-stdin` reads it from standard input."""
        if name == "token" and self.option_value("token-stdin"):
            found = self._context.read_input().decode("utf-8", "replace").strip()
            if not found:
                raise UsageError("--token-stdin: standard input is empty")
            return found
        given = self.option_value(name)
        if given:
            return self._context.read_source(given).decode("utf-8", "replace").strip()
        found = self.variables.get(variable)
        if not found and self.interactive:
            found = self._context.ask(prompt, hidden=True).strip()
        if not found:
            ways = f"--{name} @FILE, {self.variables.name(variable)}"
            raise UsageError(f"the {prompt} is needed", hint=f"give it by {ways}, or run this at a terminal")
        return found

    def ask_secrets(self, prompts: list[str]) -> list[str]:
        """Several that belong together: lines of the token that was given, or each asked for."""
        is_given = self.option_value("token") or self.option_value("token-stdin") or self.variables.get("TOKEN")
        if self.interactive and not is_given:
            return [self._context.ask(prompt, hidden=True) for prompt in prompts]
        return self.ask_secret("token", ", ".join(prompts), variable="TOKEN").splitlines()

    def ask_address(self, default: str = "") -> str:
        """The site's address; https is assumed where a person left the scheme away."""
        given = self.ask_text("base-url", "Address of the site", variable="BASE_URL", default=default)
        return base_url(given if "://" in given else f"https://{given}", "--base-url")

    def check_host(self, address: str) -> None:
        """Refuse to take the environment's token for another host than the environment's; raises `UsageError`."""
        if not (self.option_value("token") or self.option_value("token-stdin")) and self.variables.get("TOKEN"):
            refuse_other_host(address, "the site's address", self.variables)

    def network_keys(self) -> SiteProfile:
        """Keys of the profile that say how the host is reached."""
        found: dict[str, str] = {}
        for name in _WAY:
            if self.option_value(name):
                found[name.replace("-", "_")] = self._proxy_address() if name == "proxy" else self._option_file(name)
        return cast("SiteProfile", found)

    def _option_file(self, name: str) -> str:
        path: str = os.path.abspath(self.option_value(name))
        if not os.path.isfile(path):
            raise UsageError(f"--{name}: no file {path}")
        return path

    def _proxy_address(self) -> str:
        problem = proxy_problem(self.option_value("proxy"))
        if problem:
            raise UsageError(f"--proxy: {problem}")
        return str(self.option_value("proxy"))

    def check_options(self) -> None:
        """Refuse wrong words before anything is asked or sent; raises `UsageError`."""
        if self.option_value("name"):
            self.site_name(self.option_value("name"))
        for option, kind in (("deployment", "deployment"), ("method", "auth"), ("service", "service")):
            if self.option_value(option):
                self.known_word(option, kind, self.option_value(option))

    def site_name(self, name: str) -> str:
        """`name` where a site may be called so; raises `UsageError`."""
        if not re.fullmatch(SITE_NAME, name):
            raise UsageError(f"--name: {name!r}: a site's name may contain only letters, digits, '.', '_' and '-'")
        return name

    def known_word(self, option: str, kind: str, word: str) -> str:
        """`word` where a definition of the kind has this id; raises `UsageError` that lists them."""
        known = self._context.catalog.ids(kind)
        if word not in known:
            near = did_you_mean(word, known)
            raise UsageError(f"--{option}: unknown {option} {word!r}{near} (one of: {', '.join(known)})")
        return word

    def ask_scopes(self, default: list[str]) -> list[str]:
        given = self.option_value("scopes")
        return given.replace(",", " ").split() if given else default


# What kind of installation answers at an address, found by the requests that deployments' definitions describe.


class Detected(NamedTuple):
    """`service` is None where one address serves all."""

    deployment: str
    base_url: str
    service: str | None
    version: str | None


class Detector:
    def __init__(self, catalog: Catalog, web: UnauthenticatedClient) -> None:
        self._catalog = catalog
        self._web = web
        self._answers: dict[str, Any] = {}

    def detect_site(self, address: str, deployment: str | None = None) -> Detected:
        """Try the address as it is, then without the last parts of its path (a person may paste any page's address).

        Raises `NetworkError` when the host does not answer, `CallsheetError` when something else lives there.
        """
        deployments = self._catalog.deployments.all()
        tried = {deployment: deployments[deployment]} if deployment else deployments
        if not any("detect" in definition for definition in tried.values()):
            return Detected(next(iter(tried)), above_products(self._catalog, address), None, None)
        for base in _parent_addresses(address):
            for id, definition in tried.items():
                for detection in definition.get("detect", ()):
                    if self._matches_detection(base, detection):
                        version = self._detected_value(base, detection.get("version"), detection)
                        return Detected(id, base, detection.get("service"), version)
        raise self._not_recognised(address)

    def tenant_id(self, address: str, deployment: str) -> str | None:
        """The id that a gateway takes for a site; None where the deployment knows no such thing."""
        tenant = self._catalog.deployments.get(deployment).get("tenant")
        if not tenant:
            return None
        found = self._evaluate(tenant["id"], self._get_json(address, tenant["path"]))
        return str(found) if found else None

    def _matches_detection(self, base: str, detection: Detection) -> bool:
        return bool(self._evaluate(detection["when"], self._get_json(base, detection["path"])))

    def _detected_value(self, base: str, expression: str | None, detection: Detection) -> str | None:
        found = self._evaluate(expression, self._get_json(base, detection["path"])) if expression else None
        return str(found) if found else None

    def _get_json(self, base: str, path: str) -> Any:
        """The JSON at an address; None for anything else."""
        if not path.startswith("/"):
            raise DefinitionError(f"a path that an installation is known by does not start with a slash: {path!r}")
        url = base + path
        if url not in self._answers:
            reply = self._web.get(url)
            try:
                self._answers[url] = reply.json() if reply.ok else None
            except CallsheetError:
                self._answers[url] = None
        return self._answers[url]

    @staticmethod
    def _evaluate(expression: str, answer: Any) -> Any:
        try:
            return evaluate(expression, answer) if isinstance(answer, dict) else None
        except TemplateError:
            return None

    def _not_recognised(self, address: str) -> CallsheetError:
        titles = " or ".join(each["title"] for each in first_services(self._catalog).values())
        known = ", ".join(self._catalog.deployments.ids())
        return CallsheetError(
            f"{address} answers, but is not {titles}: wrong product or wrong path",
            hint=f"check the address; if it answers only after signing in, pass --deployment ({known})",
        )


def _parent_addresses(address: str) -> Iterator[str]:
    parts = urlsplit(address)
    root = f"{parts.scheme}://{parts.netloc}"
    segments = [segment for segment in parts.path.split("/") if segment]
    for length in range(len(segments), -1, -1):
        yield "/".join([root, *segments[:length]])


# What belongs to the way to a host, and is taken over from a profile that exists already.
_CONNECTION_SETTINGS = ("ca_bundle", "client_cert", "client_key", "proxy", "timeout")
_ACCESS = ("base_url", "method", "email", "store", "token_env", "token_file")


class SignInRequest(NamedTuple):
    """`service` is the one that has an address of its own; None: one address for all."""

    name: str
    base_url: str
    deployment: str
    method: str
    service: str | None = None
    email: str | None = None
    client_id: str | None = None
    scopes: tuple[str, ...] = ()
    cloud_id: str | None = None

    def connection_settings(self, way: SiteProfile) -> SiteProfile:
        """Of a site that is only this one host; `way` is the profile as it is so far."""
        own = {key: value for key, value in self._asdict().items() if value and key not in ("name", "service")}
        return cast("SiteProfile", {key: value for key, value in way.items() if key in _CONNECTION_SETTINGS} | own)

    def profile_keys(self, store: str | None, *, secret: bool = True) -> dict[str, Any]:
        """The keys of the profile, those to be taken away as None.

        `store` is where the credential is now; None leaves what was said about that, unless the method needs none.
        """
        access: dict[str, Any] = {"base_url": self.base_url, "method": self.method, "email": self.email}
        access |= {"token_env": None, "token_file": None, "store": store} if store or not secret else {}
        site: dict[str, Any] = {"deployment": self.deployment, "client_id": self.client_id, "cloud_id": self.cloud_id}
        site["scopes"] = list(self.scopes) or None
        if self.service:
            return {**site, "services": {self.service: access}}
        return {**access, **site}

    @property
    def account_name(self) -> str:
        """The name the credential is stored under."""
        return f"{self.name}/{self.service}" if self.service else self.name

    @property
    def host_origin(self) -> str:
        """The host that the credential belongs to."""
        return url_origin(self.base_url)


def candidate_site(
    wanted: SignInRequest, secret: str, way: SiteProfile, catalog: Catalog, environ: Mapping[str, str]
) -> Site:
    """The site as it would be, with its secret; nothing of it is stored anywhere."""
    variables = Variables("CANDIDATE", {"CANDIDATE_TOKEN": secret})
    return Site(ChosenSite(wanted.name, wanted.connection_settings(way), token=True), catalog, variables, environ)


# Saving a sign-in that worked: the credential first, then the profile that points to it.


def ready_store(context: Context, answers: Answers, wanted: SignInRequest) -> str | None:
    """Before a secret is asked for: whether it can be kept. Raises `CallsheetError` where it cannot.

    Where a person can be asked and there is no key store, they choose the password of an encrypted file; that is
    returned.
    """
    if not takes_secret(context.catalog.auth_methods.get(wanted.method)):
        return None
    name = chosen_name(answers.variables)
    try:
        open_store(name, answers.variables, context.environ, context.program).check()
    except CallsheetError as error:
        if name != KEYRING or isinstance(error, NotAllowed) or not answers.interactive:
            raise
        context.say(f"{error.message}: the credential can go into an encrypted file instead")
        return _new_password(context) or _raise_refusal(error)
    return None


def _raise_refusal(error: CallsheetError) -> NoReturn:
    raise error


def _new_password(context: Context) -> str:
    """A password that was typed twice, and that an encrypted file which is there already takes; empty for none."""
    while password := context.ask("Password for the encrypted file (empty: do not keep it)", default="", hidden=True):
        if password != context.ask("The same password again", hidden=True):
            context.say("the two are not the same; try again, or press Ctrl-C")
            continue
        try:
            variables, environ = _with_password(context, password)
            open_store(FILE, variables, environ, context.program).check()
        except NotAllowed as error:
            context.say(f"{error.message}; try again, or press Ctrl-C")
            continue
        return password
    return ""


def _with_password(context: Context, password: str | None) -> tuple[Variables, Mapping[str, str]]:
    prefix = context.definition["prefix"]
    if password is None:
        return Variables(prefix, context.environ), context.environ
    environ = {**context.environ, f"{prefix}_KEYRING_PASSWORD": password}
    return Variables(prefix, environ), environ


def save_sign_in(
    context: Context,
    wanted: SignInRequest,
    record: CredentialRecord | None,
    extra: SiteProfile,
    password: str | None = None,
) -> str | None:
    """Returns the store's name; without a `record` there is only a profile. `extra` are further keys of the site.

    `password` is that of the encrypted file, where a person chose one.
    When the profile cannot be written the credential is taken back, so that nothing is left behind.
    """
    if record is None:
        _write_profile(context, wanted, None, extra)
        return None
    variables, environ = _with_password(context, password)
    store = open_store(chosen_name(variables), variables, environ, context.program)
    previous = store.get(wanted.account_name)
    others = other_hosts(context, wanted)
    bound: CredentialRecord = {**record, "origin": wanted.host_origin}
    if others:
        bound["hosts"] = others
    store.put(wanted.account_name, bound)
    try:
        _write_profile(context, wanted, store.name, extra)
    except BaseException:
        with contextlib.suppress(CallsheetError):
            _restore_credential(store, wanted.account_name, previous)
        raise
    return store.name


def other_hosts(context: Context, wanted: SignInRequest) -> list[str]:
    """The origins besides the site's own that this sign-in was made with; no others will get the credential."""
    site = candidate_site(wanted, "", {}, context.catalog, context.environ)
    hosts = {host for service in context.catalog.services.ids() for host in site.hosts_of(service)}
    return sorted(hosts - {wanted.host_origin})


def _restore_credential(store: Store, account: str, previous: CredentialRecord | None) -> None:
    if previous is None:
        store.delete(account)
    else:
        store.put(account, previous)


def _write_profile(context: Context, wanted: SignInRequest, store: str | None, extra: SiteProfile) -> None:
    secret = takes_secret(context.catalog.auth_methods.get(wanted.method))
    with edit_profiles(context.catalog, context.environ) as document:
        put_site(document, wanted.name, {**wanted.profile_keys(store, secret=secret), **extra})
        put_setting(document, ("site",), wanted.name)
