"""Where a site's secret for one of its services is kept, reading and renewing it, and how it is put into a request.

The encrypted file is used when its password is at hand, or when it is asked for; otherwise the operating system's key
store. What sign-in chose stands in the profile (`store`) and is read from there until the environment forces another
choice.

Servers that rotate refresh tokens accept each only once, so renewal happens under a lock: the first process renews and
keeps the result, the others find it when their turn comes.
"""

from __future__ import annotations

import binascii
import os
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from ...errors import CallsheetError, NotAllowed, UsageError, did_you_mean
from ...files import locked_file, read_private
from ...paths import APPLICATION, HOME, config_directory, settings_directory
from ...registry import AUTH_SCHEMES, resolve_entry
from ...urls import url_origin
from ..profiles import PLACES
from ..profiles.choose import USUAL, Variables

if TYPE_CHECKING:
    from ...language.shape.access import (
        AuthDefinition,
        AuthPart,
        BearerAuth,
        Consent,
        ConsentAuth,
        KeyAuth,
        SeveralAuth,
    )
    from ..profiles.validate import Access, SiteProfile
    from . import CredentialRecord


FILE = "file"
KEYRING = "keyring"


class Store(Protocol):
    """Records by account. Each method raises `CallsheetError` that says what to do."""

    name: str

    def check(self) -> str: ...
    def get(self, account: str) -> CredentialRecord | None: ...
    def put(self, account: str, record: CredentialRecord) -> None: ...
    def delete(self, account: str) -> bool: ...


def chosen_name(variables: Variables, recorded: str | None = None) -> str:
    """`recorded` is the store that a profile names."""
    forced = variables.get("KEYRING_BACKEND")
    if forced and forced not in (FILE, KEYRING):
        name = variables.name("KEYRING_BACKEND")
        near = did_you_mean(forced, (FILE, KEYRING))
        raise UsageError(f"{name}: unknown store {forced!r}{near} (one of: {FILE}, {KEYRING})")
    if forced or recorded:
        return forced or str(recorded)
    has_password = variables.get("KEYRING_PASSWORD") or variables.get("KEYRING_PASSWORD_FILE")
    return FILE if has_password else KEYRING


def open_store(name: str, variables: Variables, environ: Mapping[str, str], program: str) -> Store:
    if name == FILE:
        from .encrypted import EncryptedFile

        return EncryptedFile(
            settings_directory(environ, program), _store_password(variables), variables.name("KEYRING_PASSWORD")
        )
    from .keychain import Keychain

    return Keychain(service_name(environ, program), variables.name("KEYRING_PASSWORD"))


def service_name(environ: Mapping[str, str], program: str) -> str:
    """What entries of the key store are filed under; another directory of settings is another set of sites."""
    directory = settings_directory(environ, program)
    own = environ.get(HOME) or directory != config_directory(environ)
    return f"{APPLICATION}:{directory}" if own else APPLICATION


def _store_password(variables: Variables) -> str:
    if variables.get("KEYRING_PASSWORD"):
        return variables.get("KEYRING_PASSWORD")
    file = variables.get("KEYRING_PASSWORD_FILE")
    if not file:
        names = f"{variables.name('KEYRING_PASSWORD')} or {variables.name('KEYRING_PASSWORD_FILE')}"
        raise NotAllowed("the encrypted file needs its password", hint=f"set {names}")
    password = read_private(file, "the password file").decode("utf-8", "replace").strip()
    if not password:
        raise CallsheetError(f"the password file {file} is empty")
    return password


_MARGIN = 60.0
_LOCK_TIMEOUT = 150.0


def valid_record(
    store: Store,
    account: str,
    record: CredentialRecord,
    renew: Callable[[CredentialRecord], CredentialRecord],
    directory: str,
) -> CredentialRecord:
    """`record` or its renewed successor. `renew` asks the server; `directory` is where the lock lies."""
    if _is_valid(record):
        return record
    with locked_file(os.path.join(directory, f"renewal-{account.replace('/', '_')}"), _LOCK_TIMEOUT):
        latest = store.get(account) or record
        if _is_valid(latest):
            return latest
        if not (latest.get("refresh_token") or latest.get("grant")):
            raise NotAllowed(
                "the access token has expired and cannot be renewed", hint="sign in again with `auth login`"
            )
        fresh: CredentialRecord = {**latest, **_renew_record(latest, renew)}
        store.put(account, fresh)
        return fresh


