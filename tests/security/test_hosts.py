"""A credential goes to its own host or nowhere, whoever chose the URL: a definition, a profile, a link, a redirect."""

from __future__ import annotations

import itertools
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.http.connections import Connections
from callsheet.client.http.http_client import Client
from callsheet.client.http.retry import RetryPolicy
from callsheet.client.pagination.page_walk import next_request
from callsheet.client.request.build import Builder, header_text
from callsheet.client.request.http_request import Request
from callsheet.errors import CallsheetError, NetworkError, UsageError
from support.cases import environment, run_program
from support.fakes import Definitions, FakeSite
from support.server import exchange, reply, serve
from support.shop import shop

ROOTS = [
    "https://site.example",
    "https://site.example/jira",
    "https://site.example:8443",
    "http://localhost:8080",
    "http://[::1]:2990/ctx",
    "https://bücher.example",
]
BASES = [
    "",
    "/api/3",
    "/api/3/",
    "x",
    ".evil.example",
    "@evil.example",
    ":99999",
    ":2",
    "//evil.example",
    "\\evil.example",
]
PATHS = [
    "/item",
    "",
    "/",
    "//evil.example/x",
    "@evil.example/x",
    ":80@evil.example/x",
    ".evil.example/x",
    "x:2/steal",
    ":2/steal",
    "/../../@evil.example",
    "/%2f%2fevil.example",
    "\\\\evil.example\\x",
    "/\\evil.example",
    "?x=@evil.example",
    "#@evil.example",
    "/item\t@evil.example",
    "https://evil.example/x",
    "/;@evil.example:1/",
]
LINKS = [
    "x:2/steal?cursor=1",
    "x:.evil.example/steal?cursor=1",
    "@evil.example/?cursor=1",
    ":2/steal",
    ".evil.example/",
    "//evil.example/x?cursor=1",
    "///evil.example/x",
    "/\\evil.example/x",
    "\\\\evil.example",
    "https://evil.example/x",
    "https://site.example@evil.example/x",
    "https://site.example:443/x?cursor=2",
    "https://site.example:99999/x",
    "https://site.example:x/",
    "https://[::1/x",
    "https://site.example.evil.example/x",
    "https:/evil.example/x",
    "https:evil.example/x",
    "HTTPS://SITE.EXAMPLE/x",
    "javascript:alert(1)",
    "file:///etc/passwd",
    "?cursor=1",
    "next?cursor=1",
    "/next?cursor=1",
    "../../../next",
    "\thttps://evil.example/",
    "https://site.example\t.evil.example/",
    "https://\u017fite.example/",
    "/next\r\nHost: evil.example",
    "http://localhost:8080/next",
    "http://[::1]:2990/ctx/next",
    "",
]
LINK_ROOTS: list[Any] = [None, "https://evil.example/base", "@evil.example", ".evil.example", "https://[", 7, {"a": 1}]


class Recorder:
    """Stands where connections are made; answers with `location` or an empty object."""

    def __init__(self) -> None:
        self.sent: list[httpx.Request] = []
        self.location: str | None = None

    def take(self, message: httpx.Request) -> httpx.Response:
        self.sent.append(message)
        if self.location is not None:
            return httpx.Response(302, headers=[(b"Location", self.location.encode())], request=message)
        return httpx.Response(200, json={}, request=message)

    def leaked(self, root: str) -> list[str]:
        """Where the credential, or the right to show the certificate, went besides the site."""
        site = httpx.URL(root)
        own = (site.scheme, site.raw_host, site.port)
        marked = [each for each in self.sent if "authorization" in each.headers or each.extensions["callsheet.own"]]
        return [str(each.url) for each in marked if (each.url.scheme, each.url.raw_host, each.url.port) != own]


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    monkeypatch.setattr(Connections, "handle_request", recorder.take)
    return recorder


def client_of(root: str) -> Client:
    return Client(FakeSite(root), None, environ={}, policy=RetryPolicy(retries=0))


def attempt(client: Client, make: Any) -> bool:
    """Whether something was sent; every refusal is a worded error."""
    try:
        client.exchange(make())
    except CallsheetError:
        return False
    return True


# With each of the roots, and with the paths behind each of the bases, 25,000 in all.
@pytest.mark.slow
@pytest.mark.parametrize("root", ROOTS)
def test_every_link_base_and_path(root: str, wire: Recorder) -> None:
    """Each combination is sent to the site's own origin or not at all."""
    sent = 0
    request = Request("GET", root, "/page")
    with client_of(root) as client:
        for base, path in itertools.product(BASES, PATHS):
            sent += attempt(client, lambda full=base + path: Request("GET", root, full))
        for path, link, told in itertools.product(PATHS, LINKS, LINK_ROOTS):
            sent += attempt(client, lambda u=root + "/page" + path, n=link, t=told: next_request(request, n, u, t))
    site = httpx.URL(root)
    assert {(each.url.scheme, each.url.raw_host, each.url.port) for each in wire.sent} == {
        (site.scheme, site.raw_host, site.port)
    }
    assert sent == len(wire.sent) > 500


