"""How many planted faults the tests find: `python3 scripts/mutate.py client --sample 100 --seed 1`.

Each mutant changes one thing in one module of a package (see `mutants.py`). It dies when a test fails that reaches the
changed line, in the test's own process or in one that it starts. The work is done in copies of the project, so the
checkout may change meanwhile. A first run of the tests tells which of them reach which line; the quickest are tried
first. Examples of properties are the same in every run. A slow test must fail twice, since those depend on the load.

`equivalent_mutants.toml` names changes that no test can or should see, each with its reason. Both figures are printed:
of all that were drawn, and without these.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import tomllib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from queue import SimpleQueue

from environment import ROOT, ready
from mutants import Mutant, mutants_of
from mutation_run import Copy, Reach

ENGINE = ROOT / "engine" / "callsheet"
# The tests that mirror a package, and those of the packages above that lean on it most.
TESTS = {
    "client": ["tests/client", "tests/cli/test_op.py", "tests/security/test_safety_classes.py",
               "tests/security/test_hosts.py", "tests/security/test_refused_credentials.py"],
    "sites": ["tests/sites", "tests/cli", "tests/security/test_which_site.py",
              "tests/security/test_refused_credentials.py"],
    "listener": ["tests/listener", "tests/test_extension.py"],
    "language": ["tests/language", "tests/catalog", "tests/definitions", "tests/test_extension.py",
                 "tests/listener/test_parts.py", "tests/listener/test_check_listen.py", "tests/listener/routing"],
    "output": ["tests/output"],
    "catalog": ["tests/catalog", "tests/language"],
    "openapi": ["tests/openapi"],
    "richtext": ["tests/richtext"],
}  # fmt: skip


def equivalents() -> dict[tuple[str, str, str], str]:
    """Why a change makes no difference, by path, what is changed, and the text of its line."""
    path = ROOT / "scripts" / "equivalent_mutants.toml"
    listed = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    return {(one["path"], one["change"], one["line"]): one["reason"] for one in listed}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, default=100, help="mutants that are tried, drawn at random; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at the same time")
    parser.add_argument("--budget", type=float, default=30, help="seconds of tests that a survivor is tried with")
    parser.add_argument("--only", default="", help="only modules whose path contains this")
    parser.add_argument("--reach", type=Path, help="keep there which tests reach what, and add to it what is there")
    parser.add_argument("--tests", nargs="*", help="only these tests (beside those in the file of --reach)")
    parser.add_argument("--save", type=Path, help="write the survivors to this file")
    parser.add_argument("--again", type=Path, help="try the survivors that an earlier run saved")
    return parser.parse_args()


def chosen(asked: argparse.Namespace) -> list[Mutant]:
    mutants = [mutant for mutant in mutants_of(ENGINE, asked.package) if asked.only in mutant.path]
    if asked.again:
        saved = {tuple(one) for one in json.loads(asked.again.read_text(encoding="utf-8"))}
        return [mutant for mutant in mutants if (mutant.path, mutant.what, mutant.text) in saved]
    return random.Random(asked.seed).sample(mutants, min(asked.sample or len(mutants), len(mutants)))


def tried(drawn: list[Mutant], reach: Reach, copies: list[Copy]) -> list[Mutant]:
    """Those that survive."""
    free: SimpleQueue[Copy] = SimpleQueue()
    for copy in copies:
        free.put(copy)
    killers: Counter[str] = Counter()
    done = count(1)

    def survives(mutant: Mutant) -> bool:
        copy = free.get()
        try:
            killer = copy.killer(mutant, reach)
        finally:
            free.put(copy)
        number = next(done)
        if killer is None:
            print(f"{number}: survived: {mutant}" + ("" if reach.tests(mutant) else "   (no test)"), flush=True)
        elif number % 10 == 0:
            print(f"{number} tried", flush=True)
        if killer is not None:
            killers[killer] += 1
        return killer is None

    with ThreadPoolExecutor(len(copies)) as pool:
        alive = [mutant for mutant, lives in zip(drawn, pool.map(survives, drawn), strict=True) if lives]
    print(f"killed most: {', '.join(f'{test} {times}' for test, times in killers.most_common(3))}")
    return alive


def main() -> None:
    asked = arguments()
    python = ready("dev")
    if Path(sys.prefix) != python.parent.parent:
        os.execv(python, [str(python), *sys.argv])
    drawn = chosen(asked)
    with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
        tests = asked.tests or TESTS[asked.package]
        homes = [Path(directory) / str(number) for number in range(asked.jobs)]
        copies = [Copy(python, home, tests, asked.budget) for home in homes]
        reach = copies[0].reach()
        if asked.reach:
            if asked.reach.exists():
                reach.add(asked.reach)
                copies[0].check_names(reach.times)
            reach.save(asked.reach)
        for copy in copies:
            copy.watch(reach)
        print(f"{len(drawn)} mutants of {asked.package}, {len(reach.times)} tests", flush=True)
        alive = tried(drawn, reach, copies)
    if asked.save:
        saved = [(mutant.path, mutant.what, mutant.text) for mutant in alive]
        asked.save.write_text(json.dumps(saved, indent=1), encoding="utf-8")
    named = equivalents()
    same = [mutant for mutant in drawn if (mutant.path, mutant.what, mutant.text) in named]
    died, real = len(drawn) - len(alive), [mutant for mutant in alive if mutant not in same]
    of = len(real) + len([mutant for mutant in drawn if mutant not in alive])
    print(f"{asked.package}: {died} of {len(drawn)} mutants died, {100 * died / len(drawn):.0f} %")
    print(f"without {len(alive) - len(real)} that change nothing: {died} of {of}, {100 * died / max(of, 1):.0f} %")
    for mutant in alive:
        print(f"  {'same' if mutant in same else 'real'}: {mutant}")


if __name__ == "__main__":
    main()
