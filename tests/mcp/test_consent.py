"""Consent holds for one call with exactly its arguments, once, and not for long."""

from __future__ import annotations

import pytest

from callsheet.mcp.mcp_server import Seals, consent_question, is_consent

ARGUMENTS = {"id": "DEMO-1", "deep": {"b": [1, 2], "a": None}}


def test_a_state_opens_once_for_the_call_it_was_sealed_for() -> None:
    seals = Seals()
    state = seals.seal_questions("delete", ARGUMENTS, frozenset({"Delete?"}))
    assert seals.open_state(state, "delete", {"deep": {"a": None, "b": [1, 2]}, "id": "DEMO-1"}) == {"Delete?"}
    assert seals.open_state(state, "delete", ARGUMENTS) is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("delete", {**ARGUMENTS, "id": "DEMO-2"}),
        ("delete", {**ARGUMENTS, "more": True}),
        ("delete", {"id": "DEMO-1"}),
        ("delete", {"id": "DEMO-1", "deep": {"b": [2, 1], "a": None}}),
        ("remove", ARGUMENTS),
    ],
)
def test_no_other_call_opens_it(tool: str, arguments: dict[str, object]) -> None:
    seals = Seals()
    state = seals.seal_questions("delete", ARGUMENTS, frozenset({"Delete?"}))
    assert seals.open_state(state, tool, arguments) is None
    assert seals.open_state(state, "delete", ARGUMENTS) is not None


def test_a_changed_state_and_one_of_another_server_do_not_open() -> None:
    seals = Seals()
    state = seals.seal_questions("delete", ARGUMENTS, frozenset({"Delete?"}))
    body, mark = state.split(".")
    for other in (
        "",
        ".",
        "x",
        f"{body}.",
        f".{mark}",
        f"{mark}.{body}",
        f"{state}.{mark}",
        f"{body}.{mark[:-4]}AAA=",
        "\u00e9.\u00e9",
    ):
        assert seals.open_state(other, "delete", ARGUMENTS) is None
    assert Seals().open_state(state, "delete", ARGUMENTS) is None


def test_it_ends_after_ten_minutes() -> None:
    now = [0.0]
    seals = Seals(lambda: now[0])
    state = seals.seal_questions("delete", ARGUMENTS, frozenset({"Delete?"}))
    now[0] = 601.0
    assert seals.open_state(state, "delete", ARGUMENTS) is None


@pytest.mark.parametrize(
    ("action", "content", "agreed"),
    [
        ("accept", {"confirm": True}, True),
        ("accept", {"confirm": False}, False),
        ("accept", {"confirm": "true"}, False),
        ("accept", {"confirm": 1}, False),
        ("accept", {}, False),
        ("accept", None, False),
        ("decline", {"confirm": True}, False),
        ("cancel", None, False),
    ],
)
def test_only_a_plain_yes_is_one(action: str, content: dict[str, object] | None, *, agreed: bool) -> None:
    assert is_consent(action, content) is agreed


def test_a_person_sees_what_would_be_called() -> None:
    asked = consent_question("suite", "Delete A-1\u202e?", "delete", {"id": "A-1", "text": "x" * 900})
    assert asked.startswith('suite: Delete A-1?\n\ndelete {"id": "A-1", "text": "xxx')
    assert len(asked) < 700
