"""Which site a command talks to: options, then the environment, then the profiles file."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit
from zlib import crc32

from ... import __version__
from ...catalog.catalog import Catalog
from ...errors import CallsheetError, UsageError, did_you_mean
from ...files import changeable_by_others, open_regular, refuse_changeable, write_atomically
from ...paths import cache_directory, settings_directory
from ...urls import base_url, url_origin
from . import LONGEST

if TYPE_CHECKING:
    from .validate import Profiles, SiteProfile


# Which site a command talks to: options, then the environment, then the profiles file.
#
# A credential only ever goes to the host it was given for. A site named by `--site` therefore takes nothing from the
# environment, and an address from elsewhere never meets a stored credential of another host.


ENVIRONMENT = "environment"
USUAL = "as documented"  # before there is a site: no file can have one of this name
_OPTION = "--base-url"
_IDENTITY = ("email", "method", "cloud_id")


class Variables:
    """The environment variables of one program, asked for by what follows the prefix."""

    __slots__ = ("_environ", "_prefix")

    def __init__(self, prefix: str, environ: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._environ = environ

    def name(self, word: str) -> str:
        return f"{self._prefix}_{word}"

    def get(self, word: str) -> str:
        return self._environ.get(self.name(word), "").strip()


class ChosenSite(NamedTuple):
    """A site's name and settings; `token` is true when its credential is the environment's.

    `ruled_by` are the sites of the file whose policies hold besides its own, since they are at the same address.
    """

    name: str
    settings: SiteProfile
    token: bool
    ruled_by: Mapping[str, SiteProfile] = {}


ReadProfiles = Callable[[], "Profiles"]


def choose_site(
    options: Mapping[str, Any],
    variables: Variables,
    profiles: ReadProfiles,
    public: Callable[[str], bool],
    usual: Callable[[], str] = str,
) -> ChosenSite:
    """Raises `UsageError`. `profiles` is only called when the file matters.

    `public` tells of the name of a method whether it presents no secret, `usual` where the service is documented.
    """
    named, address = options.get("site"), options.get("base-url")
    for name in ("site", "base-url"):
        if options.get(name) == "":  # another site than the one that was meant would be taken
            raise UsageError(f"--{name} is empty", hint="is the variable set that it comes from?")
    if named:
        settings = site_settings(profiles(), named)
        return ChosenSite(named, _at_path(named, settings, address) if address else settings, token=False)
    if address or variables.get("BASE_URL"):
        return _choose_address(address, variables, profiles, public)
    active = variables.get("SITE") or profiles().get("site")
    if not active:
        return _choose_usual(usual(), variables, profiles())
    settings = site_settings(profiles(), active)
    return ChosenSite(active, _with_environment(settings, variables), token=bool(variables.get("TOKEN")))


def _choose_usual(address: str, variables: Variables, profiles: Profiles) -> ChosenSite:
    """The documented address, without a credential: a token only goes where a person said that it goes."""
    if address and not variables.get("TOKEN") and not profiles.get("sites"):
        return ChosenSite(USUAL, _from_environment(address, variables), token=False)
    name = " and ".join(variables.name(word) for word in ("BASE_URL", "EMAIL", "TOKEN"))
    hint = f"run `{{program}} init`, or `{{program}} config use NAME`, or set {name}"
    if address and variables.get("TOKEN"):
        hint = f"set {variables.name('BASE_URL')}={address} too: a token only goes where you say that it goes"
    raise UsageError("no site selected", hint=hint)


def rate_options(options: Mapping[str, Any]) -> SiteProfile:
    """The options that say how fast and how patiently a site is asked; raises `UsageError`."""
    given = {key: options[key] for key in ("rps", "timeout") if options.get(key) is not None}
    for key, number in given.items():
        if not 0 < number <= LONGEST:
            raise UsageError(f"--{key} expects a number above 0, at most {LONGEST}, not {number:g}")
    return cast("SiteProfile", given)


def site_settings(profiles: Profiles, name: str) -> SiteProfile:
    """The settings of one site of the file; raises `UsageError` that names the closest match."""
    sites = profiles.get("sites", {})
    if name not in sites:
        near = did_you_mean(name, sites)
        known = f" (known: {', '.join(sites)})" if sites else ""
        raise UsageError(f"unknown site {name!r}{near}{known}", hint="add one with `{program} init`")
    return sites[name].copy()


def _choose_address(
    option: str | None, variables: Variables, profiles: ReadProfiles, public: Callable[[str], bool]
) -> ChosenSite:
    """The environment's credential, or that of the site in use when it lives at this very address.

    A variable that names a site decides as the option does: the site's settings hold (`read_only` for one), and its
    host is the only one. Without it the environment's address and token are enough. What sites of the file forbid there
    still holds.
    """
    where = _OPTION if option else variables.name("BASE_URL")
    address = base_url(option or variables.get("BASE_URL"), where)
    here = ChosenSite(ENVIRONMENT, _from_environment(address, variables), token=bool(variables.get("TOKEN")))
    named = variables.get("SITE")
    if here.token:
        refuse_other_host(address, where, variables)
    here = here._replace(ruled_by=_sites_at(profiles(), here.settings))
    if not named and (public(here.settings.get("method", "")) or (here.token and variables.get("BASE_URL"))):
        return here
    active = named or profiles().get("site")
    if not active:
        return here
    settings = site_settings(profiles(), active)
    if option or named or _is_at(settings, address):
        moved = _at_path(active, settings, address, where)
        return ChosenSite(active, _with_environment(moved, variables), token=here.token)
    return here


def refuse_other_host(address: str, where: str, variables: Variables) -> None:
    """The environment's credential belongs to the environment's address, where it names one; raises `UsageError`."""
    own = variables.get("BASE_URL")
    if own and url_origin(address) != url_origin(base_url(own, variables.name("BASE_URL"))):
        raise UsageError(
            f"{where} {address} is not the host of {variables.name('BASE_URL')}",
            hint=f"{variables.name('TOKEN')} belongs to {own} and is not sent elsewhere",
        )


def _from_environment(address: str, variables: Variables) -> SiteProfile:
    return {"base_url": address, **_profile_from_variables(variables, (*_IDENTITY, "deployment"))}


def _profile_from_variables(variables: Variables, keys: Iterable[str]) -> SiteProfile:
    values = {key: variables.get(key.upper()) for key in keys}
    return cast("SiteProfile", {key: value for key, value in values.items() if value})


def _with_environment(settings: SiteProfile, variables: Variables) -> SiteProfile:
    keys = ("deployment", *_IDENTITY) if variables.get("TOKEN") else ("deployment",)
    return {**settings, **_profile_from_variables(variables, keys)}


def _at_path(name: str, settings: SiteProfile, address: str, where: str = _OPTION) -> SiteProfile:
    """A site's settings at another path of its own host."""
    if not _is_at(settings, base_url(address, where)):
        raise UsageError(
            f"{where} {address} is not the host of site {name!r} ({settings.get('base_url', 'several hosts')})",
            hint="a site's credential is only sent to its own host",
        )
    return {**settings, "base_url": base_url(address, where)}


