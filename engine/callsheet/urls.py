"""Addresses of sites and of this machine: which are valid, and when two of them are the same place."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import SplitResult, urlsplit

from .errors import UsageError
from .patterns import lazy_pattern

# Addresses of sites: which are valid, and when two of them are the same place.


# What a site may be called.
SITE_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
_DEFAULT_PORTS = {"http": 80, "https": 443}


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine (`0.0.0.0` does not).

    For a name that is what it should mean: where one really leads is looked at when it is connected to.
    """
    host = host.lower().rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    from ipaddress import ip_address

    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


# What others can read wherever an address is written down: in lists of processes, files, histories and logs.
LOGIN_PROBLEM = "a URL must not hold a user name or password"
# Also where a password has a slash in it that should have been encoded: what follows a colon is no port then.
_LOGIN = lazy_pattern(r"[^/?#]*@|[^/?#:@\[]*:[^/?#@]*[^\d/?#@][^@]*@")


def holds_login(text: str, *, names_user: bool = True) -> bool:
    """Whether an address has something before its host. `names_user`: also where that is a user without a password.

    One whose scheme was forgotten holds it too: what is said of it must not repeat the password.
    """
    found = _LOGIN.match(text.partition("://")[2] or text.removeprefix("//"))
    return found is not None and (names_user or ":" in found[0])


def refuse_login(text: str, where: str, hint: str) -> None:
    """Raises `UsageError`, which does not repeat the address. `hint` says where the secret goes."""
    if holds_login(text):
        raise UsageError(f"{where}: {LOGIN_PROBLEM}", hint=hint)


SITE_LOGIN = "`{program} init` asks for credentials and keeps them"


def base_url(text: str, where: str = "base URL") -> str:
    """The address of a site without a trailing slash, its context path kept; raises `UsageError`."""
    refuse_login(text, where, SITE_LOGIN)
    problem = base_url_problem(text)
    if problem:
        raise UsageError(f"{where}: {problem}", hint="expected something like https://example.org or https://host/path")
    return text.strip().rstrip("/")


def base_url_problem(text: str) -> str | None:
    """Why `text` cannot be the address of a site, or None."""
    if holds_login(text):
        return LOGIN_PROBLEM
    try:
        parts = urlsplit(text.strip())
        port_is_wrong = parts.port == 0
    except ValueError as error:
        return f"not a URL: {error}"
    shown = repr(text)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port_is_wrong or _has_odd_characters(text):
        return f"{shown} is not an http(s) URL"
    if not is_host(parts.hostname):
        return f"{shown}: {parts.hostname!r} cannot be the name of a host"
    if parts.query or parts.fragment:
        return f"{shown} has a query or fragment"
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        return f"{shown} would send the credential unencrypted; http is only for this machine"
    return None


def proxy_problem(text: str) -> str | None:
    """Why `text` cannot be a proxy that is written down, or None."""
    if holds_login(text):
        return f"{LOGIN_PROBLEM}; give this proxy in HTTPS_PROXY"
    try:
        parts = urlsplit(text)
        wrong = parts.scheme not in ("http", "https", "socks5", "socks5h") or parts.port == 0
        wrong = wrong or not parts.hostname or not is_host(parts.hostname)
    except ValueError as error:
        return f"not a URL: {error}"
    return "expected a URL like http://proxy.example.org:3128" if wrong else None


_LABEL = lazy_pattern(r"[A-Za-z0-9_-]{1,63}")
_LONGEST_HOST = 253


def is_host(name: str) -> bool:
    """Whether a name server can be asked for it, or it is an IPv6 address."""
    if ":" in name:
        return True  # what is in brackets has been looked at by whoever split the URL
    if not name.isascii() or "xn--" in name.lower():
        import idna

        try:
            name = idna.encode(idna.decode(name) if name.isascii() else name).decode("ascii")
        except idna.IDNAError:
            return False
    name = name.removesuffix(".")
    return len(name) <= _LONGEST_HOST and all(_LABEL.fullmatch(label) for label in name.split("."))


def _has_odd_characters(text: str) -> bool:
    return any(character.isspace() or not character.isprintable() or character == "\\" for character in text.strip())


@lru_cache(maxsize=512)
def url_origin(url: str) -> str:
    """Scheme, host and port in one form: what must be equal for a credential to be sent.

    Raises `UsageError` where there is no reading a host and port out of it, or nothing can be called like the host.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not a valid address: {str(error).lower()}") from None
    if parts.hostname and not is_host(parts.hostname):
        raise UsageError(f"{url!r} is not a valid address: {parts.hostname!r} cannot be the name of a host")
    scheme = parts.scheme.lower()
    return f"{scheme}://{_host_of(parts)}:{_DEFAULT_PORTS.get(scheme, 0) if port is None else port}"


def _host_of(parts: SplitResult) -> str:
    host = (parts.hostname or "").lower().rstrip(".")
    return f"[{host}]" if ":" in host else host


# Whether a request over HTTP means this machine: servers that listen here alone answer no other name of theirs.
#
# A web page of anybody can make a browser ask this machine, under a name that leads here (DNS rebinding).


# This machine, exactly: what compares beginnings lets `localhost:1.other.example` pass.
_HOST = lazy_pattern(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?", re.IGNORECASE | re.ASCII)
_ORIGIN = lazy_pattern(r"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?", re.IGNORECASE | re.ASCII)


def foreign_status(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The status that a request with these headers (names in lower case) is refused with; None where it is answered.

    421 for the name of another host, or of several; 403 for a web page of another origin.
    """
    found = [*headers]
    if not _all_match(found, b"host", _HOST):
        return 421
    return None if _all_match(found, b"origin", _ORIGIN) else 403


def _all_match(headers: list[tuple[bytes, bytes]], wanted: bytes, pattern: re.Pattern[str]) -> bool:
    """Whether a header stands there once at most, and says what it may."""
    found = [value.decode("latin-1") for name, value in headers if name == wanted]
    return len(found) < 2 and all(map(pattern.fullmatch, found))
