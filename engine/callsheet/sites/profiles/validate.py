"""Whether the profiles file is what it should be; problems are named with line, key and closest right word."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import ValidationError

from ...errors import UsageError, counted, did_you_mean
from ...files import open_regular
from ...language.locate import Path, line_of
from .model import PROFILES, Access, DiagramSettings, Profiles, SiteProfile

_SECRET_KEYS = frozenset({"token", "password", "secret", "api_token", "apikey", "api_key", "pat", "client_secret"})
_PLACE = "a credential does not belong in this file: name it with token_env or token_file, or run `auth login`"


Known = Mapping[str, Iterable[str]]


def check_file(path: str, known: Known) -> Profiles:
    """The file's content; `known` holds the allowed ids of the kinds deployment, auth and service.

    Raises `UsageError` with one `file:line: key: problem` per problem.
    """
    try:
        with open_regular(path) as file:
            text = file.read().decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8: byte {error.start}") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    return check_text(text, path, known)


def check_change(before: str, after: str, path: str, known: Known) -> None:
    """Raises `UsageError`: about the file where it was broken already, else about the change alone."""
    _, problems = _read(after, path, known)
    if problems:
        if before:
            check_text(before, path, known)
        found = [f"{_dotted(keys)}: {what}" for keys, what in problems]
        raise UsageError("; ".join(found), hint=f"{path} stays as it is")


def check_text(text: str, path: str, known: Known) -> Profiles:
    tables, problems = _read(text, path, known)
    if not problems:
        return tables
    details = [f"{path}:{line_of(text, keys)}: {_dotted(keys)}: {what}" for keys, what in problems]
    count = len(details)
    raise UsageError(f"{counted(count, 'problem')} in {path}", details=details)


def _read(text: str, path: str, known: Known) -> tuple[Profiles, list[tuple[Path, str]]]:
    """The file's content, and what is wrong where."""
    try:
        tables = PROFILES.validate_python(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply") from None
    except ValidationError as error:
        return {}, [(item["loc"], _describe(dict(item))) for item in error.errors()]
    return tables, list(_unknown_words(tables, known))


def _dotted(keys: Path) -> str:
    return ".".join(map(str, keys)) or "file"


def _describe(item: dict[str, Any]) -> str:
    key = str(item["loc"][-1]) if item["loc"] else ""
    if item["type"] == "extra_forbidden":
        if key.lower() in _SECRET_KEYS:
            return _PLACE
        return f"unknown key{did_you_mean(key, keys_at(item['loc'][:-1]))}"
    if item["type"] == "string_pattern_mismatch":
        return "a site's name holds letters, digits, '.', '_' and '-' only"
    message = str(item["msg"])
    return f"{message[:1].lower()}{message[1:]}"


def keys_at(path: Path) -> list[str]:
    """The keys that may stand at a place of the file."""
    if not path:
        return list(Profiles.__annotations__)
    if path[0] == "render":
        return list(DiagramSettings.__annotations__)
    return list((Access if "services" in path else SiteProfile).__annotations__)


def _unknown_words(tables: Profiles, known: Known) -> Iterable[tuple[Path, str]]:
    sites = tables.get("sites", {})
    active = tables.get("site")
    if active is not None and active not in sites:
        yield ("site",), f"no site {active!r}{did_you_mean(active, sites)}"
    for name, site in sites.items():
        at: Path = ("sites", name)
        yield from _unknown(site, at, known)
        for service, access in site.get("services", {}).items():
            if service not in known["service"]:
                yield (*at, "services", service), f"no service{did_you_mean(service, known['service'])}"
            yield from _unknown(access, (*at, "services", service), known)


def _unknown(table: Access, at: Path, known: Known) -> Iterable[tuple[Path, str]]:
    for key, kind in (("deployment", "deployment"), ("method", "auth")):
        word = cast("Mapping[str, str]", table).get(key)
        if word is not None and word not in known[kind]:
            allowed = ", ".join(known[kind])
            yield (*at, key), f"no {key} {word!r} (one of: {allowed}){did_you_mean(word, known[kind])}"
