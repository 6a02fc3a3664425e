"""What may be the type and the id of an event: short texts that can be written down, and integers."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Source


def identify(type_: Any, id_: Any = None) -> tuple[str, str | int | None]:
    definition: Any = {"path": "/", "type": "body.type", "id": "body.id"}
    return Source("s", definition).identify_event({"body": {"type": type_, "id": id_}})


@pytest.mark.parametrize(
    ("type_", "id_"),
    [
        ("t", None),
        ("t" * 256, "i" * 1024),
        ("\u00fc" * 256, "\u00fc" * 1024),
        ("t", 0),
        ("t", -7),
        ("t", 10**1024 - 1),
        ("t", 1 - 10**1024),
    ],
)
def test_what_an_event_may_be_called(type_: str, id_: str | int | None) -> None:
    assert identify(type_, id_) == (type_, id_)


def test_an_empty_id_is_none() -> None:
    assert identify("t", "") == ("t", None)


@pytest.mark.parametrize(
    ("type_", "id_", "why"),
    [
        (None, "1", "it names no type"),
        ("", "1", "it names no type"),
        (7, "1", "it names no type"),
        ("t" * 257, "1", "its type is too long"),
        ("\u00fc" * 257, "1", "its type is too long"),
        ("a\ud800", "1", "its type is too long, or no text"),
        ("t", "i" * 1025, "its id is too long"),
        ("t", "\u00fc" * 1025, "its id is too long"),
        ("t", "a\ud800", "its id is too long, or no text"),
        ("t", 10**1024, "its id is too long"),
        ("t", -(10**1024), "its id is too long"),
        ("t", True, "its id is neither text nor an integer"),
        ("t", False, "its id is neither text nor an integer"),
        ("t", 1.5, "its id is neither text nor an integer"),
        ("t", ["1"], "its id is neither text nor an integer"),
    ],
)
def test_what_no_event_is_called(type_: Any, id_: Any, why: str) -> None:
    with pytest.raises(Rejected, match=why) as caught:
        identify(type_, id_)
    assert caught.value.status == 400
