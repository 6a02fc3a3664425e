"""What a request asks for."""

from __future__ import annotations

import pytest
from httptools import HttpParserInvalidURLError

from callsheet.listener.server.http_protocol import path_and_query


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [
        (b"/webhook", "/webhook", b""),
        (b"/webhook?", "/webhook", b""),
        (b"/a%20b%2Fc?q=1%20&r", "/a b/c", b"q=1%20&r"),
        (b"http://h.example:80/webhook?q", "/webhook", b"q"),
    ],
)
def test_a_path_has_no_escapes_and_a_query_stays_as_it_came(target: bytes, path: str, query: bytes) -> None:
    assert path_and_query(target) == (path, query)


def test_what_is_no_target_is_an_error() -> None:
    with pytest.raises(HttpParserInvalidURLError):
        path_and_query(b"h\xffello")