def _sites_at(profiles: Profiles, here: SiteProfile) -> dict[str, SiteProfile]:
    """The sites with a service at this address, or behind the same gateway."""
    address = here.get("base_url", "")
    ids = {*urlsplit(address).path.split("/"), here.get("cloud_id")} - {"", None}
    return {
        name: settings
        for name, settings in profiles.get("sites", {}).items()
        for accesses in [[settings, *settings.get("services", {}).values()]]
        if any(
            url_origin(access.get("base_url", "")) == url_origin(address) or access.get("cloud_id") in ids
            for access in accesses
        )
    }


def _is_at(settings: SiteProfile, address: str) -> bool:
    own: str = settings.get("base_url", "")
    services = settings.get("services", {}).values()
    return (
        bool(own) and url_origin(own) == url_origin(address) and not any("base_url" in service for service in services)
    )


# The checked content of the profiles file.
#
# Checking loads libraries that cost more than all else a command does before it sends anything, so the result is
# kept for as long as the file does not change. It holds no credential: the check refuses a file with one.


FILE = "profiles.toml"
_FORMAT = 1


def profiles_path(environ: Mapping[str, str], program: str) -> str:
    return os.path.join(settings_directory(environ, program), FILE)


def read_profiles(catalog: Catalog, environ: Mapping[str, str]) -> Profiles:
    """`{"site": active, "sites": {name: settings}}`, both keys optional; empty when there is no file.

    Raises `UsageError` when the file is broken, `NotAllowed` when others could have written it.
    """
    path = profiles_path(environ, catalog.program)
    try:
        status = os.stat(path)
    except OSError:
        return {}
    refuse_changeable(path, "the profiles file")
    key = [_FORMAT, __version__, path, status.st_size, status.st_mtime_ns, status.st_ino]
    cache = os.path.join(cache_directory(environ), f"profiles-{crc32(path.encode()):08x}.json")
    found = _cached_profiles(cache, key)
    if found is None:
        found = _checked_profiles(path, catalog)
        with contextlib.suppress(CallsheetError):
            write_atomically(cache, json.dumps({"key": key, "profiles": found}).encode(), follow=False)
    return found


def site_names(catalog: Catalog, environ: Mapping[str, str]) -> list[str]:
    """For completion: a broken file completes nothing."""
    try:
        return list(read_profiles(catalog, environ).get("sites", {}))
    except CallsheetError:
        return []


def _cached_profiles(cache: str, key: list[Any]) -> Profiles | None:
    if changeable_by_others(cache) is not None:  # somebody else may have written it
        return None
    try:
        with open_regular(cache) as file:
            kept = json.load(file)
        found: Profiles | None = kept["profiles"] if kept["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found


def _checked_profiles(path: str, catalog: Catalog) -> Profiles:
    from .validate import check_file

    return check_file(path, known_words(catalog))


def known_words(catalog: Catalog) -> dict[str, list[str]]:
    """The ids that the file may mention, by kind of definition."""
    return {kind: catalog.ids(kind) for kind in ("deployment", "auth", "service")}
