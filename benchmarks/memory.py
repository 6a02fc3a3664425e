"""Peak memory of 100,000 items through `--all -o ndjson` beside that of one page: `python benchmarks/memory.py`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from measure import once

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import demo_server

ITEMS = 100_000
SCRIPTS = Path(sys.executable).parent


def main() -> None:
    tracker = demo_server.start()
    tracker.issues = [demo_server.issue(number, f"Issue number {number}") for number in range(ITEMS)]
    call = [str(SCRIPTS / "suite"), "op", "call", "searchAndReconsileIssuesUsingJql", "--param", "jql=project=DEMO"]
    site = {"SUITE_BASE_URL": tracker.url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "not-a-real-token"}
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, **site}
        once(call, environ)
        page = once([*call, "--limit", "1000", "-o", "ndjson"], environ)
        every = once([*call, "--limit", "1000", "-o", "ndjson", "--all"], environ)
    tracker.shutdown()
    print(f"one page of 1,000      {page.peak_mib:6.1f} MiB  {page.seconds:6.2f} s")
    print(f"{ITEMS:,} items, --all  {every.peak_mib:6.1f} MiB  {every.seconds:6.2f} s")
    print(f"difference             {every.peak_mib - page.peak_mib:6.1f} MiB")


if __name__ == "__main__":
    main()
