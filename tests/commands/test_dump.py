"""Lists in files: wherever they are cut off, what `--resume` makes of them is the whole list, once."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.http.reply import Reply
from callsheet.client.pagination import fetch_pages as fetch
from callsheet.client.pagination import fetch_pages as pages
from callsheet.client.pagination.page_walk import Page
from callsheet.client.request.http_request import Request
from callsheet.commands.dump import Dump
from support.canary import SITES
from support.cases import Done, datacenter, environment, run_program
from support.server import Received, Scripted, Server, reply

COUNT = 23
_LIST = ("--project", "A", "--all", "--columns", "key,summary")
ISSUES = [
    {"id": str(number), "key": f"A-{number}", "fields": {"summary": "x, y"}} for number in range(100, 100 + COUNT)
]


class Tracker(Server):
    """Issues in pages of three, ids in pages of seven. After `fails` requests it answers no more."""

    trusted = True

    def __init__(self) -> None:
        super().__init__([], None)
        SITES.add(self.url)
        self.fails = 10**6

    def answer(self, request: Received) -> Scripted:
        with self._lock:
            self.requests.append(request)
            self.fails -= 1
            if self.fails < 0:
                return reply(400, json={"errorMessages": ["no more"]})
        query = parse_qs(urlsplit(request.target).query)
        if request.path.endswith("/bulkfetch"):
            ids = json.loads(request.body)["issueIdsOrKeys"]
            return reply(json={"issues": [issue for issue in ISSUES if issue["id"] in ids]})
        size = 7 if query.get("fields") == ["id"] else 3
        start = int(query.get("nextPageToken", query.get("startAt", ["0"]))[0])
        more = {"nextPageToken": str(start + size)} if start + size < COUNT else {}
        return reply(json={"issues": ISSUES[start : start + size], "total": COUNT, **more})


def one_by_one(function: Callable[[Any], Any], jobs: Iterable[Any], _workers: int, **_: Any) -> Generator[Any]:
    for job in jobs:
        yield function(job)


@pytest.fixture(scope="module")
def tracker() -> Iterator[Tracker]:
    server = Tracker()
    server.start()
    yield server
    server.stop()


@pytest.fixture(params=[environment, datacenter], ids=["cloud", "data center"])
def listed(
    request: pytest.FixtureRequest, tracker: Tracker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Done]:
    monkeypatch.chdir(tmp_path)
    for module in (
        fetch,
        pages,
    ):  # what ends a list leaves the requests under way to the system, which is not told here
        monkeypatch.setattr(module, "in_order", one_by_one)
    environ = request.param(tmp_path / "home", tracker.url)
    environ["CALLSHEET_CACHE"] = str(tmp_path.parent / "shared-cache")

    def run(*words: str, fails: int = 10**6) -> Done:
        tracker.fails = fails
        return run_program("suite", ["issues", "list", *_LIST, *words], environ)

    return run


@pytest.mark.parametrize("ending", ["ndjson", "csv", "markdown", "id"])
def test_a_list_that_was_cut_off_goes_on(listed: Callable[..., Done], ending: str) -> None:
    path = Path(f"list.{ending}")
    done = listed("-o", ending)
    whole = done.stdout
    assert whole.count(b"\n") == COUNT + {"csv": 1, "markdown": 2}.get(ending, 0)
    assert listed("--out", str(path), fails=4).exit == 1
    assert not path.exists()
    assert Path(f"{path}.part").stat().st_size < len(whole)
    assert listed("--out", str(path), "--resume", fails=2).exit == 1
    done = listed("--out", str(path), "--resume")
    assert (done.exit, done.stdout) == (0, b"")
    assert path.read_bytes() == whole
    assert files() == [path.name]


def test_only_the_same_list_goes_on_and_nothing_is_lost(listed: Callable[..., Done]) -> None:
    done = listed("--out", "a.csv", fails=4)
    assert "holds " in done.stderr
    assert "run the same command with --resume to continue" in done.stderr
    before = Path("a.csv.part").read_bytes()
    for words in (["--label", "x"], ["-o", "ndjson"], ["--max", "9"]):
        done = listed("--out", "a.csv", "--resume", *words)
        assert done.exit == 2
        assert "was begun by another command" in done.stderr
    done = listed("--out", "a.csv", "--resume", "-o", "table")
    assert done.exit == 2
    assert "--resume works with -o ndjson, csv, markdown or id" in done.stderr
    assert Path("a.csv.part").read_bytes() == before
    assert listed("--out", "a.csv").exit == 0  # without --resume it begins anew
    assert len(Path("a.csv").read_text().splitlines()) == COUNT + 1


def test_a_list_in_another_format_appears_whole_or_not_at_all(listed: Callable[..., Done]) -> None:
    assert listed("--out", "a.json", fails=4).exit == 1
    assert files() == []
    assert listed("--out", "a.json").exit == 0
    assert len(json.loads(Path("a.json").read_text())) == COUNT
    assert listed("--out", "missing/a.ndjson").exit == 2
    assert listed("--resume").exit == 2
    assert listed("--out", "b.ndjson", "--dry-run").exit == 0
    assert not Path("b.ndjson").exists()


def files() -> list[str]:
    return sorted(set(os.listdir()) - {"home"})


PLAN: Any = type("Plan", (), {"fetch": {"id": "id"}, "unique": None})


@given(st.integers(0, 8), st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_whatever_a_crash_leaves_of_both_files_fits_together(pages: int, chance: random.Random) -> None:
    request = Request("GET", "https://site.example", "/x")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "list")
        dump = Dump(path, "mark", resume=False)
        for number in range(pages):
            dump.stream.write(f"line {number}\n")
            dump.add_page(Page([{"id": number}], Reply(request, 200, {}, b"", ""), None, None), PLAN)
        dump.stream.write("cut off")
        dump.leave_unfinished()
        if pages:  # the system may have kept any part of the end of either
            for name in (f"{path}.part", f"{path}.resume"):
                os.truncate(name, chance.randint(0, os.path.getsize(name)))
        again = Dump(path, "mark", resume=True)
        assert again.seen == list(range(again.count))
        again.finish_file()
        assert Path(path).read_text() == "".join(f"line {number}\n" for number in again.seen)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "list.part").symlink_to(tmp_path / "mine")
    dump = Dump(str(tmp_path / "list"), "mark", resume=False)
    dump.stream.write("x\n")
    dump.finish_file()
    assert (tmp_path / "mine").read_text() == "precious"
