"""Journals of runs that ended in the middle: killed, interrupted, and without a connection."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.journal import (
    DONE,
    LEFT,
    UNDER_WAY,
    continue_journal,
    found_journal,
    fresh_path,
    journal_folder,
    kept_journals,
    new_journal,
    read_journal,
    remove_old,
)
from callsheet.errors import CallsheetError, UsageError
from callsheet.sandbox.simulated_site import Faults
from support.cases import Done, nobody, run_program
from support.simulated import ask_site, serving
from support.waiting import PATIENCE, at_most

KEYS = [*(f"DEMO-{number}" for number in range(1, 11)), *(f"OPS-{number}" for number in range(1, 5))]


class Slow:
    """A site that takes a moment for each answer, and the program in a process of its own."""

    def __init__(self, url: str, environ: dict[str, str], journal: Path) -> None:
        self.url = url
        self.journal = journal
        self.environ = {**environ, "SUITE_BASE_URL": url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "x"}

    def start(self, *words: str) -> subprocess.Popen[str]:
        line = [sys.executable, "-m", "callsheet", "suite", "--rps", "30", *words, "--journal", str(self.journal)]
        return subprocess.Popen(
            line, env={**os.environ, **self.environ}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def until_done(self, count: int) -> None:
        with at_most(PATIENCE):
            while not self.journal.exists() or self.journal.read_text("utf-8").count('"done"}') < count:
                time.sleep(0.01)

    def run(self, *words: str) -> Done:
        return run_program("suite", list(words), self.environ)

    def labelled(self) -> list[str]:
        asked = {"jql": "labels = moved order by key", "fields": ["summary"], "maxResults": 100}
        answer = ask_site("POST", f"{self.url}/rest/api/3/search/jql", json=asked)
        return [issue["key"] for issue in answer.json()["issues"]]

    def states(self) -> dict[str, str]:
        with read_journal(str(self.journal)) as found:
            return {item: entry.state for item, entry in zip(found.items, found.entries, strict=True)}


@pytest.fixture
def slow(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slow]:
    with serving(Faults([], latency=0.03)) as url:
        yield Slow(url, nobody(tmp_path_factory), tmp_path / "j.jsonl")


@pytest.mark.skipif(sys.platform == "win32", reason="processes are not killed this way there")
def test_a_killed_run_is_resumed_and_undone(slow: Slow) -> None:
    """Whatever was under way is known as such, all that the journal calls done is done, and nothing is left out."""
    process = slow.start("issues", "label", *KEYS, "moved")
    slow.until_done(3)
    process.kill()
    process.communicate()
    states = slow.states()
    done = {key for key, state in states.items() if state == DONE}
    begun = {key for key, state in states.items() if state in UNDER_WAY}
    assert 3 <= len(done) < len(KEYS)
    assert done <= set(slow.labelled()) <= done | begun
    resumed = slow.run("issues", "label", "--resume", str(slow.journal))
    assert resumed.exit == 0, resumed.stderr
    assert sorted(slow.labelled()) == sorted(KEYS)
    undone = slow.run("undo", str(slow.journal), "--yes", "--force")
    assert (undone.exit, slow.labelled()) == (0, []), undone.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal there")
def test_an_interrupted_run_says_how_to_continue(slow: Slow) -> None:
    process = slow.start("issues", "label", *KEYS, "moved")
    slow.until_done(2)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"to continue: suite issues label --resume {slow.journal}" in told
    assert not any(state in UNDER_WAY for state in slow.states().values())  # they had a moment to end
    assert slow.run("issues", "label", "--resume", str(slow.journal)).exit == 0
    assert sorted(slow.labelled()) == sorted(KEYS)


def test_without_a_connection_the_rest_waits_for_a_resume(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The site is gone after the journal was begun; its address answers again later."""
    journal = tmp_path / "j.jsonl"
    environ = nobody(tmp_path_factory)
    with serving() as url:
        slow = Slow(url, environ, journal)
        assert slow.run("issues", "label", "DEMO-1", "moved", "--journal", str(journal)).exit == 0
        assert slow.run("undo", str(journal), "--yes").exit == 0
        head = json.loads(journal.read_text("utf-8").splitlines()[0])
        head |= {"site": "http://127.0.0.1:9", "values": {**head["values"], "issue": KEYS}}
        journal.write_text(f"{json.dumps(head)}\n{json.dumps({'items': KEYS})}\n", "utf-8")
        gone = run_program(
            "suite",
            ["issues", "label", "--resume", str(journal)],
            {**slow.environ, "SUITE_BASE_URL": "http://127.0.0.1:9"},
        )
        assert gone.exit == 1
        assert "labelled 0 of 14 issues" in gone.stderr
        assert "not tried: DEMO-1" in gone.stderr
        text = journal.read_text("utf-8").replace("http://127.0.0.1:9", url)
        journal.write_text(text, "utf-8")
        assert slow.run("issues", "label", "--resume", str(journal)).exit == 0
        assert sorted(slow.labelled()) == sorted(KEYS)


