"""Who sent a request: the first address from the right that no trusted proxy has."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener.server.application import ClientAddresses


def name(trusted: list[str], client: str | None, *forwarded: str) -> str:
    headers = [(b"x-other", b"9.9.9.9"), *((b"x-forwarded-for", text.encode()) for text in forwarded)]
    scope: Any = {"client": (client, 1) if client else None, "headers": headers}
    return ClientAddresses(trusted).client_name(scope)


@pytest.mark.parametrize(
    ("trusted", "client", "forwarded", "expected"),
    [
        ([], "1.1.1.1", ["2.2.2.2"], "1.1.1.1"),
        ([], None, ["2.2.2.2"], "unix"),
        (["10.0.0.0/8"], "1.1.1.1", ["2.2.2.2"], "1.1.1.1"),
        (["10.0.0.0/8"], "10.0.0.1", [], "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", ["2.2.2.2"], "2.2.2.2"),
        (["10.0.0.0/8"], "10.0.0.1", ["3.3.3.3, 2.2.2.2 , 10.9.9.9,"], "2.2.2.2"),
        (["10.0.0.0/8"], "10.0.0.1", ["3.3.3.3", "2.2.2.2"], "2.2.2.2"),
        (["10.0.0.0/8"], "10.0.0.1", ["10.0.0.3", "10.0.0.2"], "10.0.0.3"),
        (["10.0.0.0/8", "::1"], "::1", ["2001:db8::1"], "2001:db8::1"),
        (["10.0.0.7/8"], "10.0.0.1", ["2.2.2.2"], "2.2.2.2"),
        (["127.0.0.1"], None, ["2.2.2.2"], "2.2.2.2"),
        (["*"], "1.1.1.1", ["3.3.3.3, 2.2.2.2"], "3.3.3.3"),
        (["*"], "1.1.1.1", [], "1.1.1.1"),
        (["*"], "1.1.1.1", ['me" id=7'], '"me\\" id=7"'),
        (["10.0.0.0/8"], "10.0.0.1", ["3.3.3.3, unknown"], "unknown"),
    ],
)
def test_who_is_named(trusted: list[str], client: str | None, forwarded: list[str], expected: str) -> None:
    assert name(trusted, client, *forwarded) == expected


def test_what_is_no_network_is_refused() -> None:
    with pytest.raises(UsageError, match="--trust-proxy: 'me' is not an address or network") as caught:
        ClientAddresses(["10.0.0.1", "me"])
    assert caught.value.hint == "example: 10.0.0.0/8"
