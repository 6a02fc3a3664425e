"""How a document says that one signs in, and the parameters that a credential fills."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from ..errors import DefinitionError
from ..language.parameter_text import OF_THE_CONNECTION
from ..patterns import lazy_pattern
from ..urls import is_loopback
from .document import Document, HttpOperation
from .schemas import choose_media, documented_parameters, first_paragraph, is_json

if TYPE_CHECKING:
    from ..jsontext import JsonObject


# The ways of signing in that a document describes (`securitySchemes`) as auth definitions.


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
    components = document.table_of(document.tree.get("components"))
    schemes = document.table_of(components.get("securitySchemes"))
    single: dict[str, JsonObject] = {}
    for name, node in schemes.items():
        for suffix, table in _of_scheme(str(name), document.table_of(node), server, notes):
            single[str(name) + suffix] = table
    found = {_auth_id(product, name): table for name, table in single.items()}
    asked = [list(document.table_of(each)) for each in document.tree.get("security") or ()]
    together = {
        _auth_id(product, "-and-".join(names)): _combined_schemes(names, single, notes)
        for names in asked
        if len(names) > 1
    }
    whole = {**found, **{id: table for id, table in together.items() if table}}
    first = [_auth_id(product, "-and-".join(names)) for names in asked if names]
    return {id: whole[id] for id in dict.fromkeys([*first, *whole]) if id in whole}


def _auth_id(product: str, name: str) -> str:
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
        oauth |= {key: _absolute_url(server, oauth[key]) for key in _URLS if key in oauth}
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


def _absolute_url(server: str, url: Any) -> str:
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


def _code_consent(flow: JsonObject) -> JsonObject:
    urls = {"authorize": flow.get("authorizationUrl"), "token": flow.get("tokenUrl")}
    return {**urls, "port": _PORT, "path": _PATH, "confidential": True}


def _client_consent(flow: JsonObject) -> JsonObject:
    return {"grant": "client_credentials", "token": flow.get("tokenUrl")}


def _device_consent(flow: JsonObject) -> JsonObject:
    return {"grant": "device_code", "device": flow.get("deviceAuthorizationUrl"), "token": flow.get("tokenUrl")}


_URLS = ("authorize", "device", "token")
_OF_FLOW = {
    "authorizationCode": _code_consent,
    "clientCredentials": _client_consent,
    "deviceAuthorization": _device_consent,
}
_SUFFIX = {"authorizationCode": "", "clientCredentials": "-app", "deviceAuthorization": "-device"}
_WORDS = {
    "authorizationCode": "in the browser",
    "clientCredentials": "for an app itself",
    "deviceAuthorization": "on another device",
}


def _combined_schemes(names: list[str], single: dict[str, JsonObject], notes: list[str]) -> JsonObject:
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


# Parameters and members that are credentials: a site's credential fills them, so no operation takes them.
#
# A document may list what one signs in with among the parameters of its operations, beside its security schemes or
# in their place.


BODY = "body"
_PLACES = ("header", "query")
_ORDER = (*_PLACES, BODY)
_FEWEST = 3  # operations that have it; what fewer have is about a credential, and none
_DEEPEST = 8


class CredentialPlace(NamedTuple):
    """Where a credential stands, and what it is called there."""

    place: str
    name: str


def credentials_of(
    document: Document, calls: Collection[HttpOperation], names: Collection[CredentialPlace]
) -> list[CredentialPlace]:
    """Those of a key that the document describes, and those of these names that a third of all take."""
    said = document.table_of(document.table_of(document.tree.get("components")).get("securitySchemes"))
    keys = [document.table_of(node) for node in said.values()]
    described = {(key.get("in"), _folded_name(key.get("name"))) for key in keys if key.get("type") == "apiKey"}
    usual = {(place, _folded_name(name)) for place, name in names}
    taken = [_places_of_call(document, call) for call in calls]
    every = dict.fromkeys(each for table in taken for each in table)
    wanted = [each for each in every if (each.place, _folded_name(each.name)) in usual]
    names_taken = ({_folded_name(each.name) for each in table if each in wanted} for table in taken)
    counts = Counter(name for found in names_taken for name in found)
    often = max(_FEWEST, len(calls) / 3)
    by_name = {each for each in wanted if counts[_folded_name(each.name)] >= often}
    return [each for each in every if each in by_name or (each.place, _folded_name(each.name)) in described]


def _folded_name(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


# Of an operation that is left out, and told, when operations are made.
_UNREADABLE = (DefinitionError, AttributeError, TypeError, ValueError)


def _places_of_call(document: Document, call: HttpOperation) -> dict[CredentialPlace, None]:
    with suppress(*_UNREADABLE):
        return dict.fromkeys(_places_taken(document, call))
    return {}


def _places_taken(document: Document, call: HttpOperation) -> Iterator[CredentialPlace]:
    for parameter in documented_parameters(document, call):
        if parameter.get("in") in _PLACES:
            yield CredentialPlace(parameter["in"], parameter["name"])
    for table in _body_schemas(document, call):
        yield from (CredentialPlace(BODY, str(name)) for name in table.get("properties") or ())


def _body_schemas(document: Document, call: HttpOperation) -> Iterator[JsonObject]:
    """The schemas that the members at the top of a body stand in."""
    content = document.table_of(call.operation.get("requestBody")).get("content")
    if isinstance(content, dict) and content:
        media = choose_media(content)
        if is_json(media) or "form" in media:
            yield from _schema_parts(document, (content[media] or {}).get("schema"), 0)


def _schema_parts(document: Document, schema: Any, depth: int) -> Iterator[JsonObject]:
    table = document.table_of(schema)
    if depth <= _DEEPEST:
        yield table
        for part in table.get("allOf") or ():
            yield from _schema_parts(document, part, depth + 1)


def take_out(document: Document, calls: Collection[HttpOperation], found: Collection[CredentialPlace]) -> None:
    """Take them out of the document: out of bodies, and out of what operations list."""
    if not found:
        return
    # Lists, as what a broken document has for a name may have no hash: it is compared, and is none of these.
    members = [each.name for each in found if each.place == BODY]
    taken = [(each.place, each.name) for each in found]
    for call in calls:
        with suppress(*_UNREADABLE):
            _take_out_of_call(document, call, members, taken)


def _take_out_of_call(
    document: Document, call: HttpOperation, members: Collection[str], taken: Collection[tuple[Any, Any]]
) -> None:
    for node in (call.operation, call.item):
        if isinstance(listed := node.get("parameters"), list):
            node["parameters"] = [each for each in listed if _parameter_key(document.table_of(each)) not in taken]
    for table in _body_schemas(document, call) if members else ():
        known = table.get("properties")
        if isinstance(known, dict):
            table["properties"] = {name: node for name, node in known.items() if name not in members}
        if isinstance(required := table.get("required"), list):
            table["required"] = [name for name in required if name not in members]
    if (
        members
        and (bodies := list(_body_schemas(document, call)))
        and not any(each.get("properties") for each in bodies)
    ):
        call.operation["requestBody"] = {**document.table_of(call.operation["requestBody"]), "required": False}


def _parameter_key(parameter: Mapping[str, Any]) -> tuple[Any, Any]:
    return parameter.get("in"), parameter.get("name")


def add_access(introduction: dict[str, JsonObject], product: str, found: Collection[CredentialPlace]) -> Iterator[str]:
    """Where the document describes no way of signing in: by these. Gives what is told of them."""
    names = list(dict.fromkeys(each.name for each in sorted(found, key=lambda each: _ORDER.index(each.place))))
    yield f"{', '.join(names)}: filled from the credential of a site, no parameters of operations"
    if "auth" in introduction:
        return
    parts = [{"scheme": "key", **_places_of_credential(found, name), "secret": name} for name in names]
    one = {"title": names[0], **parts[0]}
    access = one if len(parts) == 1 else {"title": " and ".join(names), "scheme": "all", "parts": parts}
    introduction["auth"] = {f"{product}-key": access}
    introduction["service"][product]["auth"] = [f"{product}-key"]


def _places_of_credential(found: Collection[CredentialPlace], name: str) -> dict[str, str]:
    """The header, else the query of what has no body, and the body."""
    places = [place for place in _ORDER if CredentialPlace(place, name) in found]
    return dict.fromkeys(places[:1] if _PLACES[0] in places else places, name)
