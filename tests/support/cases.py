"""Runs a program in this process against scripted exchanges, as `[[case]]` tables describe.

    [[case]]
    name   = "what it shows"
    argv   = ["op", "call", "getIssue", "--param", "issueIdOrKey=DEMO-1"]
    stdin  = "..."                       # absent: an empty input that is no terminal
    on     = "datacenter"                # a site with two addresses that have context paths, /tracker and /docs
    env    = { SUITE_OUTPUT = "json" }
    files  = { "body.json" = "{}" }      # written to the directory the case runs in
    [[case.exchange]]                    # see support.server
    [case.expect]
    exit = 0                             # the default
    stdout = "..."                       # exact; with stdout_has / stderr_has: these texts occur
    written = { "out.bin" = "..." }      # files afterwards

In `argv` and expectations `{url}` stands for the server's address.
"""

from __future__ import annotations

import io
import os
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from callsheet.cli.main import run
from support.canary import SITES, TOKEN, leaks
from support.server import Received, load_exchanges, serve


class Done(NamedTuple):
    exit: int
    stdout: bytes
    stderr: str
    requests: tuple[Received, ...] = ()


def load_cases(directory: Path) -> list[Any]:
    """One pytest parameter for every case of every file."""
    return [
        pytest.param(case, id=f"{path.stem}: {case['name']}")
        for path in sorted(directory.rglob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
    ]


def environment(home: Path, url: str) -> dict[str, str]:
    SITES.add(url)
    return {
        "CALLSHEET_HOME": str(home),
        "CALLSHEET_CACHE": str(home.parent.parent / "shared-cache"),
        "SUITE_BASE_URL": url,
        "SUITE_EMAIL": "robin@example.org",
        "SUITE_TOKEN": TOKEN,
        "TZ": "UTC",
    }


def nobody(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a person who has nothing; what comes with the package is compiled once for all tests."""
    cache = tmp_path_factory.getbasetemp() / "shared-cache"
    return {"CALLSHEET_HOME": str(tmp_path_factory.mktemp("home")), "CALLSHEET_CACHE": str(cache)}


def datacenter(home: Path, url: str) -> dict[str, str]:
    """A site with two products, each below a context path of its own."""
    home.mkdir(parents=True, exist_ok=True)
    profiles = f"""
site = "dc"
[sites.dc]
deployment = "datacenter"
base_url = "{url}/tracker"
token_env = "CASE_TOKEN"
[sites.dc.services.confluence]
base_url = "{url}/docs"
token_env = "CASE_TOKEN"
"""
    (home / "profiles.toml").write_text(profiles, encoding="utf-8")
    common = {name: text for name, text in environment(home, url).items() if not name.startswith("SUITE_")}
    return {**common, "CASE_TOKEN": TOKEN}


def run_program(program: str, argv: list[str], environ: dict[str, str], stdin: str = "") -> Done:
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    code = run(program, argv, environ=environ, stdin=io.StringIO(stdin), stdout=out, stderr=err)
    out.flush()
    binary: Any = out.buffer
    return Done(code, binary.getvalue(), err.getvalue())


def run_case(case: dict[str, Any], directory: Path, program: str = "suite") -> Done:
    """Run one case in `directory` and compare everything it expects; the result for further looks."""
    for name, text in case.get("files", {}).items():
        (directory / name).write_bytes(text.encode("latin-1"))
    home = directory / "home"
    before = os.getcwd()
    os.chdir(directory)
    try:
        with serve(load_exchanges(case.get("exchange", ())), trusted=True) as server:
            site = datacenter if case.get("on") == "datacenter" else environment
            environ = {**site(home, server.url), **case.get("env", {})}
            argv = [word.replace("{url}", server.url) for word in case["argv"]]
            done = run_program(program, argv, environ, case.get("stdin", ""))
            done = done._replace(requests=tuple(server.requests))
            url = server.url
    finally:
        os.chdir(before)
    compare(case.get("expect", {}), done, directory, url)
    return done


def compare(expect: dict[str, Any], done: Done, directory: Path, url: str) -> None:
    stdout = done.stdout.decode("utf-8", "backslashreplace")
    shown = f"exit {done.exit}\n--- stdout\n{stdout}\n--- stderr\n{done.stderr}"
    assert not leaks(done.stdout + done.stderr.encode()) or expect.get("shows_token"), shown
    assert done.exit == expect.get("exit", 0), shown
    for name, text in (("stdout", stdout), ("stderr", done.stderr)):
        if name in expect:
            assert text == expect[name].replace("{url}", url), shown
        for part in expect.get(f"{name}_has", ()):
            assert part.replace("{url}", url) in text, shown
    for name, text in expect.get("written", {}).items():
        assert (directory / name).read_bytes() == text.encode("latin-1")
    for name in expect.get("absent", ()):
        assert not (directory / name).exists(), f"{name} was left behind"
