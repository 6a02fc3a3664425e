"""An inbox that another program writes to while it is in use."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from callsheet.listener.queue.queue_port import QueueFailed
from callsheet.listener.queue.sqlite import inbox_file as module
from callsheet.listener.queue.sqlite.file_queue import FileQueue
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be truncated there")
SOURCE = Source("lms", {"title": "x", "path": "/x", "type": "payload.type", "id": "payload.id"}, [], None)
OVERWRITTEN = "was overwritten or truncated by another program"


def event(number: int) -> Event:
    data = b'{"type": "t", "id": "%d", "fill": "%s"}' % (number, b"x" * 3000)
    return Event(SOURCE, {"type": "t", "id": str(number)}, [], b"", data, data)


def elsewhere(path: Path, *statements: str) -> None:
    """In a program of its own, as somebody at a shell has it."""
    code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
    code += "for s in sys.argv[2:]: c.execute(s).fetchall()\nc.close()"
    subprocess.run([sys.executable, "-c", code, str(path), *statements], check=True, timeout=PATIENCE)


def copied(path: Path, target: Path) -> None:
    """Not by this process, which would lose its locks on the file."""
    subprocess.run(["cp", path, target], check=True)


def other_database(path: Path) -> None:
    other = path.with_name("other.db")
    elsewhere(other, "CREATE TABLE t (x)", "PRAGMA journal_mode = WAL")
    path.write_bytes(other.read_bytes())


def older_copy(path: Path) -> None:
    path.write_bytes(path.with_name("old.db").read_bytes())


def truncated(size: int, suffix: str = "") -> Callable[[Path], None]:
    return lambda path: os.truncate(f"{path}{suffix}", size)


def rubbish(suffix: str = "") -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with Path(f"{path}{suffix}").open("r+b") as file:
            file.write(b"rubbish " * 100)

    return write


DAMAGE = {
    "emptied": truncated(0),
    "cut in its header": truncated(50),
    "cut off": truncated(8192),
    "rubbish": rubbish(),
    "another database": other_database,
    "an older copy": older_copy,
    "emptied log": truncated(0, "-wal"),
    "log cut off": truncated(5000, "-wal"),
    "log of rubbish": rubbish("-wal"),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_file_that_was_overwritten_takes_nothing_more(damage: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "in.db"
    notes: list[str] = []

    async def scene() -> None:
        queue = FileQueue(str(path), 3600.0, notes.append)
        await queue.open()
        copied(path, tmp_path / "old.db")
        for number in range(20):
            await queue.put_event(event(number), has_jobs=False, run_here=False)
        elsewhere(path, "PRAGMA wal_checkpoint")
        for number in range(20, 30):
            await queue.put_event(event(number), has_jobs=False, run_here=False)
        await queue.extend_leases(())
        assert not notes
        damage(path)
        for number in (30, 31):  # whether that is noticed by SQLite or not
            try:
                await queue.put_event(event(number), has_jobs=False, run_here=False)
                await queue.extend_leases(())
            except QueueFailed:
                continue
        assert queue.problem is not None
        with pytest.raises(QueueFailed, match=OVERWRITTEN):
            queue.put_event(event(32), has_jobs=False, run_here=False)
        assert [OVERWRITTEN in note for note in notes] == [True]
        await queue.close()

    asyncio.run(scene())


def test_what_sqlite_itself_does_to_the_file_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_SAMPLES", 7)
    path = tmp_path / "in.db"

    async def scene() -> None:
        queue = FileQueue(str(path), 3600.0, print)
        await queue.open()
        number = 0
        for statement in (
            "SELECT count(*) FROM event",
            "PRAGMA wal_checkpoint",
            "PRAGMA wal_checkpoint(TRUNCATE)",
            "DELETE FROM event WHERE key > 10",
            "VACUUM",
            "PRAGMA wal_checkpoint(RESTART)",
            f"PRAGMA user_version = {module.VERSION}",
        ):
            for _ in range(30):
                number += 1
                await queue.put_event(event(number), has_jobs=False, run_here=False)
                if not number % 3:
                    await queue.extend_leases(())
            elsewhere(path, statement)
            await queue.extend_leases(())
            assert queue.problem is None
            assert path.with_name("in.db-wal").exists(), statement
        await queue.close()

    asyncio.run(scene())
    assert not path.with_name("in.db-wal").exists()


def test_another_program_that_is_done_with_an_inbox_leaves_its_log(tmp_path: Path) -> None:
    """Also where the inbox is not a new one: SQLite deletes a log that nobody has locked."""
    path = tmp_path / "in.db"

    async def scene(id: int) -> None:
        queue = FileQueue(str(path), 3600.0, print)
        await queue.open()
        await queue.put_event(event(id), has_jobs=True, run_here=False)
        elsewhere(path, "UPDATE event SET due = 1")
        assert path.with_name("in.db-wal").exists()
        await queue.put_event(event(id + 1), has_jobs=True, run_here=False)
        await queue.extend_leases(())
        assert queue.problem is None
        assert queue.events_by_state()["waiting"] == id + 1
        await queue.close()

    asyncio.run(scene(1))
    asyncio.run(scene(3))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM event").fetchone() == (4,)
    connection.close()
