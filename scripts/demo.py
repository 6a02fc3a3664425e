"""Both programs at work on this machine: `python3 scripts/demo.py`. Nothing is sent anywhere else."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

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
    return subprocess.run(shlex.split(command), env=environ, check=False).returncode


def show_listener(environ: dict[str, str]) -> list[int]:
    """A listener in the background, an event that is genuine and one that is not, and what the listener said."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    command = f"lms webhook listen --addr {address} --secret-file secret.txt --events grade_change --log"
    print(f"\n# Receive webhooks: verified, filtered, logged\n$ {command} &", flush=True)
    listener = subprocess.Popen(shlex.split(command), env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    _wait_for(f"http://{address}/health", listener)
    trigger = f"lms webhook trigger grade_change --to http://{address}/webhook"
    codes = [
        show("Send a signed event", f"{trigger} --secret-file secret.txt --set body.score=55", environ),
        show("One that is not signed is refused (exit code 3)", trigger, environ),
    ]
    listener.terminate()
    said, _ = listener.communicate(timeout=30)
    print(f"\n# What the listener printed\n{said.decode()}", end="", flush=True)
    return codes


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the listener did not start") from None
            time.sleep(0.1)
        else:
            return
    raise SystemExit("the listener did not answer")


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
        os.chdir(home)
        Path("secret.txt").write_text("a shared secret\n", encoding="utf-8")
        Path("secret.txt").chmod(0o600)
        codes = [show(title, command, environ) for title, command in STEPS] + show_listener(environ)
        os.chdir(ROOT)
    tracker.shutdown()
    if codes != [0, 0, 0, 0, 0, 0, 4, 2, 0, 3]:
        raise SystemExit(f"the demonstration did not go as it should: exit codes {codes}")
    scripts = python.parent.relative_to(ROOT)
    print(NEXT.format(activate=scripts / "activate"))


if __name__ == "__main__":
    main()
