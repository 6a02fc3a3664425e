"""What starts, single calls and Tabs cost beside the imports they cannot do without: `python benchmarks/start.py`.

Whole processes, in turn; the site is a sandbox on this machine.
"""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from measure import in_turn, report

from sandbox import sandbox

ROOT = Path(__file__).parent.parent
PYTHON, SUITE = sys.executable, str(Path(sys.executable).with_name("suite"))
ISSUE = "issueIdOrKey=DEMO-1"
CALL = "import callsheet\nwith callsheet.open('suite') as suite:\n    print(suite.op.getIssue(issueIdOrKey='DEMO-1'))"
FIELDS = "summary status assignee updated issuetype priority reporter created labels parent resolution duedate project"
KEEP_WORDS = """
from callsheet.cli.completion.site_words import cache_of
from callsheet.commands.context import Context
context = Context("suite")
words = [(f"DEMO-{number}", "An issue with a summary of some length") for number in range(500)]
cache_of(context, context.site()).write_words(["issue", {}], words)
"""
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 15
# A catalog of ten times the operations, in a tree as of an installed package.
ID = re.compile(r'^\[operation\.(?:"([^"]+)"|([\w-]+))', re.MULTILINE)
TABLES = re.compile(r"^\[schema\..*?(?=^\[operation|\Z)", re.DOTALL | re.MULTILINE)
START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from callsheet.cli.main import run; run('suite', sys.argv[1:])"
)


def compare(base: str, commands: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> None:
    """With the import of some modules, or with the command that is named."""
    given = {} if base in commands else {base: [PYTHON, "-c", base]}
    report(in_turn({**given, **commands}, environ, ROUNDS), base)
    print()


def starts(environ: Mapping[str, str]) -> None:
    lines = ("--help", "op describe getIssue", "op search sprint", "op list")
    compare("import click", {f"suite {line}": [SUITE, *line.split()] for line in lines}, environ)


def tabs(environ: Mapping[str, str]) -> None:
    """With an operation's id, with 500 kept words of the site, and the first one, which asks behind it."""
    subprocess.run([PYTHON, "-c", KEEP_WORDS], env=dict(environ), check=True)
    asked = {**environ, "_SUITE_COMPLETE": "bash"}
    for line in ("suite op call getIs", "suite issues get DEMO-1"):
        compare("import click", {f"a Tab behind `{line}`": [SUITE]}, {**asked, "COMP_LINE": line})
    first = {"the first Tab": [SUITE]}  # each for another list
    lines = [{**asked, "COMP_LINE": f"suite sprints get --board {number} "} for number in range(ROUNDS)]
    report({"the first Tab": [in_turn(first, each, 1)["the first Tab"][0] for each in lines]}, "the first Tab")


def calls(environ: Mapping[str, str]) -> None:
    call = [SUITE, "op", "call", "getIssue", "--param", ISSUE]
    compare("import httpx", {"suite op call getIssue": [*call, "-o", "json"], "the same as a table": call}, environ)
    compare(
        "suite op call", {"suite op call": [*call, "-o", "json"], "suite.op.getIssue": [PYTHON, "-c", CALL]}, environ
    )
    compare("pass", {"import callsheet": [PYTHON, "-c", "import callsheet"]}, environ)
    search = ["op", "call", "searchAndReconsileIssuesUsingJql", "--param", 'jql=project = "DEMO"', "-o", "json"]
    fields = [word for name in FIELDS.split() for word in ("--param", f"fields={name}")]
    composed = [SUITE, "issues", "list", "--project", "DEMO", "-o", "json"]
    compare(
        "op call of the search", {"op call of the search": [SUITE, *search, *fields], "issues list": composed}, environ
    )


def screens(environ: Mapping[str, str]) -> None:
    for words, text in ((["ui"], "LIST"), (["ui", "issues", "list", "--project", "DEMO"], "The basket")):
        seconds = statistics.median(_seconds_until_drawn([SUITE, *words], environ, text) for _ in range(ROUNDS))
        print(f"suite {' '.join(words)}, until it is drawn: {seconds * 1000:.0f} ms")


def _seconds_until_drawn(command: Sequence[str], environ: Mapping[str, str], text: str) -> float:
    ours, its = pty.openpty()
    began = time.perf_counter()
    environ = {**environ, "TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}
    process = subprocess.Popen(command, env=environ, stdin=its, stdout=its, stderr=its, start_new_session=True)
    os.close(its)
    seen = b""
    while text.encode() not in seen:
        seen += os.read(ours, 65536)
    seconds = time.perf_counter() - began
    process.send_signal(signal.SIGTERM)
    process.wait()
    os.close(ours)
    return seconds


def large_catalogs(environ: Mapping[str, str], folder: Path) -> None:
    trees = {times: _installed_tree(folder / str(times), times) for times in (1, 10)}
    for line in ("op describe getIssue", "op search sprint"):
        commands = {f"suite {line}, {each} x": [PYTHON, "-c", START, str(trees[each]), *line.split()] for each in trees}
        compare(f"suite {line}, 1 x", commands, environ)


def _installed_tree(target: Path, times: int) -> Path:
    shutil.copytree(ROOT / "engine" / "callsheet", target / "callsheet", ignore=shutil.ignore_patterns("__pycache__"))
    definitions = target / "callsheet" / "definitions"
    shutil.copytree(ROOT / "definitions", definitions)
    operations = definitions / "suite" / "operations"
    files = sorted(operations.glob("*/*.toml"))
    for copy in range(1, times):
        for path in files:
            text = TABLES.sub("", path.read_text(encoding="utf-8"))
            again = operations / f"{path.parent.name}-{copy}" / path.name
            again.parent.mkdir(exist_ok=True)
            again.write_text(ID.sub(rf'[operation."\g<1>\g<2>{copy}"', text), encoding="utf-8")
    return target


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": f"{home}/home", "SUITE_SITE": "sandbox"}
        with sandbox({**environ, "SUITE_SITE": ""}):
            starts(environ)
            tabs(environ)
            calls(environ)
            screens(environ)
            large_catalogs(environ, Path(home))


if __name__ == "__main__":
    main()
