"""Directories and sites that are clumsy or hostile: nothing of others is taken, and what cannot be done is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from callsheet.sandbox.actions import Answer
from callsheet.sandbox.simulated_site import SandboxRequest
from commands.test_apply import Site, cloud, site
from support import simulated

pytestmark = pytest.mark.slow

__all__ = ["cloud", "site"]

Answering = Callable[[SandboxRequest], Answer]
Change = Callable[[Answering, SandboxRequest], Answer]
Meddle = Callable[[Change], None]


def another(site: Site, name: str, **files: str) -> Path:
    """A second directory."""
    found = site.home / name
    found.mkdir()
    for stem, text in files.items():
        (found / f"{stem}.md").write_text(text, encoding="utf-8")
    return found


def with_picture(site: Site, name: str = "a.png") -> None:
    """Somebody attaches a file to a page, and shows it there."""
    address = f"{site.environ['SUITE_BASE_URL']}/wiki/rest/api/content/98402/child/attachment"
    headers = {"X-Atlassian-Token": "no-check", "Authorization": "Basic eDp4"}
    file = name, (b"no picture" if name == "a.png" else name.encode())
    assert httpx.put(address, files={"file": file}, headers=headers, trust_env=False).status_code == 200
    picture = f'<p><ac:image><ri:attachment ri:filename="{name}" /></ac:image></p>'
    assert site.edit("Refunds", picture) == 0, site.err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("AB", "BA"),
        ("AB", "BC"),
        ("AB", "BAC"),
        ("ABC", "BCA"),
        ("ABCDE", "BADEC"),
        ("ABC", "BCDA"),
        ("ABC", "B C"),
        ("AB", "ZA"),
        ("AB", " BA"),
    ],
    ids=[
        "swapped",
        "chained",
        "swapped and a new one",
        "circle",
        "two circles",
        "chained and a new one",
        "one removed",
        "chained backwards",
        "of one removed to a new one",
    ],
)
def test_titles_go_from_file_to_file_and_back(site: Site, before: str, after: str) -> None:
    def write(titles: str) -> None:
        for path in site.docs.glob("*.md"):
            path.unlink()
        for name, title in zip("vwxyz", titles, strict=False):
            if title != " ":
                site.write(f"{name}.md", f"---\ntitle: {title}\n---\nOf {name}.\n")

    def bodies(titles: str) -> list[str]:
        return [site.body(title) for title in titles if title != " "]

    write(before)
    assert site.apply() == 0, site.err
    first, journal = bodies(before), str(site.home / "j.jsonl")
    write(after)
    assert site.apply("--prune", "--yes", "--journal", journal) == 0, site.err
    assert bodies(after) == [f"<p>Of {name}.</p>" for name, title in zip("vwxyz", after, strict=False) if title != " "]
    assert site.apply() == 0
    assert site.writes == []
    back = str(site.home / "back.jsonl")
    assert site("undo", journal, "--yes", "--journal", back) == 0, site.err
    assert bodies(before) == first
    assert {page["title"] for page in site.rows("pages", "list", "--space", "DOC")}.isdisjoint({*after} - {*before})
    assert site("undo", back, "--yes") == 0, site.err  # an undo is undone, too
    assert bodies(after) == [f"<p>Of {name}.</p>" for name, title in zip("vwxyz", after, strict=False) if title != " "]


def test_a_swap_of_titles_that_was_stopped_is_gone_on_with(cloud: Site) -> None:
    cloud.write("a.md", "---\ntitle: A\n---\nOne.\n")
    cloud.write("b.md", "---\ntitle: B\n---\nTwo.\n")
    assert cloud.apply() == 0, cloud.err
    first, second = cloud.page("A")["id"], cloud.page("B")["id"]
    cloud.write("a.md", "---\ntitle: B\n---\nOne.\n")
    cloud.write("b.md", "---\ntitle: A\n---\nTwo.\n")
    # What a run leaves that is killed under way.
    assert cloud("pages", "edit", first, "--title", f"B ({first})", "--yes") == 0, cloud.err
    assert cloud.apply() == 0, cloud.err
    assert cloud.page("B")["id"] == first
    assert cloud.page("A")["id"] == second
    assert cloud.plan() == []


def test_an_undo_of_a_swap_that_was_stopped_is_gone_on_with(cloud: Site) -> None:
    for titles in ("AB", "BA"):
        for name, title in zip("xy", titles, strict=True):
            cloud.write(f"{name}.md", f"---\ntitle: {title}\n---\nOf {name}.\n")
        assert cloud.apply("--journal", str(cloud.home / f"{titles}.jsonl")) == 0, cloud.err
    first = cloud.page("B")["id"]
    assert cloud("pages", "edit", first, "--title", f"A ({first})", "--yes") == 0, cloud.err
    assert cloud("undo", str(cloud.home / "BA.jsonl"), "--yes") == 0, cloud.err
    assert cloud.page("A")["id"] == first
    assert cloud.body("B") == "<p>Of y.</p>"


def test_what_others_changed_since_keeps_its_title(cloud: Site) -> None:
    """Nothing is called otherwise for a moment that then stays so."""
    for titles in ("AB", "BA"):
        for name, title in zip("xy", titles, strict=True):
            cloud.write(f"{name}.md", f"---\ntitle: {title}\n---\nOf {name}.\n")
        assert cloud.apply("--journal", str(cloud.home / f"{titles}.jsonl")) == 0, cloud.err
    for title in "AB":
        assert cloud.edit(title, "<p>Theirs.</p>") == 0, cloud.err
    assert cloud("undo", str(cloud.home / "BA.jsonl"), "--yes") != 0
    assert "changed since: body" in cloud.err
    assert cloud.body("A") == cloud.body("B") == "<p>Theirs.</p>"


def test_two_directories_below_one_parent_leave_each_other_alone(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    site.write("b.md", "# Beta\n\nTwo.\n")
    assert site.apply() == 0, site.err
    other = str(another(site, "other", a="# Gamma\n\nThree.\n"))
    assert site("apply", other, "--space", "DOC", "--prune", "--yes") == 0, site.err
    assert site.body("Alpha") == "<p>One.</p>"
    assert site.body("Beta") == "<p>Two.</p>"
    assert site.body("Gamma") == "<p>Three.</p>"
    assert site.apply("--prune") == 0, site.err
    assert site.writes == []


def test_a_page_that_two_directories_claim_is_told(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    assert site.apply() == 0, site.err
    other = another(site, "other", x="# Alpha\n\nUno.\n")
    words = "apply", str(other), "--space", "DOC"
    assert site(*words) == 5
    assert "x.md: the directory 'docs' has this page" in site.err
    assert 'name = "docs"' in site.err
    assert site.writes == []
    assert site(*words, "--theirs") == 0, site.err
    assert site.body("Alpha") == "<p>One.</p>"
    assert site(*words, "--ours") == 0, site.err
    assert site.body("Alpha") == "<p>Uno.</p>"
    assert site.apply() == 5
    assert "the directory 'other' has this page" in site.err


def test_a_directory_that_is_called_otherwise_says_its_name(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    cloud.docs = cloud.docs.rename(cloud.home / "renamed")
    cloud.write("callsheet.toml", 'name = "docs"\n')
    assert cloud.apply() == 0, cloud.err
    assert cloud.writes == []


def test_a_directory_that_was_pulled_has_the_pages_of_another_one(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    copy = cloud.home / "copy"
    assert cloud("pull", str(copy), "--space", "DOC") == 0, cloud.err
    cloud.docs = copy
    assert cloud.plan() == []
    (file,) = copy.rglob("alpha.md")
    file.write_text(file.read_text(encoding="utf-8").replace("One", "Uno"), encoding="utf-8")
    assert cloud.apply() == 0, cloud.err
    assert cloud.body("Alpha") == "<p>Uno.</p>"


def test_a_copy_of_a_page_with_its_properties_is_not_that_page(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    original = cloud.page("Alpha")["id"]
    found = cloud.rows("op", "call", "getPageContentProperties", "--param", f"page-id={original}", "--all")
    body = {"spaceId": "98305", "title": "Copy", "body": {"representation": "storage", "value": "<p>One.</p>"}}
    assert cloud("pages", "create", "-d", json.dumps(body)) == 0, cloud.err
    copy = cloud.page("Copy")["id"]
    said = json.dumps({"key": "callsheet", "value": found[0]["value"]})
    words = "op", "call", "createPageProperty", "--param", f"page-id={copy}", "-d", said, "--yes"
    assert cloud(*words) == 0, cloud.err
    assert cloud.plan("--prune") == []
    cloud.write("a.md", "# Alpha\n\nTwo.\n")
    assert cloud.apply("--prune", "--yes") == 0, cloud.err
    assert cloud.body("Alpha") == "<p>Two.</p>"
    assert cloud.body("Copy") == "<p>One.</p>"


def test_two_files_of_one_page_are_an_error(cloud: Site) -> None:
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 0, cloud.err
    file = cloud.docs / "documentation/refunds.md"
    (file.parent / "copy.md").write_text(file.read_text(encoding="utf-8").replace("# Refunds", "# New"), "utf-8")
    assert cloud("plan", str(cloud.docs), "--space", "DOC") == 2
    assert "documentation/refunds.md: has the page-id '98402', as documentation/copy.md has" in cloud.err


def test_a_page_without_a_title_is_told(cloud: Site) -> None:
    cloud.write(" .md", "Text.\n")
    assert cloud.apply() == 2
    assert "the title is empty" in cloud.err


def test_a_page_that_somebody_renamed_or_moved_is_told(site: Site) -> None:
    site.write("one/index.md", "# One\n")
    site.write("one/a.md", "# Alpha\n\nText.\n")
    assert site.apply() == 0, site.err
    id = site.page("Alpha")["id"]
    assert site("pages", "edit", id, "--title", "Theirs", "--yes") == 0, site.err
    assert site("plan", str(site.docs), "--space", "DOC") == 0
    assert "is called 'Theirs' on the site" in site.out
    assert site("pages", "move", id, "--to", "98402", "--yes") == 0, site.err
    assert site("pages", "delete", site.page("One")["id"], "--yes") == 0, site.err
    assert site.apply() == 5
    assert "parentId: that of one/index.md in the file, '98402' on the site" in site.err
    assert "Of(" not in site.err


def test_a_file_that_may_have_become_another_one_is_told(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    id = cloud.page("Alpha")["id"]
    (cloud.docs / "a.md").unlink()
    cloud.write("b.md", "# Beta\n\nTwo.\n")
    assert cloud("plan", str(cloud.docs), "--space", "DOC") == 0
    assert f"page-id: {id}" in cloud.out
    cloud.write("b.md", f"---\npage-id: {id}\n---\n# Beta\n\nTwo.\n")
    assert cloud.apply() == 0, cloud.err
    assert cloud.page("Beta")["id"] == id


def test_links_of_the_file_system_write_nothing_elsewhere(cloud: Site) -> None:
    target = cloud.home / "target"
    (cloud.docs / "callsheet.lock").symlink_to(target)
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 2
    assert "callsheet.lock is a symbolic link" in cloud.err
    (cloud.docs / "callsheet.lock").unlink()
    with_picture(cloud)
    # Where a page goes whose name is taken.
    (cloud.docs / "documentation").mkdir()
    (cloud.docs / "documentation-98400/refunds.files").mkdir(parents=True)
    (cloud.docs / "documentation-98400/refunds.files/a.png").symlink_to(target)
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 5
    assert "a.png is a symbolic link" in cloud.err
    assert not target.exists()


def test_pull_overwrites_no_picture_that_was_changed_here(cloud: Site) -> None:
    with_picture(cloud)
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 0, cloud.err
    (mine,) = cloud.docs.rglob("a.png")
    assert mine.read_text() == "no picture"
    mine.write_text("mine")
    assert cloud.edit("Refunds", '<p><ac:image><ri:attachment ri:filename="a.png" /></ac:image>!</p>') == 0, cloud.err
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 5
    assert mine.read_text() == "mine"


def test_a_property_of_others_removes_no_page(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    said = {"key": "callsheet", "value": {"path": "a.md", "root": "/docs", "version": 1, "body": "0"}}
    words = "op", "call", "createPageProperty", "--param", "page-id=98402", "-d", json.dumps(said), "--yes"
    assert cloud(*words) == 0, cloud.err
    cloud.apply("--prune", "--yes")
    assert not [line for line in cloud.writes if line.startswith("DELETE")]
    assert cloud.rows("pages", "list", "--space", "DOC", "--title", "Alpha")


@pytest.fixture
def meddle(monkeypatch: pytest.MonkeyPatch) -> Meddle:
    """Puts a function between the site and who asks it."""

    def put(change: Change) -> None:
        real = simulated.SandboxSite.answer_request
        monkeypatch.setattr(
            simulated.Judged, "answer_request", lambda site, request: change(partial(real, site), request)
        )

    return put


@pytest.mark.parametrize(
    ("theirs", "code"), [("<p>One.</p><p>Two, said Kim.</p>", 0), ("<p>Uno.</p><p>Two.</p>", 5)], ids=["merged", "told"]
)
def test_what_is_changed_while_it_is_applied_is_compared_again(
    cloud: Site, meddle: Meddle, theirs: str, code: int
) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n\nTwo.\n")
    assert cloud.apply() == 0, cloud.err
    cloud.write("a.md", "# Alpha\n\nEins.\n\nTwo.\n")
    left = ["one edit"]

    def edit_first(answer: Answering, request: SandboxRequest) -> Answer:
        if request.method == "PUT" and "/properties" not in request.target and left:
            left.clear()
            body = json.loads(request.body)
            answer(request._replace(body=json.dumps({**body, "body": {**body["body"], "value": theirs}}).encode()))
        return answer(request)

    meddle(edit_first)
    assert cloud.apply() == code, cloud.err
    assert cloud.body("Alpha") == (theirs.replace("One", "Eins") if code == 0 else theirs)


ODD: dict[str, dict[str, Any]] = {
    "no version": {"version": None},
    "version": {"version": {"number": "x"}},
    "no title": {"title": None},
    "title": {"title": ["x"]},
    "id": {"id": "../../x"},
    "text": {"body": {"storage": {"value": 7}}},
    "broken text": {"body": {"storage": {"value": "<p><b>"}}},
    "its own parent": {"parentId": "98500"},
    "parent": {"parentId": {"x": 1}},
    "base": {"metadata": {"properties": {"callsheet": {"value": {"path": "../x", "root": 5, "tags": {"labels": 5}}}}}},
    "labels": {"metadata": {"labels": {"results": 7}, "properties": {"callsheet": {"value": "x"}}}},
}


@pytest.mark.parametrize("odd", ODD)
def test_odd_answers_end_in_words_and_harm_no_other_page(cloud: Site, meddle: Meddle, odd: str) -> None:
    cloud.write("a.md", "# Alpha\n\nOne.\n")
    cloud.write("b.md", "# Beta\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    id = cloud.page("Alpha")["id"]
    cloud.write("a.md", "# Alpha\n\nTwo.\n")
    cloud.write("b.md", "# Beta\n\nTwo.\n")

    def lie(answer: Answering, request: SandboxRequest) -> Answer:
        found = answer(request)
        body = json.loads(json.dumps(found.body))
        for page in body.get("results", [body]) if isinstance(body, dict) else []:
            if isinstance(page, dict) and page.get("id") == id:
                page |= {name: value for name, value in ODD[odd].items() if name in page}
        return found._replace(body=body)

    meddle(lie)
    for words in (("plan",), ("apply",), ("apply", "--ours", "--prune", "--yes")):
        assert cloud(words[0], str(cloud.docs), "--space", "DOC", *words[1:]) in (0, 2, 5), cloud.err
    assert cloud("pull", str(cloud.home / "copy"), "--space", "DOC") in (0, 5), cloud.err
    assert not (cloud.home / "x.md").exists()
    assert odd == "id" or "Two" in cloud.body("Beta")  # which nothing can be asked by
    assert (cloud.home / "copy/documentation/refunds.md").exists()


@pytest.mark.parametrize("front", ["", "order: 3\n"], ids=["as it was pulled", "with a line of one's own"])
def test_what_others_did_to_a_pulled_page_stays_done(site: Site, front: str) -> None:
    assert site("pull", str(site.docs), "--space", "DOC") == 0, site.err
    file = site.docs / "documentation/refunds.md"
    file.write_text(file.read_text(encoding="utf-8").replace("---\n", f"---\n{front}", 1), encoding="utf-8")
    assert site("pages", "labels", "add", "98402", "theirs") == 0, site.err
    assert site("pages", "move", "98402", "--to", "98401", "--yes") == 0, site.err
    assert site("pages", "edit", "98402", "--title", "Returns", "--body", "New.", "--yes") == 0, site.err
    assert site("pull", str(site.docs), "--space", "DOC") == 0, site.err
    text = file.read_text(encoding="utf-8")
    assert "New." in text
    assert ("Returns" in text, "theirs" in text) == (not front, not front)
    assert site.apply() == 0, site.err
    assert not [line for line in site.writes if "98402" in line]  # a page that links to it may learn its title
    assert site.parent("Returns") == "98401"


def test_attached_files_are_pulled_and_stay_the_same(cloud: Site) -> None:
    names = ["a.png", "A.png", "report 1.pdf", "ü.txt", "CON.txt", "notes.md", ".hidden", "x" * 200 + ".png"]
    shown = ""
    for name in names:
        with_picture(cloud, name)
        link = f'<ri:attachment ri:filename="{name}" />'
        shown += f"<p><ac:image>{link}</ac:image><ac:link>{link}</ac:link></p>"
    missing = '<p><ac:image><ri:attachment ri:filename="missing.png" /></ac:image></p>'
    assert cloud.edit("Refunds", shown + missing) == 0, cloud.err
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 0, cloud.err
    assert cloud.err.count("'missing.png' is not attached") == 1
    files = cloud.docs / "documentation/refunds.files"
    pulled = [path.name for path in files.iterdir()]
    assert len({name.casefold() for name in pulled}) == len(pulled) == len(names) - 1  # A.png is a.png on some systems
    assert {path.read_text() for path in files.iterdir()} == {"no picture", *names} - {"a.png", "A.png"}
    assert not [name for name in pulled if name.startswith(".") or name.endswith(".md") or len(name) > 100]
    assert cloud.apply() == 0, cloud.err
    assert cloud.writes == []


def test_a_link_that_leads_nowhere_is_told_once(cloud: Site) -> None:
    cloud.write("a/b.md", "# Alpha\n\n[x](no.md) ![y](c.pn) [x](no.md)\n")
    cloud.write("a/c.png", "no picture")
    assert cloud.apply() == 0, cloud.err
    notes = [line for line in cloud.err.splitlines() if line.startswith("note: ")]
    assert notes[:-1] == [
        "note: a/b.md:3: the link to 'no.md' does not work: it does not exist",
        "note: a/b.md:3: the image to 'c.pn' does not work: it does not exist, did you mean 'c.png'?",
    ]
