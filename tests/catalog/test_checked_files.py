"""What was found to be sound is remembered for large programs: an emptied cache costs no checks again."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog import catalog as catalogs
from callsheet.catalog import compile as compiling
from callsheet.catalog import fingerprint
from callsheet.catalog.catalog import open_catalog
from callsheet.catalog.checked_files import record_of_checks
from callsheet.errors import DefinitionError
from callsheet.programs.installed import remove_program_files
from support.places import CASES

WORLD = CASES / "language"
EVERYTHING, NOTHING = "everything", "nothing"
Start = Callable[[], list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"CALLSHEET_HOME": str(home), "LMS_DEFINITIONS": str(WORLD)}


@pytest.fixture
def start(environ: dict[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Start with an emptied cache, and give what is checked."""
    monkeypatch.setattr(catalogs, "_LARGE", 0)
    told: list[str] = []
    problems_in = compiling.problems_in

    def observed(definitions: Any, aliases: Any, registries: Any, only: Any = None) -> Any:
        told.append(EVERYTHING if only is None else NOTHING if not only else "some")
        return problems_in(definitions, aliases, registries, only)

    monkeypatch.setattr(compiling, "problems_in", observed)

    def started() -> list[str]:
        told.clear()
        shutil.rmtree(home / "cache", ignore_errors=True)
        catalog = open_catalog("lms", environ)
        assert catalog.operations.get("getOrder")["product"] == "shop"
        catalog.close()
        return list(told)

    return started


def test_an_emptied_cache_costs_no_checks(start: Start) -> None:
    assert start() == [EVERYTHING]
    assert start() == [NOTHING]


def test_a_changed_file_is_checked_and_then_remembered(start: Start, home: Path) -> None:
    start()
    mine = home / "definitions" / "lms"
    mine.mkdir(parents=True)
    (mine / "own.toml").write_text('[operation.getOrder]\ntitle = "Mine"\n', encoding="utf-8")
    assert start() == [EVERYTHING]
    assert start() == [NOTHING]
    (mine / "own.toml").write_text("[operation.getOrder]\nfrob = 1\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(DefinitionError):
            start()


def test_another_engine_checks_again(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    start()
    monkeypatch.setattr(fingerprint, "FORMAT", fingerprint.FORMAT + 1)
    assert start() == [EVERYTHING]


@pytest.mark.skipif(sys.platform == "win32", reason="rights are kept elsewhere there")
def test_what_others_may_have_written_says_nothing(start: Start, environ: dict[str, str]) -> None:
    start()
    Path(record_of_checks("lms", environ)).chmod(0o666)
    assert start() == [EVERYTHING]


@pytest.mark.parametrize("damaged", [b"", b"\xff\xfe", b"0" * 64])
def test_a_damaged_record_says_nothing(start: Start, environ: dict[str, str], damaged: bytes) -> None:
    start()
    Path(record_of_checks("lms", environ)).write_bytes(damaged)
    assert start() == [EVERYTHING]
    assert start() == [NOTHING]


def test_a_small_program_leaves_no_record(environ: dict[str, str]) -> None:
    open_catalog("lms", environ).close()
    assert not Path(record_of_checks("lms", environ)).exists()


def test_it_is_removed_with_its_program(start: Start, environ: dict[str, str]) -> None:
    start()
    remove_program_files("lms", environ)
    assert not Path(record_of_checks("lms", environ)).exists()