def whole(path: Path) -> bytes:
    """A journal of three items: one done, one failed, one under way."""
    with new_journal(str(path)) as journal:
        head = {"program": "p", "command": "c", "step": 0, "site": "s", "started": "t", "undo": False, "values": {}}
        journal.write_head(head, ["a", "b", "c"])
        journal.item_started(0, "a", {"was": {"x": "\u00e9"}})
        journal.item_done(0, "a")
        journal.write_states([(0, "a", {"x": 2})])
        journal.item_started(1, "b", {"was": 1})
        journal.item_failed(1, "b", "no\nway")
        journal.item_started(2, "c", {})
    return path.read_bytes()


def test_a_journal_that_ends_anywhere_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Each beginning of the file is what some killed process left: never more is known of an item than was written."""
    content = whole(tmp_path / "whole")
    rank = {LEFT: 0, "started": 1, DONE: 2, "failed": 2}
    last = [0, 0, 0]
    part = tmp_path / "part"
    for length in (*range(0, len(content), 5), len(content)):
        part.write_bytes(content[:length])
        part.chmod(0o600)
        if content[:length].count(b"\n") < 2:
            with pytest.raises(UsageError):
                read_journal(str(part))
            continue
        with read_journal(str(part)) as found:
            ranks = [rank[entry.state] for entry in found.entries]
            assert all(new >= old for new, old in zip(ranks, last, strict=True))
            assert found.length == content[:length].rfind(b"\n") + 1
            last = ranks
    with read_journal(str(part)) as found:
        assert (found.state_before(0), found.state_after(0), found.entries[1].why) == (
            {"x": "\u00e9"},
            {"x": 2},
            "no\nway",
        )
    assert last == [2, 2, 1]


def test_what_may_have_been_done_keeps_the_values_from_before_the_first_attempt(tmp_path: Path) -> None:
    """Of what certainly was not done, the values before the last attempt count."""
    path = str(tmp_path / "j")
    with new_journal(path) as journal:
        head = {"program": "p", "command": "c", "step": 0, "site": "s", "started": "t", "undo": False, "values": {}}
        journal.write_head(head, ["lost", "failed"])
        journal.item_started(0, "lost", {"was": "old"})
        journal.item_failed(0, "lost", "no connection", known=False)
        journal.item_started(0, "lost", {"was": "ours"})
        journal.item_done(0, "lost")
        journal.item_started(1, "failed", {"was": "old"})
        journal.item_failed(1, "failed", "refused")
        journal.item_started(1, "failed", {"was": "theirs"})
    with read_journal(path) as found:
        assert [entry.state for entry in found.entries] == [DONE, "started"]
        assert (found.state_before(0), found.state_before(1)) == ("old", "theirs")


@pytest.mark.parametrize(
    "line",
    [
        b"[]",
        b"7",
        b'{"n": 3, "state": "done"}',
        b'{"n": -1, "state": "done"}',
        b'{"n": true, "state": "done"}',
        b'{"n": 0}',
        b'{"n": 0, "state": "x"}',
        b"{",
        b"\xff",
        b"[" * 300 + b"]" * 300,
    ],
)
def test_a_line_that_does_not_belong_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "j"
    whole(path)
    with path.open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(UsageError, match=r"j:9: not a line of a journal"):
        read_journal(str(path))


@pytest.mark.parametrize(
    "change", [{"journal": 2}, {"step": -1}, {"step": True}, {"values": []}, {"site": 1}, {"undo": 0}]
)
def test_a_head_that_does_not_fit_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "j"
    first, *rest = whole(path).splitlines(keepends=True)
    path.write_bytes(json.dumps({**json.loads(first), **change}).encode() + b"\n" + b"".join(rest))
    with pytest.raises(UsageError, match=r"was written by another version|is missing or not what it should be"):
        read_journal(str(path))


@pytest.mark.skipif(sys.platform == "win32", reason="rights are elsewhere there")
def test_a_journal_that_others_can_write_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j"
    whole(path)
    path.chmod(0o666)
    with pytest.raises(CallsheetError, match=r"the journal .* can be changed by others"):
        read_journal(str(path))


def test_two_runs_never_write_into_one_journal(tmp_path: Path) -> None:
    from callsheet.commands.journal import continue_journal

    path = tmp_path / "j"
    content = whole(path)
    path.write_bytes(content + b"{}")
    with pytest.raises(UsageError, match="has just written"), continue_journal(str(path), len(content), len(content)):
        pass
    assert path.read_bytes() == content + b"{}"


def test_a_full_disk_ends_the_run_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a line is written when the disk is full. With room again nothing is written behind the gap."""
    path, write, room = tmp_path / "j.jsonl", os.write, [1]

    def limited(descriptor: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room.pop()
        return write(descriptor, bytes(data)[: len(data) // 2])

    whole(path)
    size = path.stat().st_size
    told = f"cannot write the journal .*: {os.strerror(errno.ENOSPC).lower()}"
    with continue_journal(str(path), size, size) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", limited)
            with pytest.raises(CallsheetError, match=told):
                journal.item_done(2, "c")
        with pytest.raises(CallsheetError, match=told):
            journal.write_counts(done=1, failed=0)
    assert path.stat().st_size == size
    assert not (tmp_path / "j.jsonl.lock").exists()
    with read_journal(str(path)) as found:
        assert [entry.state for entry in found.entries] == ["done", "failed", "started"]


def test_old_journals_make_room_and_nothing_else_is_removed(tmp_path: Path) -> None:
    """Ninety days, and the latest two thousand; what a person put there has another name."""
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    folder = Path(journal_folder(environ, "suite"))
    folder.mkdir(parents=True)
    new = [Path(fresh_path(environ, "suite", f"issues edit {number}")) for number in range(2002)]
    others = [folder / name for name in ("mine.jsonl", "20010101-000000-notes.txt", "20010101-mine.jsonl")]
    old = folder / "20010101-000000-issues-edit-ab12.jsonl"
    for path in (*new, *others, old):
        path.touch()
    remove_old(environ, "suite")
    assert not old.exists()
    assert all(path.exists() for path in others)
    assert {str(path) for path in new if path.exists()} == set(sorted(map(str, new))[2:])
    assert sum(path.endswith(".jsonl") for path in kept_journals(environ, "suite")) == 2002


def test_the_last_journal_where_none_was_kept(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no journal was kept yet"):
        found_journal({"CALLSHEET_HOME": str(tmp_path)}, "suite", "last")
    assert found_journal({"CALLSHEET_HOME": str(tmp_path)}, "suite", "a.jsonl") == "a.jsonl"