PIECES = st.sampled_from(["/", "//", "\\", "@", ":", ":2", ".", "..", "?", "#", "%2f", "%40", "[", "]", "evil.example"])
TEXT = st.lists(PIECES | st.text(max_size=4), max_size=6).map("".join)


@pytest.mark.slow
@settings(max_examples=400)
@given(link=TEXT, root=st.none() | TEXT, path=TEXT)
def test_any_text_as_link_or_path(link: str, root: str | None, path: str) -> None:
    wire = Recorder()
    with pytest.MonkeyPatch.context() as patch, client_of("https://site.example/ctx") as client:
        patch.setattr(Connections, "handle_request", wire.take)
        page = Request("GET", "https://site.example/ctx", "/page")
        attempt(client, lambda: next_request(page, link, "https://site.example/ctx/page", root))
        attempt(client, lambda: Request("GET", "https://site.example", path))
    assert {(each.url.scheme, each.url.host, each.url.port) for each in wire.sent} <= {("https", "site.example", None)}


@pytest.mark.parametrize("root", ROOTS)
def test_no_redirect_takes_the_credential_along(root: str, wire: Recorder) -> None:
    with client_of(root) as client:
        for wire.location in [*LINKS, *(root + path for path in PATHS), *PATHS]:
            attempt(client, lambda: Request("GET", root, "/page"))
    assert len(wire.sent) > len(LINKS)
    assert wire.leaked(root) == []


DEFINITIONS = """
[service.shop]
title = "Shop"
[product.items]
title = "Items"
service = "shop"
base = "/api"
on.cloud = {{ base = {base} }}
[operation.getItem]
product = "items"
http = "GET /api/item"
[operation.getOther]
product = "items"
http = "GET /api/item"
on.cloud = {{ http = {http} }}
"""


@pytest.mark.parametrize("bad", [base for base in [*BASES, *PATHS] if base and base.isprintable()])
def test_no_definition_chooses_the_host(bad: str, wire: Recorder) -> None:
    site = FakeSite("https://site.example")
    text = DEFINITIONS.format(base=repr(bad), http=repr(f"GET {bad}"))
    definitions: Any = Definitions(text)
    with Client(site, definitions, environ={}, policy=RetryPolicy(retries=0)) as client:
        for operation in ("getItem", "getOther"):
            attempt(
                client, lambda operation=operation: Builder(definitions, site, "suite").build_request(operation, {})
            )
    assert {(each.url.scheme, each.url.host, each.url.port) for each in wire.sent} <= {("https", "site.example", None)}


def test_a_request_with_another_root_than_the_credentials_is_not_sent(wire: Recorder) -> None:
    """Whatever built it: the sender compares with where the credential belongs."""
    with (
        Client(FakeSite("https://site.example"), None, environ={}) as client,
        pytest.raises(CallsheetError, match=r"would go to https://evil\.example:443, .* https://site\.example:443"),
    ):
        client.exchange(Request("GET", "https://evil.example", "/x"))
    assert wire.sent == []


def test_plain_http_to_this_machine_takes_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serve(verify=False) as proxy:
        for variable in ("http_proxy", "HTTP_PROXY", "all_proxy"):
            monkeypatch.setenv(variable, proxy.url)
        with shop([exchange("GET", "/api/3/item/1", reply(json={}))], proxy=proxy.url) as here:
            here.send("getItem", {"id": "1"})
        assert proxy.requests == []


@pytest.mark.parametrize(("name", "address"), [("tool.localhost", "192.0.2.7"), ("localhost", "192.0.2.7")])
def test_a_name_of_this_machine_that_leads_elsewhere_is_refused(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name alone proves nothing, so where it leads is looked at before a byte is sent."""
    written: list[bytes] = []

    class Socket:
        def getpeername(self) -> tuple[str, int]:
            return (address, 80)

        def setsockopt(self, *_: Any) -> None: ...
        def send(self, data: bytes) -> int:
            written.append(data)
            return len(data)

        def close(self) -> None: ...

    monkeypatch.setattr(socket, "create_connection", lambda *_args, **_named: Socket())
    told = f"{name} leads to {address}, not to this machine"
    with client_of(f"http://{name}:8080") as client, pytest.raises(NetworkError, match=told):
        client.exchange(Request("GET", f"http://{name}:8080", "/x"))
    assert written == []


@pytest.mark.parametrize(
    "header",
    ["Host: evil.example", "host: x", "Content-Length: 5", "Transfer-Encoding: chunked", "Connection: x-a",
     "Upgrade: h2c", "two words: x", "X\tY: x"],
)  # fmt: skip
def test_no_header_chooses_the_host_or_the_framing(header: str, tmp_path: Path) -> None:
    with serve([]) as server:
        words = ["api", "POST", "/rest/api/3/issue", "-d", "{}", "-H", header]
        done = run_program("suite", words, environment(tmp_path / "home", server.url))
    assert (done.exit, server.requests) == (2, []), done.stderr


def test_no_parameter_of_a_definition_is_such_a_header() -> None:
    with pytest.raises(UsageError, match="decides where or how"):
        header_text("op", "Host", "evil.example")
