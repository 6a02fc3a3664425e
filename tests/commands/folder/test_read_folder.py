"""Directories given as tables of files, and the pages that are read of them."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.folder.local_page import (
    DiagramProgram,
    Folder,
    FolderSettings,
    attachment_reference,
    filled_body,
    page_reference,
)
from callsheet.commands.folder.read_folder import read_folder

ROOT = Path(__file__).parents[3]
CASES = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))["case"]


def write(root: Path, files: dict[str, str]) -> None:
    for path, words in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(words, encoding="utf-8", newline="")


def filled(folder: Folder, path: str) -> str:
    """The body as it is converted, pages by their titles and files by their names."""
    page = folder.page_at_path(path)

    def address_of(target: str, anchor: str) -> str:
        return page_reference("" if target == path else folder.page_at_path(target).title, anchor)

    return filled_body(page, address_of, attachment_reference)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path, case["files"])
    programs = {name: DiagramProgram(tuple(run), "png", 60) for name, run in case.get("render", {}).items()}
    settings = FolderSettings(programs=programs, **case.get("settings", {}))
    folder = read_folder(str(tmp_path / case.get("root", "")), settings)
    positions: Counter[str | None] = Counter()
    tree = {}
    for page in folder.pages:
        tree[page.path] = f"{page.parent or ''} > {positions[page.parent]} {page.title}"
        positions[page.parent] += 1
    assert {path: tree.get(path) for path in case.get("pages", {})} == case.get("pages", {})
    if "order" in case:
        assert list(tree) == case["order"]
    assert [str(problem) for problem in folder.problems] == case.get("problems", [])
    assert {path: filled(folder, path) for path in case.get("bodies", {})} == case.get("bodies", {})
    assert {path: dict(folder.page_at_path(path).fields) for path in case.get("fields", {})} == case.get("fields", {})
    assert {
        path: [file.name for file in folder.page_at_path(path).files] for path in case.get("attached", {})
    } == case.get("attached", {})


def test_the_documentation_of_this_project_can_be_published() -> None:
    folder = read_folder(str(ROOT / "docs"), FolderSettings())
    assert [str(problem) for problem in folder.problems] == []
    assert len(folder.pages) > 250
    parents = {page.path: page.parent for page in folder.pages}
    assert parents["senders/jira.md"] == "senders.md"
