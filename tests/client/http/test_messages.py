"""Messages are what the library's own client would make, so that its care for addresses and headers still holds."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callsheet.client.http.connections import TARGET
from callsheet.client.http.http_client import Messages

SEGMENTS = st.sampled_from(
    ["", ".", "..", "a", "A-1", "%2f", "%2F", "%zz", "%", "~x", ".a", "a.b", "ü", " ", "+", "a:b", "@"]
)
ENDS = st.sampled_from(
    ["", "?", "?a=1&b=2", "?a=%20b", "?a=b c", "?a=ü", "?a='b'", "?a=b+c", "?a[0]=1", "#x", "?a=1#x", "?%"]
)
ROOTS = st.sampled_from(
    ["https://shop.example", "http://localhost:8080", "https://shop.example:443", "https://ü.example"]
)
PATHS = st.lists(SEGMENTS, max_size=4).map(lambda segments: "".join(f"/{each}" for each in segments))


def target(message: httpx.Request) -> bytes:
    return bytes(message.extensions.get(TARGET, message.url.raw_path))


@pytest.mark.slow
@given(ROOTS, PATHS, ENDS)
@example("https://shop.example", "", "")
@settings(max_examples=500)
def test_addresses_are_read_as_the_library_reads_them(root: str, path: str, end: str) -> None:
    known = httpx.URL(root + path + end)
    message = Messages(60).make_message("GET", root + path + end, {}, {})
    assert target(message) == known.raw_path
    assert (message.url.scheme, message.url.raw_host, message.url.port) == (known.scheme, known.raw_host, known.port)
    assert message.headers["host"] == known.netloc.decode()


def test_most_addresses_are_not_parsed_again() -> None:
    message = Messages(60).make_message("GET", "https://shop.example/rest/api/3/issue/A-1?fields=a,b&x=%20", {}, {})
    assert (str(message.url), message.extensions[TARGET]) == (
        "https://shop.example",
        b"/rest/api/3/issue/A-1?fields=a,b&x=%20",
    )


CONTENTS: list[dict[str, Any]] = [
    {},
    {"content": b""},
    {"content": b"text", "headers": {"Content-Type": "text/plain"}},
    {"files": [("file", ("a.txt", b"data", "text/plain"))]},
    {"content": iter([b"a", b"b"])},
]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD"])
@pytest.mark.parametrize("content", CONTENTS, ids=["none", "empty", "text", "form", "stream"])
def test_the_headers_are_those_of_the_library(method: str, content: dict[str, Any]) -> None:
    given = {"accept": "application/json", "Authorization": "Basic eA=="}
    boundary = {"content-type": "multipart/form-data; boundary=x"} if "files" in content else {}
    made = Messages(7).make_message(method, "https://shop.example/a", given | boundary, dict(content))
    with httpx.Client(timeout=7, trust_env=False, headers={"Accept-Encoding": "gzip, deflate"}) as client:
        rest = dict(content)
        headers = {**rest.pop("headers", {}), **given, **boundary}
        known = client.build_request(method, "https://shop.example/a", headers=headers, **rest)
    assert {**made.headers, "user-agent": ""} == {**known.headers, "user-agent": ""}
    assert made.extensions["timeout"] == known.extensions["timeout"]
    assert made.method == known.method


def test_what_the_request_says_stands_in_the_place_of_what_its_body_says() -> None:
    content = {"content": b"x", "headers": {"Content-Type": "text/plain"}}
    made = Messages(7).make_message("PUT", "https://shop.example/a", {"content-type": "text/x"}, content)
    assert made.headers.get_list("content-type") == ["text/x"]
