"""Questions of a sender: which are answered, and with what."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Challenge


def answer(reply: str, scope: dict[str, Any], when: str = "payload.challenge") -> Any:
    definition: Any = {"when": when, "reply": reply}
    return Challenge(definition, []).answer_to(scope, [], b"")


@pytest.mark.parametrize(
    ("reply", "value", "body", "kind"),
    [
        ("{payload.challenge}", "abc", b"abc", b"text/plain; charset=utf-8"),
        ("{payload.challenge}", "ü\ud800", "ü?".encode(), b"text/plain; charset=utf-8"),
        ("{payload.none}", "abc", b"", b"text/plain; charset=utf-8"),
        ("", "abc", b"", b"text/plain; charset=utf-8"),
        ("{payload}", "abc", b'{"challenge": "abc"}', b"application/json"),
        ("{payload.challenge}", 7, b"7", b"application/json"),
    ],
)
def test_the_answer_is_text_or_json(reply: str, value: Any, body: bytes, kind: bytes) -> None:
    found = answer(reply, {"payload": {"challenge": value}})
    assert (found.body, found.content_type) == (body, kind)


def test_what_is_no_question_is_not_answered() -> None:
    assert answer("x", {"payload": {"other": 1}}) is None


@pytest.mark.parametrize(("length", "fits"), [(4096, True), (4097, False)])
def test_an_answer_has_a_length(length: int, fits: bool) -> None:
    scope = {"payload": {"challenge": "x" * length}}
    if fits:
        assert len(answer("{payload.challenge}", scope).body) == length
    else:
        with pytest.raises(Rejected) as caught:
            answer("{payload.challenge}", scope)
        assert (caught.value.status, caught.value.reason) == (400, "challenge_long")


def test_by_post_unless_it_says_otherwise() -> None:
    assert [Challenge({"when": "a", **more}, []).method for more in ({}, {"method": "GET"})] == ["POST", "GET"]  # type: ignore[typeddict-item]
