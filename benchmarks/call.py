"""What one call costs beside the import of the HTTP library: `python benchmarks/call.py`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import demo_server
from measure import in_turn, report

SCRIPTS = Path(sys.executable).parent


def main() -> None:
    tracker = demo_server.start()
    suite = str(SCRIPTS / "suite")
    with tempfile.TemporaryDirectory() as home:
        site = {"SUITE_BASE_URL": tracker.url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "not-a-real-token"}
        commands = {
            "python -c 'import httpx'": [sys.executable, "-c", "import httpx"],
            "suite op call getIssue": [suite, "op", "call", "getIssue", "--param", "issueIdOrKey=DEMO-1", "-o", "json"],
            "the same as a table": [suite, "op", "call", "getIssue", "--param", "issueIdOrKey=DEMO-1"],
        }
        report(in_turn(commands, {**os.environ, "CALLSHEET_HOME": home, **site}), "python -c 'import httpx'")
    tracker.shutdown()


if __name__ == "__main__":
    main()
