from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from callsheet.client.http.connections import check_origin
from callsheet.client.http.reply import Hop, next_hop
from callsheet.errors import UsageError
from callsheet.urls import url_origin
from support.canary import basic
from support.server import exchange, reply, serve
from support.shop import shop
from support.tls import Authority


def moved(to: str, status: int = 302) -> object:
    return reply(status, headers={"Location": to, "Set-Cookie": "session=abc; Path=/"})


def test_the_same_origin_keeps_the_credential() -> None:
    credential = {"Authorization": basic("robin")}
    script = [
        exchange("GET", "/api/3/item/1", moved("/there?x=1")),
        exchange("GET", "/there", reply(json={"a": 1}), query=["x=1"], headers=credential, forbidden=["Cookie"]),
    ]
    with shop(script) as here:
        reply_ = here.send("getItem", {"id": "1"})
        assert reply_.json() == {"a": 1}
        assert reply_.url == f"{here.server.url}/there?x=1"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_another_host_gets_no_credential_and_no_cookie(status: int) -> None:
    lost = ["Authorization", "Cookie", "X-Client"]
    with serve([exchange("GET", "/file", reply(json={"a": 1}), forbidden=lost)]) as other:
        target = other.url.replace("localhost", "user:pass@127.0.0.1")
        with shop([exchange("GET", "/api/3/item/1", moved(f"{target}/file", status))]) as here:
            assert here.send("getItem", {"id": "1"}).json() == {"a": 1}


def test_another_port_is_another_host() -> None:
    with (
        serve([exchange("GET", "/file", reply(json={}), forbidden=["Authorization"])]) as other,
        shop([exchange("GET", "/api/3/item/1", moved(f"{other.url}/file"))]) as here,
    ):
        here.send("getItem", {"id": "1"})


def test_see_other_turns_a_post_into_a_get_without_body() -> None:
    script = [
        exchange("POST", "/api/3/item", moved("/result", 303)),
        exchange("GET", "/result", reply(json={"done": True}), body=b"", forbidden=["Content-Type"]),
    ]
    with shop(script) as here:
        assert here.send("makeItem", body={"a": 1}).json() == {"done": True}


@pytest.mark.parametrize("status", [307, 308])
def test_the_same_host_may_be_told_the_body_again(status: int) -> None:
    script = [
        exchange("POST", "/api/3/item", moved("/new/item", status)),
        exchange("POST", "/new/item", reply(201, json={}), json={"a": 1}),
    ]
    with shop(script) as here:
        assert here.send("makeItem", body={"a": 1}).status == 201


@pytest.mark.parametrize("status", [301, 302])
def test_a_moved_post_is_not_turned_into_a_get(status: int) -> None:
    with shop([exchange("POST", "/api/3/item", moved("/login", status))]) as here:
        error = here.fail("makeItem", body={"a": 1})
    assert error.message.endswith(
        f"{status}: redirected to localhost; not followed, because a POST must not turn into a GET: "
        "correct the site's base URL"
    )


@pytest.mark.parametrize(("operation", "method"), [("makeItem", "POST"), ("putItem", "PUT")])
def test_a_body_never_goes_to_another_host(operation: str, method: str) -> None:
    path = "/api/3/item" + ("/1" if method == "PUT" else "")
    arguments = {"id": "1"} if method == "PUT" else {}
    with serve() as other, shop([exchange(method, path, moved(f"{other.url}/x", 307))]) as here:
        error = here.fail(operation, arguments, {"a": 1})
        assert "is not sent to another host" in error.message
        assert other.requests == []


def test_leaving_tls_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with serve() as plain:
        script = [exchange("GET", "/api/3/item/1", moved(f"{plain.url}/x"))]
        with shop(script, context=authority.server_context(), ca_bundle=str(authority.bundle)) as here:
            assert here.fail("getItem", {"id": "1"}).message.endswith("not followed, because it leaves TLS")
        assert plain.requests == []


def test_a_redirect_to_something_else_than_the_web_is_refused() -> None:
    with shop([exchange("GET", "/api/3/item/1", moved("file:///etc/passwd"))]) as here:
        assert "that is not a web address" in here.fail("getItem", {"id": "1"}).message


def test_a_ring_ends() -> None:
    ring = [exchange("GET", "/api/3/item/1", moved("/a")), exchange("GET", "/a", moved("/api/3/item/1"))]
    with shop(ring) as here:
        assert here.fail("getItem", {"id": "1"}).message.endswith("redirected in a circle")


def test_a_path_without_an_end_ends() -> None:
    steps = [exchange("GET", f"/{number}", moved(f"/{number + 1}")) for number in range(10)]
    with shop([exchange("GET", "/api/3/item/1", moved("/0")), *steps]) as here:
        assert here.fail("getItem", {"id": "1"}).message.endswith("redirected more than 10 times")


def test_a_redirect_without_a_place_is_an_answer() -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(304))]) as here:
        assert here.fail("getItem", {"id": "1"}).status == 304


@pytest.mark.parametrize(
    ("home", "target"),
    [
        ("https://a.example", "https://b.example/x"),
        ("https://a.example", "https://a.example:8443/x"),
        ("http://a.example:8443", "https://a.example:8443/x"),
    ],
)
def test_another_origin_gets_nothing_that_is_meant_for_this_one(home: str, target: str) -> None:
    """Neither header, query nor client certificate, also where only the scheme or the port is another."""
    hop = Hop("GET", f"{home}/y", {"Authorization": "x", "Accept": "a"}, None, url_origin(home), query=(("key", "x"),))
    onward = next_hop(hop, 302, target, "shown")
    assert (onward.headers, onward.query, onward.own, onward.whole_url) == ({"Accept": "a"}, (), False, target)
    back = next_hop(onward, 302, target.replace("/x", "/z"), "shown")
    assert (back.headers, back.own) == ({"Accept": "a"}, False)


@pytest.mark.parametrize("url", ["https://a.example:8443/", "http://a.example/", "https://b.example/"])
def test_the_last_look_sees_scheme_host_and_port(url: str) -> None:
    check_origin(httpx.URL("https://A.example:443/x"), "https://a.example")
    with pytest.raises(UsageError, match="the credential is for"):
        check_origin(httpx.URL(url), "https://a.example")
