"""Watching a list: each change is an event once, whatever ends the process in between."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.mirror.mirror_file import MirrorFile
from support.draws import chance
from support.shell_user import ShellUser
from support.simulated import serving
from support.waiting import PATIENCE

ROUNDS = 6
INTERRUPTED = 130


@pytest.fixture
def site(tmp_path: Path) -> Iterator[ShellUser]:
    with serving() as address:
        user = ShellUser(tmp_path, address)
        user.environ["CALLSHEET_HOME"] = str(tmp_path / "home")
        yield user


class Watching:
    """A process that watches. What it prints comes line by line; `told` are its lines on standard error."""

    def __init__(self, site: ShellUser, *words: str, stdout: int = subprocess.PIPE) -> None:
        line = [sys.executable, "-m", "callsheet", "suite", "watch", *words]
        environ = {**os.environ, **site.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(line, env=environ, stdout=stdout, stderr=subprocess.PIPE, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self._told: queue.Queue[str] = queue.Queue()
        for stream, lines in ((self.process.stdout, self._lines), (self.process.stderr, self._told)):
            if stream is not None:
                threading.Thread(target=self._read, args=(stream, lines), daemon=True).start()

    def _read(self, stream: Any, lines: queue.Queue[str]) -> None:
        for line in stream:
            lines.put(line)
        stream.close()

    def next(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._lines.get(timeout=PATIENCE))
        return found

    def rest(self) -> list[dict[str, Any]]:
        found = []
        while not self._lines.empty():
            found.append(json.loads(self._lines.get()))
        return found

    def until_told(self, text: str) -> str:
        while text not in (line := self._told.get(timeout=PATIENCE)):
            pass
        return line

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def watching(site: ShellUser, *words: str) -> Iterator[Watching]:
    """Once it looks for changes."""
    found = Watching(site, *words)
    try:
        found.until_told("watching ")
        yield found
    finally:
        found.end()


def rename(site: ShellUser, key: str, summary: str) -> None:
    assert site("issues", "edit", key, "--summary", summary, "--quiet") == 0, site.err


@pytest.mark.slow
def test_what_is_new_or_changed_is_printed_once(site: ShellUser) -> None:
    with watching(site, "issues", "--jql", "project = DEMO", "--every", "1s") as found:
        rename(site, "DEMO-1", "Another title")
        event = found.next()
        assert event["event_type"] == "issue.changed"
        assert event["body"]["fields"]["summary"] == "Another title"
        assert set(event) == {"id", "event_type", "event_time", "source", "body", "before"}
        assert event["before"]["fields"]["summary"] == "A shop that sells on its own"
        assert site("issues", "new", "--project", "DEMO", "--type", "Task", "--summary", "Fresh", "--quiet") == 0
        event = found.next()
        assert (event["event_type"], event["before"]) == ("issue.new", None)
        rename(site, "OPS-4", "Not asked for")
        rename(site, "DEMO-2", "Last")
        assert found.next()["body"]["fields"]["summary"] == "Last"
        assert found.rest() == []


@pytest.mark.slow
def test_it_ends_when_nobody_reads_any_more(site: ShellUser) -> None:
    reading, writing = os.pipe()
    found = Watching(site, "issue", "--every", "1s", stdout=writing)
    os.close(writing)
    try:
        found.until_told("watching ")
        os.close(reading)
        rename(site, "DEMO-1", "Not read")
        assert found.process.wait(PATIENCE) == 0
    finally:
        found.end()


@pytest.mark.slow
def test_a_change_back_and_forth_is_an_event_each_time(site: ShellUser) -> None:
    with watching(site, "version", "--project", "DEMO", "--every", "1s") as found:
        assert site("versions", "create", "--project", "DEMO", "--name", "9.0", "--quiet") == 0, site.err
        ids = {found.next()["id"]}
        for name in ("one", "two", "one", "two"):
            assert site("versions", "update", "9.0", "--project", "DEMO", "--description", name, "--quiet") == 0, (
                site.err
            )
            event = found.next()
            assert event["body"]["description"] == name
            ids.add(event["id"])
        assert len(ids) == 5


@pytest.mark.slow
def test_killed_at_any_time_it_goes_on_with_nothing_lost_and_nothing_handled_twice(site: ShellUser) -> None:
    draw = chance(16)
    got = site.home / "got.ndjson"
    handler = site.home / "handler.py"
    handler.write_text(
        "import sys\nwith open(sys.argv[1], 'a', encoding='utf-8') as file:\n    file.write(sys.stdin.read())\n",
        encoding="utf-8",
    )
    words = ("issue", "--every", "1s", "--inbox", str(site.home / "in.sqlite"))
    command = ("--", sys.executable, str(handler), str(got))
    expected = []
    for number in range(ROUNDS):
        with watching(site, *words, *command) as found:
            if number:
                expected.append(f"while it runs {number}")
                rename(site, "DEMO-1", expected[-1])
                if draw.random() < 0.5:
                    found.until_told("handled")
        if number < ROUNDS - 1:
            expected.append(f"while it is down {number}")
            rename(site, "DEMO-2", expected[-1])
    kept = [text for text in expected if text.startswith("while it is down")]
    with watching(site, *words, *command) as found:
        rename(site, "DEMO-3", "the end")
        while not all(text in got.read_text(encoding="utf-8") for text in ("the end", *kept)):
            found.until_told("handled")
    events = [json.loads(line) for line in got.read_text(encoding="utf-8").splitlines()]
    assert len({event["id"] for event in events}) == len(events)
    said = [event["body"]["fields"]["summary"] for event in events]
    # Two changes of one issue between two looks are one event. What waited may be handled after what is newer.
    assert {"the end", *kept} <= set(said) <= {*expected, "the end"}


def test_what_was_told_and_not_kept_is_told_again_with_the_same_id(
    site: ShellUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it ended between both: what is printed cannot be taken back, so that readers know it by the id."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("callsheet.cli.builtin.watch._poll_until_stopped", end)  # the first run
        assert site("watch", "issue") == INTERRUPTED
    rename(site, "DEMO-1", "Told twice")
    ids = []
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(MirrorFile, "_put_row", end)
            assert site("watch", "issue") == INTERRUPTED
        ids.append(json.loads(site.out)["id"])
    assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["isue"], "no resource 'isue', did you mean 'issue'?"),
        (["issue", "--every", "0"], "--every: 0 s is too short"),
        (["issue", "--every", "soon"], "is not a duration"),
        (["issue", "--jql", "x = = 1"], "Error in the JQL Query"),
        (["group", "--jql", "x = 1"], "nothing that is wanted here takes a query"),
        (["issue", "--routes", "nowhere.toml"], "--routes: no file nowhere.toml"),
        (["issue", "--inbox", "in.sqlite"], "--inbox needs something to do with the events"),
        (["issue", "-o", "table"], "watch cannot print -o table: use -o ndjson"),
        (["issue", "--dry-run"], "watch has no dry run"),
        (["issue", "--project", "DEMOO"], "did you mean"),
    ],
)
def test_wrong_words_end_it_before_it_watches(site: ShellUser, words: list[str], message: str) -> None:
    assert site("watch", *words) != 0
    assert message in site.err
    assert "watching" not in site.err
