"""Fragments become sections of the changelog, and a release is refused while something is left to do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from callsheet import __version__
from support.places import ROOT


@pytest.fixture(scope="module")
def changelog() -> ModuleType:
    spec = importlib.util.spec_from_file_location("changelog", ROOT / "scripts" / "changelog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "changes").mkdir()
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\nWhat is new.\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "0.2.0"\n', encoding="utf-8")
    return tmp_path


def write(root: Path, **fragments: str) -> None:
    for name, text in fragments.items():
        (root / "changes" / f"{name.replace('__', '.')}.md").write_text(text, encoding="utf-8")


def log(root: Path) -> str:
    return (root / "CHANGELOG.md").read_text(encoding="utf-8")


def test_fragments_become_a_section(changelog: ModuleType, root: Path) -> None:
    write(root, b__fixed="B was\nwrong.\n", a__fixed="A.\n", c__added="C.\n")
    changelog.gather("0.1.0", "2026-01-02", root)
    lists = "### Added\n\n- C.\n\n### Fixed\n\n- A.\n- B was wrong.\n"
    assert log(root) == f"# Changes\n\nWhat is new.\n\n## 0.1.0 (2026-01-02)\n\n{lists}"
    assert list((root / "changes").iterdir()) == []


def test_a_newer_version_stands_above(changelog: ModuleType, root: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        write(root, a__added=f"New in {version}.\n")
        changelog.gather(version, "2026-01-02", root)
    head, newer, older = log(root).split("## 0.")
    assert (head, newer[0], older[0]) == ("# Changes\n\nWhat is new.\n\n", "2", "1")
    assert "New in 0.2.0." in newer
    assert "New in 0.1.0." in older


def test_a_version_that_is_prepared_gets_the_rest_and_its_date(changelog: ModuleType, root: Path) -> None:
    newer = "## 0.2.0 (not released yet)\n\nMuch is new.\n\n### Fixed\n\n- Old.\n\n"
    prepared = f"# Changes\n\n{newer}## 0.1.0 (2026-01-01)\n\nx\n"
    (root / "CHANGELOG.md").write_text(prepared, encoding="utf-8")
    write(root, a__fixed="New.\n", b__added="More.\n")
    changelog.gather("0.2.0", "2026-01-02", root)
    lists = "### Added\n\n- More.\n\n### Fixed\n\n- Old.\n- New.\n"
    section = f"## 0.2.0 (2026-01-02)\n\nMuch is new.\n\n{lists}"
    assert log(root) == f"# Changes\n\n{section}\n## 0.1.0 (2026-01-01)\n\nx\n"
    changelog.check(root)


def test_a_release_waits_for_what_is_left(changelog: ModuleType, root: Path) -> None:
    write(root, a__fixed="A.\n")
    with pytest.raises(SystemExit, match="1 fragments"):
        changelog.check(root)
    changelog.gather("0.2.0", changelog.UNDATED, root)
    with pytest.raises(SystemExit, match=r"no version 0\.2\.0 with a date"):
        changelog.check(root)
    changelog.gather("0.2.0", "2026-01-02", root)
    changelog.check(root)


def test_what_is_no_fragment_is_refused(changelog: ModuleType, root: Path) -> None:
    write(root, a__removed="A.\n")
    with pytest.raises(SystemExit, match=r"a\.removed\.md"):
        changelog.gather("0.2.0", "2026-01-02", root)
    with pytest.raises(SystemExit, match="is not a date"):
        changelog.main(["0.2.0", "tomorrow"])


def test_the_version_stands_in_two_places(changelog: ModuleType) -> None:
    assert changelog.project_version() == __version__
