"""What the shells are offered, asked for as their scripts ask."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.cases import environment


def offered(capsys: pytest.CaptureFixture[str], home: Path, *words: str) -> list[str]:
    line = " ".join(["suite", *words[:-1]])
    asked = {"_SUITE_COMPLETE": "zsh_complete", "COMP_WORDS": f"{line} {words[-1]}", "COMP_CWORD": str(len(words))}
    environ = {**environment(home, ""), **asked}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in asked.items():
            patch.setenv(name, value)
        run("suite", [], environ=environ)
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()[1::3]


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
    ],
    ids=" ".join,
)
def test_words_are_offered(words: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    quoted = [f"'{each}'" if " " in each else each for each in words]
    assert word in offered(capsys, tmp_path, *quoted)


def test_nothing_is_said_where_nothing_fits(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert offered(capsys, tmp_path, "nothing", "") == []
    assert offered(capsys, tmp_path, "op", "call", "nothing", "--param", "") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_the_script_for_bash_offers_words(tmp_path: Path) -> None:
    program = Path(sys.executable).parent
    script = """
        eval "$(suite completion bash)"
        COMP_WORDS=(suite op describe getIssueT); COMP_CWORD=3
        _suite_completion suite getIssueT
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environ = {**environment(tmp_path, ""), "PATH": f"{program}:/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "getIssueType" in done.stdout.splitlines()
