"""Run the tests in an environment of their own: `python3 scripts/test.py [--all | PYTEST ARGUMENTS]`.

Without an argument those marked `slow` are left out; `--all` runs them, too.
"""

from __future__ import annotations

import os
import sys

from environment import PROCESSES, ready, run

if __name__ == "__main__":
    # Each of the tests' workers, and the programs that they start by the thousand, would compile all code again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    python = ready("dev")
    # Tests of one file stay together, with what they share: that is made once, and not by each worker.
    workers = ["-n", str(PROCESSES), "--dist", "worksteal"]
    usual = {(): ["-m", "not slow", *workers], ("--all",): workers}
    raise SystemExit(run(python, "-m", "pytest", *usual.get(tuple(sys.argv[1:]), sys.argv[1:])))
