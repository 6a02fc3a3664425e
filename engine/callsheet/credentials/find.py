"""Where a site's secret for one of its services is, and reading it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..address import origin
from ..errors import NotAllowed
from ..files import read_private
from ..paths import config_directory
from ..profiles.choose import PLACES, Variables


def own_access(settings: Mapping[str, Any], service: str) -> bool:
    """Whether a service of the site has a credential of its own: it says so, or it is on another host."""
    own: Mapping[str, Any] = settings.get("services", {}).get(service, {})
    if any(place in own for place in PLACES):
        return True
    site: str = settings.get("base_url", "")
    return bool(site) and "base_url" in own and origin(site) != origin(own["base_url"])


def access_to(settings: Mapping[str, Any], service: str) -> dict[str, Any]:
    """The keys of `Access` as they hold for one service."""
    own: dict[str, Any] = settings.get("services", {}).get(service, {})
    inherited = dict(settings)
    if own_access(settings, service):
        inherited = {key: value for key, value in settings.items() if key not in PLACES}
    return {**inherited, **own}


def account(name: str, settings: Mapping[str, Any], service: str) -> str:
    """The name under which a store keeps the secret."""
    return f"{name}/{service}" if own_access(settings, service) else name


class Secrets:
    """Reads the secrets of one site."""

    __slots__ = ("_environ", "_name", "_settings", "_token", "_variables")

    def __init__(
        self, name: str, settings: Mapping[str, Any], variables: Variables, environ: Mapping[str, str], *, token: bool
    ) -> None:
        self._name = name
        self._settings = settings
        self._variables = variables
        self._environ = environ
        self._token = token

    def find(self, service: str) -> tuple[str, str]:
        """The secret and the place it is from, to word errors with; raises `NotAllowed` when there is none."""
        access = access_to(self._settings, service)
        if self._token and not own_access(self._settings, service):
            return self._variables.get("TOKEN"), self._variables.name("TOKEN")
        if "token_env" in access:
            return self._from_variable(access["token_env"])
        if "token_file" in access:
            return self._from_file(access["token_file"])
        raise self.missing(service)

    def _from_variable(self, variable: str) -> tuple[str, str]:
        value = self._environ.get(variable)
        if not value:
            raise NotAllowed(f"site {self._name!r} takes its token from {variable}, which is not set")
        return value, variable

    def _from_file(self, file: str) -> tuple[str, str]:
        path = absolute(file, self._environ)
        return read_private(path, "the token file").decode("utf-8", "replace"), path

    def missing(self, service: str) -> NotAllowed:
        what = f"{self._name}/{service}" if own_access(self._settings, service) else self._name
        hint = f"run `auth login --site {self._name}`, or name a token_env or token_file in its profile"
        if not self._variables.get("TOKEN") and self._variables.get("BASE_URL"):
            hint = f"set {self._variables.name('EMAIL')} and {self._variables.name('TOKEN')}"
        return NotAllowed(f"no credential for site {what!r}", hint=hint)


def absolute(path: str, environ: Mapping[str, str]) -> str:
    """A path of the profiles file: `~` is the home directory, others are relative to that file's directory."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = (environ.get("HOME") or os.path.expanduser("~")) + path[1:]
    return os.path.join(config_directory(environ), path)
