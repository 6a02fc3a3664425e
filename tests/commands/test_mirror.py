"""A site's things in a file: the same as on the site, whatever stopped the runs before; SQL only reads them."""

from __future__ import annotations

import io
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.cli.main import run
from callsheet.commands.mirror import mirror_file
from callsheet.commands.mirror.mirror_file import column_name, sql_value, storable_text, table_name
from callsheet.commands.mirror.sync import Mirror, read_until
from callsheet.jsontext import dump_json, parse_json
from support.draws import chance
from support.imports import DOCUMENTS
from support.machine import Machine
from support.sampled import sampled
from support.shell_user import ShellUser
from support.simulated import serving
from support.waiting import PATIENCE


class Site(ShellUser):
    """With a file to mirror into."""

    def __init__(self, home: Path, address: str, deployment: str = "cloud") -> None:
        super().__init__(home, address, deployment)
        self.path = home / "site.sqlite"

    def mirror(self, *words: str) -> dict[str, dict[str, Any]]:
        """Table → what became of it."""
        return {row["table"]: row for row in self.rows("mirror", str(self.path), *words)}

    def select(self, query: str) -> list[dict[str, Any]]:
        return self.rows("sql", str(self.path), query)

    def column(self, query: str) -> list[Any]:
        return [value for row in self.select(query) for value in row.values()]

    def a_day_passes(self) -> None:
        """What was deleted is looked for again."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("UPDATE mirror_part SET compared_at = '2000-01-01T00:00:00+00:00'")

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """What the file holds, but for when it was read."""
        with closing(sqlite3.connect(self.path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM mirror_resource ORDER BY 1")]
            found = {
                name: sorted(connection.execute(f'SELECT id, data, gone_at IS NULL FROM "{name}"')) for name in tables
            }
            found["search"] = sorted(
                map(tuple, connection.execute("SELECT resource, id, name, words, text FROM search")), key=str
            )
        return found


@pytest.fixture(params=["cloud", pytest.param("datacenter", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with serving(deployment=request.param) as address:
        yield Site(tmp_path, address, request.param)


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Site]:
    with serving() as address:
        yield Site(tmp_path, address)


@pytest.fixture(scope="module")
def mirrored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """With some of its things in a file, for tests that only read."""
    with serving() as address:
        site = Site(tmp_path_factory.mktemp("mirrored"), address)
        site.mirror("component")
        site.mirror("issue")
        yield site


def test_what_is_there_is_in_the_file_as_the_site_answers_it(site: Site) -> None:
    found = site.mirror()
    assert found["issues"]["read"] == found["issues"]["changed"] > 10
    assert not [row for row in found.values() if row["failed"]]
    assert site("issues", "list", "--jql", "ORDER BY key", "--all", "-o", "json", "--raw", "--jq", ".[].key") == 0
    assert sorted(site.out.split()) == sorted(site.column("SELECT key FROM issues"))
    (row,) = site.select("SELECT * FROM issues WHERE key = 'DEMO-1'")
    assert site("issues", "get", "DEMO-1", "-o", "json") == 0
    fields = json.loads(site.out)["fields"]
    kept = json.loads(row["data"])["fields"]
    assert {key: kept[key] for key in ("summary", "labels", "created")} == {
        key: fields[key] for key in ("summary", "labels", "created")
    }
    assert row["summary"] == fields["summary"]
    assert row["project_id"] == site.column("SELECT id FROM projects WHERE name = 'DEMO'")[0]
    assert site.column("SELECT id FROM search WHERE search MATCH 'parcel' AND resource = 'issue'") == site.column(
        "SELECT id FROM issues WHERE summary LIKE '%parcel%'"
    )
    if os.name != "nt":
        assert stat.S_IMODE(site.path.stat().st_mode) == 0o600


def test_the_next_run_reads_what_changed_and_finds_what_is_gone(cloud: Site) -> None:
    first = cloud.mirror()
    assert cloud.mirror()["issues"]["read"] < first["issues"]["read"]
    assert all(row["changed"] == 0 for row in cloud.mirror().values())
    assert cloud("issues", "edit", "DEMO-1", "--summary", "Another title", "--quiet") == 0
    assert cloud("issues", "delete", "DEMO-2", "--yes", "--quiet") == 0
    second = cloud.mirror()
    assert second["issues"]["changed"] >= 1
    assert cloud.column("SELECT summary FROM issues WHERE key = 'DEMO-1'") == ["Another title"]
    who = "SELECT i.key, c.field, c.was, c.now, h.author FROM issue_changes c"
    joined = "JOIN issue_histories h ON h.id = c.issue_history_id JOIN issues i ON i.id = h.issue_id"
    (row,) = cloud.select(f"{who} {joined} WHERE c.now = 'Another title'")
    assert (row["key"], row["field"], row["author"]) == ("DEMO-1", "summary", "Robin Sample")
    assert row["was"] not in (None, "Another title")
    with closing(sqlite3.connect(cloud.path)) as connection:
        assert {name for _, _, name, *_ in connection.execute("PRAGMA foreign_key_list(issue_changes)")} == {
            "issue_histories"
        }
    third = cloud.mirror("--prune")
    assert (second["issues"]["gone"] + third["issues"]["gone"], third["issues"]["pruned"]) == (1, 1)
    assert cloud.column("SELECT key FROM issues WHERE key = 'DEMO-2'") == []
    assert cloud.column("SELECT count(*) FROM search WHERE search MATCH 'name : \"DEMO-2\"'") == [0]


def test_what_is_deleted_is_kept_and_marked_until_it_is_pruned(cloud: Site) -> None:
    cloud.mirror("page", "page-label", "component")
    assert cloud("pages", "delete", "DOC/Refunds", "--yes", "--quiet") == 0
    page = cloud.column("SELECT id FROM pages WHERE name = 'Refunds'")[0]
    labels = cloud.column(f"SELECT count(*) FROM page_labels WHERE page_id = '{page}' AND gone_at IS NULL")[0]
    assert cloud.mirror("page", "page-label")["pages"]["gone"] == 0
    cloud.a_day_passes()
    found = cloud.mirror("page", "page-label")
    assert (found["pages"]["gone"], found["page_labels"]["gone"]) == (1, labels)
    assert cloud.column("SELECT gone_at IS NULL FROM pages WHERE name = 'Refunds'") == [0]
    assert json.loads(cloud.column("SELECT data FROM pages WHERE name = 'Refunds'")[0])["title"] == "Refunds"


def test_of_a_list_with_the_latest_in_front_only_what_is_new_is_read(site: Site) -> None:
    every = site.mirror("page", "blogpost")
    assert every["pages"]["read"] > 3
    again = site.mirror("page", "blogpost")
    is_told = site.environ["SUITE_DEPLOYMENT"] == "cloud"  # a data center cannot sort them
    assert (again["pages"]["read"] == 0) is is_told
    assert site("pages", "edit", "DOC/Refunds", "--title", "Money back", "--quiet") == 0
    found = site.mirror("page", "blogpost")
    assert found["pages"]["changed"] == 1
    assert (found["pages"]["read"] == 1) is is_told
    assert site.column("SELECT name FROM pages WHERE name IN ('Refunds', 'Money back')") == ["Money back"]


def test_only_what_is_wanted_is_read(cloud: Site) -> None:
    assert {*cloud.mirror("comment", "--project", "DEMO")} == {"issues", "comments"}
    assert cloud.column("SELECT DISTINCT project FROM issues") == ["DEMO"]
    cloud.path.unlink()
    found = cloud.mirror("issue", "--jql", "summary ~ parcel")
    assert found["issues"]["read"] == 1
    cloud.path.unlink()
    cloud.mirror("page", "--space", "DOC")
    assert len(cloud.column("SELECT DISTINCT space_id FROM pages")) == 1


class Stopped(BaseException):
    """As if the process had been killed: nothing gets to clean up."""


@pytest.mark.parametrize("transactions", sampled([8, 1, 3, 20, 40], 5))
def test_a_run_that_was_stopped_is_gone_on_with(
    transactions: int, cloud: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(range(transactions))
    whole = mirror_file.MirrorFile.transaction

    def stopping(self: mirror_file.MirrorFile) -> Any:
        if next(left, None) is None:
            raise Stopped
        return whole(self)

    with monkeypatch.context() as patch:
        patch.setattr(mirror_file.MirrorFile, "transaction", stopping)
        with pytest.raises(Stopped):
            cloud("mirror", str(cloud.path))
    cloud.mirror()
    stopped = cloud.everything()
    cloud.path = tmp_path / "whole.sqlite"
    cloud.mirror()
    assert stopped == cloud.everything()


def killed(site: Site, requests: int) -> bool:
    """Mirror in a process of its own and kill it with its request of that number; False where it ended before."""
    line = [sys.executable, "-m", "callsheet", "suite", "mirror", str(site.path), "issue", "comment", "page", "-v"]
    environ = {**os.environ, **site.environ}
    with subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        sent = 0
        for words in process.stderr:
            sent += words.startswith((b"> GET ", b"> POST "))
            if sent == requests:
                process.kill()
                return True
        assert process.wait() == 0
    return False


def issues_of(address: str) -> Iterator[dict[str, Any]]:
    """All of them, asked for page by page without this program."""
    token: str | None = None
    while True:
        body = {"jql": "updated >= '1970-01-01'", "fields": ["*all"], "expand": "changelog", "nextPageToken": token}
        answer = httpx.post(
            f"{address}/rest/api/3/search/jql", json={name: value for name, value in body.items() if value},
            headers={"Authorization": "Basic eDp4"}, trust_env=False,
        )  # fmt: skip
        assert answer.status_code == 200, answer.text
        page = parse_json(answer.content)
        yield from page["issues"]
        if (token := page.get("nextPageToken")) is None:
            return


@pytest.mark.slow
@pytest.mark.draws
def test_killed_ten_times_it_holds_what_the_site_holds(cloud: Site, tmp_path: Path) -> None:
    draw = chance(28)
    for number in range(12):
        made = [
            {
                "fields": {
                    "project": {"key": "DEMO"},
                    "issuetype": {"name": "Task"},
                    "summary": f"Parcel {number} {each}",
                }
            }
            for each in range(25)
        ]
        answer = httpx.post(
            f"{cloud.environ['SUITE_BASE_URL']}/rest/api/3/issue/bulk", json={"issueUpdates": made},
            headers={"Authorization": "Basic eDp4"}, trust_env=False,
        )  # fmt: skip
        assert answer.status_code == 201, answer.text
    kills = 0
    while kills < 10:
        kills += killed(cloud, draw.randint(1, 12))
    cloud.mirror("issue", "comment", "page")
    found = cloud.everything()
    assert len(found["issues"]) > 300
    assert all('"changelog"' in data for _, data, _ in found["issues"])  # also of those that are read by their ids
    # Not only as another run has it, but as the site itself answers it, to the last byte.
    answered = {issue["id"]: dump_json(issue) for issue in issues_of(cloud.environ["SUITE_BASE_URL"])}
    assert {id: data for id, data, _ in found["issues"]} == answered
    cloud.path = tmp_path / "whole.sqlite"
    cloud.mirror("issue", "comment", "page")
    assert found == cloud.everything()


@pytest.mark.slow
def test_a_changed_definition_changes_the_table_without_asking_again(cloud: Site) -> None:
    cloud.mirror("component")
    before = cloud.everything()
    mine = cloud.home / "definitions" / "suite"
    mine.mkdir(parents=True)
    (mine / "mine.toml").write_text(
        'language = 2\n[extend.view.component]\ncolumns = [{ name = "WHO LEADS", value = "lead.displayName" }]\n',
        encoding="utf-8",
    )
    cloud.environ["CALLSHEET_HOME"] = str(cloud.home)
    found = cloud.mirror("component")
    assert found["components"]["changed"] == 0
    leads = [
        json.loads(data).get("lead", {}).get("displayName") for data in cloud.column("SELECT data FROM components")
    ]
    assert cloud.column("SELECT who_leads FROM components") == leads
    assert {name: rows for name, rows in cloud.everything().items() if name != "search"} == {
        name: rows for name, rows in before.items() if name != "search"
    }


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DROP TABLE issues", "only questions are answered here"),
        ("DELETE FROM issues", "only questions are answered here"),
        ("INSERT INTO issues (id) VALUES (1)", "only questions are answered here"),
        ("ATTACH 'other.sqlite' AS other", "only questions are answered here"),
        ("PRAGMA writable_schema = ON", "only questions are answered here"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT 1; DROP TABLE issues", "one query at a time"),
        ("SELECT * FROM isue", "no such table: isue, did you mean 'issue'?"),
        ("SELECT summry FROM issues", "no such column: summry, did you mean 'summary'?"),
        ("SELEC", 'near "SELEC": syntax error'),
        ("  ", "the query is empty"),
    ],
)
def test_sql_only_reads(query: str, message: str, mirrored: Site) -> None:
    before = mirrored.path.read_bytes()
    assert mirrored("sql", str(mirrored.path), query) == 2
    assert message in mirrored.err
    assert mirrored.path.read_bytes() == before
    assert not (Path.cwd() / "other.sqlite").exists()


def test_every_column_that_is_asked_for_is_printed_in_every_format(cloud: Site) -> None:
    cloud.mirror("component")
    query = 'SELECT name, id, name, upper(name) AS "LOUD {x}", NULL FROM components ORDER BY name LIMIT 1'
    assert cloud("sql", str(cloud.path), query, "-o", "csv") == 0
    header, row = cloud.out.splitlines()
    assert header == "name,id,name_2,LOUD {x},NULL"
    assert row.split(",")[0] == row.split(",")[2]
    assert cloud("sql", str(cloud.path), "-", given="SELECT 1 AS one") == 0
    assert cloud.out.split() == ["one", "1"]
    assert cloud("sql", str(cloud.path), "SELECT id FROM components WHERE id = 'x'", "-o", "json") == 0
    assert cloud.out == "[]\n"


def test_what_is_no_mirror_of_this_site_is_left_alone(cloud: Site, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    other.write_text("my notes")
    assert cloud("mirror", str(other)) == 2
    assert "is not a mirror" in cloud.err
    assert other.read_text() == "my notes"
    with closing(sqlite3.connect(tmp_path / "theirs.sqlite")) as connection:
        connection.execute("CREATE TABLE x (y)")
    assert cloud("mirror", str(tmp_path / "theirs.sqlite")) == 2
    assert "is not a mirror" in cloud.err
    assert cloud("mirror", str(tmp_path)) == 2
    assert cloud("mirror", str(cloud.path), "isue") == 2
    assert "no resource 'isue', did you mean 'issue'?" in cloud.err
    assert cloud("mirror", str(cloud.path), "--project", "DEMOO") == 2
    assert "did you mean" in cloud.err
    cloud.mirror("component")
    with serving() as address:
        elsewhere = Site(tmp_path, address)
        assert elsewhere("mirror", str(cloud.path)) == 2
        assert "take a file of its own for each site" in elsewhere.err
    assert cloud("sql", str(tmp_path / "none.sqlite"), "SELECT 1") == 2
    assert cloud("sql", str(other), "SELECT 1") == 2


def test_a_site_that_wants_another_credential_ends_the_run(cloud: Site) -> None:
    cloud.environ["SUITE_BASE_URL"] = "http://127.0.0.1:1"
    assert cloud("mirror", str(cloud.path)) not in (0, 1, 2)
    assert len(cloud.err.splitlines()) < 6


def test_a_program_whose_things_cannot_be_listed_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert machine("new", "shop", "--from", str(DOCUMENTS / "petshop.yaml"), "--quiet") == 0
    machine.environ |= {"SHOP_BASE_URL": "https://shop.example.com", "SHOP_TOKEN": "of-the-shop"}
    assert machine("mirror", str(tmp_path / "shop.sqlite"), program="shop") == 2
    assert "there is nothing here that can be listed" in machine.err


def test_names_of_tables_and_values() -> None:
    assert [table_name(id) for id in ("issue", "priority", "status", "issue-type", "key", 'a"; DROP TABLE b')] == [
        *("issues", "priorities", "statuses", "issue_types", "keys", "a_drop_table_bs"),
    ]
    assert [sql_value(value) for value in (True, 2**70, 1.5, None, ["ü"], {"a": 1})] == [
        *(1, str(2**70), 1.5, None, '["ü"]', '{"a": 1}'),
    ]


def test_what_belongs_to_other_projects_is_not_asked_for(cloud: Site) -> None:
    cloud.mirror("issue")
    for key in ("DEMO-1", "OPS-4"):
        assert cloud("issues", "comment", key, "hello", "--quiet") == 0
    assert cloud.mirror("comment", "--project", "DEMO")["comments"]["read"] == 1
    assert cloud.mirror("comment")["comments"]["read"] == 2
    assert [path.name for path in cloud.path.parent.glob("site.sqlite*")] == ["site.sqlite"]


def test_a_file_is_that_of_one_query_for_good(cloud: Site) -> None:
    cloud.mirror("issue", "--jql", "summary ~ parcel")
    assert cloud("mirror", str(cloud.path), "issue", "--prune") == 2
    assert "mirrors those issues that 'summary ~ parcel' finds" in cloud.err
    assert len(cloud.column("SELECT key FROM issues")) == 1
    assert cloud("mirror", str(cloud.path), "page", "--jql", "x = 1") == 2
    assert "nothing that is wanted here takes a query" in cloud.err
    assert cloud("mirror", str(cloud.path), "group", "--jql", "x = 1") == 2
    cloud.path = cloud.home / "all.sqlite"
    assert cloud("mirror", str(cloud.path), "issue", "--jql", "summary ~") == 1
    assert not cloud.path.exists()
    cloud.mirror("issue")
    assert cloud("mirror", str(cloud.path), "issue", "--jql", "summary ~ parcel") == 2
    assert "mirrors all issues" in cloud.err


def test_what_comes_back_comes_back_with_what_belongs_to_it(cloud: Site) -> None:
    assert cloud("issues", "edit", "DEMO-1", "--summary", "Another title", "--quiet") == 0
    cloud.mirror("issue", "issue-history")
    counted = "SELECT count(*) FROM issue_histories WHERE gone_at IS NULL"
    before = cloud.column(counted)
    for gone in ("'then'", "NULL"):  # as if the site had not shown the issue for a time
        with closing(sqlite3.connect(cloud.path)) as connection, connection:
            connection.execute(f"UPDATE issues SET gone_at = {gone}, read_at = '2999' WHERE key = 'DEMO-1'")
            connection.execute("UPDATE mirror_part SET cursor = '2999-01-01T00:00:00+00:00' WHERE resource = 'issue'")
        cloud.mirror("issue", "issue-history")
        assert (cloud.column(counted) == before) is (gone == "NULL")


def asked_since(site: Site) -> set[int]:
    """The milliseconds since 1970 that a run asks from."""
    assert site("mirror", str(site.path), "issue", "-v", "-o", "json") == 0
    return {int(since) for since in re.findall(r"updated(?:\+|%20| )(?:>|%3E)(?:=|%3D)(?:\+|%20| )(\d+)", site.err)}


def test_what_was_changed_long_before_a_run_is_not_asked_for_again(site: Site) -> None:
    """A run asks for five minutes before the last one began, as a moment that is the same in every zone."""
    began = time.time()
    site.mirror("issue")
    ended = time.time()
    (since,) = asked_since(site)
    assert began - 302 < since / 1000 <= ended - 299


@settings(max_examples=500)
@given(
    st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 200)), min_size=1, max_size=40),
    st.lists(st.integers(0, 4000), min_size=1, max_size=8),
    st.integers(-2000, 2000),
    st.booleans(),
)
def test_no_change_is_missed_whatever_clocks_ties_and_lateness_there_are(
    changes: list[tuple[int, int]], runs: list[int], ahead: int, is_dated: bool
) -> None:
    """Seconds: when something changed by the site's clock and how late its list tells of it, when a run begins by it.

    The clock here is ahead by so much. What a run could be told of, it or one before it has read.
    """
    start = datetime(2026, 1, 31, tzinfo=UTC)
    seen: set[int] = set()
    since: datetime | None = None
    for run_at in sorted(runs):
        told = [number for number, (at, late) in enumerate(changes) if at + late <= run_at]
        asked = None if since is None else since - timedelta(seconds=300)
        found = [number for number in told if asked is None or start + timedelta(seconds=changes[number][0]) >= asked]
        seen.update(found)
        assert seen.issuperset(told)
        moments = [start + timedelta(seconds=changes[number][0]) for number in found]
        latest = max([since, *moments] if since is not None else moments, default=None)
        behind = max(ahead, 0) + 1.0 if is_dated else None
        since = read_until(latest, start + timedelta(seconds=run_at + ahead), behind)


@pytest.mark.slow
def test_a_column_called_like_the_numbers_of_rows_is_none(cloud: Site) -> None:
    mine = cloud.home / "definitions" / "suite"
    mine.mkdir(parents=True)
    text = 'language = 2\n[extend.view.component]\ncolumns = [{ name = "ROWID", value = "lead.displayName" }]\n'
    (mine / "mine.toml").write_text(text, encoding="utf-8")
    cloud.environ["CALLSHEET_HOME"] = str(cloud.home)
    cloud.mirror("component")
    assert len(cloud.column("SELECT id FROM search WHERE resource = 'component'")) == 2


def test_a_file_that_is_removed_under_way_is_told(cloud: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = mirror_file.MirrorFile.add_table

    def removing(self: mirror_file.MirrorFile, table: Any) -> None:
        whole(self, table)
        cloud.path.unlink(missing_ok=True)

    monkeypatch.setattr(mirror_file.MirrorFile, "add_table", removing)
    assert cloud("mirror", str(cloud.path), "component") == 1
    assert "was removed while it was written" in cloud.err


@pytest.mark.skipif(os.name == "nt", reason="no such files there")
def test_what_is_no_file_is_refused_and_not_waited_for(cloud: Site) -> None:
    os.mkfifo(cloud.path)
    for path in (str(cloud.path), os.devnull):
        assert cloud("mirror", path, "component") == 2


def test_sql_prints_what_json_has_no_word_for(cloud: Site) -> None:
    cloud.mirror("component")
    assert cloud.select("SELECT 9e999 AS a, CAST(x'ff41' AS TEXT) AS b, 1 AS c, 2 AS c_3, 3 AS c") == [
        {"a": "inf", "b": "\ufffdA", "c": 1, "c_3": 2, "c_2": 3}
    ]


def test_texts_that_sqlite_has_not() -> None:
    assert storable_text("a\ud800b\x00") == "a\ufffd\ufffd\ufffdb\x00"
    assert [column_name(name) for name in ("Größe", "状态", 'a"; DROP')] == ["grösse", "状态", "a_drop"]


def test_what_is_asked_for_thing_by_thing_is_asked_several_at_a_time(
    cloud: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, begun, both = Mirror._fetch_listing, iter(range(1000)), threading.Event()

    def waiting(self: Mirror, *job: Any) -> Any:
        if next(begun) == 1:
            both.set()
        assert both.wait(PATIENCE)
        return whole(self, *job)

    for key in ("DEMO-1", "DEMO-3", "OPS-4"):
        assert cloud("issues", "comment", key, "hello", "--quiet") == 0
    monkeypatch.setattr(Mirror, "_fetch_listing", waiting)
    assert cloud.mirror("comment")["comments"]["read"] == 3
    assert cloud("issues", "delete", "DEMO-3", "--yes", "--quiet") == 0
    assert cloud.mirror("comment", "--prune")["comments"]["pruned"] == 1


def test_a_person_at_a_terminal_sees_how_far_it_is(cloud: Site) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    words = ["mirror", str(cloud.path), "issue", "component"]
    assert run("suite", words, environ=cloud.environ, stdin=io.StringIO(), stdout=io.StringIO(), stderr=screen) == 0
    shown = screen.getvalue()
    assert "\rissues: 17 read ..." in shown
    last = shown.rpartition("note: ")[0].rpartition("\n")[2]
    assert last.endswith("\r")  # a note stands where the line stood


def test_attached_files_are_downloaded_once_under_names_of_our_own(site: Site) -> None:
    for key, name, text in (("DEMO-1", "up.PNG", "one"), ("DEMO-3", "b.a-b", "two"), ("DEMO-3", "same.png", "one")):
        (site.home / name).write_text(text)
        assert site("issues", "attach", key, str(site.home / name), "--quiet") == 0, site.err
    site.mirror("issue-attachment")
    assert site.column("SELECT file FROM issue_attachments WHERE file IS NOT NULL") == []
    site.mirror("issue-attachment", "--files")
    asked = len(site.sent)
    paths = site.column("SELECT file FROM issue_attachments ORDER BY name")
    assert len(paths) == 3
    assert sorted((site.home / path).read_text() for path in paths) == ["one", "one", "two"]
    assert len({*paths}) == 2
    assert all(re.fullmatch(r"site\.sqlite\.files/[0-9a-f]{2}/[0-9a-f]{64}(\.png)?", path) for path in paths)
    assert len([path for path in (site.home / "site.sqlite.files").rglob("*") if path.is_file()]) == 2
    site.mirror("issue-attachment", "--files")
    assert len(site.sent) <= asked - 3
