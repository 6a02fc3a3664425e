"""What the shells are offered, asked for as their scripts ask."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.cli.main import run
from callsheet.sites.profiles import SETTINGS
from callsheet.sites.profiles.validate import SiteProfile
from support.cases import environment


def test_the_settings_that_are_offered_are_those_of_the_file() -> None:
    assert list(SETTINGS) == sorted({*SiteProfile.__annotations__} - {"services"}, key=list(SETTINGS).index)


def offered(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> list[str]:
    run("suite", words, environ={**environment(home, ""), "_SUITE_COMPLETE": "zsh"})
    printed = capsys.readouterr()
    assert printed.err == ""
    return [line.split("\t")[1] for line in printed.out.splitlines()]


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["op", "ca"], "call"),
        (["op", "call", "getIss"], "getIssue"),
        (["op", "call", "getIssue", "--param", "iss"], "issueIdOrKey="),
        (["op", "call", "getIssue", "--param", "failFast="], "failFast=true"),
        (["op", "call", "getAllSprints", "--param", "sta"], "startAt="),
        (["op", "list", "--product", "ag"], "agile"),
        (["op", "list", "--method", "del"], "delETE"),
        (["op", "list", "--tag", "Issue w"], "Issue watchers"),
        (["definitions", "show", "pag"], "paginator"),
        (["definitions", "show", "view", "oper"], "operation"),
        (["-o", "nd"], "ndjson"),
        (["completion", "f"], "fish"),
        (["--output=nd"], "--output=ndjson"),
        (["config", "set", "read"], "read_only"),
        (["config", "set", "read_only", ""], "true"),
        (["config", "set", "output", "nd"], "ndjson"),
        (["config", "set", "deployment", ""], "datacenter"),
        (["issues", "create", "-d", "@{home}/bo"], "@{home}/body.json"),
        (["issues", "create", "-d", "@{home}/fo"], "@{home}/folder/"),
    ],
    ids=" ".join,
)
def test_words_are_offered(words: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    here = [each.replace("{home}", str(tmp_path)) for each in (*words, word)]
    assert here[-1] in offered(capsys, tmp_path, *here[:-1])


def test_nothing_is_said_where_nothing_fits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert offered(capsys, tmp_path, "nothing", "") == []
    assert offered(capsys, tmp_path, "op", "call", "nothing", "--param", "") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_script_for_bash_offers_words(tmp_path: Path) -> None:
    program = Path(sys.executable).parent
    script = """
        eval "$(suite completion bash)"
        COMP_LINE="suite op describe getIssueT"; COMP_POINT=${#COMP_LINE}
        _suite_completion suite getIssueT
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environ = {**environment(tmp_path, ""), "PATH": f"{program}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "getIssueType" in done.stdout.splitlines()
