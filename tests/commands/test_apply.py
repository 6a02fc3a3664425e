"""Files that describe a site: what is planned is done, what others changed stays, and a second run changes nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.shell_user import ShellUser
from support.simulated import serving

MACRO = '<ac:structured-macro ac:name="toc" ac:schema-version="1" />'


class Site(ShellUser):
    """With a directory of Markdown."""

    def __init__(self, home: Path, address: str, deployment: str = "cloud") -> None:
        super().__init__(home, address, deployment)
        self.docs = home / "docs"
        self.docs.mkdir()

    def write(self, path: str, text: str) -> None:
        file = self.docs / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def apply(self, *words: str) -> int:
        return self("apply", str(self.docs), "--space", "DOC", *words)

    def plan(self, *words: str) -> list[dict[str, Any]]:
        return self.rows("plan", str(self.docs), "--space", "DOC", *words)

    def page(self, title: str) -> dict[str, Any]:
        (page,) = self.rows("pages", "list", "--space", "DOC", "--title", title, "--body-format", "storage")
        return page

    def parent(self, title: str) -> str | None:
        page = self.page(title)
        above: list[dict[str, Any]] = page.get("ancestors") or []
        return str(above[-1]["id"]) if above else page.get("parentId")

    def edit(self, title: str, storage: str) -> int:
        """As somebody else does it, in the browser."""
        return self("pages", "edit", self.page(title)["id"], "--body", storage, "--body-format", "storage", "--yes")

    def body(self, title: str) -> str:
        return str(self.page(title)["body"]["storage"]["value"])


@pytest.fixture(params=["cloud", pytest.param("datacenter", marks=pytest.mark.slow)])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    with serving(deployment=request.param) as address:
        yield Site(tmp_path, address, request.param)


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Site]:
    with serving() as address:
        yield Site(tmp_path, address)


def test_a_directory_becomes_pages_and_a_second_run_writes_nothing(site: Site) -> None:
    site.write("index.md", "# Handbook\n\nRead [the steps](guide/steps.md).\n")
    site.write("guide/steps.md", "# Steps\n\n1. Sweep\n2. Mop\n")
    assert [row["change"] for row in site.plan()] == ["create"] * 3
    assert site.apply() == 0, site.err
    assert '<ri:page ri:content-title="Steps"' in site.body("Handbook")
    assert site.plan() == []
    assert site.apply() == 0
    assert site.writes == []


def test_only_what_changed_is_sent(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    site.write("b.md", "# Beta\n\nTwo.\n")
    assert site.apply() == 0, site.err
    site.write("b.md", "# Beta\n\nThree.\n")
    [row] = site.plan()
    assert (row["change"], row["path"]) == ("update", "b.md")
    assert "+Three." in row["text"]
    assert site.apply() == 0, site.err
    assert len(site.writes) == 2, site.writes
    assert "Three" in site.body("Beta")
    assert site.plan() == []


def test_what_others_wrote_stays_beside_what_the_file_says_now(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n\nTwo.\n\nThree.\n")
    assert site.apply() == 0, site.err
    body = site.body("Alpha")
    assert site.edit("Alpha", body.replace("Three.", "Three, said Kim.") + MACRO) == 0, site.err
    [row] = site.plan()
    assert row["change"] == "keep"
    site.write("a.md", "# Alpha\n\nOne and a half.\n\nTwo.\n\nThree.\n")
    assert site.apply() == 0, site.err
    merged = site.body("Alpha")
    assert "One and a half." in merged
    assert "Three, said Kim." in merged
    assert MACRO in merged
    assert [row["change"] for row in site.plan()] == []
    # What the page has beside the file stays at the next change, too.
    site.write("a.md", "# Alpha\n\nOne and a half.\n\nTwo and more.\n\nThree.\n")
    assert site.apply() == 0, site.err
    merged = site.body("Alpha")
    assert "Two and more." in merged
    assert "Three, said Kim." in merged
    assert MACRO in merged
    assert site.apply() == 0
    assert site.writes == []


def test_what_both_sides_changed_is_left_alone_and_the_rest_is_applied(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    site.write("b.md", "# Beta\n\nTwo.\n")
    assert site.apply() == 0, site.err
    assert site.edit("Alpha", "<p>Uno.</p>") == 0, site.err
    site.write("a.md", "# Alpha\n\nEins.\n")
    site.write("b.md", "# Beta\n\nZwei.\n")
    assert site.apply() == 5, site.err
    assert "a.md" in site.err
    assert "version 2" in site.err
    assert "--ours" in site.err
    assert site.body("Alpha") == "<p>Uno.</p>"
    assert "Zwei" in site.body("Beta")
    assert site.apply("--ours") == 0, site.err
    assert site.body("Alpha") == "<p>Eins.</p>"
    assert site.plan() == []


def test_theirs_keeps_the_text_of_the_site_for_good(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    assert site.apply() == 0, site.err
    assert site.edit("Alpha", "<p>Uno.</p>") == 0, site.err
    site.write("a.md", "# Alpha\n\nEins.\n")
    assert site.apply("--theirs") == 0, site.err
    assert site.body("Alpha") == "<p>Uno.</p>"
    assert site.apply() == 0
    assert site.writes == []
    assert site.body("Alpha") == "<p>Uno.</p>"


def test_a_page_that_is_there_already_is_no_prey(site: Site) -> None:
    site.write("refunds.md", "# Refunds\n\nNo refunds.\n")
    assert site.apply() == 5
    assert "already" in site.err
    assert "three" in site.body("Refunds")
    assert site.apply("--ours") == 0, site.err
    assert "No refunds" in site.body("Refunds")


def test_moved_and_renamed_files_move_and_rename_their_pages(site: Site) -> None:
    site.write("one/index.md", "# One\n")
    site.write("two/index.md", "# Two\n")
    site.write("one/a.md", "# Alpha\n\nText.\n")
    assert site.apply() == 0, site.err
    was = site.page("Alpha")["id"]
    (site.docs / "one/a.md").rename(site.docs / "two/b.md")
    assert site.apply() == 0, site.err
    assert site.page("Alpha")["id"] == was
    assert site.parent("Alpha") == site.page("Two")["id"]
    site.write("two/b.md", "# Omega\n\nText.\n")
    [row] = site.plan()
    assert row["fields"] == {"title": {"was": "Alpha", "wanted": "Omega"}}
    assert site.apply() == 0, site.err
    assert site.page("Omega")["id"] == was
    assert site.plan() == []


def test_what_is_gone_is_removed_after_a_look_and_a_question(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nText.\n")
    site.write("b.md", "# Beta\n\nText, too.\n")
    assert site.apply() == 0, site.err
    (site.docs / "b.md").unlink()
    [row] = site.plan()
    assert (row["change"], row["path"]) == ("keep", "b.md")
    assert site.apply() == 0, site.err
    assert site.page("Beta")
    assert site.apply("--prune") == 2
    assert "Remove 1 thing" in site.err
    assert site.writes == []
    assert site.apply("--prune", "--yes") == 0, site.err
    assert site("pages", "list", "--space", "DOC", "--title", "Beta", "-o", "json") == 0
    assert json.loads(site.out) == []
    assert site.plan("--prune") == []


def test_prune_removes_nothing_that_is_not_below_the_parent_it_was_applied_to(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nText.\n")
    site.write("b.md", "# Beta\n\nText, too.\n")
    assert site("apply", str(site.docs), "--parent", "98402") == 0, site.err
    assert site("pages", "move", site.page("Beta")["id"], "--to", "98401", "--yes") == 0, site.err
    (site.docs / "b.md").unlink()
    assert site("apply", str(site.docs), "--parent", "98402", "--prune", "--yes") == 0, site.err
    assert site.writes == []
    assert site.page("Beta")


def test_labels_of_others_stay(site: Site) -> None:
    site.write("a.md", "---\nlabels: [mine, Yours]\n---\n# Alpha\n\nText.\n")
    assert site.apply() == 0, site.err
    id = site.page("Alpha")["id"]
    assert site("pages", "labels", "add", id, "theirs") == 0, site.err
    site.write("a.md", "---\nlabels: [mine]\n---\n# Alpha\n\nText.\n")
    assert site.apply() == 0, site.err
    assert site("pages", "labels", "list", id, "-o", "json") == 0, site.err
    assert sorted(label["name"] for label in json.loads(site.out)) == ["mine", "theirs"]


def test_a_file_is_attached_once(site: Site) -> None:
    site.write("a.md", "# Alpha\n\n![Picture](shapes/a.png)\n")
    site.write("shapes/a.png", "no picture")
    assert site.apply() == 0, site.err
    assert 'ri:filename="a.png"' in site.body("Alpha")
    site.write("a.md", "# Alpha\n\n![Picture](shapes/a.png)\n\nMore.\n")
    assert site.apply() == 0, site.err
    assert not [line for line in site.writes if "attachment" in line]
    site.write("shapes/a.png", "another picture")
    assert site.apply() == 0, site.err
    assert len([line for line in site.writes if "attachment" in line]) == 1
    assert site.plan() == []


def test_undo_takes_an_apply_back(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    site.write("b.md", "# Beta\n\nTwo.\n")
    assert site.apply() == 0, site.err
    site.write("a.md", "---\nlabels: [x]\n---\n# Omega\n\nEins.\n")
    site.write("b.md", "# Beta\n\nZwei.\n")
    journal = str(site.home / "j.jsonl")
    assert site.apply("--journal", journal) == 0, site.err
    assert "takes back what was changed" in site.err
    assert site("undo", journal, "--yes") == 0, site.err
    assert site.body("Alpha") == "<p>One.</p>"
    assert site.body("Beta") == "<p>Two.</p>"


def test_a_dry_run_is_a_plan(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    assert site.apply("--dry-run") == 0, site.err
    assert site.writes == []
    assert "a.md" in site.out
    assert site("plan", str(site.docs), "--space", "DOC", "--check") == 1
    assert site.apply() == 0
    assert site("plan", str(site.docs), "--space", "DOC", "--check") == 0


def test_a_comment_in_the_text_survives(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n\nOne two three four.\n\nNext.\n")
    assert cloud.apply() == 0, cloud.err
    marked = '<p>One <ac:inline-comment-marker ac:ref="8d2c">two three</ac:inline-comment-marker> four.</p><p>Next.</p>'
    assert cloud.edit("Alpha", marked) == 0, cloud.err
    cloud.write("a.md", "# Alpha\n\nOne two three four and five.\n\nNext.\n")
    assert cloud.apply() == 0, cloud.err
    assert 'ac:ref="8d2c">two three<' in cloud.body("Alpha")
    assert "four and five" in cloud.body("Alpha")


def test_what_was_pulled_is_applied_without_a_request_that_changes(site: Site) -> None:
    assert site("pull", str(site.docs), "--space", "DOC", "-o", "json") == 0, site.err
    paths = {path.relative_to(site.docs).as_posix() for path in site.docs.rglob("*.md")}
    assert paths == {
        "documentation/index.md",
        "documentation/checkout/index.md",
        "documentation/checkout/release-1-1.md",
        "documentation/refunds.md",
    }
    text = (site.docs / "documentation/checkout/index.md").read_text(encoding="utf-8")
    assert "](../refunds.md)" in text
    assert 'labels: ["checkout"]' in text
    assert site.plan() == []
    assert site.apply() == 0, site.err
    assert site.writes == []
    (site.docs / "documentation/refunds.md").write_text(
        (site.docs / "documentation/refunds.md").read_text(encoding="utf-8").replace("three", "four"), encoding="utf-8"
    )
    [row] = site.plan()
    assert row["path"] == "documentation/refunds.md"
    assert site.apply() == 0, site.err
    assert "<strong>four</strong>" in site.body("Refunds")
    assert "<table>" in site.body("Refunds")
    assert site.plan() == []
    assert site("pull", str(site.docs), "--space", "DOC") == 0, site.err
    assert site.plan() == []


def test_pull_overwrites_nothing_that_was_changed_here(cloud: Site) -> None:
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 0, cloud.err
    file = cloud.docs / "documentation/refunds.md"
    was = file.read_text(encoding="utf-8")
    file.write_text(was + "\nMine.\n", encoding="utf-8")
    assert cloud.edit("Refunds", "<p>Theirs.</p>") == 0
    assert cloud.edit("Release 1.1", "<p>New.</p>") == 0
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 5
    assert file.read_text(encoding="utf-8") == was + "\nMine.\n"
    assert "New." in (cloud.docs / "documentation/checkout/release-1-1.md").read_text(encoding="utf-8")


HOSTILE = [
    "../../up",
    "CON",
    ".git",
    "a/b\\c",
    "x" * 255,
    "index",
    "\u202eevil",
    "\u0007bell",
    "Ärger",
    "a:b",
    "...",
    "~",
]


def test_a_title_that_is_too_long_stops_its_page_before_anything_is_sent(site: Site) -> None:
    site.write("long.md", f"---\ntitle: {'x' * 256}\n---\n\nWords.\n")
    site.write("short.md", "# Short\n\nWords.\n")
    assert site.apply() == 5
    assert "long.md: title: expected at most 255 characters, not 256" in site.err
    titles = [row["title"] for row in site.rows("pages", "list", "--space", "DOC")]
    assert [title for title in titles if title == "Short" or title.startswith("xx")] == ["Short"]


def test_titles_of_others_choose_no_path_outside(cloud: Site) -> None:
    for number, title in enumerate(HOSTILE):
        body = {"spaceId": "98305", "title": title, "body": {"representation": "storage", "value": f"<p>{number}</p>"}}
        assert cloud("pages", "create", "-d", json.dumps(body)) == 0, cloud.err
    before = {path for path in cloud.home.rglob("*") if cloud.docs not in path.parents}
    assert cloud("pull", str(cloud.docs), "--space", "DOC") == 0, cloud.err
    assert {
        path for path in cloud.home.rglob("*") if cloud.docs not in path.parents and "state" not in path.parts
    } <= before
    files = list(cloud.docs.rglob("*.md"))
    assert len(files) == 4 + len(HOSTILE)
    for path in files:
        for part in path.relative_to(cloud.docs).parts:
            assert re.fullmatch(r"[\w-]+(\.md)?", part), part
            assert part.lower() not in ("con", "con.md", ".git")
    assert cloud.plan() == []


def test_a_link_in_the_directory_leads_nothing_out_of_it(cloud: Site) -> None:
    outside = cloud.home / "outside"
    outside.mkdir()
    (cloud.docs / "documentation").symlink_to(outside)
    cloud("pull", str(cloud.docs), "--space", "DOC")
    assert list(outside.iterdir()) == []


def test_a_plan_is_done_as_it_was_reviewed_or_not_at_all(site: Site) -> None:
    site.write("a.md", "# Alpha\n\nOne.\n")
    file = str(site.home / "plan.json")
    site.plan("--out", file)
    site.write("a.md", "# Alpha\n\nTwo.\n")
    assert site.apply("--plan", file) == 5
    assert "a.md: another text" in site.err
    assert site.writes == []
    site.write("a.md", "# Alpha\n\nOne.\n")
    assert site.apply("--plan", file) == 0, site.err
    assert site.body("Alpha") == "<p>One.</p>"
    site.write("a.md", "# Alpha\n\nOne.\n\nTwo.\n")
    site.plan("--out", file)
    assert site.edit("Alpha", "<p>One!</p>") == 0
    assert site.apply("--plan", file) == 5
    assert site.writes == []


def test_a_plan_for_a_review_is_markdown_that_no_text_breaks(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha *x* [y](z)\n\n````\n```\ncode\n```\n````\n")
    assert cloud("plan", str(cloud.docs), "--space", "DOC", "-o", "markdown") == 0
    assert "**1 to create**" in cloud.out
    assert "`````diff" in cloud.out


def test_a_title_is_free_once_its_page_is_called_otherwise(site: Site) -> None:
    site.write("a.md", "---\ntitle: Alpha\n---\nOne.\n")
    assert site.apply() == 0, site.err
    was = site.page("Alpha")["id"]
    site.write("a.md", "---\ntitle: Old\n---\nOne.\n")
    site.write("b.md", "---\ntitle: Alpha\n---\nNew.\n")
    assert site.apply() == 0, site.err
    assert site.page("Old")["id"] == was
    assert "New" in site.body("Alpha")
    assert site.plan() == []


def test_a_draft_is_no_page_until_it_is_none(cloud: Site) -> None:
    """No published operation lists drafts: each run would make another one."""
    cloud.write("a.md", "---\nstatus: draft\n---\n# Alpha\n")
    assert cloud.apply() == 0, cloud.err
    assert "a.md: is a draft" in cloud.err
    assert not cloud.writes
    cloud.write("a.md", "# Alpha\n")
    assert cloud.apply() == 0, cloud.err
    assert cloud.page("Alpha")["status"] == "current"


def restrictions_of(site: Site, title: str) -> dict[str, list[str]]:
    """By what people and groups are called where both deployments have it."""
    found: Any = site.rows("op", "call", "getRestrictionsByOperation", "--param", f"id={site.page(title)['id']}")
    return {
        operation: [
            *(
                user.get("accountId") or user["username"]
                for user in found[operation]["restrictions"]["user"]["results"]
            ),
            *(
                f"group {group.get('id') or group['name']}"
                for group in found[operation]["restrictions"]["group"]["results"]
            ),
        ]
        for operation in ("read", "update")
        if found.get(operation)
    }


def test_who_may_see_and_edit_a_page_stands_in_its_file(site: Site) -> None:
    is_cloud = site.environ["SUITE_DEPLOYMENT"] == "cloud"
    (kim,) = site.rows("users", "search", "Kim Example")
    person = kim["accountId"] if is_cloud else kim["name"]
    group = site.rows("groups", "list")[0]
    team = f"group {group['groupId'] if is_cloud else group['name']}"
    said = f"restrictions: {{view: [Kim Example, 'group:{group['name']}'], edit: [Kim Example]}}"
    site.write("a.md", f"---\n{said}\n---\n# Alpha\n\nSecret.\n")
    site.write("b.md", "# Beta\n")
    assert site.apply() == 0, site.err
    assert restrictions_of(site, "Alpha") == {"read": [person, team], "update": [person]}
    assert "Secret." in site.body("Alpha")
    assert site.apply() == 0
    assert site.writes == []
    # The text is not sent before nobody else may see it.
    site.write("c.md", f"---\n{said}\n---\n# Gamma\n\nHidden.\n")
    assert site.apply() == 0, site.err
    made, restricted, written, *_ = site.writes
    assert [line.split()[0] for line in (made, restricted, written)] == ["POST", "PUT", "PUT"]
    assert restricted.endswith("/restriction")
    site.write("a.md", "---\nrestrictions: {view: []}\n---\n# Alpha\n\nSecret.\n")
    [row] = site.plan()
    assert row["fields"]["restrictions"]["wanted"]["view"] == {"user": [], "group": []}
    assert site("plan", str(site.docs), "--space", "DOC") == 0
    told = [line.strip() for line in site.out.splitlines() if "restrictions" in line]
    assert told == [f'restrictions.view.user: ["{person}"] -> []', f'restrictions.view.group: ["{team[6:]}"] -> []']
    journal = str(site.home / "j.jsonl")
    assert site.apply("--journal", journal) == 0, site.err
    assert restrictions_of(site, "Alpha") == {"read": [], "update": [person]}
    assert site.plan() == []
    assert site("undo", journal, "--dry-run") == 0, site.err
    assert "/restriction" in site.out
    back = str(site.home / "b.jsonl")
    assert site("undo", journal, "--yes", "--journal", back) == 0, site.err
    assert restrictions_of(site, "Alpha") == {"read": [person, team], "update": [person]}
    assert site("undo", back, "--yes") == 0, site.err
    assert restrictions_of(site, "Alpha") == {"read": [], "update": [person]}
    id = site.page("Alpha")["id"]
    known = json.dumps({"type": "known", "accountId" if is_cloud else "username": person})
    body = f'[{{"operation": "read", "restrictions": {{"user": [{known}]}}}}]'
    assert site("op", "call", "updateRestrictions", "--param", f"id={id}", "-d", body, "--yes") == 0, site.err
    assert site("undo", journal, "--yes") != 0
    assert "restrictions of page" in site.err
    site.write("a.md", f"---\n{said}\n---\n# Alpha\n\nSecret.\n")
    assert site.apply() == 5, site.out
    assert "restrictions" in site.err
    assert site.apply("--ours") == 0, site.err
    assert restrictions_of(site, "Alpha") == {"read": [person, team], "update": [person]}


def test_a_pulled_page_says_who_may_see_it(site: Site) -> None:
    site.write("a.md", "---\nrestrictions: {view: [Kim Example], edit: [me]}\n---\n# Alpha\n\nOne.\n")
    assert site.apply() == 0, site.err
    pulled = site.home / "pulled"
    assert site("pull", str(pulled), "--space", "DOC") == 0, site.err
    (file,) = [path for path in pulled.rglob("*.md") if "# Alpha" in path.read_text()]
    assert 'restrictions: {"view": ["' in file.read_text()
    assert site("apply", str(pulled), "--space", "DOC") == 0, site.err
    assert site.writes == []


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{view: [Nobody Atall]}", "restrictions: no "),
        ("{view: ['group:no such group']}", "restrictions: no "),
        ("{look: [me]}", "expected a table of `view` and `edit`"),
    ],
)
def test_a_page_that_not_everybody_may_read_is_not_published_to_everybody(cloud: Site, said: str, told: str) -> None:
    cloud.write("a.md", f"---\nrestrictions: {said}\n---\n# Alpha\n")
    cloud.write("b.md", "# Beta\n")
    assert cloud.apply() == 2, cloud.out
    assert told in cloud.err
    assert not cloud.writes


def test_wrong_input_is_told(cloud: Site) -> None:
    cloud.write("a.md", "# Alpha\n")
    assert cloud("plan", str(cloud.docs)) == 2
    assert "--space" in cloud.err
    assert cloud("plan", str(cloud.home / "none"), "--space", "DOC") == 2
    assert cloud.apply("--ours", "--theirs") == 2
    for verb in ("pull", "plan", "apply"):
        assert cloud(verb, str(cloud.docs / "a.md"), "--space", "DOC") == 2
        assert "a.md is not a directory" in cloud.err
    cloud.write("callsheet.toml", 'spaces = "DOC"\n')
    assert cloud("plan", str(cloud.docs)) == 2
    assert "did you mean 'space'" in cloud.err
    cloud.write("callsheet.toml", 'space = "DOC"\n')
    assert cloud("plan", str(cloud.docs)) == 0, cloud.err
    cloud.write("callsheet.lock", "{")
    assert cloud("plan", str(cloud.docs)) == 2
    assert "callsheet.lock" in cloud.err


@pytest.mark.slow
def test_a_change_costs_three_requests_beside_the_lists(cloud: Site) -> None:
    for number in range(30):
        cloud.write(f"p{number}.md", f"# Page {number}\n\nText.\n")
    assert cloud.apply() == 0, cloud.err
    for number in range(25):
        cloud.write(f"p{number}.md", f"# Page {number}\n\nMore text.\n")
    assert cloud.apply() == 0, cloud.err
    lists = 4
    assert len(cloud.sent) == lists + 3 * 25
    assert cloud.apply() == 0
    assert len(cloud.sent) == lists
    assert cloud("undo", "last", "--yes") == 0, cloud.err
    assert cloud.body("Page 7") == "<p>Text.</p>"


def test_undo_removes_what_was_made_and_restores_what_was_removed(site: Site) -> None:
    site.write("old/index.md", "# Old\n\nIt.\n")
    site.write("old/below.md", "---\nlabels: [x]\n---\n# Below\n\nThis.\n")
    assert site.apply() == 0, site.err
    old, below = site.page("Old")["id"], site.page("Below")["id"]
    (site.docs / "old/index.md").unlink()
    (site.docs / "old/below.md").unlink()
    site.write("new/index.md", "# New\n")
    site.write("new/a.md", "---\nlabels: [y]\n---\n# Alpha\n\nText.\n")
    site.write("new/b.md", "# Beta\n\nText.\n")
    journal = str(site.home / "j.jsonl")
    assert site.apply("--prune", "--yes", "--journal", journal) == 0, site.err
    assert site.edit("Beta", "<p>Theirs.</p>") == 0, site.err
    assert site("undo", journal, "--dry-run") == 0, site.err
    assert site.writes == []
    back = str(site.home / "back.jsonl")
    assert site("undo", journal, "--yes", "--journal", back) == 1, site.err
    assert ": 3 of them are removed" in site.err
    assert "changed since: body" in site.err
    assert site.page("Old")["id"] == old
    assert site.parent("Below") == old
    assert site.body("Below") == "<p>This.</p>"
    assert site.body("Beta") == "<p>Theirs.</p>"
    titles = {page["title"] for page in site.rows("pages", "list", "--space", "DOC")}
    assert {"Old", "Below", "Beta"} <= titles
    assert "Alpha" not in titles
    assert site("pages", "labels", "list", below, "-o", "id") == 0, site.err
    assert site.out.strip() == "x"
    assert site("undo", back, "--yes") == 0, site.err  # an undo is undone, too
    titles = {page["title"] for page in site.rows("pages", "list", "--space", "DOC")}
    assert titles >= {"New", "Alpha", "Beta"}
    assert titles.isdisjoint({"Old", "Below"})


def test_the_owner_is_the_person_whom_the_front_matter_names(cloud: Site) -> None:
    cloud.write("a.md", "---\nowner: Kim Example\n---\n# Alpha\n\nOne.\n")
    assert cloud.apply() == 0, cloud.err
    (kim,) = cloud.rows("users", "search", "Kim Example")
    assert cloud.page("Alpha")["ownerId"] == kim["accountId"]
    assert "One." in cloud.body("Alpha")
    assert cloud.apply() == 0
    assert cloud.writes == []
    cloud.write("a.md", "---\nowner: me\n---\n# Alpha\n\nOne.\n")
    assert cloud.apply("--journal", str(cloud.home / "journal")) == 0, cloud.err
    assert cloud.page("Alpha")["ownerId"] != kim["accountId"]
    assert cloud("undo", str(cloud.home / "journal"), "--yes") == 0, cloud.err
    assert cloud.page("Alpha")["ownerId"] == kim["accountId"]
    cloud.write("b.md", "---\nowner: Nobody Atall\n---\n# Beta\n")
    assert cloud.apply() == 2
    assert "b.md: owner: " in cloud.err
    assert cloud.writes == []


def test_a_field_that_names_a_person_takes_a_word_for_one(site: Site) -> None:
    field = "leadAccountId" if site.environ["SUITE_DEPLOYMENT"] == "cloud" else "leadUserName"
    site.write("c.toml", f'resource = "component"\nproject = "DEMO"\nname = "Cart"\n{field} = "Kim Example"\n')
    assert site("apply", str(site.docs), "--space", "DOC") == 0, site.err
    (made,) = [row for row in site.rows("projects", "components", "DEMO") if row["name"] == "Cart"]
    assert made["lead"]["displayName"] == "Kim Example"
    assert site("apply", str(site.docs), "--space", "DOC") == 0
    assert site.writes == []


def order_below(site: Site, parent: str) -> list[str]:
    id = site.page(parent)["id"]
    rows = [row for row in site.rows("pages", "list", "--space", "DOC") if row.get("parentId") == id]
    return [row["title"] for row in sorted(rows, key=lambda row: int(row["position"]))]


def write_in_order(site: Site, numbers: dict[str, int]) -> None:
    for name, number in numbers.items():
        site.write(f"guide/{name}.md", f"---\norder: {number}\n---\n# {name.capitalize()}\n\nText.\n")


def test_undo_puts_pages_back_in_their_order(cloud: Site) -> None:
    cloud.write("guide/index.md", "# Guide\n")
    write_in_order(cloud, {"alpha": 1, "beta": 2, "gamma": 3, "delta": 4, "epsilon": 5})
    assert cloud.apply() == 0, cloud.err
    before, journal, back = order_below(cloud, "Guide"), str(cloud.home / "j.jsonl"), str(cloud.home / "b.jsonl")
    write_in_order(cloud, {"zeta": 0, "epsilon": 1, "alpha": 2, "gamma": 3, "beta": 4})
    (cloud.docs / "guide/gamma.md").unlink()
    cloud.write("other/index.md", "# Other\n")
    cloud.write("other/delta.md", "# Delta\n\nText.\n")
    (cloud.docs / "guide/delta.md").unlink()
    assert cloud.apply("--prune", "--yes", "--journal", journal) == 0, cloud.err
    after = order_below(cloud, "Guide")
    assert after == ["Zeta", "Epsilon", "Alpha", "Beta"]
    assert cloud("undo", journal, "--dry-run") == 0, cloud.err
    assert cloud.writes == []
    assert cloud("undo", journal, "--yes", "--journal", back) == 0, cloud.err
    assert order_below(cloud, "Guide") == before
    assert cloud("undo", journal, "--yes") == 0, cloud.err
    assert not [line for line in cloud.writes if "/move/" in line]  # they stand so already
    assert cloud("undo", back, "--yes") == 0, cloud.err
    assert order_below(cloud, "Guide") == after


def test_pages_stand_in_the_order_that_their_files_say(cloud: Site) -> None:
    cloud.write("guide/index.md", "# Guide\n")
    write_in_order(cloud, {"alpha": 3, "beta": 1, "gamma": 2, "delta": 4})
    assert cloud.apply() == 0, cloud.err
    assert not [line for line in cloud.writes if "/move/" in line]  # each is made behind the one before it
    assert order_below(cloud, "Guide") == ["Beta", "Gamma", "Alpha", "Delta"]
    write_in_order(cloud, {"alpha": 1, "beta": 2, "gamma": 3, "delta": 4, "epsilon": 2})
    plan = {row["path"]: row for row in cloud.plan()}
    assert {path for path, row in plan.items() if "after" in row or "before" in row} == {
        "guide/alpha.md", "guide/epsilon.md"
    }  # fmt: skip
    assert cloud.apply() == 0, cloud.err
    assert order_below(cloud, "Guide") == ["Alpha", "Beta", "Epsilon", "Gamma", "Delta"]
    assert cloud.apply() == 0
    assert cloud.writes == []
    write_in_order(cloud, {"delta": 0})
    assert cloud.apply() == 0, cloud.err
    assert len([line for line in cloud.writes if "/move/" in line]) == 1
    assert order_below(cloud, "Guide") == ["Delta", "Alpha", "Beta", "Epsilon", "Gamma"]


def test_what_no_file_orders_stays_where_it_is(cloud: Site) -> None:
    cloud.write("b.md", "# Beta\n")
    assert cloud.apply() == 0, cloud.err
    cloud.write("a.md", "# Alpha\n")
    assert cloud.apply() == 0, cloud.err
    assert not [line for line in cloud.writes if "/move/" in line]
