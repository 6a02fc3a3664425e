"""The scripted server fails the test that does not follow its script."""

from __future__ import annotations

import tomllib

import httpx
import pytest

from support.server import exchange, load_exchanges, reply, serve

CASE = tomllib.loads(
    """
[[exchange]]
request = { method = "PUT", path = "/a", query = ["x=1", "x=2"], json = { n = 1 }, headers = { X-A = "1" } }
response = { status = 201, json = { ok = true } }

[[exchange]]
request = { method = "GET", path = "/b", forbidden = ["X-B"] }
response = { text = "hello" }
repeat = 2
"""
)


def test_a_script_out_of_a_case_is_followed() -> None:
    with serve(load_exchanges(CASE["exchange"])) as server, httpx.Client(base_url=server.url) as client:
        first = client.put("/a?x=2&x=1", json={"n": 1}, headers={"X-A": "1"})
        assert (first.status_code, first.json()) == (201, {"ok": True})
        assert [client.get("/b").text for _ in range(2)] == ["hello", "hello"]


@pytest.mark.parametrize(
    ("path", "headers", "words"),
    [
        ("/b", {}, "unexpected GET /b: path: expected '/a', got '/b'"),
        ("/a?x=3", {}, "query: expected \\['x=1'\\], got \\['x=3'\\]"),
        ("/a?x=1", {"X-B": "1"}, "header X-B: must not be sent"),
        ("/a?x=1", {}, "header X-A: expected '1', got None"),
    ],
)
def test_an_unexpected_request_fails_and_says_why(path: str, headers: dict[str, str], words: str) -> None:
    script = [exchange("GET", "/a", reply(), query=["x=1"], headers={"X-A": "1"}, forbidden=["X-B"], repeat=None)]
    with pytest.raises(AssertionError, match=words), serve(script) as server:
        assert httpx.get(server.url + path, headers=headers).status_code == 599


def test_a_body_that_differs_fails() -> None:
    script = [exchange("POST", "/a", reply(), json={"a": 1}, repeat=None)]
    with pytest.raises(AssertionError, match=r"got \{.a.: 2\}"), serve(script) as server:
        httpx.post(f"{server.url}/a", json={"a": 2})


def test_a_request_that_never_came_fails() -> None:
    with pytest.raises(AssertionError, match="never asked: GET /a"), serve([exchange("GET", "/a")]):
        pass


def test_a_request_that_comes_too_often_fails() -> None:
    with pytest.raises(AssertionError, match="as often as the script says"), serve([exchange("GET", "/a")]) as server:
        assert [httpx.get(f"{server.url}/a").status_code for _ in range(2)] == [200, 599]
