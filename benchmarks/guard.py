"""The guard of shell lines: what it lets through that deletes something, and how often it asks about what does not.

    python3 benchmarks/guard.py                      # 10,000 lines of the tests' grammar, each run in Bash: ten minutes
    python3 benchmarks/guard.py 500 --seed 7
    python3 benchmarks/guard.py 0 --lines FILE ...   # the share of lines in files that is asked about; a line each

Lines of files are judged as they are, and with a command of ours behind them, as an agent would write both in one call.
What Bash refuses is left out. Nothing of a file is run.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from callsheet.agents.invocations import Effect, effects_of_line, find_invocations, ruling_on_effects
from callsheet.agents.shell_syntax import Unclear, Word
from callsheet.cli.read_line import effect_of

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = ["callsheet", "lms", "suite"]


def draw(count: int, seed: int) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from support.shell_lines import SETTINGS, RecordingShell, drawn_line

    with tempfile.TemporaryDirectory() as folder:
        environ = {"CALLSHEET_HOME": f"{folder}/callsheet", "HOME": folder}
        shell = RecordingShell(Path(folder) / "shell")

        def read(program: str, words: Sequence[Word]) -> Effect:
            return effect_of(program, words, environ)

        def deletes(words: list[str]) -> bool:
            try:
                return words[:1] == [SETTINGS] or read("suite", [*map(Word, words)]).safety == "destroy"
            except Unclear:
                return False

        found: Counter[str] = Counter()
        for place in range(count):
            line = drawn_line(random.Random(seed + place))
            allowed = ruling_on_effects(effects_of_line(line, PROGRAMS, read), all_writes=False).decision == "allow"
            deleted = any(map(deletes, shell.run(line)))
            found.update({"allowed": allowed, "deleted": deleted, "allowed and deleted": allowed and deleted})
            if allowed and deleted:
                print(f"{seed + place}: {line!r}")
            if place % 200 == 199:
                shell.fresh()
        print(f"{count} lines from seed {seed}: {dict(found)}")


def share(path: Path) -> None:
    lines = dict.fromkeys(filter(None, map(str.strip, path.read_text(encoding="utf-8", errors="replace").splitlines())))
    read = [line for line in lines if is_bash(line)]
    for name, behind in (("as they are", ""), ("with a command of ours behind them", "\nsuite issues list")):
        reasons: Counter[str] = Counter()
        for line in read:
            try:
                find_invocations(line + behind, PROGRAMS)
            except Unclear as error:
                reasons[str(error)] += 1
        asked = reasons.total()
        print(f"{path.name}: {len(read)} lines {name}: {asked} asked about ({asked / max(1, len(read)):.2%})")
        for reason, number in reasons.most_common(5):
            print(f"  {number} {reason}")


def is_bash(line: str) -> bool:
    return subprocess.run(["bash", "-n", "-c", line], capture_output=True, check=False).returncode == 0


def cost(line: str) -> float:
    """Milliseconds of processor time, that of shfmt included."""
    times = []
    for _ in range(20):
        begin = sum(os.times()[:4])
        find_invocations(line, PROGRAMS)
        times.append(sum(os.times()[:4]) - begin)
    return sum(times) / len(times) * 1000


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() // 1_000_000_000)
    parser.add_argument("--lines", type=Path, nargs="*", default=[])
    chosen = parser.parse_args()
    for each in ("suite issues list -o json", "suite issues list -o id | head -3"):
        print(f"{each}: {cost(each):.1f} ms of processor time to read")
    if chosen.count:
        draw(chosen.count, chosen.seed)
    for each in chosen.lines:
        share(each)
