"""The ways of signing in that a document describes (`securitySchemes`) as auth definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ..language.headers import OF_THE_CONNECTION
from ..patterns import lazy_pattern
from ..urls import is_loopback
from .document import Document
from .prose import first_paragraph

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_TOKEN = lazy_pattern(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PORT, _PATH = 8990, "/callback"
_UNSAID = {
    "mutualTLS": "a client certificate is named in a site's profile: client_cert",
    "openIdConnect": "its grants are not in the document",
}


def access_of(document: Document, product: str, server: str, notes: list[str]) -> dict[str, JsonObject]:
    """Auth definitions by id, the one that the document asks for first in front.

    `server` is what relative addresses are relative to, or empty.
    """
    components = document.table(document.tree.get("components"))
    schemes = document.table(components.get("securitySchemes"))
    single: dict[str, JsonObject] = {}
    for name, node in schemes.items():
        for suffix, table in _of_scheme(str(name), document.table(node), server, notes):
            single[str(name) + suffix] = table
    found = {_id(product, name): table for name, table in single.items()}
    asked = [list(document.table(each)) for each in document.tree.get("security") or ()]
    together = {_id(product, "-and-".join(names)): _together(names, single, notes) for names in asked if len(names) > 1}
    whole = {**found, **{id: table for id, table in together.items() if table}}
    first = [_id(product, "-and-".join(names)) for names in asked if names]
    return {id: whole[id] for id in dict.fromkeys([*first, *whole]) if id in whole}


def _id(product: str, name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{product}-{name}").strip("-")


def _of_scheme(name: str, scheme: JsonObject, server: str, notes: list[str]) -> list[tuple[str, JsonObject]]:
    """One definition, or one for each flow of OAuth, with what its id ends with."""
    kind, title = scheme.get("type"), first_paragraph(scheme.get("description")) or name
    if kind == "oauth2":
        return _of_flows(name, title, scheme.get("flows") or {}, server, notes)
    if kind == "apiKey" and _can_be_named(scheme.get("in"), str(scheme.get("name", ""))):
        return [("", {"title": title, "scheme": "key", scheme["in"]: str(scheme["name"]), "secret": "API key"})]
    if kind == "http" and str(scheme.get("scheme")).lower() == "basic":
        return [("", {"title": title, "scheme": "basic", "secret": "password"})]
    if kind == "http" and str(scheme.get("scheme")).lower() == "bearer":
        return [("", {"title": title, "scheme": "bearer", "secret": "token"})]
    if kind == "apiKey" and scheme.get("in") in ("header", "query", "cookie"):
        notes.append(f"security scheme {name!r} is left out: a {scheme['in']} cannot be called {scheme.get('name')!r}")
        return []
    what = f"{kind} {scheme.get('scheme', '')}".strip()
    notes.append(f"security scheme {name!r} ({what}) is left out: {_UNSAID.get(str(kind), 'there is no such scheme')}")
    return []


def _can_be_named(place: object, name: str) -> bool:
    """Whether a key can be sent there under this name."""
    if place in ("header", "cookie"):
        return bool(_TOKEN.fullmatch(name)) and name.lower() not in OF_THE_CONNECTION
    return place == "query" and name.strip() == name != ""


def _of_flows(name: str, title: str, flows: JsonObject, server: str, notes: list[str]) -> list[tuple[str, JsonObject]]:
    made = []
    for flow, node in flows.items():
        table = node if isinstance(node, dict) else {}
        oauth = _OF_FLOW[flow](table) if flow in _OF_FLOW else None
        if oauth is None:
            notes.append(f"security scheme {name!r}: the flow {flow!r} is left out: it is none that is known here")
            continue
        oauth |= {key: _absolute(server, oauth[key]) for key in _URLS if key in oauth}
        unfit = next((oauth[key] for key in _URLS if key in oauth and not _is_safe(oauth[key])), None)
        if unfit is not None:
            notes.append(f"security scheme {name!r}: the flow {flow!r} is left out: {unfit!r} is not an https address")
            continue
        oauth["scopes"] = [str(scope) for scope in table.get("scopes") or ()]
        definition = {
            "title": f"{title} ({_WORDS[flow]})",
            "scheme": "oauth2",
            "secret": "client secret",
            "oauth": oauth,
        }
        made.append((_SUFFIX[flow], definition))
    return made


def _absolute(server: str, url: Any) -> str:
    try:
        return urljoin(server, url) if isinstance(url, str) else ""
    except ValueError:
        return str(url)


def _is_safe(url: str) -> bool:
    """Whether secrets may be sent there: encrypted, or to this machine alone."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def _code(flow: JsonObject) -> JsonObject:
    urls = {"authorize": flow.get("authorizationUrl"), "token": flow.get("tokenUrl")}
    return {**urls, "port": _PORT, "path": _PATH, "confidential": True}


def _client(flow: JsonObject) -> JsonObject:
    return {"grant": "client_credentials", "token": flow.get("tokenUrl")}


def _device(flow: JsonObject) -> JsonObject:
    return {"grant": "device_code", "device": flow.get("deviceAuthorizationUrl"), "token": flow.get("tokenUrl")}


_URLS = ("authorize", "device", "token")
_OF_FLOW = {"authorizationCode": _code, "clientCredentials": _client, "deviceAuthorization": _device}
_SUFFIX = {"authorizationCode": "", "clientCredentials": "-app", "deviceAuthorization": "-device"}
_WORDS = {
    "authorizationCode": "in the browser",
    "clientCredentials": "for an app itself",
    "deviceAuthorization": "on another device",
}


def _together(names: list[str], single: dict[str, JsonObject], notes: list[str]) -> JsonObject:
    """Several that every request needs at once."""
    parts = [{key: text for key, text in single.get(name, {}).items() if key != "title"} for name in names]
    if not all(part.get("scheme") in ("bearer", "key") for part in parts):
        notes.append(
            f"security schemes {' and '.join(names)} together are left out: only keys and tokens can be combined"
        )
        return {}
    for name, part in zip(names, parts, strict=True):
        part["secret"] = name
    return {"title": " and ".join(names), "scheme": "all", "parts": parts}
