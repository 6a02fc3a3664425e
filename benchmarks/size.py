"""How large the project is: statements (`ast.stmt` nodes) and lines by package, and the lines of what is beside it."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGINE = ROOT / "engine" / "callsheet"
BESIDE = {"definitions": "*.toml", "tests": "*.py", "scripts": "*.*", "benchmarks": "*.*", "docs": "*.md"}


def lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def main() -> None:
    statements: Counter[str] = Counter()
    length: Counter[str] = Counter()
    for path in ENGINE.rglob("*.py"):
        room = path.relative_to(ENGINE).parts[0]
        name = room if (ENGINE / room).is_dir() else "modules at the top"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        statements[name] += sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
        length[name] += lines(path)
    print(f"{'':20} statements   lines")
    for name, count in [*statements.most_common(), ("engine", statements.total())]:
        print(f"{name:20} {count:10,} {length[name] or length.total():7,}")
    for name, kind in BESIDE.items():
        found = [path for path in (ROOT / name).rglob(kind) if "__pycache__" not in path.parts]
        print(f"{name:20} {'':10} {sum(map(lines, found)):7,}")


if __name__ == "__main__":
    main()
