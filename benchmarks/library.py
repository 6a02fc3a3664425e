"""What the library and the screen cost beside the command line: `python benchmarks/library.py`.

The first call of a program of Python beside the same command, `import callsheet` beside nothing, and the time from
the start of `suite ui` in a terminal until its rows are drawn, beside the same list as a command.
"""

from __future__ import annotations

import os
import pty
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import demo_server
from measure import in_turn, median_ms, report

SCRIPTS = Path(sys.executable).parent
CALL = "import callsheet\nwith callsheet.open('suite') as suite:\n    print(suite.op.getIssue(issueIdOrKey='DEMO-1'))"
ROUNDS = 15


def main() -> None:
    tracker = demo_server.start()
    suite = str(SCRIPTS / "suite")
    with tempfile.TemporaryDirectory() as home:
        site = {"SUITE_BASE_URL": tracker.url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "not-a-real-token"}
        environ = {**os.environ, "CALLSHEET_HOME": home, **site}
        plain = "python -c 'pass'"
        imports = {plain: [sys.executable, "-c", "pass"], "with callsheet": [sys.executable, "-c", "import callsheet"]}
        runs = in_turn(imports, environ)
        report(runs, plain)
        more = median_ms(runs["with callsheet"]) - median_ms(runs[plain])
        print(f"{'import callsheet':44} {more:7.1f} ms more")
        command = "suite op call getIssue"
        calls = {
            command: [suite, "op", "call", "getIssue", "--param", "issueIdOrKey=DEMO-1", "-o", "json"],
            "suite.op.getIssue": [sys.executable, "-c", CALL],
        }
        report(in_turn(calls, environ), command)
        screen = [suite, "ui", "issues", "list"]
        rows = [suite, "issues", "list", "-o", "json"]
        print(f"{'suite ui':44} {drawn([suite, 'ui'], environ, 'LIST'):7.1f} ms")
        shown = drawn(screen, environ, demo_server.SUMMARIES[0])
        print(f"{'suite ui issues list, its rows':44} {shown:7.1f} ms")
        report(in_turn({"suite issues list": rows}, environ), "suite issues list")
    tracker.shutdown()


def drawn(command: list[str], environ: dict[str, str], text: str) -> float:
    """The median of the milliseconds from the start of a program in a terminal until it draws `text`."""
    return statistics.median(_drawn(command, environ, text) for _ in range(ROUNDS + 1)) * 1000


def _drawn(command: list[str], environ: dict[str, str], text: str) -> float:
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


if __name__ == "__main__":
    main()
