from __future__ import annotations

import gzip
from typing import Any

import pytest

from support.server import Scripted, exchange, reply
from support.shop import shop

JSON = {"Content-Type": "application/json"}
HTML = b"<html><head><title>Sign in</title></head><body>long page</body></html>"

CASES: list[tuple[str, Scripted, int, str]] = [
    (
        "a page where JSON was promised",
        reply(body=HTML, headers={"Content-Type": "text/html"}),
        1,
        'a web page ("Sign in")',
    ),
    ("a page without its media type", reply(body=HTML, headers={"Content-Type": ""}), 1, 'a web page ("Sign in")'),
    ("another media type", reply(text="all is well"), 1, "text/plain where JSON was expected: all is well"),
    ("JSON that ends early", reply(body=b'{"a": [1, 2', headers=JSON), 7, "cut off: line 1 column 12"),
    ("a text that ends early", reply(body=b'{"a": "xy', headers=JSON), 7, "cut off: line 1 column 7"),
    ("JSON that is wrong", reply(body=b'{"a": 1,, "b": 2}', headers=JSON), 1, "not valid JSON: line 1 column 9"),
    ("NaN", reply(body=b'{"a": NaN}', headers=JSON), 1, "not valid JSON: NaN is not JSON"),
    ("not UTF-8", reply(body=b'{"a": "\xff"}', headers=JSON), 1, "not valid JSON: byte 7: not valid UTF-8"),
    ("nothing", reply(200), 1, "empty body where JSON was expected"),
    ("a broken compression", reply(body=b"nonsense", headers={**JSON, "Content-Encoding": "gzip"}), 7, "decompressed"),
]


@pytest.mark.parametrize(("answer", "code", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_bad_answer_is_one_clear_error(answer: Scripted, code: int, words: str) -> None:
    with shop([exchange("GET", "/api/3/item/1", answer, repeat=None)]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert error.exit_code == code
    assert error.message.startswith(f"GET {here.server.url}/api/3/item/1: ")
    assert words in error.message


@pytest.mark.parametrize("cut", [0, 5])
def test_a_body_cut_off_on_the_way_is_a_network_error_after_the_retries(cut: int) -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(json={"a": "b" * 100}, cut=cut), repeat=3)]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert error.exit_code == 7
    assert "the answer was cut off" in error.message


def test_json_under_another_media_type_is_read() -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(text='{"a": 1}'))]) as here:
        assert here.send("getItem", {"id": "1"}).json() == {"a": 1}


def test_compressed_json_is_read() -> None:
    body = gzip.compress(b'{"a": 1}')
    with shop(
        [exchange("GET", "/api/3/item/1", reply(body=body, headers={**JSON, "Content-Encoding": "gzip"}))]
    ) as here:
        assert here.send("getItem", {"id": "1"}).json() == {"a": 1}


@pytest.mark.parametrize(
    ("operation", "arguments", "method", "path", "status"),
    [
        ("dropItem", {"id": "1"}, "DELETE", "/api/3/item/1", 204),
        ("makeItem", {}, "POST", "/api/3/item", 201),
        ("getItem", {"id": "1"}, "GET", "/api/3/item/1", 204),
    ],
)
def test_no_body_is_nothing_where_none_is_owed(
    operation: str, arguments: dict[str, Any], method: str, path: str, status: int
) -> None:
    with shop([exchange(method, path, reply(status))]) as here:
        assert here.send(operation, arguments, {} if operation == "makeItem" else None).json() is None
