"""A secret that is sent as it is: where it is looked for, and what is said when it is not there."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import PlainToken, SignedRequest

IN_HEADER: Any = {"header": "X-Token"}
IN_QUERY: Any = {"query": "token"}
AFTER_WORD: Any = {"header": "Authorization", "prefix": "Bearer "}


def check(table: Any, secrets: list[str], headers: list[tuple[bytes, bytes]], query: bytes = b"") -> None:
    PlainToken(table, secrets).check_delivery(headers, b"", 0.0, SignedRequest("", query))


@pytest.mark.parametrize(
    ("table", "headers", "query"),
    [
        (IN_HEADER, [(b"x-token", b"one")], b""),
        (IN_HEADER, [(b"x-token", b"wrong"), (b"x-token", b"two")], b""),
        (AFTER_WORD, [(b"authorization", b"bEARER two")], b""),
        (IN_QUERY, [], b"a=b&token=one"),
        (IN_QUERY, [], b"token=&token=t%77o"),
    ],
)
def test_each_secret_is_looked_for_in_each_place(table: Any, headers: list[tuple[bytes, bytes]], query: bytes) -> None:
    check(table, ["one", "two"], headers, query)


@pytest.mark.parametrize(
    ("table", "headers", "query", "reason", "detail"),
    [
        (IN_HEADER, [], b"token=one", "token_missing", "no X-Token header"),
        (IN_HEADER, [(b"token", b"one")], b"", "token_missing", "no X-Token header"),
        (IN_QUERY, [(b"token", b"one")], b"tokens=one", "token_missing", "no 'token' in the query"),
        (IN_HEADER, [(b"x-token", b"One")], b"", "token_wrong", "X-Token header matches none of the secrets (2)"),
        (IN_HEADER, [(b"x-token", b"")], b"", "token_wrong", "X-Token header matches none of the secrets (2)"),
        (
            AFTER_WORD,
            [(b"authorization", b"Digest one")],
            b"",
            "token_wrong",
            "Authorization header matches none of the secrets (2)",
        ),
        (
            AFTER_WORD,
            [(b"authorization", b"one")],
            b"",
            "token_wrong",
            "Authorization header matches none of the secrets (2)",
        ),
        (IN_QUERY, [], b"token=on", "token_wrong", "'token' in the query matches none of the secrets (2)"),
    ],
)
def test_what_is_missing_or_wrong_is_said(
    table: Any, headers: list[tuple[bytes, bytes]], query: bytes, reason: str, detail: str
) -> None:
    with pytest.raises(Rejected) as caught:
        check(table, ["one", "two"], headers, query)
    assert (caught.value.status, caught.value.reason) == (401, reason)
    assert caught.value.detail.removesuffix(" secrets") == detail.removesuffix(" secrets")


def test_its_summary_counts_the_secrets() -> None:
    assert PlainToken(IN_HEADER, ["one"]).summary == "a token in X-Token header, 1 secret"
    assert PlainToken(IN_QUERY, ["one", "two", "one"]).summary == "a token in 'token' in the query, 2 secrets"


def test_a_secret_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(UsageError, match="whitespace"):
        PlainToken(IN_HEADER, ["fine", " one"])
