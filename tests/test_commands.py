"""Every command of the tree as data: `cases/commands/*.toml` give argv, what is exchanged, and what is printed."""

from __future__ import annotations

import io
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog import Catalog, open_catalog
from callsheet.main import run
from support.server import Server, load_exchanges, serve

CASES = sorted((Path(__file__).parent / "cases" / "commands").glob("*.toml"))
FILE_KEYS = {"file", "case"}
CASE_KEYS = {"name", "argv", "on", "home", "stdin", "files", "exchange", "expect", "environ"}
EXPECT_KEYS = {"exit", "stdout", "stderr", "stdout_has", "stderr_has", "files", "absent"}


def cases() -> Iterator[Any]:
    for path in CASES:
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            assert set(case) <= CASE_KEYS, f"{path.name}: {case['name']}: {set(case) - CASE_KEYS}"
            assert set(case["expect"]) <= EXPECT_KEYS, f"{path.name}: {case['name']}"
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("cache"))


def environ(case: dict[str, Any], server: Server, home: Path, cache: str) -> dict[str, str]:
    """A site as its deployment has it: one address on cloud, two with context paths on data center."""
    common = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": cache, "NO_COLOR": "1", "PATH": os.environ["PATH"]}
    home.mkdir()
    if case.get("on") == "datacenter":
        text = (
            'site = "dc"\n[sites.dc]\ndeployment = "datacenter"\n'
            f'base_url = "{server.url}/tracker"\ntoken_env = "CASE_TOKEN"\n'
            f'services.confluence = {{ base_url = "{server.url}/docs", token_env = "CASE_TOKEN" }}\n'
        )
        (home / "profiles.toml").write_text(text, encoding="utf-8")
        return {**common, "CASE_TOKEN": "secret-token", **case.get("environ", {})}
    site = {"SUITE_BASE_URL": server.url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "secret-token"}
    return {**common, **site, **case.get("environ", {})}


@pytest.mark.parametrize("case", list(cases()))
def test_command(case: dict[str, Any], tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name, text in case.get("files", {}).items():
        (work / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(work)
    expect = case["expect"]
    with serve(load_exchanges(case.get("exchange", ()))) as server:
        out, err = io.StringIO(), io.StringIO()
        argv = [word.replace("{url}", server.url) for word in case["argv"]]
        code = run(
            "suite",
            argv,
            environ=environ(case, server, tmp_path / "home", cache),
            stdin=io.StringIO(case.get("stdin", "")),
            stdout=out,
            stderr=err,
        )
        stdout, stderr = (text.getvalue().replace(server.url, "{url}") for text in (out, err))
    assert "secret-token" not in stdout + stderr
    assert (code, stderr if code != expect.get("exit", 0) else "") == (expect.get("exit", 0), "")
    check_text(stdout, expect, "stdout", default="")
    check_text(stderr, expect, "stderr", default="" if code == 0 else None)
    for name, text in expect.get("files", {}).items():
        assert (work / name).read_text(encoding="utf-8") == text


def check_text(text: str, expect: dict[str, Any], key: str, *, default: str | None) -> None:
    """Equal but for spaces at the ends of lines; or holding every one of some pieces."""
    for piece in expect.get(f"{key}_has", ()):
        assert piece in text
    if f"{key}_has" not in expect and (wanted := expect.get(key, default)) is not None:
        assert re.sub(r" +$", "", text, flags=re.MULTILINE) == wanted


@pytest.fixture(scope="module")
def catalog(cache: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    home = tmp_path_factory.mktemp("home")
    catalog = open_catalog("suite", {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": cache})
    yield catalog
    catalog.close()
