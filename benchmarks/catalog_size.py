"""What a catalog ten times as large costs at the start: `python benchmarks/catalog_size.py`.

Builds two trees of an installed package side by side, one with its operations nine times more under other names.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from measure import in_turn, report

ROOT = Path(__file__).parent.parent
ID = re.compile(r'^\[operation\.(?:"([^"]+)"|([\w-]+))', re.MULTILINE)
START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from callsheet.cli.main import run; run('suite', sys.argv[1:])"
)
TABLES = re.compile(r"^\[schema\..*?(?=^\[operation|\Z)", re.DOTALL | re.MULTILINE)


def installed(target: Path, times: int) -> Path:
    shutil.copytree(ROOT / "engine" / "callsheet", target / "callsheet", ignore=shutil.ignore_patterns("__pycache__"))
    definitions = target / "callsheet" / "definitions"
    shutil.copytree(ROOT / "definitions", definitions)
    operations = definitions / "suite" / "operations"
    files = sorted(operations.glob("*/*.toml"))
    for copy in range(1, times):
        for path in files:
            text = TABLES.sub("", path.read_text(encoding="utf-8"))
            again = operations / f"{path.parent.name}-{copy}" / path.name
            again.parent.mkdir(exist_ok=True)
            renamed = ID.sub(rf'[operation."\g<1>\g<2>{copy}"', text)
            again.write_text(renamed, encoding="utf-8")
    return target


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        trees = {times: installed(Path(directory) / str(times), times) for times in (1, 10)}
        for words in (["--help"], ["op", "describe", "getIssue"]):
            commands = {
                f"suite {' '.join(words)}, {times} x": [sys.executable, "-c", START, str(tree), *words]
                for times, tree in trees.items()
            }
            environ = {**os.environ, "CALLSHEET_HOME": str(Path(directory) / "home")}
            report(in_turn(commands, environ, rounds=25), next(iter(commands)))


if __name__ == "__main__":
    main()
