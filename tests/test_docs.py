"""What the documentation shows works: definitions are sound, commands exist."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.shape import KINDS
from support.places import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


LANGUAGE = [ROOT / "docs" / name for name in ("definitions.md", "definitions-in-depth.md")]
KIND_TABLES = [("The kinds that people write, in", "[The others]"), ("## The other kinds", "\n## ")]


def blocks(path: Path, language: str) -> list[str]:
    return [text for name, text in BLOCK.findall(path.read_text(encoding="utf-8")) if name == language]


@pytest.mark.slow
def test_every_definition_in_the_language_pages_is_sound(tmp_path: Path) -> None:
    shown = [text for page in LANGUAGE for text in blocks(page, "toml")]
    assert len(shown) >= 5
    for number, text in enumerate(shown):
        (tmp_path / f"{number}.toml").write_text(text, encoding="utf-8")
    found = [*definition_layers("suite", {"CALLSHEET_HOME": str(tmp_path / "home")}), Layer(str(tmp_path))]
    definitions = load_definitions(found)
    check_definitions(definitions, {"operation": qualified_names(definitions)}, registry.registered_names())
    assert [column["name"] for column in definitions["view", "operation"].table["columns"]].count("EXPERIMENTAL") == 1
    assert definitions["parameter", "cataloguePart"].table == {"help": "Which page of the catalogue"}


def test_the_language_pages_name_every_kind() -> None:
    tables = "".join(
        page.read_text(encoding="utf-8").partition(before)[2].partition(behind)[0]
        for page, (before, behind) in zip(LANGUAGE, KIND_TABLES, strict=True)
    )
    cells = [line.split("|")[1] for line in tables.splitlines() if line.startswith("| `")]
    assert sorted(name for cell in cells for name in re.findall("`(.+?)`", cell)) == sorted(KINDS)


@pytest.mark.parametrize(
    ("page", "program", "routes"),
    [
        ("listener", "lms", set()),
        ("verification", "lms", set()),
        ("routes", "lms", {"low-grades", "chat", "all-to-chat", "crm", "late", "lookup", "reports", "grades"}),
        ("watch", "suite", {"done"}),
    ],
)
def test_every_definition_in_the_pages_about_events_is_sound(
    tmp_path: Path, page: str, program: str, routes: set[str]
) -> None:
    for number, text in enumerate(blocks(ROOT / "docs" / f"{page}.md", "toml")):
        (tmp_path / f"{number}.toml").write_text(text, encoding="utf-8")
    definitions = load_definitions(
        [*definition_layers(program, {"CALLSHEET_HOME": str(tmp_path / "home")}), Layer(str(tmp_path))]
    )
    check_definitions(definitions, {"operation": qualified_names(definitions)}, registry.registered_names())
    assert {name for kind, name in definitions if kind == "route"} == routes


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(FENCED.sub("", page.read_text(encoding="utf-8"))):
        leads_to = page.parent / target if target else page
        assert leads_to.exists(), target
        assert not anchor or anchor in anchors(leads_to), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """As sites and repositories make them of headings."""
    found = HEADING.findall(FENCED.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading.lower()).strip()) for heading in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_block_is_one_for_each_that_builds_the_site(page: Path) -> None:
    """They read nothing but a language and options of their own behind the fence, and show all else as text."""
    fences = re.findall(r"^ *```(.*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert [fence for fence in fences if not re.fullmatch(r'|[a-z]+( title="[^"]+")?', fence)] == []


def test_the_navigation_names_every_page_once() -> None:
    def pages(entry: object) -> list[str]:
        below = entry if isinstance(entry, list) else [*entry.values()] if isinstance(entry, dict) else None
        return [str(entry)] if below is None else [page for each in below for page in pages(each)]

    named = pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    there = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(named) == sorted({*there, "errors.md"})  # which is written when the site is built


ASKED = (re.compile(r"""variables\.(?:get|name)\("([A-Z_]+)"\)"""), re.compile(r"""[}"']_([A-Z_]{5,})[`"']"""))
UNSAID = {"COMPLETE", "COMPLETE_WORDS", "CALLSHEET_WORKER"}  # set by the programs, for completion and for workers


def test_every_variable_that_the_engine_reads_is_explained() -> None:
    page = (ROOT / "docs" / "environment.md").read_text(encoding="utf-8")
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py")]
    read = {name for text in sources for pattern in ASKED for name in pattern.findall(text)}
    assert {"BASE_URL", "TOKEN", "INBOX", "POLICY", "KEYRING_PASSWORD_FILE"} <= read
    assert {name for name in read if f"_{name}`" not in page and f"`{name}" not in page} <= UNSAID


@pytest.mark.slow
def test_every_message_is_listed_with_what_to_do() -> None:
    spec = importlib.util.spec_from_file_location("reference_facts", ROOT / "scripts" / "reference_facts.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = module.messages()
    told = "| no credential for site … | sign in: suite auth login --site … |"
    assert page.index("## Exit code 3") < page.index(told)
    assert "| nothing to change: pass --body or --data" in page  # of a definition
    assert "| …: …: redirected to …, which is not a valid address |" in page  # begun in a variable of the function
    assert not re.search(r"\| … …[ :,|]|^\| (?!message)\w+ \|", page, re.MULTILINE)  # nothing to look up


def test_a_decision_has_its_number_its_day_and_whether_it_holds_and_stands_in_the_index() -> None:
    folder = ROOT / "docs" / "decisions"
    pages = sorted(path for path in folder.glob("*.md") if path.name != "index.md")
    index = (folder / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{4}) \| \[(.+)\]\((.+\.md)\) \| (\S+) \| (.+) \|$", index, re.MULTILINE)
    found = []
    for path in pages:
        title, _, said, *_ = path.read_text(encoding="utf-8").split("\n")
        day, _, status = said.partition(" · ")
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", day), path.name
        found.append((path.name[:4], title.removeprefix("# "), path.name, day, status))
    assert rows == found
    numbers = [number for number, *_ in rows]
    assert numbers == sorted(set(numbers))  # there may be gaps: several pages are written at the same time


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "decisions").glob("0*.md")), ids=lambda path: path.stem)
def test_a_decision_is_short(path: Path) -> None:
    """At most 300 words. Measurements stand in benchmarks/README.md."""
    assert len(path.read_text(encoding="utf-8").split()) <= 300


def test_the_language_is_read_in_twenty_minutes() -> None:
    """200 words a minute, code too."""
    assert len(LANGUAGE[0].read_text(encoding="utf-8").split()) < 4000
