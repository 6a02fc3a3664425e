"""Build the documentation as a site: `python3 scripts/docs.py [serve]`. It lands in build/site, and loads nothing else.

`serve` shows it at http://127.0.0.1:8000 and builds again whenever a page changes.
"""

from __future__ import annotations

import sys

from environment import ready, run

if __name__ == "__main__":
    words = ["serve"] if "serve" in sys.argv[1:] else ["build", "--strict"]
    raise SystemExit(run(ready("dev"), "-m", "zensical", *words))
