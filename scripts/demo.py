"""Both programs at work on this machine: `python3 scripts/demo.py`. Nothing is sent anywhere else."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile

import demo_server
from environment import ROOT, ready

NEW = '{"fields": {"project": {"key": "DEMO"}, "summary": "Sweep the stage"}}'

STEPS = (
    ("Find an operation among 1,143, even misspelt", "suite op search creat isue --max 3"),
    ("Read what it takes", "suite op describe getIssue"),
    ("Ask a server who you are", "suite op call getCurrentUser"),
    (
        "List, two a page, every page",
        "suite op call searchAndReconsileIssuesUsingJql --param jql=project=DEMO --limit 2 --all",
    ),
    ("Create, and print only the new id", f"suite op call createIssue -o id -d {shlex.quote(NEW)}"),
    ("See what would be sent, and send nothing", "suite op call deleteIssue --param issueIdOrKey=DEMO-6 --dry-run"),
    ("An error says what is wrong (exit code 4)", "suite op call getIssue --param issueIdOrKey=DEMO-99"),
    ("A mistake is found before anything is sent (exit code 2)", "suite op call getIssue --param isueIdOrKey=DEMO-1"),
)

NEXT = """
What to type next:
  . {activate}
  suite init                        # your own site
  suite op search "what you want to do"
  suite op describe OPERATION
  lms webhook listen --handler ./your-script
"""


def show(title: str, command: str, environ: dict[str, str]) -> int:
    print(f"\n# {title}\n$ {command}", flush=True)
    program, *arguments = shlex.split(command)
    return subprocess.run(
        [sys.executable if program == "python" else program, *arguments], env=environ, check=False
    ).returncode


def main() -> None:
    python = ready()
    tracker = demo_server.start()
    with tempfile.TemporaryDirectory() as home:
        environ = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("SUITE_", "LMS_"))},
            "PATH": os.pathsep.join([str(python.parent), os.environ.get("PATH", "")]),
            "CALLSHEET_HOME": home,
            "SUITE_BASE_URL": tracker.url,
            "SUITE_EMAIL": "robin@example.org",
            "SUITE_TOKEN": "not-a-real-token",
        }
        codes = [show(title, command, environ) for title, command in STEPS]
    tracker.shutdown()
    if codes != [0, 0, 0, 0, 0, 0, 4, 2]:
        raise SystemExit(f"the demonstration did not go as it should: exit codes {codes}")
    scripts = python.parent.relative_to(ROOT)
    print(NEXT.format(activate=scripts / "activate"))


if __name__ == "__main__":
    main()
