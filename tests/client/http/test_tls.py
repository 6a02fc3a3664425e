from __future__ import annotations

import socket
import ssl
import sys
from pathlib import Path
from types import SimpleNamespace

import httpcore
import pytest

from callsheet.client.http.connections import Backend
from callsheet.client.http.http_client import Client
from callsheet.client.request.http_request import Request
from callsheet.errors import NetworkError, UsageError
from callsheet.installation import how_to_add
from callsheet.sites.credentials.oauth import UnauthenticatedClient
from support.fakes import Definitions, FakeSite
from support.server import exchange, reply, serve
from support.shop import DEFINITIONS, shop
from support.tls import Authority

ITEM = "/api/3/item/1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("ca"))


def test_a_private_authority_given_by_the_site(authority: Authority) -> None:
    with shop(
        [exchange("GET", ITEM, reply(json={}))], context=authority.server_context(), ca_bundle=str(authority.bundle)
    ) as here:
        assert here.send("getItem", {"id": "1"}).status == 200


@pytest.mark.parametrize("name", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_a_private_authority_given_by_the_environment(authority: Authority, name: str) -> None:
    with (
        serve([exchange("GET", ITEM, reply(json={}))], context=authority.server_context(), trusted=True) as server,
        Client(FakeSite(server.url), Definitions(DEFINITIONS), environ={name: str(authority.bundle)}) as client,
    ):
        assert client.send(Request("GET", server.url, ITEM)).status == 200


def test_an_unknown_authority_is_refused_with_a_remedy(authority: Authority) -> None:
    with shop(context=authority.server_context()) as here:
        error = here.fail("getItem", {"id": "1"})
    assert error.exit_code == 7
    assert "the certificate of localhost is not trusted: unable to get local issuer certificate" in error.message
    assert "CA bundle" in error.hint
    assert here.clock.slept == []


def test_a_certificate_for_another_host_is_refused(authority: Authority) -> None:
    with shop(context=authority.server_context("elsewhere.example"), ca_bundle=str(authority.bundle)) as here:
        assert "certificate is not valid for 'localhost'" in here.fail("getItem", {"id": "1"}).message


def test_http_where_https_was_expected(authority: Authority) -> None:
    with serve() as server, shop(root=server.url.replace("http:", "https:"), ca_bundle=str(authority.bundle)) as here:
        error = here.fail("getItem", {"id": "1"})
    assert error.exit_code == 7
    assert "no TLS connection to localhost" in error.message


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_an_unusable_bundle_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content:
        path.write_text(content)
    with (
        shop(root="https://127.0.0.1:1", ca_bundle=str(path)) as here,
        pytest.raises(UsageError, match=r"CA bundle .*ca\.pem"),
    ):
        here.send("getItem", {"id": "1"})


def test_a_client_certificate_is_shown(authority: Authority) -> None:
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    certificate = str(authority.certificate("robin"))
    with shop(
        [exchange("GET", ITEM, reply(json={}))],
        context=context,
        ca_bundle=str(authority.bundle),
        client_cert=certificate,
    ) as here:
        assert here.send("getItem", {"id": "1"}).status == 200


def picky(authority: Authority) -> ssl.SSLContext:
    """Of a server that answers nobody without a certificate."""
    context = authority.server_context()
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority.bundle)
    return context


def test_a_client_certificate_is_not_shown_where_a_redirect_leads(authority: Authority) -> None:
    settings = {"ca_bundle": str(authority.bundle), "client_cert": str(authority.certificate("robin"))}
    with serve(context=picky(authority)) as other:
        script = [exchange("GET", ITEM, reply(302, headers={"Location": f"{other.url}/x"}), repeat=None)]
        with shop(script, context=picky(authority), **settings) as here:
            assert here.fail("getItem", {"id": "1"}).exit_code == 7
        assert len(here.server.requests) >= 1
        assert other.requests == []


