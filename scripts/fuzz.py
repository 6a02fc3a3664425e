"""Try the properties with values that were never tried: `python3 scripts/fuzz.py [--minutes N] [PYTEST ARGUMENTS]`.

`scripts/test.py` draws the same values every time, so that a change is judged by what it changed. This draws others,
once or until so many minutes are over, and stops at the first round that fails.
"""

from __future__ import annotations

import argparse
import os
import random
import time

from environment import PROCESSES, ready, run

FAILED = """
A property does not hold. To make a case of it:

1. `python3 scripts/fuzz.py --seed {seed} TEST` draws the same values again; what Hypothesis found is kept in
   .hypothesis, and tried first.
2. Write the values that the failure shows above the property, `@example(...)`, or as a row of the table of cases
   beside it. See `python3 scripts/test.py TEST` fail.
3. Repair the code, and whatever else has the same fault.
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.0, help="begin new rounds for so long; 0 is one round")
    parser.add_argument("--seed", type=int, help="of the first round, to try it again")
    known, arguments = parser.parse_known_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    python = ready("dev")
    end, seed = time.monotonic() + 60 * known.minutes, known.seed
    while True:
        seed = seed or random.SystemRandom().randrange(1, 2**31)
        print(f"== seed {seed}", flush=True)
        os.environ["CALLSHEET_FUZZ_SEED"] = str(seed)
        drawing = ["-m", "hypothesis or draws", f"--hypothesis-seed={seed}"]
        if code := run(python, "-m", "pytest", "-q", *drawing, *(arguments or ["-n", str(PROCESSES)])):
            print(FAILED.format(seed=seed))
            return code
        if time.monotonic() >= end:
            return 0
        seed = None


if __name__ == "__main__":
    raise SystemExit(main())
