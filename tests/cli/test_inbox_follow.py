"""Following an inbox: what arrives and what becomes of it, each once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.cli.builtin import inbox
from support.cases import Done, run_program


class Inbox:
    """Answers what it holds at each look."""

    def __init__(self, looks: list[list[tuple[int, str, str]]]) -> None:
        self.looks = looks

    def list_events(self, state: str | None, limit: int, target: str | None = None) -> list[dict[str, Any]]:
        rows = [
            {"key": key, "id": f"e-{key}", "type": type, "state": now, "received": 0.0, "due": None, "finished": None}
            for key, type, now in self.looks[0]
            if state in (None, now)
        ]
        return rows[:limit]

    def close(self) -> None: ...


@pytest.fixture
def follow(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    def run(looks: list[list[tuple[int, str, str]]], *words: str) -> Done:
        held = Inbox(looks)

        def pause(_seconds: float) -> None:
            del held.looks[0]
            if not held.looks:
                raise KeyboardInterrupt

        monkeypatch.setattr(inbox, "open_inspection", lambda *_, **__: held)
        monkeypatch.setattr(inbox, "time", SimpleNamespace(sleep=pause))
        environ = {"CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(tmp_path.parent / "shared-cache")}
        return run_program("lms", ["inbox", "list", "--follow", *words], environ)

    return run


def test_each_event_and_each_of_its_states_comes_once_the_oldest_first(follow: Any) -> None:
    looks = [
        [(2, "b", "waiting"), (1, "a", "done")],
        [(2, "b", "waiting"), (1, "a", "done")],
        [(3, "a", "waiting"), (2, "b", "dead"), (1, "a", "done")],
    ]
    done = follow(looks, "-o", "ndjson")
    told = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert done.exit == 130
    assert [(row["key"], row["state"]) for row in told] == [(1, "done"), (2, "waiting"), (2, "dead"), (3, "waiting")]


def test_only_the_events_of_a_type_and_a_state(follow: Any) -> None:
    looks = [[(2, "b", "dead"), (1, "a", "dead")], [(3, "a", "waiting")], [(3, "a", "dead")]]
    done = follow(looks, "--type", "a*", "--state", "dead", "-o", "id")
    assert done.stdout.decode().split() == ["1", "3"]


def test_the_names_of_the_columns_come_once(follow: Any) -> None:
    looks = [[(1, "a", "waiting")], [(1, "a", "done")]]
    assert follow(looks).stdout.decode().count("STATE") == 1


@pytest.mark.parametrize("format", ["json", "yaml"])
def test_what_would_never_end_is_refused(follow: Any, format: str) -> None:
    done = follow([[]], "-o", format)
    assert done.exit == 2
    assert "-o ndjson" in done.stderr