def _renew_record(latest: CredentialRecord, renew: Callable[[CredentialRecord], CredentialRecord]) -> CredentialRecord:
    try:
        return renew(latest)
    except NotAllowed as error:
        raise NotAllowed(
            f"the access token could not be renewed: {error.message}", hint="sign in again with `auth login`"
        ) from None
    except CallsheetError as error:
        raise type(error)(f"the access token could not be renewed: {error.message}", hint=error.hint) from None


def _is_valid(record: CredentialRecord) -> bool:
    return usable_until(record) > time.time()


def usable_until(record: CredentialRecord) -> float:
    """When a token should no longer be used: a little before the server refuses it."""
    return float(record.get("expires_at", 0)) - _MARGIN


_HEADER = "Authorization"
_QUERY, _BODY = attrgetter("query"), attrgetter("body")


class Secret(NamedTuple):
    """A secret, where it is from (to word errors), when it ends (seconds since the epoch), where its user is said."""

    text: str
    place: str
    expires_at: float = inf
    user: str = "`email` of the profile"

    def __repr__(self) -> str:
        return f"Secret(..., {self.place!r})"


SecretLookup = Callable[[], Secret]


class Credential:
    """What is sent with a request: headers, pairs of the query, members of the body.

    `secrets` is every text that must not be shown.
    """

    __slots__ = ("body", "expires_at", "headers", "query", "secrets")

    def __init__(
        self,
        headers: Mapping[str, str],
        secrets: tuple[str, ...],
        expires_at: float = inf,
        query: tuple[tuple[str, str], ...] = (),
        body: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.headers = dict(headers)
        self.query = query
        self.body = body
        self.secrets = secrets
        self.expires_at = expires_at

    def __repr__(self) -> str:
        return "Credential(...)"


Present = Callable[[Any, "Access", SecretLookup], Credential]


class Scheme(NamedTuple):
    """`present` makes a credential of an auth definition, a site's settings and its secret.

    `shape` is that of the definition, or where it is found, since shapes load pydantic. Sign-in asks for what the rest
    says.
    """

    present: Present
    shape: Any = ".language.shape.access:AuthDefinition"
    takes_user: bool = False
    takes_secret: bool = True
    by_consent: bool = False  # the secret is what an authorization server grants


def scheme_named(name: str) -> Scheme:
    return cast("Scheme", resolve_entry(AUTH_SCHEMES[name]))


def is_typed(auth: AuthDefinition) -> bool:
    """Whether a person types the secret, rather than granting it in a browser."""
    how = scheme_named(auth["scheme"])
    return how.takes_secret and not how.by_consent


def takes_secret(auth: AuthDefinition) -> bool:
    """Whether a way of signing in (a definition) presents a secret at all."""
    return scheme_named(auth["scheme"]).takes_secret


def consent_of(auth: AuthDefinition) -> Consent | None:
    """The authorization server that grants the secret, where the scheme has one."""
    return cast("ConsentAuth", auth).get("oauth")


def basic_scheme(auth: AuthDefinition | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del auth
    found = find()
    secret = strip_pasted(found.text, found.place)
    user = access.get("email")
    if not user:
        raise NotAllowed("this way of signing in needs an e-mail address or user name", hint=f"set {found.user}")
    if ":" in user:
        raise NotAllowed(
            f"{user!r} is not an e-mail address or user name: it contains a colon", hint=f"set {found.user}"
        )
    pair = binascii.b2a_base64(f"{user}:{secret}".encode(), newline=False).decode()
    return Credential({_HEADER: f"Basic {pair}"}, (pair, secret))


def bearer_scheme(auth: BearerAuth | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del access
    found = find()
    token = clean_token(found.text, found.place)
    return Credential({_HEADER: auth.get("prefix", "Bearer ") + token}, (token,), found.expires_at)


def key_scheme(auth: KeyAuth | AuthPart, access: Access, find: SecretLookup) -> Credential:
    """A key as it is, in a header, the query, a cookie or the body."""
    del access
    found = find()
    text = clean_token(found.text, found.place)
    if "query" in auth or "body" in auth:
        query, body = ([(auth[key], text)] if key in auth else [] for key in ("query", "body"))
        return Credential({}, (text,), query=(*query,), body=(*body,))
    if "cookie" in auth:
        if any(character in text for character in '",;\\'):
            raise NotAllowed(f"{found.place} contains characters that are not allowed in a cookie")
        return Credential({"Cookie": f"{auth['cookie']}={text}"}, (text,))
    return Credential({auth["header"]: auth.get("prefix", "") + text}, (text,))


def combined_scheme(auth: SeveralAuth, access: Access, find: SecretLookup) -> Credential:
    """Each part presents its own line of the secret."""
    found = find()
    lines, parts = found.text.strip().splitlines(), auth["parts"]
    if len(lines) != len(parts):
        raise NotAllowed(
            f"{found.place} has {len(lines)} line{'s'[: len(lines) != 1]}, expected {len(parts)}: one for each secret"
        )
    made = [
        scheme_named(part["scheme"]).present(part, access, partial(found._replace, text=line))
        for part, line in zip(parts, lines, strict=True)
    ]
    headers = {name: text for each in made for name, text in each.headers.items()}
    cookies = [each.headers["Cookie"] for each in made if "Cookie" in each.headers]
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    secrets = tuple(text for each in made for text in each.secrets)
    query, body = (tuple(pair for each in made for pair in part(each)) for part in (_QUERY, _BODY))
    return Credential(headers, secrets, found.expires_at, query, body)


def no_scheme(auth: AuthDefinition | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del auth, access, find
    return Credential({}, ())


BASIC = Scheme(basic_scheme, takes_user=True)
BEARER = Scheme(bearer_scheme, ".language.shape.access:BearerAuth")
KEY = Scheme(key_scheme, ".language.shape.access:KeyAuth")
ALL = Scheme(combined_scheme, ".language.shape.access:SeveralAuth")
OAUTH2 = Scheme(bearer_scheme, ".language.shape.access:ConsentAuth", by_consent=True)
NONE = Scheme(no_scheme, takes_secret=False)


def strip_pasted(secret: str, where: str) -> str:
    """A secret without the blanks and line ends that pasting leaves around it; raises `NotAllowed`."""
    secret = secret.strip()
    if not secret:
        raise NotAllowed(f"{where} is empty")
    if not secret.isprintable():
        raise NotAllowed(f"{where} contains a line break or control character")
    return secret


def clean_token(secret: str, where: str) -> str:
    """The same for a secret that stands in a header as it is."""
    secret = strip_pasted(secret, where)
    if not secret.isascii() or " " in secret:
        raise NotAllowed(f"{where} contains characters that are not allowed in a token")
    return secret


def has_own_access(settings: SiteProfile, service: str) -> bool:
    """Whether a service of the site has a credential of its own.

    It says so, signs in by another method (an API token is no personal access token), or is on another host.
    """
    own: Access = settings.get("services", {}).get(service, {})
    if any(place in own for place in PLACES):
        return True
    if "method" in own and own["method"] != settings.get("method", own["method"]):
        return True
    site: str = settings.get("base_url", "")
    return bool(site) and "base_url" in own and url_origin(site) != url_origin(own["base_url"])


def access_to(settings: SiteProfile, service: str) -> SiteProfile:
    """The site's settings as they hold for one service."""
    own: Access = settings.get("services", {}).get(service, {})
    if has_own_access(settings, service):
        settings = cast("SiteProfile", {key: value for key, value in settings.items() if key not in PLACES})
    return {**settings, **own}


def account_of_secret(name: str, settings: SiteProfile, service: str) -> str:
    """The name under which a store keeps the secret."""
    return f"{name}/{service}" if has_own_access(settings, service) else name


class Secrets:
    """Reads the secrets of one site."""

    __slots__ = ("_environ", "_name", "_program", "_settings", "_token", "_variables")

    def __init__(
        self,
        name: str,
        settings: SiteProfile,
        variables: Variables,
        environ: Mapping[str, str],
        *,
        program: str,
        token: bool,
    ) -> None:
        self._name = name
        self._settings = settings
        self._variables = variables
        self._environ = environ
        self._program = program
        self._token = token

    def find_secret(
        self, service: str, hosts: Iterable[str], renew: Callable[[CredentialRecord], CredentialRecord]
    ) -> Secret:
        """A service's secret; raises `NotAllowed` when there is none.

        `hosts` are the origins that will see it: the service's own or its gateway's, and the authorization server's.
        `renew` asks for a new access token in exchange for a record whose token has ended.
        """
        access = access_to(self._settings, service)
        if self._token and not has_own_access(self._settings, service):
            name = self._variables.name
            return Secret(self._variables.get("TOKEN"), name("TOKEN"), user=name("EMAIL"))
        if "token_env" in access:
            return self._from_variable(access["token_env"])
        if "token_file" in access:
            path = absolute_path(access["token_file"], self._environ, self._program)
            return Secret(read_private(path, "the token file").decode("utf-8", "replace"), path)
        if "store" in access:
            return self._from_store(service, access, hosts, renew)
        raise self._missing_secret(service)

    def place_of_secret(self, service: str) -> str:
        """Where the secret is looked for, in words that hold no secret."""
        access = access_to(self._settings, service)
        if self._token and not has_own_access(self._settings, service):
            return self._variables.name("TOKEN")
        if "store" in access:
            return {FILE: "encrypted file", KEYRING: "key store"}[self.store_name(service)]
        return str(access.get("token_env") or access.get("token_file") or "none")

    def store_name(self, service: str) -> str:
        return chosen_name(self._variables, access_to(self._settings, service).get("store"))

    def store_of(self, service: str) -> Store:
        """Where the service's secret is, or would be, kept."""
        return open_store(self.store_name(service), self._variables, self._environ, self._program)

    def _from_variable(self, variable: str) -> Secret:
        value = self._environ.get(variable)
        if not value:
            raise NotAllowed(f"site {self._name!r} takes its token from {variable}, which is not set")
        return Secret(value, variable)

    def _from_store(
        self,
        service: str,
        access: SiteProfile,
        hosts: Iterable[str],
        renew: Callable[[CredentialRecord], CredentialRecord],
    ) -> Secret:
        store = self.store_of(service)
        name = account_of_secret(self._name, self._settings, service)
        record = store.get(name)
        if record is None:
            raise self._not_stored(store, access["store"], name)
        self._check_host_binding(record, url_origin(access.get("base_url", "")), hosts)
        place = f"the credential of {name!r}"
        if "access_token" not in record:
            return Secret(str(record.get("token", "")), place)

        record = valid_record(store, name, record, renew, settings_directory(self._environ, self._program))
        return Secret(record["access_token"], place, usable_until(record))

    def _check_host_binding(self, record: CredentialRecord, address: str, hosts: Iterable[str]) -> None:
        """The record names the hosts it was given for; no profile and no definition can add one."""
        kept_for = record.get("origin")
        known = (kept_for, *record.get("hosts", ()))
        unknown = [address] if address != kept_for else [host for host in hosts if host not in known]
        if unknown:
            raise NotAllowed(
                f"the credential of site {self._name!r} was given for {kept_for}, not for {unknown[0]}",
                hint=f"sign in again: {{program}} auth login --site {self._name}",
            )

    def _not_stored(self, store: Store, recorded: str, name: str) -> NotAllowed:
        if store.name == recorded:
            hint = f"sign in: {{program}} auth login --site {self._name}"
            return NotAllowed(f"no credential for site {name!r}", hint=hint)
        forced = self._variables.name("KEYRING_BACKEND")
        where = "the encrypted file" if recorded == FILE else "the key store"
        return NotAllowed(
            f"no credential for site {name!r} in the store that {forced} selects; it is in {where}",
            hint=f"unset {forced}, or sign in again: {{program}} auth login --site {self._name}",
        )

    def _missing_secret(self, service: str) -> NotAllowed:
        if self._name == USUAL:
            return NotAllowed("not signed in", hint="run `{program} init`")
        what = f"{self._name}/{service}" if has_own_access(self._settings, service) else self._name
        hint = f"sign in: {{program}} auth login --site {self._name}; or name a token_env or token_file in its profile"
        if not self._variables.get("TOKEN") and self._variables.get("BASE_URL"):
            hint = f"set {self._variables.name('EMAIL')} and {self._variables.name('TOKEN')}"
        return NotAllowed(f"no credential for site {what!r}", hint=hint)


def absolute_path(path: str, environ: Mapping[str, str], program: str) -> str:
    """A path of the profiles file: `~` is the home directory, others are relative to that file's directory."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = (environ.get("HOME") or os.path.expanduser("~")) + path[1:]
    return os.path.join(settings_directory(environ, program), path)
