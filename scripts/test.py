"""Run the tests in the project's own environment: `python3 scripts/test.py [PYTEST ARGUMENTS]`."""

from __future__ import annotations

import os
import sys

from environment import ready, run

# One more than there are cores: some tests wait for processes and time limits, and others run meanwhile.
PROCESSES = (os.cpu_count() or 1) + 1

if __name__ == "__main__":
    # Each of the tests' workers, and the programs that they start by the thousand, would compile all code again.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    python = ready("dev")
    raise SystemExit(run(python, "-m", "pytest", *(sys.argv[1:] or ["-n", str(PROCESSES)])))
