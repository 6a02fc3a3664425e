"""Ways of signing in to any API: keys wherever they stand, several together, grants that need no browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from callsheet import registry
from callsheet.catalog.records import Records
from callsheet.client.http.reply import with_query
from callsheet.commands.obtain_credential import check_way, device_consent, usual_way, ways_of
from callsheet.errors import DefinitionError, NotAllowed, UsageError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.sites.credentials.oauth import Authority, DeviceCode, UnauthenticatedClient
from callsheet.sites.credentials.secrets import Secret, scheme_named
from support.fakes import FakeSite
from support.server import Received, Scripted, Server, exchange, reply
from support.shop import shop

SECRET, OTHER = "k3y-of-the-shop", "0ther-k3y"


def key(**place: str) -> dict[str, Any]:
    return {"scheme": "key", **place}


@pytest.mark.parametrize(
    ("auth", "secret", "headers", "query"),
    [
        (key(header="X-Shop-Id"), SECRET, {"X-Shop-Id": SECRET}, ()),
        (key(header="Authorization", prefix="Token "), SECRET, {"Authorization": f"Token {SECRET}"}, ()),
        ({"scheme": "bearer"}, SECRET, {"Authorization": f"Bearer {SECRET}"}, ()),
        ({"scheme": "bearer", "prefix": "GenieKey "}, SECRET, {"Authorization": f"GenieKey {SECRET}"}, ()),
        (key(query="appid"), SECRET, {}, (("appid", SECRET),)),
        (key(cookie="JSESSION"), SECRET, {"Cookie": f"JSESSION={SECRET}"}, ()),
        (
            {"scheme": "all", "parts": [key(header="DD-API-KEY"), key(query="application")]},
            f"{SECRET}\n{OTHER}\n",
            {"DD-API-KEY": SECRET},
            (("application", OTHER),),
        ),
        (
            {"scheme": "all", "parts": [{"scheme": "bearer"}, key(cookie="a"), key(cookie="b")]},
            f"{SECRET}\n{OTHER}\n{SECRET}",
            {"Authorization": f"Bearer {SECRET}", "Cookie": f"a={OTHER}; b={SECRET}"},
            (),
        ),
    ],
)
def test_a_secret_is_presented_as_defined(auth: Any, secret: str, headers: dict[str, str], query: Any) -> None:
    made = scheme_named(auth["scheme"]).present(auth, {}, lambda: Secret(secret, "the token"))
    assert (made.headers, made.query) == (headers, query)
    assert set(made.secrets) == set(secret.split())
    assert SECRET not in repr(made)


@pytest.mark.parametrize(
    ("auth", "secret", "words"),
    [
        (key(cookie="a"), f"{SECRET};b=c", "contains characters that are not allowed in a cookie"),
        (key(header="A"), f"{SECRET}\r\nB: c", "line break or control character"),
        (key(query="a"), f"{SECRET} x", "contains characters that are not allowed in a token"),
        ({"scheme": "all", "parts": [key(header="A"), key(header="B")]}, SECRET, "has 1 line, expected 2"),
        ({"scheme": "all", "parts": [key(header="A"), key(header="B")]}, f"{SECRET}\n\nx", "has 3 lines, expected 2"),
    ],
)
def test_a_secret_that_does_not_fit_is_not_presented(auth: Any, secret: str, words: str) -> None:
    with pytest.raises(NotAllowed, match=words) as refused:
        scheme_named(auth["scheme"]).present(auth, {}, lambda: Secret(secret, "the token"))
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "query", "whole"),
    [
        ("https://a/b", (), "https://a/b"),
        ("https://a/b?x=1", (("k", "s&=/ü"),), "https://a/b?x=1&k=s%26%3D%2F%C3%BC"),
        ("https://a/b?k=old&x=%20&k=older", (("k", "s"),), "https://a/b?x=%20&k=s"),
        ("https://a/b?%6b=old", (("k", "s"),), "https://a/b?k=s"),
        ("https://a/b?k[]=1", (("k[]", "s"),), "https://a/b?k%5B%5D=s"),
    ],
)
def test_a_key_stands_in_the_query_once(url: str, query: Any, whole: str) -> None:
    assert with_query(url, query) == whole


class KeyInQuery(FakeSite):
    def headers(self, service: str) -> dict[str, str]:
        del service
        return {}

    def query(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return (("appid", SECRET),)

    def body(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def secrets(self) -> list[str]:
        return [SECRET]


def onward(location: str) -> Scripted:
    return reply(302, headers={"Location": location})


def test_a_key_in_the_query_goes_to_its_own_host_and_is_shown_nowhere() -> None:
    with shop([], kind=KeyInQuery) as here, shop([], kind=KeyInQuery) as other:
        other.server.exchanges.append(exchange("GET", "/x", reply(json={}), query=["a=1"]))
        here.server.exchanges += [
            exchange("GET", "/api/3/item/1", onward(f"/more?appid={SECRET}"), query=["fields=a", f"appid={SECRET}"]),
            exchange("GET", "/more", onward(f"{other.server.url}/x?a=1"), query=[f"appid={SECRET}"]),
        ]
        request = here.build("getItem", {"id": "1", "fields": ["a"]})
        answer = here.client.send(request)
        assert SECRET not in answer.url
        told = "\n".join([*here.log, *here.notes, here.client.curl(request), repr(request)])
        assert SECRET not in told
        assert "appid=***" in told
        assert f"appid={SECRET}" in here.client.curl(request, show_token=True)


DEFINITIONS = """
[service.shop]
title = "Shop"
auth = ["way"]
[auth.usual]
title = "Usual"
scheme = "basic"
[deployment.cloud]
title = "Cloud"
method = "usual"
[auth.way]
title = "The shop's way"
"""


@pytest.mark.parametrize(
    ("auth", "words"),
    [
        ('scheme = "key"', "needs 'header' or 'query' or 'cookie' or 'body' beside it"),
        ('scheme = "key"\nheader = "A"\nquery = "b"', "cannot stand beside header"),
        ('scheme = "key"\nquery = "b"\nprefix = "c"', "cannot stand beside query"),
        ('scheme = "bearer"\nheader = "A"', "header: not a key of scheme 'bearer'"),
        ('scheme = "all"', "scheme 'all' needs 'parts'"),
        ('scheme = "all"\nparts = [{ scheme = "bearer" }]', "at least 2"),
        ('scheme = "oauth2"', "scheme 'oauth2' needs 'oauth'"),
        ('scheme = "oauth2"\noauth = { token = "https://a.b" }', "needs 'authorize' or 'grant' beside it"),
        ('scheme = "oauth2"\noauth = { token = "https://a.b", grant = "device_code" }', "needs 'device' beside it"),
        ('scheme = "key"\nheader = "A"', None),
        ('scheme = "oauth2"\noauth = { token = "https://a.b", grant = "client_credentials" }', None),
    ],
)
def test_what_a_way_lacks_is_told_with_its_line(auth: str, words: str | None, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(DEFINITIONS + auth + "\n", encoding="utf-8")
    definitions = load_definitions([Layer(str(tmp_path))])
    if words is None:
        check_definitions(definitions, {}, registry.registered_names())
        return
    with pytest.raises(DefinitionError) as refused:
        check_definitions(definitions, {}, registry.registered_names())
    assert words in "\n".join(refused.value.details)
    assert "own.toml:" in refused.value.details[0]


class FakeAuthority(Server):
    """Grants tokens to the app itself, or to a person who types a code."""

    trusted = True

    def __init__(self) -> None:
        super().__init__([], None)
        self.pending = ["authorization_pending", "slow_down"]
        self.forms: list[dict[str, str]] = []

    def answer(self, request: Received) -> Scripted:
        form = {name: values[0] for name, values in parse_qs(request.body.decode()).items()}
        self.forms.append({**form, "authorization": request.headers.get("authorization", "")})
        if request.path == "/device":
            code = {"device_code": f"{SECRET}-d", "user_code": "WDJB-MJHT", "verification_uri": "https://a.b/d"}
            return reply(json={**code, "interval": 2, "expires_in": 60})
        if self.pending:
            return reply(400, json={"error": self.pending.pop(0)})
        return reply(json={"access_token": OTHER, "token_type": "Bearer", "expires_in": 60})


@contextmanager
def authority(secret: str, **consent: Any) -> Iterator[tuple[FakeAuthority, Authority]]:
    server = FakeAuthority()
    server.start()
    try:
        table: Any = {"token": f"{server.url}/token", "device": f"{server.url}/device", **consent}
        yield server, Authority(table, "my app", secret, UnauthenticatedClient(FakeSite(server.url)))
    finally:
        server.stop()


@pytest.mark.parametrize("client", ["body", "header"])
def test_an_app_gets_a_token_for_itself_and_a_new_one_when_it_ends(client: str) -> None:
    with authority(f"{SECRET} &", grant="client_credentials", client=client) as (server, asked):
        server.pending = []
        record = asked.grant_to_app(["a", "b"])
        assert record["access_token"] == OTHER
        again = asked.renew_token(record, ["a", "b"])
        assert again["access_token"] == OTHER
        for form in server.forms:
            assert (form["grant_type"], form["scope"]) == ("client_credentials", "a b")
            assert (form.get("client_secret") == f"{SECRET} &") == (client == "body")
            # "my app:k3y-of-the-shop &", each half encoded as in a form
            basic = "Basic bXkrYXBwOmszeS1vZi10aGUtc2hvcCslMjY="
            assert (form["authorization"] == basic) == (client == "header")
        server.pending = ["invalid_client"]
        with pytest.raises(NotAllowed, match="invalid_client") as refused:
            asked.grant_to_app([])
        assert SECRET not in str(refused.value)


def test_an_app_needs_its_secret() -> None:
    with pytest.raises(UsageError, match="needs the client secret"), authority("", grant="client_credentials"):
        pass


def test_a_person_agrees_on_another_device() -> None:
    said: list[str] = []
    waited: list[float] = []
    with authority("", grant="device_code") as (server, asked):
        record = device_consent(asked, ["read"], say=said.append, sleep=waited.append)
        assert record["access_token"] == OTHER
        assert said == ["open https://a.b/d on any device and enter the code WDJB-MJHT"]
        assert waited == [2, 2, 7]  # slower when asked to
        server.pending = ["authorization_pending"] * 100
        with pytest.raises(NotAllowed, match="nobody entered the code in time"):
            device_consent(asked, [], say=said.append, sleep=waited.append)
        server.pending = ["access_denied"]
        with pytest.raises(NotAllowed, match="access_denied") as refused:
            device_consent(asked, [], say=said.append, sleep=waited.append)
    assert SECRET not in "".join(said) + str(refused.value) + repr(DeviceCode("a", "b", SECRET, 1, 1))


class FakeCatalog(Records):
    def __init__(self) -> None:
        self.tables: dict[str, Any] = {
            "service": {"shop": {"title": "Shop", "auth": ["way", "user"]}, "other": {"title": "Other"}},
            "auth": {
                "usual": {"scheme": "bearer"},
                "way": {"scheme": "key"},
                "user": {"scheme": "basic"},
                "named": {"scheme": "basic"},
            },
            "deployment": {"cloud": {"method": "usual"}},
        }

    def records_of_kind(self, kind: str) -> Any:
        return self.tables[kind]

    def ids(self, kind: str, prefix: str = "") -> list[str]:
        return list(self.tables[kind])

    def record(self, kind: str, id: str) -> Any:
        return self.tables[kind].get(id)


def test_only_the_ways_of_a_service_are_offered_for_it() -> None:
    catalog: Any = FakeCatalog()
    assert ways_of(catalog, "shop") == ["way", "user"]
    assert ways_of(catalog, "other") == ways_of(catalog, None) == ["usual", "named"]
    assert usual_way(catalog, "cloud", "shop", with_user=False) == "way"
    assert usual_way(catalog, "cloud", "shop", with_user=True) == "user"
    assert usual_way(catalog, "cloud", None, with_user=True) == "named"
    check_way(catalog, "shop", "way")
    for service, method in (("shop", "usual"), ("other", "way"), (None, "user")):
        with pytest.raises(UsageError, match="is not a way to sign in"):
            check_way(catalog, service, method)


def test_a_document_tells_how_one_signs_in() -> None:
    from callsheet.openapi import import_document

    url = "https://a.b"
    schemes = {
        "k": {"type": "apiKey", "in": "header", "name": "X-Key", "description": "The key.\n\nMore."},
        "app id": {"type": "apiKey", "in": "query", "name": "appid"},
        "u": {"type": "http", "scheme": "basic"},
        "t": {"type": "http", "scheme": "Bearer"},
        "d": {"type": "http", "scheme": "digest"},
        "m": {"type": "mutualTLS"},
        "o": {
            "type": "oauth2",
            "flows": {
                "authorizationCode": {"authorizationUrl": f"{url}/a", "tokenUrl": f"{url}/t", "scopes": {"r": "Read"}},
                "clientCredentials": {"tokenUrl": f"{url}/t", "scopes": {}},
                "implicit": {"authorizationUrl": f"{url}/a", "scopes": {}},
                "password": {"tokenUrl": "http://a.b/t", "scopes": {}},
            },
        },
    }
    document = {
        "openapi": "3.0.0",
        "info": {"title": "T", "version": "1"},
        "security": [{"t": []}, {"k": [], "app id": []}, {"u": [], "t": []}],
        "components": {"securitySchemes": schemes},
        "paths": {"/x": {"get": {"operationId": "x", "responses": {"200": {"description": "ok"}}}}},
    }
    made = import_document(json.dumps(document), "p", name="d", introduce=1)
    text = next(text for path, text in made.files.items() if path.endswith("_product.toml"))
    import tomllib

    found = tomllib.loads(text)
    ways = found["auth"]
    assert found["service"]["p"]["auth"] == list(ways)
    assert list(ways) == ["p-t", "p-k-and-app-id", "p-k", "p-app-id", "p-u", "p-o", "p-o-app"]
    assert ways["p-k"] == {"title": "The key.", "scheme": "key", "header": "X-Key", "secret": "API key"}
    assert [part.get("query") for part in ways["p-k-and-app-id"]["parts"]] == [None, "appid"]
    assert ways["p-o"]["oauth"]["authorize"] == f"{url}/a"
    assert ways["p-o-app"]["oauth"] == {"grant": "client_credentials", "token": f"{url}/t", "scopes": []}
    notes = "\n".join(made.notes)
    for words in ("'d' (http digest)", "'m' (mutualTLS)", "'implicit'", "'password'", "u and t together"):
        assert words in notes
