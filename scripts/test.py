"""Run the tests in the project's own environment: `python3 scripts/test.py [PYTEST ARGUMENTS]`."""

from __future__ import annotations

import sys

from environment import ready, run

if __name__ == "__main__":
    python = ready("dev")
    raise SystemExit(run(python, "-m", "pytest", *(sys.argv[1:] or ["-n", "2"])))