@pytest.mark.parametrize("own", [True, False])
def test_sign_in_shows_the_client_certificate_to_the_site_alone(authority: Authority, own: bool) -> None:
    """Not to an authorization server elsewhere, say."""
    way = FakeSite(ca_bundle=str(authority.bundle), client_cert=str(authority.certificate("robin")))
    with serve([exchange("GET", "/x", reply(json={}), repeat=None)], context=picky(authority)) as server:
        web = UnauthenticatedClient(way, {}, home=server.url if own else "https://site.example")
        if own:
            assert web.get(f"{server.url}/x").status == 200
        else:
            with pytest.raises(NetworkError):
                web.post(f"{server.url}/x", "a=b", [])
            assert server.requests == []


def test_an_unusable_client_certificate_is_named() -> None:
    with (
        shop(root="https://127.0.0.1:1", client_cert="absent.pem") as here,
        pytest.raises(UsageError, match=r"absent\.pem: no such file"),
    ):
        here.send("getItem", {"id": "1"})


def test_plain_http_loads_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_args: object, **_named: object) -> None:
        raise AssertionError("certificates were loaded")

    monkeypatch.setattr(ssl, "create_default_context", refused)
    with shop([exchange("GET", ITEM, reply(json={}))]) as here:
        here.send("getItem", {"id": "1"})


def test_a_proxy_given_by_the_site() -> None:
    with (
        serve([exchange("GET", "http://shop.example/api/3/item/1", reply(json={}))], trusted=True) as proxy,
        shop(root="http://shop.example", proxy=proxy.url) as here,
    ):
        assert here.send("getItem", {"id": "1"}).status == 200


def test_a_client_certificate_is_not_shown_to_a_proxy(authority: Authority) -> None:
    settings = {"ca_bundle": str(authority.bundle), "client_cert": str(authority.certificate("robin"))}
    script = [exchange("GET", "http://shop.example/api/3/item/1", reply(json={}))]
    with (
        serve(script, trusted=True, verify=False, context=picky(authority)) as proxy,
        shop(root="http://shop.example", proxy=proxy.url, **settings) as here,
    ):
        assert here.fail("getItem", {"id": "1"}).exit_code == 7
        assert proxy.requests == []


def test_a_proxy_given_by_the_environment_and_its_exceptions(monkeypatch: pytest.MonkeyPatch) -> None:
    script = [exchange("GET", "http://shop.example/api/3/item/1", reply(json={}))]
    with (
        serve(script, trusted=True) as proxy,
        shop([exchange("GET", ITEM, reply(json={}))]) as near,
        shop(root="http://shop.example") as far,
    ):
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "localhost")
        near.send("getItem", {"id": "1"})
        far.send("getItem", {"id": "1"})


def test_a_socks_proxy_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "socksio", None)
    with shop(root="http://shop.example", proxy="socks5://127.0.0.1:1") as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, error.hint) == (2, how_to_add(extra="socks"))


def test_a_connection_is_used_again() -> None:
    with shop([exchange("GET", ITEM, reply(json={}), repeat=5)]) as here:
        for _ in range(5):
            here.send("getItem", {"id": "1"})
        assert here.server.connections == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a reset looks different there")
def test_a_reset_connection_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with shop(root=f"http://127.0.0.1:{port}") as here:
        assert here.fail("makeItem", body={}).exit_code == 7


@pytest.mark.parametrize(
    ("host", "address", "local", "refused"),
    [
        ("localhost", "127.0.0.1", True, False),
        ("localhost", "::1%lo", True, False),
        ("localhost", "10.0.0.1", True, True),
        ("localhost", "10.0.0.1", False, False),
        ("shop.example", "10.0.0.1", True, False),
    ],
)
def test_a_name_of_this_machine_that_leads_elsewhere_is_hung_up(
    host: str, address: str, local: bool, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    stream = SimpleNamespace(get_extra_info=lambda _: (address, 80), close=lambda: closed.append(True))
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", lambda *_args: stream)
    backend = Backend(local=local)
    if refused:
        with pytest.raises(NetworkError, match=f"{host} leads to {address}, not to this machine") as caught:
            backend.connect_tcp(host, 80)
        assert (caught.value.hint, closed) == ("nothing was sent; use https", [True])
    else:
        backend.connect_tcp(host, 80)
        assert closed == []
