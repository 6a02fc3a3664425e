"""The file of a sandbox: what is damaged is refused at the start, and what fails later is told plainly."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from callsheet.errors import UsageError
from callsheet.sandbox.state import State
from support.simulated import ask, site


def sql(*statements: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        with closing(sqlite3.connect(path, isolation_level=None)) as own:
            for statement in statements:
                own.execute(statement)

    return run


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xa5" * 8192
    path.write_bytes(content)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "site.sqlite"
    simulated = site(path=str(path))
    assert ask(simulated, "DELETE /rest/api/3/issue/DEMO-1").status == 204
    simulated.close()
    return path


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut_off, "is damaged: database disk image is malformed"),
        (overwritten, "is damaged: "),
        (sql("UPDATE item SET data = '{' WHERE entity = 'issue'"), "is damaged: issue 1"),
        (sql("UPDATE item SET data = 7 WHERE entity = 'issue'"), "is damaged: issue 1"),
        (sql("DROP TABLE counter"), "is damaged: no such table: counter"),
        (sql("ALTER TABLE name RENAME COLUMN id TO other"), "is damaged: no such column: id"),
    ],
)
def test_a_damaged_file_is_refused_and_stays_as_it_is(kept: Path, damage: Callable[[Path], None], said: str) -> None:
    damage(kept)
    before = kept.read_bytes()
    with pytest.raises(UsageError) as caught:
        State(str(kept))
    assert caught.value.message.startswith(f"{kept} ")
    assert said in caught.value.message
    assert "name a" in str(caught.value.hint)
    assert kept.read_bytes() == before


def test_a_sound_file_goes_on(kept: Path) -> None:
    simulated = site(path=str(kept))
    assert [ask(simulated, f"GET /rest/api/3/issue/DEMO-{number}").status for number in (1, 2)] == [404, 200]
    simulated.close()


def test_a_file_that_fails_later_is_named_and_no_request_is_half_done(kept: Path) -> None:
    simulated = site(path=str(kept))
    sql("ALTER TABLE name RENAME TO away")(kept)
    told = ask(simulated, "PUT /rest/api/3/issue/DEMO-2", {"fields": {"summary": "Another"}})
    assert told.status == 500
    (message,) = told.body["errorMessages"]
    assert message.startswith(f"the sandbox cannot use its state file {kept}: ")
    assert "Error" not in message
    sql("ALTER TABLE away RENAME TO name")(kept)
    issue = ask(simulated, "GET /rest/api/3/issue/DEMO-2")
    assert (issue.status, issue.body["fields"]["summary"]) == (200, "Customers pay without an account")
    simulated.close()
