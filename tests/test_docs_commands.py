"""Each page is followed as a reader would: its commands run against a sandbox, and print what the page shows."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from callsheet.agents.shell_syntax import parse_statements, read_word
from callsheet.cli.tree import root_group
from callsheet.commands.context import Context
from callsheet.errors import CallsheetError
from support.forked_programs import forked_programs
from support.places import ROOT
from support.walkthrough import only_shown_on, run_on, walk

PROGRAMS = ("suite", "lms", "callsheet")
OWN = "shop"  # the program that the tutorials make
DOCS = sorted((ROOT / "docs").rglob("*.md"))
ELSEWHERE = {"recipes.md"}  # followed by test_recipes.py, which compares with what happens without a recipe
FOLLOWED = [page for page in DOCS if page.name not in ELSEWHERE and run_on(page.read_text(encoding="utf-8"))]
SHOWN = [page for page in [*DOCS, *ROOT.glob("*.md")] if only_shown_on(page.read_text(encoding="utf-8"))]
# A newcomer's way, in this order, one after the other in one shell.
NEWCOMERS = [
    ROOT / "docs" / f"{name}.md"
    for name in ("start", "everyday", "tutorial-own-command", "tutorial-own-api", "receive-webhooks", "tutorial-agents")
]
SETS_UP = re.compile(r"sandbox start|suite init|SUITE_BASE_URL=")
NAMES_A_PACKAGE = frozenset({"pip", "pipx", "uv", "uvx", "docker", "podman", "systemctl", "cd", "man", "which"})
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the pages are written for a POSIX shell"),
]


class Sandbox(NamedTuple):
    """A site that runs; `home` has it as its site."""

    home: Path
    address: str
    environ: dict[str, str]

    def again(self) -> None:
        """As it is at the start."""
        self("sandbox", "reset", "--yes")

    def __call__(self, *words: str) -> str:
        return subprocess.run(
            ["suite", *words], env=self.environ, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ).stdout


@pytest.fixture(scope="module")
def launchers(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Path]:
    directory = tmp_path_factory.mktemp("bin")
    with forked_programs(directory, [*PROGRAMS, OWN], cache):
        yield directory


@pytest.fixture(scope="module")
def environ(launchers: Path, cache: Path) -> dict[str, str]:
    path = os.pathsep.join([str(launchers), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"PATH": path, "CALLSHEET_CACHE": str(cache), "LANG": "C.UTF-8"}


def sandbox(home: Path, environ: dict[str, str], *words: str) -> Iterator[Sandbox]:
    environ = {**environ, "HOME": str(home), "CALLSHEET_HOME": str(home)}
    site = Sandbox(home, "", environ)
    address = ADDRESS.search(site("sandbox", "start", *words))
    assert address
    site("config", "use", "sandbox")
    yield site._replace(address=address[0])
    site("sandbox", "stop")


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]) -> Iterator[Sandbox]:
    yield from sandbox(tmp_path_factory.mktemp("cloud"), environ)


@pytest.fixture(scope="module")
def data_center(tmp_path_factory: pytest.TempPathFactory, environ: dict[str, str]) -> Iterator[Sandbox]:
    yield from sandbox(tmp_path_factory.mktemp("dc"), environ, "--deployment", "datacenter")


@pytest.mark.slow
@pytest.mark.parametrize("pages", [*([page] for page in FOLLOWED), NEWCOMERS], ids=lambda paths: paths[-1].stem)
def test_pages_work_as_they_are_written(
    pages: list[Path], tmp_path: Path, environ: dict[str, str], request: pytest.FixtureRequest
) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    home, folder = tmp_path / "home", tmp_path / "here"
    (home / "config").mkdir(parents=True)
    folder.mkdir()
    places = {"~/work": str(folder), "~/.config/callsheet": str(home / "config")}
    for shown, fixture in (("https://example.atlassian.net", "cloud"), ("https://jira.example.org", "data_center")):
        if shown in text:
            places[shown] = request.getfixturevalue(fixture).address
    if not SETS_UP.search("\n".join(step.command for step in run_on(text))):
        site: Sandbox = request.getfixturevalue("cloud")
        site.again()
        shutil.copy(site.home / "profiles.toml", home / "config")
    here = {
        **environ,
        "HOME": str(home),
        "CALLSHEET_HOME": str(home / "config"),
        "CALLSHEET_BIN": str(home / "bin"),
        "SUITE_KEYRING_PASSWORD": "only for the pages",
        "SHOP_KEYRING_PASSWORD": "only for the pages",
    }
    try:
        walk(pages, folder, here, places)
    finally:
        for left in tmp_path.rglob("sandbox.json"):
            left_there = {**here, "CALLSHEET_HOME": str(left.parent)}
            subprocess.run(["suite", "sandbox", "stop"], env=left_there, check=False, capture_output=True)


@pytest.mark.parametrize("page", SHOWN, ids=lambda path: path.stem)
def test_command_lines_that_are_only_shown_are_right(page: Path, cache: Path, tmp_path: Path) -> None:
    environ = {"CALLSHEET_CACHE": str(cache), "CALLSHEET_HOME": str(tmp_path), "HOME": str(tmp_path)}
    assert [
        wrong for line in only_shown_on(page.read_text(encoding="utf-8")) for wrong in problems(line, environ)
    ] == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("sudo -u robin suite issues lst", "unknown command 'lst'"),
        ("for k in A-1; do suite issues get $k --colour; done", "No such option '--colour'"),
        ("echo DEMO-1 | xargs suite issues list --max many", "many"),
        ("pip install suite", ""),
    ],
)
def test_what_is_wrong_in_a_line_is_found(line: str, problem: str, cache: Path, tmp_path: Path) -> None:
    environ = {"CALLSHEET_CACHE": str(cache), "CALLSHEET_HOME": str(tmp_path), "HOME": str(tmp_path)}
    found = problems(line, environ)
    assert problem in found[0] if problem else not found


def problems(line: str, environ: dict[str, str]) -> list[str]:
    """What is wrong with commands of ours: each exists, and takes these options and values."""
    found = []
    for program, words in started(line):
        context = Context(program, environ)
        try:
            tree = root_group(context, lambda _context, _command, _values: 0)
            with contextlib.redirect_stdout(io.StringIO()):
                tree.main(words, prog_name=program, standalone_mode=False, obj=context)
        except click.exceptions.NoArgsIsHelpError:
            pass
        except (click.ClickException, CallsheetError) as error:
            found.append(f"{program} {' '.join(words)}: {error}")
        finally:
            context.close()
    return found


INLINE = re.compile(r"(?<!`)`((?:suite|lms|callsheet) [^`]+)`")
ITS_OWN = re.compile(r'^\[command\."(.+)"\]', re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", DOCS, ids=lambda path: path.stem)
def test_commands_named_in_sentences_exist(page: Path, cache: Path, tmp_path: Path) -> None:
    """With their options; what must be given need not be written there. A page may define commands of its own."""
    environ = {"CALLSHEET_CACHE": str(cache), "CALLSHEET_HOME": str(tmp_path), "HOME": str(tmp_path)}
    text = page.read_text(encoding="utf-8")
    lines = [line.replace("\\|", "|") for line in INLINE.findall(re.sub(r"(?ms)^ *```.*?^ *```$", "", text))]
    own = ITS_OWN.findall(text)
    known = [line for line in lines if "..." not in line and not any(name in line for name in own)]
    wrong = [problem for line in known for problem in problems(line, environ)]
    assert [problem for problem in wrong if "issing" not in problem] == []


def started(lines: str) -> Iterator[tuple[str, list[str]]]:
    """Our programs among the commands of a shell, whatever starts them (sudo, xargs, do), with their words."""
    for words in simple_commands(parse_statements(lines), lines.encode()):
        place = next((place for place, word in enumerate(words) if os.path.basename(word) in PROGRAMS), None)
        if place is not None and not NAMES_A_PACKAGE.intersection(words[:place]):
            yield os.path.basename(words[place]), words[place + 1 :]


def simple_commands(node: Any, source: bytes) -> Iterator[list[str]]:
    if isinstance(node, dict) and node.get("Type") == "CallExpr":
        yield [read_word(word, source).text for word in node.get("Args", ())]
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from simple_commands(each, source)


def test_no_page_is_left_out() -> None:
    assert {page.name for page in FOLLOWED} >= {"tutorial-own-api.md", "tutorial-own-program.md", "agents.md"}


def test_the_pages_of_a_newcomer_stand_in_their_order_in_the_navigation_and_in_the_readme() -> None:
    for path, folder in ((ROOT / "mkdocs.yml", ""), (ROOT / "README.md", "docs/")):
        text = path.read_text(encoding="utf-8")
        text = text[text.index("Start here") :]
        places = [text.index(f"{folder}{page.name}") for page in NEWCOMERS]
        assert places == sorted(places), path.name
