"""Exit code 2 means that nothing was changed: what is wrong is found before the first request that changes a thing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.request.build import Builder
from support.cases import Done, environment, load_cases, nobody, run_program
from support.fakes import FakeSite, Kept
from support.places import CASES
from support.server import Server, load_exchanges, serve

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
    catalog = open_catalog("suite", nobody(tmp_path_factory))
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
        for command in catalog.commands.all().values()
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


@pytest.mark.slow
def test_no_command_asks_anything_with_a_broken_option(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", counting.url)
    reads = lines(catalog, "read")
    for words in [*lines(catalog, "write", "destroy"), *reads]:
        for broken in BROKEN[:2] if words in reads else BROKEN:
            # In front: a few commands have an option of the same name.
            done = run_program("suite", [*broken, *words], environ)
            assert (done.exit, done.stdout, counting.requests) == (2, b"", []), shown([*broken, *words], done, counting)
        done = run_program("suite", words, {**environ, "SUITE_OUTPUT": "tabel"})
        assert (done.exit, done.stdout, counting.requests) == (2, b"", []), shown(words, done, counting)


@pytest.mark.slow
def test_a_column_that_is_none_is_found_before_a_change(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", counting.url)
    for words in lines(catalog, "write", "destroy")[:-4]:
        done = run_program("suite", [*words, *FOREIGN_COLUMN], environ)
        assert (done.exit, counting.requests) == (2, []), shown(words, done, counting)


@pytest.mark.slow
def test_a_dry_run_that_resolves_only_reads(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    """In every case of a command that changes something, with the answers that it gets there."""
    builder = Builder(Kept(catalog), FakeSite(), "suite")  # type: ignore[arg-type]
    tried = 0
    for param in load_cases(CASES / "commands"):
        case: dict[str, Any] = param.values[0]  # type: ignore[assignment]
        sent = [exchange["request"] for exchange in case.get("exchange", ())]
        if "on" in case or all(
            builder.build_raw_request(each["method"], each["path"]).safety == "read" for each in sent
        ):
            continue
        tried += 1
        for name, text in case.get("files", {}).items():
            (tmp_path / name).write_bytes(text.encode("latin-1"))
        with serve(load_exchanges(case["exchange"]), verify=False, trusted=True) as server:
            argv = [word.replace("{url}", server.url) for word in case["argv"]]
            environ = {**environment(tmp_path / "home", server.url), **case.get("env", {})}
            done = run_program("suite", [*argv, "--dry-run", "--resolve"], environ, case.get("stdin", ""))
        changes = [r for r in server.requests if builder.build_raw_request(r.method, r.path).safety != "read"]
        assert changes == [], shown(argv, done, server)
    assert tried > 60


LOCAL = [
    ["alias", "set", "mine", "issues list --mine"],
    ["alias", "remove", "here"],
    ["config", "use", "other"],
    ["config", "set", "project", "DEMO"],
    ["config", "remove", "other", "--yes"],
    ["auth", "logout"],
    ["init", "--base-url", "{url}", "--name", "new", "--email", "a@b.c", "--token", "t"],
    ["init", "--base-url", "{url}", "--name", "new", "--skip-login", "--method", "basic"],
    ["auth", "login", "--token", "t", "--email", "a@b.c"],
    ["definitions", "import", "shop.json", "--product", "shop"],
]
SHOP = '{"openapi": "3.0.0", "info": {"title": "Shop"}, "paths": {"/a": {"get": {"operationId": "listA"}}}}'


@pytest.mark.slow
def test_a_dry_run_sends_nothing(catalog: Catalog, counting: Server, tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", counting.url)
    for example in [*lines(catalog, "write", "destroy", "read"), ["op", "call", "getIssue", "--p", "issueIdOrKey=A-1"]]:
        words = [word for word in example if word not in ("--yes", "-y")]
        done = run_program("suite", [*words, "--dry-run"], environ)
        assert (done.exit, counting.requests) == (0, []), shown(words, done, counting)
        for line in done.stdout.decode().splitlines():
            assert "***" in line or not line.startswith("curl"), shown(words, done, counting)


@pytest.mark.slow
def test_a_dry_run_of_what_changes_files_changes_none(counting: Server, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    sites = "".join(f'[sites.{name}]\nbase_url = "{counting.url}"\n' for name in ("work", "other"))
    (home / "profiles.toml").write_text(f'site = "work"\n{sites}', encoding="utf-8")
    (home / "aliases.toml").write_text('here = "version"\n', encoding="utf-8")
    (tmp_path / "shop.json").write_text(SHOP, encoding="utf-8")
    environ = {name: text for name, text in environment(home, "").items() if not name.startswith("SUITE_")}
    environ["CALLSHEET_CACHE"] = str(tmp_path / "cache")
    run_program("suite", ["config", "view"], environ)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    for words in LOCAL:
        argv = [word.replace("{url}", counting.url) for word in words]
        done = run_program("suite", [*argv, "--dry-run"], environ)
        assert (done.exit, counting.requests) == (0, []), shown(argv, done, counting)
        assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before, argv
