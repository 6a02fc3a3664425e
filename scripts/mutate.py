"""Small faults in one module, one after another: `python3 scripts/mutate.py client/http/retry.py tests/client/http`.

cosmic-ray plants them in a copy of the project, so the checkout may change meanwhile, and runs the named tests for
each: also what they start in other processes meets the fault. It prints what survives. uv fetches cosmic-ray when it
is first used. For faults with a meaning, see `scripts/faults.py`.
"""

from __future__ import annotations

import argparse
import random
import shlex
import sqlite3
import subprocess
import tempfile
from contextlib import closing
from pathlib import Path

from environment import ready
from faults import Copy

COSMIC_RAY = ("tool", "run", "--from", "cosmic-ray==8.7.0")
CONFIG = """
[cosmic-ray]
module-path = "engine/callsheet/{module}"
timeout = {limit}.0
excluded-modules = []
test-command = {tests}

[cosmic-ray.distributor]
name = "local"
"""


def leave_out_all_but(session: Path, count: int, seed: int) -> None:
    """What is not drawn of the mutations counts as skipped."""
    with closing(sqlite3.connect(session)) as file, file:
        # `|` stands in annotations, which nothing reads at run time.
        chosen = (
            "SELECT job_id FROM mutation_specs WHERE operator_name NOT LIKE '%BinaryOperator_BitOr%' ORDER BY job_id"
        )
        every, jobs = ([job for (job,) in file.execute(words)] for words in ("SELECT job_id FROM work_items", chosen))
        drawn = random.Random(seed).sample(jobs, min(count or len(jobs), len(jobs)))
        file.executemany("DELETE FROM mutation_specs WHERE job_id = ?", [(job,) for job in {*every} - {*drawn}])
        file.executemany("DELETE FROM work_items WHERE job_id = ?", [(job,) for job in {*every} - {*drawn}])
    print(f"{len(drawn)} of {len(jobs)} mutations", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", help="below engine/callsheet")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--sample", type=int, default=100, help="mutations that are tried, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--limit", type=int, default=60, help="seconds of the tests")
    asked = parser.parse_args()
    python = ready("dev")
    with tempfile.TemporaryDirectory(prefix="mutate-") as home:
        copy = Copy(python, Path(home))
        command = [str(copy.python), "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *asked.tests]
        config, session = copy.home / "config.toml", copy.home / "session.sqlite"
        config.write_text(CONFIG.format(module=asked.module, limit=asked.limit, tests=repr(shlex.join(command))))
        environ = copy.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # a change of the same size in the same second counts

        def run(*words: str) -> None:
            uv = [str(python.with_name("uv")), *COSMIC_RAY, *words]
            if subprocess.run(uv, cwd=copy.home, env=environ, check=False).returncode != 0:
                raise SystemExit(f"{' '.join(words)} failed")

        run("cosmic-ray", "baseline", str(config))
        run("cosmic-ray", "init", str(config), str(session))
        leave_out_all_but(session, asked.sample, asked.seed)
        run("cosmic-ray", "exec", str(config), str(session))
        run("cr-report", "--surviving-only", "--show-diff", str(session))


if __name__ == "__main__":
    main()
