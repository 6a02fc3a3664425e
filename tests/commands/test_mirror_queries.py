"""The questions to a mirror that the documentation has: each is asked, and answers what the site has."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from callsheet.commands.mirror.mirror_file import columns_of_view
from support.places import ROOT
from support.shell_user import ShellUser
from support.simulated import serving

PAGE = (ROOT / "docs" / "tutorial-database.md").read_text(encoding="utf-8")
LISTED = dict(re.findall(r"^\| (.+?) \| `(SELECT .+|WITH .+)` \|$", PAGE, re.MULTILINE))
WRITTEN = dict(re.findall(r"^\$ cat > (\S+\.sql) <<'END'\n(.*?)\nEND$", PAGE, re.MULTILINE | re.DOTALL))
# Rows of each answer that do not depend on the day.
ANSWERS: dict[str, list[dict[str, Any]]] = {
    "issues without an assignee": [{"key": "DEMO-5"}, {"key": "HELP-3"}, {"key": "OPS-3"}],
    "issues by status and type": [{"status": "Done", "type": "Task", "issues": 2}],
    "who has how much open, and since when": [{"assignee": "Jan Muster", "open": 2}],
    "what was made and done, week by week": [{"made": 1, "done_since": 1}],
    "what nobody has touched for 30 days": [{"key": "OPS-4"}],
    "labels": [{"label": "checkout", "issues": 2}, {"label": "urgent", "issues": 1}],
    "who waits for whom": [{"key": "DEMO-5", "waits": None, "needs": "DEMO-4", "whom": "Noor Specimen"}],
    "epics and how much of them is done": [{"parent": "DEMO-1", "issues": 1, "done": 0}],
    "days in each status": [{"status": "In Progress", "days": 8.875}],
    "who changed a title, and to what": [{"author": "Robin Sample", "now": "Another title"}],
    "comments of a person": [{"issue": "DEMO-1", "text": "Who takes the **lead**?\n"}],
    "hours by issue": [{"issue": "DEMO-4", "hours": 1.5}],
    "pages by space, and the last change": [{"space": "DOC", "pages": 4}, {"space": "TEAM", "pages": 2}],
    "pages nobody read": [{"title": each} for each in ("Documentation", "Holidays", "Release 1.1", "Team")],
    "long pages": [{"title": "Checkout", "letters": 83}],
    "pages below a page": [{"title": "Checkout"}, {"title": "Release 1.1"}],
    "a word anywhere": [{"resource": "issue", "id": "10014", "words": "HELP-1 Where is my [parcel]? Waiting for…"}],
    "lead-time.sql": [{"key": "DEMO-2", "days": 14.9}, {"key": "DEMO-6", "days": 6.0}],
    "burndown.sql": [],  # see below
}
ALL = ("issues without an assignee", "who waits for whom", "hours by issue", "pages nobody read", "pages below a page")


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShellUser]:
    with serving() as address:
        home = tmp_path_factory.mktemp("asked")
        user = ShellUser(home, address)
        for line in (
            ["issues", "comment", "DEMO-1", "--body", "Who takes the **lead**?"],
            ["issues", "link", "DEMO-4", "blocks", "DEMO-5"],
            ["issues", "log-work", "DEMO-4", "1h30m"],
            ["issues", "edit", "DEMO-1", "--summary", "Another title"],
            ["issues", "delete", "DEMO-9", "--yes"],
            ["mirror", str(home / "site.sqlite")],
            ["mirror", str(home / "site.sqlite"), "comment", "worklog", "page-view", "issue-change", "issue-link"],
            ["issues", "delete", "DEMO-8", "--yes"],
            ["mirror", str(home / "site.sqlite"), "issue", "--prune"],
        ):
            assert user(*line, "--quiet") == 0, user.err
        yield user


def ask(user: ShellUser, query: str) -> list[dict[str, Any]]:
    return user.rows("sql", str(user.home / "site.sqlite"), query)


def test_the_documentation_has_a_dozen_questions() -> None:
    assert len(LISTED) + len(WRITTEN) == PAGE.count("| `SELECT ") + PAGE.count("| `WITH ") + PAGE.count("<<'END'") > 12


@pytest.mark.parametrize("question", [*LISTED, *WRITTEN])
def test_a_question_is_answered(question: str, mirrored: ShellUser) -> None:
    rows = ask(mirrored, {**LISTED, **WRITTEN}[question])
    assert rows
    for wanted in ANSWERS[question]:
        assert any(wanted.items() <= row.items() for row in rows), rows
    assert question not in ALL or len(rows) == len(ANSWERS[question])


def test_the_last_day_of_a_burndown_is_what_is_open_now(mirrored: ShellUser) -> None:
    *_, today = ask(mirrored, WRITTEN["burndown.sql"])
    found = mirrored.rows("issues", "list", "--jql", "project = DEMO AND resolution IS EMPTY", "--all")
    assert today["open"] == len(found) > 3


def test_views_have_what_is_there_with_the_names_of_what_it_belongs_to(mirrored: ShellUser) -> None:
    assert ask(mirrored, "SELECT DISTINCT project FROM component") == [{"project": "DEMO"}]
    assert ask(mirrored, "SELECT page FROM page WHERE title = 'Refunds'") == [{"page": "Documentation"}]
    assert ask(mirrored, "SELECT key FROM issue WHERE key IN ('DEMO-8', 'DEMO-9')") == []
    (views,) = ask(mirrored, "SELECT count(*) AS n FROM sqlite_schema WHERE type = 'view'")
    assert views == {"n": len(ask(mirrored, "SELECT name FROM mirror_resource"))}


def test_a_thing_that_was_deleted_is_in_the_table_and_not_in_the_view(mirrored: ShellUser) -> None:
    assert mirrored("pages", "delete", "TEAM/Holidays", "--yes", "--quiet") == 0
    with closing(sqlite3.connect(mirrored.home / "site.sqlite")) as file, file:  # a day passes
        file.execute("UPDATE mirror_part SET compared_at = '2000-01-01T00:00:00+00:00'")
    assert mirrored("mirror", str(mirrored.home / "site.sqlite"), "page", "--quiet") == 0
    (found,) = ask(mirrored, "SELECT (SELECT count(*) FROM pages) - (SELECT count(*) FROM page) AS gone")
    assert found == {"gone": 1}


@pytest.mark.parametrize(("written", "kept"), [("2026-01-02T03:04:05.000+0100", "2026-01-02T03:04:05.000+01:00")])
def test_times_are_as_functions_of_sqlite_read_them(written: str, kept: str) -> None:
    view: Any = {"columns": [{"name": "CREATED", "value": "created", "format": "time"}, {"name": "T", "value": "t"}]}
    (_, created), (_, title) = columns_of_view(view)
    assert (created({"created": written}), title({"t": written}), created({})) == (kept, written, None)
    with closing(sqlite3.connect(":memory:")) as file:
        assert file.execute("SELECT julianday(?) IS NULL, julianday(?) IS NULL", (written, kept)).fetchone() == (1, 0)
