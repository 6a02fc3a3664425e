"""Which files are inboxes, and that all others stay as they are."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.errors import CallsheetError, UsageError
from callsheet.listener.queue.sqlite import inbox_events, inbox_file
from callsheet.listener.verify.event import _hex_digest
from support.kept_events import add_event
from support.listening import run
from support.waiting import PATIENCE

V1 = """
CREATE TABLE event (key INTEGER PRIMARY KEY AUTOINCREMENT, identity TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
  received REAL NOT NULL, headers BLOB NOT NULL, query BLOB NOT NULL, data BLOB NOT NULL, text BLOB,
  state TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL, finished REAL, error TEXT, owner TEXT);
CREATE INDEX event_due ON event (due) WHERE state = 'waiting';
CREATE INDEX event_owner ON event (owner) WHERE state = 'running';
CREATE INDEX event_finished ON event (finished) WHERE state = 'done';
CREATE INDEX event_id ON event (id);
CREATE TABLE succeeded (key INTEGER NOT NULL, job TEXT NOT NULL, PRIMARY KEY (key, job)) WITHOUT ROWID;
CREATE TABLE owner (id TEXT PRIMARY KEY, alive_until REAL NOT NULL) WITHOUT ROWID;
"""


V2 = f"""{V1}
DROP INDEX event_owner;
CREATE INDEX event_state ON event (state);
CREATE TABLE tally (state TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO tally VALUES ('waiting', 0), ('running', 0), ('done', 0), ('dead', 0);
CREATE TRIGGER event_added AFTER INSERT ON event BEGIN
  UPDATE tally SET events = events + 1 WHERE state = new.state;
END;
CREATE TRIGGER event_moved AFTER UPDATE OF state ON event WHEN old.state <> new.state BEGIN
  UPDATE tally SET events = events - 1 WHERE state = old.state;
  UPDATE tally SET events = events + 1 WHERE state = new.state;
END;
CREATE TRIGGER event_removed AFTER DELETE ON event BEGIN
  UPDATE tally SET events = events - 1 WHERE state = old.state;
END;
"""

V3 = V2.replace(", ('running', 0)", "").replace(
    "CREATE INDEX event_state ON event (state);",
    """
CREATE INDEX event_waiting ON event (key) WHERE state = 'waiting';
CREATE INDEX event_running ON event (owner) WHERE state = 'running';
CREATE INDEX event_dead ON event (received) WHERE state = 'dead';""",
)

V5 = f"""{V3}
DROP INDEX event_id;
CREATE UNIQUE INDEX event_id ON event (id, identity);
CREATE UNIQUE INDEX event_digest ON event (identity) WHERE substr(identity, -34, 2) IN ('/b', '/h');
DROP TRIGGER event_added;
DROP TRIGGER event_moved;
CREATE TRIGGER event_added AFTER INSERT ON event WHEN new.state <> 'running' BEGIN
  UPDATE tally SET events = events + 1 WHERE state = new.state;
END;
CREATE TRIGGER event_moved AFTER UPDATE OF state ON event
WHEN old.state <> new.state AND (old.state <> 'running' OR new.state <> 'done') BEGIN
  UPDATE tally SET events = events - 1 WHERE state = old.state;
  UPDATE tally SET events = events + 1 WHERE state = new.state;
END;
ALTER TABLE succeeded RENAME TO target;
ALTER TABLE target ADD COLUMN state TEXT NOT NULL DEFAULT 'done';
ALTER TABLE target ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE target ADD COLUMN due REAL NOT NULL DEFAULT 0;
ALTER TABLE target ADD COLUMN error TEXT;
CREATE INDEX target_job ON target (job, key);
"""


def insert(connection: sqlite3.Connection, number: int, state: str = "done") -> None:
    connection.execute(
        "INSERT INTO event (identity, source, type, id, received, headers, query, data, state, attempts, due, finished)"
        " VALUES (?, 'lms', 't', ?, 1, x'', x'', ?, ?, 1, 1, 1)",
        (f"i{number}", f'"{number}"', b'{"id":"%d"}' % number, state),
    )


def foreign(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in ("CREATE TABLE x (y)", *statements):
            connection.execute(statement)
        connection.commit()


def everything(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def no_inboxes(folder: Path) -> dict[str, str]:
    """Files by name, and what is said of them."""
    (folder / "text").write_text("not a database, though long enough to be looked at" * 30, encoding="utf-8")
    (folder / "empty").touch()
    (folder / "directory").mkdir()
    foreign(folder / "other")
    foreign(folder / "numbered", "PRAGMA user_version = 1")
    foreign(folder / "ahead", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 2")
    foreign(folder / "alike", "CREATE TABLE event (key, state)", "PRAGMA user_version = 2")
    (folder / "cut").write_bytes((folder / "other").read_bytes()[:600])
    return {
        "text": "it is not a database", "empty": "it is empty", "directory": "is a directory",
        **dict.fromkeys(("other", "numbered", "ahead", "alike"), "but not an inbox"),
        "cut": "malformed", "absent": "no inbox at",
    }  # fmt: skip


@pytest.mark.parametrize("write", [False, True])
def test_commands_change_nothing_in_a_file_that_is_no_inbox(tmp_path: Path, write: bool) -> None:
    said = no_inboxes(tmp_path)
    before = everything(tmp_path)
    for name, words in said.items():
        with pytest.raises(UsageError, match=words):
            inbox_file.open_existing(str(tmp_path / name), write=write)
    assert everything(tmp_path) == before


def test_a_listener_refuses_them_too_but_makes_what_is_absent_or_empty(tmp_path: Path) -> None:
    said = no_inboxes(tmp_path)
    before = everything(tmp_path)
    for name in sorted(said.keys() - {"absent", "empty"}):
        with pytest.raises(UsageError, match=said[name]):
            inbox_file.open_inbox(str(tmp_path / name))
    assert everything(tmp_path) == before
    for name in ("absent", "empty"):
        inbox_file.open_inbox(str(tmp_path / name)).close()
        inbox_file.open_existing(str(tmp_path / name), write=False).close()


def test_the_commands_say_so_in_a_line(tmp_path: Path) -> None:
    no_inboxes(tmp_path)
    for arguments, words in (
        (("list",), "LMS_INBOX"),
        (("list", "--inbox", "empty"), "empty is not an inbox"),
        (("replay", "x", "--inbox", "other"), "other is a database, but not an inbox"),
    ):
        done = run(tmp_path, "inbox", *arguments)
        assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    inbox_file.open_inbox(str(tmp_path / "in.db")).close()
    done = run(tmp_path, "inbox", "show", "9", "--inbox", "in.db")
    assert (done.returncode, "no event '9'" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize(("version", "script"), [(1, V1), (2, V2), (3, V3), (5, V5)])
def test_an_inbox_of_an_earlier_version_is_read_as_it_is_and_upgraded_by_a_listener(
    tmp_path: Path, version: int, script: str
) -> None:
    path = tmp_path / "old"
    with contextlib.closing(sqlite3.connect(path)) as old:
        old.executescript(script)
        insert(old, 1)
        insert(old, 2, "waiting")
        insert(old, 3, "running")
        old.execute(f"PRAGMA user_version = {version}")
        old.commit()
    before = path.read_bytes()
    reading = inbox_events.FileInspection(str(path), write=False)
    assert [row["id"] for row in reading.list_events(None, 9)] == ["3", "2", "1"]
    assert [row["id"] for row in reading.list_events("waiting", 9)] == ["2"]
    assert [row["key"] for row in reading.find_events("2")] == [2]
    reading.close()
    assert path.read_bytes() == before
    with contextlib.closing(inbox_file.open_inbox(str(path))) as connection:
        assert inbox_events.count_by_state(connection) == {"waiting": 1, "running": 1, "done": 1, "dead": 0}
        made = names(connection)
        assert all(add_event(connection, row(number)) is None for number in (1, 2, 3))
        add_event(connection, row(4))
        assert inbox_events.count_by_state(connection)["waiting"] == 2
    with contextlib.closing(inbox_file.open_inbox(str(tmp_path / "new"))) as connection:
        assert made - {"sqlite_autoindex_event_1"} == names(connection)


def names(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}


def row(number: int) -> inbox_events.Row:
    return f"i{number}", "lms", "t", f'"{number}"', 0.0, b"", b"", b"", None, "waiting", 0, 0.0, None, None


@pytest.mark.parametrize("script", ["", V1, V2, V3, V5], ids=["new", "1", "2", "3", "5"])
def test_each_identity_is_kept_once_whatever_it_is_made_of(tmp_path: Path, script: str) -> None:
    """Of what is known by its content, the id may differ; ids that are alike may be of several sources or types."""
    path = tmp_path / "in.db"
    versions = {V1: 1, V2: 2, V3: 3, V5: 5}
    if script:
        with contextlib.closing(sqlite3.connect(path)) as old:
            old.executescript(f"{script} PRAGMA user_version = {versions[script]}")
    with contextlib.closing(inbox_file.open_inbox(str(path))) as connection:
        assert [add_event(connection, each) is not None for each in identities()] == [
            True,
            True,
            True,
            True,
            True,
        ]
        assert [add_event(connection, each) for each in identities("other")] == [None] * 5
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def identities(unsigned: str = "one") -> list[inbox_events.Row]:
    """Events by id, of two types and of another source, and by digests of the body and of values."""
    digest = _hex_digest(b"body")
    assert len(digest) == inbox_file._DIGEST_LENGTH
    known = [("lms/t/s1", '"1"'), ("lms/u/s1", '"1"'), ("crm/t/s1", '"1"')]
    digests = [(f"lms/t/{kind}{digest}", f'"{unsigned}"') for kind in "bh"]
    return [(identity, "lms", "t", id, *row(1)[4:]) for identity, id in known + digests]


OPEN = """
import sys
from callsheet.listener.queue.sqlite import inbox_file
print("ready", flush=True)
sys.stdin.readline()
inbox_file.open_inbox(sys.argv[1]).close()
"""


def test_processes_that_start_at_once_make_one_inbox(tmp_path: Path) -> None:
    """Processes, not threads: a lock on a file belongs to all threads of a process."""
    path = str(tmp_path / "in.db")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [subprocess.Popen([sys.executable, "-c", OPEN, path], **pipes) for _ in range(4)]  # type: ignore[call-overload]
    assert [process.stdout.readline() for process in started] == ["ready\n"] * 4
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate(timeout=PATIENCE)[1] for process in started] == [""] * 4
    with contextlib.closing(inbox_file.open_existing(path, write=False)) as connection:
        assert inbox_events.count_by_state(connection) == dict.fromkeys(("waiting", "running", "done", "dead"), 0.0)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "in.db"
    with contextlib.closing(inbox_file.open_inbox(str(path))) as connection:
        for number in range(40):
            insert(connection, number, ("waiting", "done", "dead")[number % 3])
    return path


@pytest.mark.slow
@settings(max_examples=100)
@given(flips=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=40))
def test_a_damaged_inbox_gets_a_clear_error_or_an_answer(
    tmp_path_factory: pytest.TempPathFactory, filled: Path, flips: list[tuple[int, int]]
) -> None:
    damaged = bytearray(filled.read_bytes())
    for place, value in flips:
        damaged[place % len(damaged)] = value
    path = tmp_path_factory.mktemp("damaged") / "in.db"
    path.write_bytes(damaged)
    for write in (False, True):
        # What is raised besides fails the test.
        with contextlib.suppress(CallsheetError):
            look_at_all(str(path), write=write)


def look_at_all(path: str, *, write: bool) -> None:
    with contextlib.closing(inbox_events.FileInspection(path, write=write)) as inbox:
        inbox.list_events(None, 100)
        inbox.list_events("dead", 100)
        inbox.find_events("7")
        if write:
            inbox.replay_events([3])
            inbox.purge_events("done", 5.0)
