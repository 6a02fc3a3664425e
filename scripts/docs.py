"""Build the documentation as a site: `python3 scripts/docs.py [serve]`. It lands in build/site, and loads nothing else.

docs/errors.md is written for it: every message of the engine, which would change with every second commit.

`serve` shows it at http://127.0.0.1:8000 and builds again whenever a page changes.
"""

from __future__ import annotations

import sys

from environment import ready, run

MESSAGES = """
import os, sys
sys.path.insert(0, "scripts")
import reference_facts
with open("docs/errors.md.new", "w", encoding="utf-8") as file:
    file.write(reference_facts.messages())
os.replace("docs/errors.md.new", "docs/errors.md")  # others may be reading it
"""

if __name__ == "__main__":
    python = ready("dev")
    words = ["serve"] if "serve" in sys.argv[1:] else ["build", "--strict"]
    raise SystemExit(run(python, "-c", MESSAGES) or run(python, "-m", "zensical", *words))
