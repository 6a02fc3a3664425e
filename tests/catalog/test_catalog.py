"""The compiled catalog: made when something changed, safe among processes, never in the way."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.errors import DefinitionError, UsageError
from support.places import CASES
from support.waiting import PATIENCE

WORLD = CASES / "language"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CALLSHEET_HOME": str(tmp_path / "home"), "LMS_DEFINITIONS": str(WORLD)}


def opened(environ: dict[str, str]) -> Catalog:
    return open_catalog("lms", environ)


def compiled(environ: dict[str, str]) -> Path:
    (only,) = (Path(environ["CALLSHEET_HOME"]) / "cache").glob("*.sqlite")
    return only


def test_definitions_are_found_by_id_and_qualified_id(environ: dict[str, str]) -> None:
    catalog = opened(environ)
    assert catalog.operations.get("getOrder") == catalog.operations.get("shop.getOrder")
    assert catalog.canonical_id("operation", "shop.getOrder") == "getOrder"
    assert catalog.operations.ids() == ["getOrder", "createOrder"]
    assert catalog.operations.get("getOrder")["title"] == "Get order"
    catalog.close()


def test_path_parameters_need_no_words(environ: dict[str, str]) -> None:
    catalog = opened(environ)
    assert catalog.operations.get("getOrder")["params"] == [{"name": "orderId", "in": "path", "required": True}]
    catalog.close()


def test_an_unknown_id_names_the_closest(environ: dict[str, str]) -> None:
    catalog = opened(environ)
    with pytest.raises(UsageError, match="unknown operation 'getOrdr', did you mean 'getOrder'"):
        catalog.operations.get("getOrdr")
    catalog.close()


def test_an_edit_is_seen_by_the_next_run(environ: dict[str, str], tmp_path: Path) -> None:
    opened(environ).close()
    first = compiled(environ).stat().st_mtime_ns
    opened(environ).close()
    assert compiled(environ).stat().st_mtime_ns == first
    mine = tmp_path / "home" / "definitions" / "lms"
    mine.mkdir(parents=True)
    (mine / "own.toml").write_text('[operation.getOrder]\ntitle = "Mine"\n', encoding="utf-8")
    catalog = opened(environ)
    assert catalog.operations.get("getOrder")["title"] == "Mine"
    catalog.close()


def test_sound_definitions_are_compiled_without_looking_for_lines(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding the line of a key reads a whole file again; only what is wrong has to be found."""
    looked: list[object] = []
    monkeypatch.setattr("callsheet.language.source_file.line_of", lambda *given: looked.append(given) or 1)
    opened(environ).close()
    assert looked == []


def test_a_damaged_file_is_made_again(environ: dict[str, str]) -> None:
    opened(environ).close()
    path = compiled(environ)
    whole = path.read_bytes()
    for damaged in (b"", b"no database", whole[: len(whole) // 2], whole[:4096] + b"\xff" * (len(whole) - 4096)):
        path.write_bytes(damaged)
        catalog = opened(environ)
        assert catalog.operations.get("getOrder")["product"] == "shop"
        assert [name for name in catalog.count_by_kind() if name == "view"] == ["view"]
        catalog.close()
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="directories are not made read-only by mode there")
def test_without_a_place_to_write_it_works_from_memory(environ: dict[str, str], tmp_path: Path) -> None:
    occupied = tmp_path / "file"
    occupied.write_text("", encoding="utf-8")
    catalog = opened({**environ, "CALLSHEET_CACHE": str(occupied / "cache")})
    assert catalog.operations.get("getOrder")["product"] == "shop"
    catalog.close()


def test_broken_definitions_leave_the_old_catalog_and_no_litter(environ: dict[str, str], tmp_path: Path) -> None:
    opened(environ).close()
    before = compiled(environ).read_bytes()
    mine = tmp_path / "home" / "definitions" / "lms"
    mine.mkdir(parents=True)
    (mine / "own.toml").write_text("[operation.getOrder]\nfrob = 1\n", encoding="utf-8")
    with pytest.raises(DefinitionError):
        opened(environ)
    assert compiled(environ).read_bytes() == before
    assert len(list(compiled(environ).parent.iterdir())) == 1


def test_without_definitions_of_ones_own_nothing_is_compiled_again_for_who_leaves_them_out(tmp_path: Path) -> None:
    """As a command does that has found broken ones: what it needs then is there, and stays what the others need."""
    environ = {"CALLSHEET_HOME": str(tmp_path / "home")}
    opened(environ).close()
    for own in (False, True):
        catalog = open_catalog("lms", environ, own=own)
        assert not catalog.is_new
        catalog.close()


def test_many_threads_at_once_all_read_the_same(environ: dict[str, str]) -> None:
    """As the calls of an agent do, and changes of many items."""
    catalog = opened(environ)
    right = {id: catalog.operations.get(id) for id in catalog.operations.ids()}
    every = sorted([*right, *[f"shop.{id}" for id in right]])
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(catalog.operations.get, every * 500)
            assert all(record in right.values() for record in found)
    finally:
        sys.setswitchinterval(usual)
        catalog.close()


@pytest.mark.slow
def test_many_processes_at_once_all_read_a_whole_catalog(environ: dict[str, str]) -> None:
    program = (
        "from callsheet.catalog.catalog import open_catalog as o; print(o('lms').operations.get('getOrder')['title'])"
    )
    command = [sys.executable, "-c", program]
    running = [
        subprocess.Popen(command, env={**os.environ, **environ}, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert [process.communicate(timeout=PATIENCE)[0] for process in running] == ["Get order\n"] * 4
    check = sqlite3.connect(compiled(environ))
    assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()
    assert len(list(compiled(environ).parent.iterdir())) == 1
