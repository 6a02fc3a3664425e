"""Exit code 2 means that nothing was changed: what is wrong is found before the first request that changes a thing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from support.cases import Done, environment, run_program
from support.server import Server, serve

BROKEN: list[list[str]] = [
    ["--jq", ".["],
    ["--jq", "nothing_such"],
    ["--query", "[?"],
    ["--query", "a.b", "--jq", "."],
    ["--columns", "KEY,a["],
    ["--output", "tabel"],
    ["--rps", "0"],
    ["--timeout", "soon"],
    ["--no-such-option"],
]
FOREIGN_COLUMN = ["--columns", "quzzlewump"]  # near no column of any view


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog("suite", {"CALLSHEET_HOME": str(tmp_path_factory.mktemp("home"))})
    yield catalog
    catalog.close()


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    for name in ("notes.md", "report.pdf", "photo.jpg", "body.md", "page.md", "diagram.png", "body.html"):
        (tmp_path / name).write_text("text", encoding="utf-8")
    with serve([], verify=False) as server:
        yield server


def lines(catalog: Catalog, *classes: str) -> list[list[str]]:
    """One example of every command that may do such things, and of what calls any operation."""
    found = [
        shlex.split(command["examples"][0])
        for command in catalog.all("command").values()
        if command["safety"] in classes and "builtin" not in command
    ]
    return [
        *found,
        ["op", "call", "deleteIssue", "--param", "issueIdOrKey=DEMO-1", "--yes"],
        ["op", "call", "createIssue", "-d", '{"fields": {}}'],
        ["api", "DELETE", "/rest/api/3/issue/DEMO-1", "--yes"],
        ["api", "POST", "/rest/api/3/issue", "-d", "{}"],
    ]


def shown(words: list[str], done: Done, server: Server) -> str:
    return f"{shlex.join(words)}: exit {done.exit}, {done.stderr}, {[f'{r.method} {r.path}' for r in server.requests]}"


def test_no_command_asks_anything_with_a_broken_option(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", counting.url)
    for words in lines(catalog, "write", "destroy", "read"):
        for broken in BROKEN:
            # In front: a few commands have an option of the same name.
            done = run_program("suite", [*broken, *words], environ)
            assert (done.exit, done.stdout, counting.requests) == (2, b"", []), shown([*broken, *words], done, counting)
        done = run_program("suite", words, {**environ, "SUITE_OUTPUT": "tabel"})
        assert (done.exit, done.stdout, counting.requests) == (2, b"", []), shown(words, done, counting)


def test_a_column_that_is_none_is_found_before_a_change(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", counting.url)
    for words in lines(catalog, "write", "destroy")[:-4]:
        done = run_program("suite", [*words, *FOREIGN_COLUMN], environ)
        assert (done.exit, counting.requests) == (2, []), shown(words, done, counting)
