"""Build the documentation as a site: `python3 scripts/docs.py [serve]`. It lands in build/site, and loads nothing else.

docs/errors.md is written for it: every message of the engine, which would change with every second commit.

`serve` shows it at http://127.0.0.1:8000 and builds again whenever a page changes.
"""

from __future__ import annotations

import sys

from environment import ready, run

MESSAGES = "import reference_facts; open('docs/errors.md', 'w', encoding='utf-8').write(reference_facts.messages())"

if __name__ == "__main__":
    python = ready("dev")
    words = ["serve"] if "serve" in sys.argv[1:] else ["build", "--strict"]
    raise SystemExit(
        run(python, "-c", f"import sys; sys.path.insert(0, 'scripts'); {MESSAGES}")
        or run(python, "-m", "zensical", *words)
    )
