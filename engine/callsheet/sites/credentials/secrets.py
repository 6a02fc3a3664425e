"""Where a site's secret for one of its services is, and reading it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, cast

from ...errors import NotAllowed
from ...files import read_private
from ...paths import settings_directory
from ...urls import url_origin
from ..profiles.choose import USUAL, Variables
from ..profiles.limits import PLACES
from .schemes import Secret
from .stores import FILE, KEYRING, Store, chosen_name, open_store

if TYPE_CHECKING:
    from ..profiles.validate import Access, SiteProfile
    from .record import CredentialRecord


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

    def find(self, service: str, hosts: Iterable[str], renew: Callable[[CredentialRecord], CredentialRecord]) -> Secret:
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
            path = absolute(access["token_file"], self._environ, self._program)
            return Secret(read_private(path, "the token file").decode("utf-8", "replace"), path)
        if "store" in access:
            return self._from_store(service, access, hosts, renew)
        raise self._missing(service)

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

    def store(self, service: str) -> Store:
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
        store = self.store(service)
        name = account_of_secret(self._name, self._settings, service)
        record = store.get(name)
        if record is None:
            raise self._not_stored(store, access["store"], name)
        self._check_host_binding(record, url_origin(access.get("base_url", "")), hosts)
        place = f"the credential of {name!r}"
        if "access_token" not in record:
            return Secret(str(record.get("token", "")), place)
        from .renew import expiry, valid_record

        record = valid_record(store, name, record, renew, settings_directory(self._environ, self._program))
        return Secret(record["access_token"], place, expiry(record))

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

    def _missing(self, service: str) -> NotAllowed:
        if self._name == USUAL:
            return NotAllowed("not signed in", hint="run `{program} init`")
        what = f"{self._name}/{service}" if has_own_access(self._settings, service) else self._name
        hint = f"sign in: {{program}} auth login --site {self._name}; or name a token_env or token_file in its profile"
        if not self._variables.get("TOKEN") and self._variables.get("BASE_URL"):
            hint = f"set {self._variables.name('EMAIL')} and {self._variables.name('TOKEN')}"
        return NotAllowed(f"no credential for site {what!r}", hint=hint)


def absolute(path: str, environ: Mapping[str, str], program: str) -> str:
    """A path of the profiles file: `~` is the home directory, others are relative to that file's directory."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = (environ.get("HOME") or os.path.expanduser("~")) + path[1:]
    return os.path.join(settings_directory(environ, program), path)
