"""Peak memory of 100,000 items through `--all -o ndjson` beside that of one page: `python benchmarks/memory.py`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import once

ITEMS = 100_000
SCRIPTS = Path(sys.executable).parent
# The server is a process of its own: a child's peak counts what its parent held when it was started.
SERVER = """
import sys; sys.path.insert(0, sys.argv[1])
import demo_server
tracker = demo_server.Tracker()
tracker.issues = [demo_server.issue(number, f"Issue number {number}") for number in range(int(sys.argv[2]))]
print(tracker.url, flush=True)
tracker.serve_forever()
"""


def main() -> None:
    here = str(Path(__file__).parent)
    server = subprocess.Popen([sys.executable, "-c", SERVER, here, str(ITEMS)], stdout=subprocess.PIPE, text=True)
    url = server.stdout.readline().strip() if server.stdout else ""
    call = [str(SCRIPTS / "suite"), "op", "call", "searchAndReconsileIssuesUsingJql", "--param", "jql=project=DEMO"]
    site = {"SUITE_BASE_URL": url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "not-a-real-token"}
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home, **site}
        once(call, environ)
        page = once([*call, "--limit", "1000", "-o", "ndjson"], environ)
        every = once([*call, "--limit", "1000", "-o", "ndjson", "--all"], environ)
    server.terminate()
    server.communicate()
    print(f"one page of 1,000      {page.peak_mib:6.1f} MiB  {page.seconds:6.2f} s")
    print(f"{ITEMS:,} items, --all  {every.peak_mib:6.1f} MiB  {every.seconds:6.2f} s")
    print(f"difference             {every.peak_mib - page.peak_mib:6.1f} MiB")


if __name__ == "__main__":
    main()
