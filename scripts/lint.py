"""What is checked without running the tests: style, types, definitions, generated documentation."""

from __future__ import annotations

from environment import ready, run

PROSE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "changes", "definitions", "docs", "engine", "scripts")
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
    ("spelling", ["-m", "codespell_lib", *PROSE]),
    ("architecture", ["scripts/architecture.py", "--check"]),
)

# Programs that stand beside Python.
PROGRAMS = (("workflows", ["zizmor", "--offline", "--quiet", "--no-progress", ".github"]),)

if __name__ == "__main__":
    python = ready("dev")
    failed = []
    for name, arguments in CHECKS:
        print(f"== {name}", flush=True)
        if run(python, *arguments) != 0:
            failed.append(name)
    for name, words in PROGRAMS:
        print(f"== {name}", flush=True)
        if run(python.with_name(words[0]), *words[1:]) != 0:
            failed.append(name)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")
