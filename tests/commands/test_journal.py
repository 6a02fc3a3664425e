"""Many things changed with a journal, and put back, on a simulated site."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from support.cases import Done, nobody, run_program
from support.places import CASES
from support.sampled import sampled
from support.simulated import PLAIN, ask_site, serving, tell_sandbox

WAS = {"DEMO-1": ["shop"], "DEMO-2": ["checkout"], "DEMO-3": ["checkout", "regression"]}


class Desk:
    """A simulated site, and the program used on it."""

    def __init__(self, url: str, environ: dict[str, str], folder: Path) -> None:
        self.url = url
        self.folder = folder
        self.environ = {
            **environ,
            "SUITE_BASE_URL": url,
            "SUITE_EMAIL": "robin@example.org",
            "SUITE_TOKEN": "only here",
        }

    def run(self, *words: str, stdin: str = "") -> Done:
        return run_program("suite", list(words), self.environ, stdin)

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def fields(self, key: str, *names: str) -> Any:
        asked = ask_site("GET", f"{self.url}/rest/api/3/issue/{key}", params={"fields": ",".join(names)})
        found = asked.json()["fields"]
        return found.get(names[0]) if len(names) == 1 else found

    def put(self, key: str, **fields: Any) -> None:
        ask_site("PUT", f"{self.url}/rest/api/3/issue/{key}", json={"fields": fields})

    def labels(self) -> dict[str, Any]:
        return {key: self.fields(key, "labels") for key in WAS}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """One site for all tests, and who has nothing yet."""
    with serving() as url:
        yield url, nobody(tmp_path_factory)


@pytest.fixture
def desk(served: tuple[str, dict[str, str]], tmp_path: Path) -> Desk:
    url, environ = served
    tell_sandbox(url, "reset")
    return Desk(url, environ, tmp_path)


def relabelled(desk: Desk, name: str = "j.jsonl") -> str:
    """Three issues with one more label, and the journal of it."""
    done = desk.run("issues", "edit", *WAS, "--label", "urgent", "--journal", desk.path(name))
    assert done.exit == 0, done.stderr
    assert desk.labels() == {key: [*labels, "urgent"] for key, labels in WAS.items()}
    return desk.path(name)


def lines(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_change_of_many_is_undone_and_the_undo_too(desk: Desk) -> None:
    path = relabelled(desk)
    done = desk.run("undo", path, "--yes", "--journal", desk.path("back.jsonl"), "-o", "json")
    assert done.exit == 0, done.stderr
    assert {row["id"]: row["done"] for row in json.loads(done.stdout)} == dict.fromkeys(WAS, "put back")
    assert desk.labels() == WAS
    assert desk.run("undo", desk.path("back.jsonl"), "--yes").exit == 0
    assert desk.labels() == {key: [*labels, "urgent"] for key, labels in WAS.items()}


def test_what_is_back_already_is_not_sent_again(desk: Desk) -> None:
    path = relabelled(desk)
    assert desk.run("undo", path, "--yes").exit == 0
    done = desk.run("undo", path, "--yes", "-o", "json")
    assert {row["done"] for row in json.loads(done.stdout)} == {"was back already"}


def test_what_was_changed_since_is_left_alone_unless_it_is_forced(desk: Desk) -> None:
    path = relabelled(desk)
    desk.put("DEMO-2", labels=["theirs"])
    done = desk.run("undo", path, "--yes")
    assert done.exit == 1
    assert "DEMO-2: changed since: fields.labels" in done.stderr
    assert "restored 2 of 3; 1 failed" in done.stderr
    assert desk.labels() == {**WAS, "DEMO-2": ["theirs"]}
    assert desk.run("undo", path, "--yes", "--force").exit == 0
    assert desk.labels() == WAS


def test_each_item_is_written_down_before_and_after(desk: Desk) -> None:
    path = relabelled(desk)
    head, items, *rest = lines(path)
    assert (head["command"], head["site"], items["items"]) == ("issues edit", desk.url, [*WAS])
    of_one = [line for line in rest if line.get("n") == 1]
    assert [line.get("state", "now") for line in of_one] == ["started", "done", "now"]
    assert of_one[0]["was"]["fields"] == {"labels": ["checkout"]}
    assert of_one[2]["now"]["fields"] == {"labels": ["checkout", "urgent"]}
    assert rest[-1].keys() == {"ended", "done", "failed"}
    if os.name != "nt":
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert "only here" not in Path(path).read_text(encoding="utf-8")


def test_a_journal_never_replaces_a_file(desk: Desk) -> None:
    path = relabelled(desk)
    done = desk.run("issues", "edit", "DEMO-1", "--summary", "New", "--journal", path)
    assert (done.exit, "already exists" in done.stderr) == (2, True)


def test_what_is_not_done_is_done_when_it_is_resumed(desk: Desk) -> None:
    """The file ends as that of a killed process: in the middle of a line, with one item done and one under way."""
    path = relabelled(desk)
    desk.run("undo", path, "--yes")
    whole = Path(path).read_bytes().splitlines(keepends=True)
    places = [number for number, line in enumerate(whole) if json.loads(line).get("state") == "done"]
    cut = b"".join(whole[: places[0] + 1]) + b'{"n": 1, "item": "DEM'
    Path(path).write_bytes(cut)
    first = json.loads(whole[places[0]])["item"]
    done = desk.run("issues", "edit", "--resume", path)
    assert done.exit == 0, done.stderr
    assert "1 of 3 are done, 2 are left" in done.stderr
    assert desk.labels() == {key: labels if key == first else [*labels, "urgent"] for key, labels in WAS.items()}
    assert "0 are left" in desk.run("issues", "edit", "--resume", path).stderr


def test_what_was_under_way_is_repeated_where_that_does_no_more(desk: Desk) -> None:
    """The process was killed while the request was under way, which is a POST."""
    path = desk.path("w.jsonl")
    assert desk.run("issues", "watch", "DEMO-1", "DEMO-2", "--journal", path).exit == 0
    whole = Path(path).read_bytes().splitlines(keepends=True)
    kept = [
        line
        for line in whole
        if json.loads(line).get("state") != "done" and not json.loads(line).keys() & {"now", "ended"}
    ]
    Path(path).write_bytes(b"".join(kept))
    done = desk.run("issues", "watch", "--resume", path)
    assert (done.exit, "0 of 2 are done, 2 are left" in done.stderr) == (0, True), done.stderr
    assert count_of(desk, "watcher = currentUser()") == 2
    assert desk.run("undo", path, "--yes").exit == 0
    assert count_of(desk, "watcher = currentUser()") == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["issues", "assign", "--resume", "{path}"],
            "is a journal of `suite issues edit`, not of `suite issues assign`",
        ),
        (["issues", "edit", "DEMO-1", "--resume", "{path}"], "takes everything else from the journal: leave out issue"),
        (["undo", "nothing.jsonl"], "cannot read nothing.jsonl"),
    ],
)
def test_another_command_is_refused(desk: Desk, words: list[str], told: str) -> None:
    path = relabelled(desk)
    done = desk.run(*(word.replace("{path}", path) for word in words))
    assert (done.exit, told in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("words", [["issues", "edit", "--resume"], ["undo", "--yes"]])
def test_another_site_is_refused(desk: Desk, words: list[str]) -> None:
    path = relabelled(desk)
    desk.environ["SUITE_BASE_URL"] = "http://127.0.0.1:9"
    done = desk.run(*words, path)
    assert (done.exit, f"was made on {desk.url}, and this command uses http://127.0.0.1:9" in done.stderr) == (2, True)


def created(desk: Desk, count: int) -> list[str]:
    """Further issues with one label."""
    fields = {"project": {"key": "OPS"}, "issuetype": {"name": "Task"}, "summary": "Box", "labels": ["box"]}
    with httpx.Client(base_url=desk.url, verify=PLAIN, trust_env=False) as client:
        return [client.post("/rest/api/3/issue", json={"fields": fields}).json()["key"] for _ in range(count)]


def count_of(desk: Desk, query: str) -> int:
    asked = ask_site("POST", f"{desk.url}/rest/api/3/search/approximate-count", json={"jql": query})
    return int(asked.json()["count"])


@pytest.mark.slow
def test_many_are_changed_by_the_bulk_operation_and_put_back(desk: Desk) -> None:
    """Of those that are gone it is told that they were not changed."""
    keys = created(desk, 102)
    ask_site("DELETE", f"{desk.url}/rest/api/3/issue/{keys[7]}")
    done = desk.run("issues", "label", "-", "moved", "-v", stdin="\n".join(keys))
    assert done.exit == 1, done.stderr
    assert f"labelled 101 of 102 issues; 1 failed\n  - {keys[7]}: the service did not change it" in done.stderr
    assert done.stderr.count("/rest/api/3/bulk/issues/fields") == 1
    assert "PUT " not in done.stderr
    assert count_of(desk, "labels = moved") == 101
    assert desk.run("undo", "last", "--yes").exit == 0
    assert count_of(desk, "labels = moved") == 0
    keys.pop(7)
    done = desk.run("issues", "move", "-", "In Progress", "-v", stdin="\n".join(keys))
    assert (done.exit, done.stderr.count("POST "), done.stderr.count("/transitions")) == (0, 5, 0), done.stderr
    assert count_of(desk, f"status = 'In Progress' and key >= {keys[0]}") == 101


@pytest.mark.slow
def test_many_are_watched_by_the_bulk_operation_and_put_back(desk: Desk) -> None:
    """Oneself: the service does not tell of many issues at once whether somebody else watches them."""
    keys = created(desk, 101)
    watched = f"watcher = currentUser() and key >= {keys[0]}"
    assert desk.run("issues", "watch", keys[0]).exit == 0
    done = desk.run("issues", "watch", "-", "-v", stdin="\n".join(keys))
    assert (done.exit, done.stderr.count("/bulk/issues/watch"), done.stderr.count("/watchers")) == (0, 1, 0), (
        done.stderr
    )
    assert count_of(desk, watched) == 101
    assert desk.run("undo", "last", "--yes").exit == 0
    assert count_of(desk, watched) == 1
    assert desk.run("undo", "last", "--yes").exit == 0
    done = desk.run("issues", "watch", "-", "--stop", "-v", stdin="\n".join(keys))
    assert (done.exit, done.stderr.count("/bulk/issues/unwatch"), done.stderr.count("/watchers")) == (0, 1, 0)
    assert count_of(desk, watched) == 0
    done = desk.run("issues", "watch", "-", "--who", "Kim Example", "--dry-run", stdin="\n".join(keys))
    assert (done.exit, done.stdout.count(b"/watchers"), b"bulk" in done.stdout) == (0, 101, False), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["issues", "assign", "DEMO-2", "DEMO-3", "none"], "assignee is EMPTY and key in (DEMO-2, DEMO-3)"),
        (["issues", "move", "DEMO-4", "DEMO-5", "In Progress"], "status = 'In Progress' and key in (DEMO-4, DEMO-5)"),
        (["sprints", "move", "3", "DEMO-2", "DEMO-8"], "sprint = 3 and key in (DEMO-2, DEMO-8)"),
        (["issues", "edit", "DEMO-2", "DEMO-9", "--set", "Sprint=3"], "sprint = 3 and key in (DEMO-2, DEMO-9)"),
        (["issues", "watch", "DEMO-2", "DEMO-3"], "watcher = currentUser() and key in (DEMO-2, DEMO-3)"),
        (["issues", "edit", "DEMO-2", "DEMO-3", "-s", "X", "--due", "2026-01-31"], "due = 2026-01-31 and summary ~ X"),
    ],
)
def test_what_has_an_inverse_is_undone(desk: Desk, words: list[str], query: str) -> None:
    keys = [word for word in words if word.startswith("DEMO")]
    fields = ["assignee", "status", "customfield_10020", "summary", "duedate", "watches"]
    before = {key: desk.fields(key, *fields) for key in keys}
    done = desk.run(*words, "--journal", desk.path("j"))
    assert done.exit == 0, done.stderr
    assert count_of(desk, query) == 2
    undone = desk.run("undo", desk.path("j"), "--yes")
    assert undone.exit == 0, undone.stderr
    assert {key: desk.fields(key, *fields) for key in keys} == before


def test_an_undo_passes_the_policy(desk: Desk) -> None:
    path = relabelled(desk)
    for policy, told in (("read-only", "undo"), ("write=deny", "editIssue")):
        desk.environ["SUITE_POLICY"] = policy
        done = desk.run("undo", path, "--yes")
        assert (done.exit, "polic" in done.stderr) == (3, True), (told, done.stderr)
    del desk.environ["SUITE_POLICY"]
    assert desk.labels() == {key: [*labels, "urgent"] for key, labels in WAS.items()}


def test_a_dry_run_of_an_undo_shows_what_would_be_sent(desk: Desk) -> None:
    path = relabelled(desk)
    done = desk.run("undo", path, "--dry-run")
    assert done.exit == 0, done.stderr
    assert [line.split()[3].rpartition("/")[2] for line in done.stdout.decode().splitlines()] == [*WAS][::-1]
    assert done.stdout.decode().count('"labels": ["checkout"]') == 1
    assert desk.labels()["DEMO-2"] == ["checkout", "urgent"]


def states(url: str, keys: list[str]) -> list[Any]:
    """What a data center says of issues, but for when they were changed."""
    found = [ask_site("GET", f"{url}/rest/api/2/issue/{key}").json()["fields"] for key in keys]
    return [{name: value for name, value in fields.items() if name != "updated"} for fields in found]


@pytest.mark.slow
def test_on_a_data_center_each_issue_is_read_alone(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving(deployment="datacenter") as url:
        (tmp_path / "home").mkdir()
        profile = f'site = "dc"\n[sites.dc]\ndeployment = "datacenter"\nbase_url = "{url}"\ntoken_env = "DESK_TOKEN"\n'
        (tmp_path / "home" / "profiles.toml").write_text(profile, encoding="utf-8")
        (tmp_path / "home" / "profiles.toml").chmod(0o600)
        desk = Desk(url, nobody(tmp_path_factory), tmp_path)
        desk.environ = {key: text for key, text in desk.environ.items() if not key.startswith("SUITE")}
        desk.environ |= {"CALLSHEET_HOME": str(tmp_path / "home"), "DESK_TOKEN": "t"}
        for words in (
            ["issues", "label", "DEMO-1", "DEMO-2", "urgent"],
            ["issues", "assign", "DEMO-2", "DEMO-8", "none"],
            ["issues", "move", "DEMO-4", "DEMO-5", "In Progress"],
            ["sprints", "move", "3", "DEMO-2", "DEMO-8"],
        ):
            keys = [word for word in words if word.startswith("DEMO")]
            before = states(url, keys)
            done = desk.run(*words, "--journal", desk.path("j"))
            assert done.exit == 0, done.stderr
            assert states(url, keys) != before
            undone = desk.run("undo", desk.path("j"), "--yes")
            assert undone.exit == 0, undone.stderr
            assert states(url, keys) == before
            Path(desk.path("j")).unlink()


def kept(desk: Desk) -> list[str]:
    return [row["file"] for row in json.loads(desk.run("journals", "list", "-o", "json").stdout)]


@pytest.fixture
def settled(desk: Desk) -> Desk:
    """With a profile, which says what is kept."""
    home = desk.folder / "home"
    home.mkdir(mode=0o700)
    names = ("SUITE_BASE_URL", "SUITE_EMAIL", "SUITE_TOKEN")
    desk.environ = {key: value for key, value in desk.environ.items() if key not in names}
    desk.environ |= {"CALLSHEET_HOME": str(home), "SITE_TOKEN": "only here"}
    text = f'site = "here"\n[sites.here]\nbase_url = "{desk.url}"\nmethod = "basic"\nemail = "r@example.org"\n'
    (home / "profiles.toml").write_text(f'{text}token_env = "SITE_TOKEN"\n', encoding="utf-8")
    (home / "profiles.toml").chmod(0o600)
    return desk


ONE_CHANGE = [
    ("issues", "edit", "DEMO-3", "--label", "urgent,-checkout", "--summary", "New"),
    ("issues", "edit", "DEMO-3", "--set", "labels=a,b"),
    ("issues", "label", "DEMO-3", "--add", "urgent"),
    ("issues", "assign", "DEMO-3", "none"),
    ("issues", "transition", "DEMO-5", "In Progress"),
    ("sprints", "move", "3", "DEMO-3"),
]


@pytest.mark.parametrize("words", sampled(map(list, ONE_CHANGE), 2), ids=" ".join)
def test_every_change_is_undone_where_a_person_wants_a_journal_of_every_one(settled: Desk, words: list[str]) -> None:
    fields = ("labels", "summary", "assignee", "status", "customfield_10020")
    key = next(word for word in words if word.startswith("DEMO-"))
    before = settled.fields(key, *fields)
    assert settled.run("config", "set", "journal", "always").exit == 0
    done = settled.run(*words)
    assert done.exit == 0, done.stderr
    assert settled.fields(key, *fields) != before
    undone = settled.run("undo", "last", "--yes", "-o", "json")
    assert undone.exit == 0, undone.stderr
    assert json.loads(undone.stdout) == [{"id": key, "done": "put back"}]
    assert settled.fields(key, *fields) == before
    (_, name) = (os.path.basename(path) for path in kept(settled))
    again = settled.run("undo", name, "--yes", "-o", "json")
    assert json.loads(again.stdout) == [{"id": key, "done": "was back already"}]


@pytest.mark.parametrize(("setting", "few", "many"), [("always", 1, 1), ("many", 0, 1), ("never", 0, 0)])
def test_a_person_says_which_changes_are_kept(
    settled: Desk, monkeypatch: pytest.MonkeyPatch, setting: str, few: int, many: int
) -> None:
    monkeypatch.setattr("callsheet.commands.context._MANY", 2)
    assert settled.run("config", "set", "journal", setting).exit == 0
    assert settled.run("issues", "label", "DEMO-1", "DEMO-2", "x").exit == 0
    assert len(kept(settled)) == few
    assert settled.run("issues", "label", *WAS, "y").exit == 0
    assert len(kept(settled)) == few + many
    assert settled.run("issues", "label", "DEMO-1", "z", "--journal", settled.path("own.jsonl")).exit == 0
    assert Path(settled.path("own.jsonl")).exists()


def test_where_no_journal_was_kept_it_is_said_how_to_keep_one(settled: Desk) -> None:
    assert settled.run("issues", "label", "DEMO-1", "x").exit == 0
    done = settled.run("undo", "last", "--yes")
    assert done.exit == 2
    assert "suite config set journal always" in done.stderr
    assert settled.run("config", "set", "journal", "sometimes").exit == 2


THINGS = [
    (("pages", "edit", "98401", "--title", "New", "--body", "Other", "--label", "x,-checkout"), "98401"),
    (("pages", "edit", "98401", "--set", "labels="), "98401"),
    (("pages", "update", "98401", "-d", '{"title": "New"}'), "98401"),
    (("pages", "move", "98403", "--to", "98402"), "98403"),
    (("pages", "labels", "add", "98401", "x"), "98401"),
    (("pages", "labels", "remove", "98401", "checkout"), "98401"),
]


def page(desk: Desk, id: str) -> dict[str, Any]:
    """All of it that a change may change."""
    params = {"body-format": "storage", "include-labels": "true"}
    found = ask_site("GET", f"{desk.url}/wiki/api/v2/pages/{id}", params=params).json()
    labels = sorted(each["name"] for each in found["labels"]["results"])
    return {**{key: found[key] for key in ("title", "status", "parentId", "body")}, "labels": labels}


@pytest.mark.parametrize(("words", "id"), THINGS, ids=lambda each: " ".join(each) if isinstance(each, tuple) else each)
def test_what_was_done_to_a_page_is_undone(desk: Desk, words: tuple[str, ...], id: str) -> None:
    before = page(desk, id)
    done = desk.run(*words, "--journal", desk.path("j.jsonl"))
    assert done.exit == 0, done.stderr
    after = page(desk, id)
    assert after != before
    undone = desk.run("undo", desk.path("j.jsonl"), "--yes", "--journal", desk.path("back.jsonl"), "-o", "json")
    assert undone.exit == 0, undone.stderr
    assert json.loads(undone.stdout) == [{"id": id, "done": "put back"}]
    assert page(desk, id) == before
    assert desk.run("undo", desk.path("back.jsonl"), "--yes").exit == 0
    assert page(desk, id) == after


def test_a_page_that_somebody_changed_since_stays(desk: Desk) -> None:
    assert desk.run("pages", "edit", "98401", "--title", "New", "--journal", desk.path("j.jsonl")).exit == 0
    assert desk.run("pages", "edit", "98401", "--body", "theirs").exit == 0
    done = desk.run("undo", desk.path("j.jsonl"), "--yes")
    assert done.exit == 5, done.stderr
    assert "changed since: body" in done.stderr
    assert "--force discards what was changed since" in done.stderr
    assert page(desk, "98401")["title"] == "New"


@pytest.mark.parametrize(
    ("words", "read", "names"),
    [
        (
            ("versions", "update", "10031", "-d", '{"name": "9.9", "description": "x", "released": true}'),
            "/rest/api/3/version/10031",
            ("name", "released"),
        ),
        (
            ("sprints", "update", "3", "-d", '{"name": "Other", "goal": "x"}'),
            "/rest/agile/1.0/sprint/3",
            ("name", "goal"),
        ),
        (
            ("issues", "update", "DEMO-3", "-d", '{"fields": {"summary": "x"}}'),
            "/rest/api/3/issue/DEMO-3?fields=summary",
            ("fields",),
        ),
    ],
)
def test_a_change_from_json_is_undone(desk: Desk, words: tuple[str, ...], read: str, names: tuple[str, ...]) -> None:
    def now() -> dict[str, Any]:
        found = ask_site("GET", desk.url + read).json()
        return {name: found.get(name) or "" for name in names}

    before = now()
    done = desk.run(*words, "--journal", desk.path("j.jsonl"))
    assert done.exit == 0, done.stderr
    assert now() != before
    undone = desk.run("undo", desk.path("j.jsonl"), "--yes")
    assert undone.exit == 0, undone.stderr
    assert now() == before


CHANGES = tomllib.loads((CASES / "undo.toml").read_text(encoding="utf-8"))
EMPTY = {"type": "doc", "version": 1, "content": []}
PASSING = frozenset(
    {"version", "updated", "updateAuthor", "viewUrl", "timeSpent"}
)  # a change leaves its time and number


def apart_from_passing(found: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value or None for key, value in found.items() if key not in PASSING and value not in ("", [], None, EMPTY)
    }


@pytest.mark.parametrize("thing", sampled(CHANGES["cloud"], 3))
def test_what_is_changed_by_a_command_with_a_snapshot_is_put_back(desk: Desk, thing: str) -> None:
    changed_back_and_forth(desk, **CHANGES["cloud"][thing])


def changed_back_and_forth(desk: Desk, words: list[str], read: str, make: list[str] | None = None) -> None:
    new = next((word for word in words if word.isdecimal()), "")
    if make is not None:
        made = desk.run(*make, "-o", "id")
        assert made.exit == 0, made.stderr
        new = made.stdout.decode().strip()
    words, read = [word.replace("{new}", new) for word in words], read.replace("{new}", new)

    def now() -> dict[str, Any]:
        return apart_from_passing(ask_site("GET", desk.url + read).json())

    before = now()
    done = desk.run(*words, "--journal", desk.path("j.jsonl"))
    assert done.exit == 0, done.stderr
    after = now()
    assert after != before
    undone = desk.run("undo", "last", "--yes", "--journal", desk.path("back.jsonl"), "-o", "json")
    assert undone.exit == 0, undone.stderr
    assert [row["done"] for row in json.loads(undone.stdout)] == ["put back"]
    assert now() == before
    assert desk.run("undo", "last", "--yes").exit == 0
    assert now() == after


@pytest.fixture(scope="module")
def datacenter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    with serving(deployment="datacenter") as url:
        yield url, nobody(tmp_path_factory)


@pytest.fixture
def own_machine(datacenter: tuple[str, dict[str, str]], tmp_path: Path) -> Desk:
    url, environ = datacenter
    tell_sandbox(url, "reset")
    found = Desk(url, environ, tmp_path)
    found.environ |= {"SUITE_DEPLOYMENT": "datacenter", "SUITE_METHOD": "basic"}
    return found


@pytest.mark.parametrize("thing", sampled(CHANGES["datacenter"], 3))
def test_what_is_changed_on_a_data_center_is_put_back(own_machine: Desk, thing: str) -> None:
    changed_back_and_forth(own_machine, **CHANGES["datacenter"][thing])


def test_an_older_journal_is_not_taken_for_that_of_the_last_change(settled: Desk) -> None:
    """The words and the time of the change that has none are told, and nothing is put back."""
    environ = {**settled.environ, "SUITE_JOURNAL": "always"}
    settled.environ, plain = environ, settled.environ
    assert settled.run("issues", "label", "DEMO-1", "x").exit == 0
    settled.environ = plain
    assert settled.run("issues", "list", "-p", "DEMO").exit == 0  # changes nothing
    assert settled.run("issues", "label", "DEMO-2", "y").exit == 0
    done = settled.run("undo", "last", "--yes")
    assert done.exit == 2
    assert "error: the last change has no journal: `suite issues label` of 20" in done.stderr
    assert "suite journals list shows those of earlier changes" in done.stderr
    assert "x" in settled.fields("DEMO-1", "labels")
    (name,) = kept(settled)
    undone = settled.run("undo", os.path.basename(name), "--yes")
    assert undone.exit == 0
    assert "note: putting back 1 item as before `suite issues label` of 20" in undone.stderr
    assert settled.labels() == {**WAS, "DEMO-2": [*WAS["DEMO-2"], "y"]}
    assert settled.run("undo", "last", "--yes").exit == 0  # of the undo, wherever an earlier one is
    assert "x" in settled.fields("DEMO-1", "labels")


def test_of_a_change_that_has_no_undo_no_journal_is_promised(settled: Desk) -> None:
    """What was deleted stays so, also with `journal = always`, and no setting is named that would change it."""
    settled.environ = {**settled.environ, "SUITE_JOURNAL": "always"}
    assert settled.run("issues", "delete", "DEMO-4", "--yes").exit == 0
    done = settled.run("undo", "last", "--yes")
    assert done.exit == 2
    assert "error: the last change cannot be undone: `suite issues delete` of 20" in done.stderr
    assert "hint: suite journals list shows those of earlier changes" in done.stderr


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (["edit", "DEMO-1", "--priority", "nosuch"], "nothing to undo: "),
        (["delete", "DEMO-9999", "--yes"], "the last change cannot be undone: `suite issues delete` of 20"),
    ],
)
def test_after_a_change_that_the_site_refused_nothing_earlier_is_undone(
    refused: list[str], said: str, settled: Desk
) -> None:
    settled.environ = {**settled.environ, "SUITE_JOURNAL": "always"}
    assert settled.run("issues", "label", "DEMO-1", "x").exit == 0
    assert settled.run("issues", *refused).exit != 0
    done = settled.run("undo", "last", "--yes")
    assert (done.exit, f"error: {said}" in done.stderr) == (2, True)
    assert "hint: suite journals list shows those of earlier changes" in done.stderr
    assert "x" in settled.fields("DEMO-1", "labels")


def test_the_last_journal_may_be_in_a_file_of_ones_own(desk: Desk) -> None:
    path = relabelled(desk)
    assert desk.run("undo", "last", "--yes").exit == 0
    assert desk.labels() == WAS
    relabelled(desk, "other.jsonl")
    os.remove(desk.path("other.jsonl"))
    done = desk.run("undo", "last", "--yes")
    assert (done.exit, "the journal of the last change is gone" in done.stderr) == (2, True)
    assert os.path.exists(path)


def test_the_environment_says_which_changes_are_kept(settled: Desk) -> None:
    settled.environ = {**settled.environ, "SUITE_JOURNAL": "always"}
    assert settled.run("issues", "label", "DEMO-1", "x").exit == 0
    assert len(kept(settled)) == 1
    settled.environ = {**settled.environ, "SUITE_JOURNAL": "allways"}
    done = settled.run("issues", "label", "DEMO-1", "y")
    assert done.exit == 2
    assert "SUITE_JOURNAL: expected always, many or never, not 'allways', did you mean 'always'?" in done.stderr
    assert settled.fields("DEMO-1", "labels") == [*WAS["DEMO-1"], "x"]


def rewritten(path: str, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    changed = [json.dumps(line) for each in lines(path) if (line := change(each)) is not None]
    Path(path).write_text("".join(f"{line}\n" for line in changed), encoding="utf-8")


def test_all_that_an_undo_sends_is_judged_before_the_first(desk: Desk) -> None:
    """A policy forbids one of the two, whose project is known by its own request alone: neither is put back."""
    path = desk.path("j")
    assert desk.run("issues", "edit", "DEMO-1", "OPS-1", "--label", "urgent", "--journal", path).exit == 0
    policy = Path(desk.path("policy.toml"))
    policy.write_text('[[rule]]\nproject = "DEMO"\nclass = "write"\ndecision = "deny"\n', encoding="utf-8")
    desk.environ["SUITE_POLICY"] = str(policy)
    done = desk.run("undo", path, "--yes")
    assert (done.exit, "editIssue" in done.stderr) == (3, True), done.stderr
    assert "urgent" in desk.fields("OPS-1", "labels")


def test_what_may_have_been_changed_since_is_not_put_back(desk: Desk) -> None:
    path = relabelled(desk)
    rewritten(path, lambda line: None if "now" in line else line)
    done = desk.run("undo", path, "--yes")
    assert (done.exit, done.stderr.count("it is not known whether it was changed since")) == (1, 3), done.stderr
    assert desk.labels() == {key: [*labels, "urgent"] for key, labels in WAS.items()}


def test_a_journal_of_another_program_is_refused(desk: Desk) -> None:
    path = relabelled(desk)
    rewritten(path, lambda line: line | {"program": "other"} if "program" in line else line)
    done = desk.run("undo", path, "--yes")
    assert (done.exit, "is a journal of `other issues edit`" in done.stderr) == (2, True), done.stderr
