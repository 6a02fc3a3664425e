"""What is checked without running the tests: style, types, definitions, generated documentation."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from environment import ROOT, ready

PROSE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "definitions", "docs", "engine", "scripts")
CHECKS = (
    ("ruff check", ["-m", "ruff", "check", "."]),
    ("ruff format", ["-m", "ruff", "format", "--check", "."]),
    ("mypy", ["-m", "mypy"]),
    # What it says about SQL made of texts and about modes of files is judged line by line by ruff, which has its rules.
    ("bandit", ["-m", "bandit", "-q", "-r", "engine", "-ll", "-s", "B608,B103"]),
    ("known vulnerabilities", ["scripts/audit.py"]),
    ("definitions of suite", ["-m", "callsheet", "suite", "definitions", "check"]),
    ("definitions of lms", ["-m", "callsheet", "lms", "definitions", "check"]),
    ("definitions of callsheet", ["-m", "callsheet", "callsheet", "definitions", "check"]),
    ("documentation", ["scripts/reference.py", "--check"]),
    ("site", ["scripts/docs.py"]),
    ("words", ["scripts/words.py"]),
    ("spelling", ["-m", "codespell_lib", *PROSE]),
    ("architecture", ["scripts/architecture.py", "--check"]),
)

# Programs that stand beside Python.
PROGRAMS = (("workflows", ["zizmor", "--offline", "--quiet", "--no-progress", ".github"]),)


def checked(command: Sequence[str]) -> tuple[bool, str]:
    """Whether a check passes, and what it says."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode == 0, done.stdout


def main() -> None:
    python = ready("dev")
    commands = {name: [str(python), *arguments] for name, arguments in CHECKS}
    commands |= {name: [str(python.with_name(words[0])), *words[1:]] for name, words in PROGRAMS}
    failed = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # most of them use one core, and none changes what another reads
        for name, (passes, said) in zip(commands, pool.map(checked, commands.values()), strict=True):
            print(f"== {name}\n{said}", end="", flush=True)
            if not passes:
                failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
