"""Command lines that nobody thought of: with `destroy=deny` no destroying request arrives, whatever the line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.language.safety import class_of_operation
from support.cases import environment, run_program
from support.draws import SEED
from support.server import Server, reply
from support.waiting import PATIENCE

LINES = tomllib.loads((Path(__file__).parents[1] / "agents" / "lines.toml").read_text(encoding="utf-8"))
ANSWER = reply(json={"id": "1", "key": "PP-1", "accountId": "a", "values": [], "issues": [], "fields": {}})


class Site(Server):
    """Answers everything, and keeps what came."""

    trusted = True

    def answer(self, request: Any) -> Any:
        self.requests.append(request)
        return ANSWER


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site([], None)
    site.start()
    yield site
    site.stop()


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory, site: Site) -> dict[str, str]:
    home = tmp_path_factory.mktemp("fuzz") / "home"
    cache = {"CALLSHEET_CACHE": str(tmp_path_factory.getbasetemp() / "shared-cache")}
    return {**environment(home, site.url), **cache, "SUITE_POLICY": "destroy=deny"}


@pytest.fixture(scope="module")
def destroying(variables: dict[str, str]) -> list[str]:
    catalog = open_catalog("suite", variables)
    operations = catalog.operations.all()
    catalog.close()
    return sorted(id for id, each in operations.items() if class_of_operation(each) == "destroy")


def destroys(request: Any) -> bool:
    """Said here once more in other words: the method, one that takes its place, or what the path calls itself."""
    text = unquote(unquote(f"{request.target} {request.headers} {request.body!r}")).lower()
    overridden = "method" in text and "delete" in text
    path = unquote(unquote(request.path)).lower().rstrip("/")
    return bool(request.method == "DELETE" or overridden or (request.method not in READING and path.endswith(ENDS)))


READING = ("GET", "HEAD", "OPTIONS")
ENDS = ("/delete", "/remove", "/redact", "/removeandswap", "/revoke-portal-only-access", "/content/archive")
VALUES = st.sampled_from(["PP-1", "10001", "DEMO", "delete", "%64elete", "..", "{}", "@nothing", "-", "", "é", "a=b"])
PARTS = ["rest/", "api/", "3/", "2/", "latest/", "bulk/", "issues/", "issue/", "%69ssue/", "PP-1/", "/", "project/X/"]
ENDINGS = [
    "delete",
    "d%65lete",
    "%2564elete",
    "DELETE",
    "delete.json",
    "delete/",
    "delete;x=1",
    "?_method=DELETE",
    "X-1",
]
PATHS = st.builds(
    lambda root, parts, end: root + "".join(parts) + end,
    st.sampled_from(["/", "//", "/ex/g/1/", "/tracker/", "/./", "/%2e%2e/"]),
    st.lists(st.sampled_from(PARTS), max_size=6),
    st.sampled_from([*ENDINGS, ""]),
)
METHODS = st.sampled_from(
    ["GET", "get", "POST", "post", "PUT", "DELETE", "DeLeTe", "PATCH", "OPTIONS", "HEAD", "delete "]
)
OPTIONS = st.lists(
    st.sampled_from(
        [
            ["--yes"],
            ["-y"],
            ["--quiet"],
            ["-o", "json"],
            ["-q", "a=b"],
            ["-q", "_method=DELETE"],
            ["-H", "X-HTTP-Method-Override: DELETE"],
            ["-H", "x-method-override:delete"],
            ["-H", "Content-Type: application/x-www-form-urlencoded", "-d", "_method=delete"],
            ["-d", "{}"],
            ["-d", '{"_method": "DELETE"}'],
            ["--verbose"],
            ["--no-strict"],
            ["--param", "issueIdOrKey=PP-1"],
            ["--param", "id=1"],
            ["--param", "_method=DELETE"],
        ]
    ),
    max_size=4,
)
FREELY = settings(max_examples=1000 if SEED else 25, suppress_health_check=list(HealthCheck))


def sent(words: list[str], site: Site, variables: dict[str, str]) -> list[Any]:
    site.requests.clear()
    run_program("suite", [word for word in words if "\0" not in word], variables, stdin="{}")
    return [(each.method, each.target) for each in site.requests if destroys(each)]


@pytest.mark.slow
@FREELY
@given(method=METHODS, path=PATHS, options=OPTIONS, first=st.booleans())
def test_any_request_by_hand(
    method: str, path: str, options: list[list[str]], *, first: bool, site: Site, variables: dict[str, str]
) -> None:
    more = [word for option in options for word in option]
    words = ["api", *more, method, path] if first else ["api", method, path, *more]
    assert sent([*words, "--yes"], site, variables) == [], words


@FREELY
@given(data=st.data(), options=OPTIONS)
def test_any_call_of_what_destroys(
    data: st.DataObject, options: list[list[str]], site: Site, variables: dict[str, str], destroying: list[str]
) -> None:
    id = data.draw(st.sampled_from(destroying))
    words = ["op", "call", id, "--no-strict", *(word for option in options for word in option)]
    words += ["--param", f"{data.draw(st.sampled_from(['issueIdOrKey', 'id', 'projectIdOrKey']))}={data.draw(VALUES)}"]
    assert sent([*words, "--yes"], site, variables) == [], words
    assert site.requests == [], words


@FREELY
@given(data=st.data(), options=OPTIONS)
def test_any_command_that_destroys(
    data: st.DataObject, options: list[list[str]], site: Site, variables: dict[str, str]
) -> None:
    words = data.draw(st.sampled_from(["issues", "issue", "i", "pages", "sprints", "boards", "filters", "versions"]))
    verb = data.draw(st.sampled_from(["delete", "rm", "remove", "delete-all", "attachment-delete"]))
    line = [words, verb, data.draw(VALUES), data.draw(VALUES), *(word for option in options for word in option)]
    cut = data.draw(st.integers(2, len(line)))
    assert sent([*line[:cut], "--yes"], site, variables) == [], line


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.skipif(shutil.which("bash") is None, reason="the lines are for a shell")
def test_lines_for_a_shell(site: Site, variables: dict[str, str], tmp_path: Path) -> None:
    """As a shell runs them, with a program on its path: each of them, or a few."""
    program = tmp_path / "suite"
    program.write_text(f"#!{sys.executable}\nfrom callsheet.cli.entry import start\nstart('suite')\n", encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "bin").mkdir()
    shutil.copy(program, tmp_path / "bin" / "suite")
    environ = {**variables, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    every = [*LINES["ask_or_deny"], *LINES["ask"]]
    lines = [line.replace("unset SUITE_POLICY", ":") for line in every if "sudo" not in line]
    for line in lines if SEED else lines[:: len(lines) // 3]:
        site.requests.clear()
        command = ["bash", "-c", line]
        subprocess.run(
            command, cwd=tmp_path, env=environ, capture_output=True, input=b"", timeout=PATIENCE, check=False
        )
        assert [each for each in site.requests if destroys(each)] == [], line
    reading = ["bash", "-c", "suite api GET /rest/api/3/myself"]
    subprocess.run(reading, cwd=tmp_path, env=environ, capture_output=True, check=True)
    assert [each.path for each in site.requests[-1:]] == ["/rest/api/3/myself"]
