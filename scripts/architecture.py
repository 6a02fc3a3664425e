"""Write what docs/architecture.md shows of the code: `python3 scripts/architecture.py [--check]`."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "engine" / "callsheet"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = re.compile(r"(<!-- picture -->\n).*?(<!-- end of picture -->)", re.DOTALL)
ROOMS = re.compile(r"(<!-- rooms -->\n).*?(<!-- end of rooms -->)", re.DOTALL)


def top(path: Path) -> str:
    """The package, or the module at the top, that a file belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path: Path) -> set[str]:
    """What a file imports from other rooms, wherever in it the import stands; `from .. import x` is a room too."""
    depth = len(path.relative_to(PACKAGE).parts)
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == depth:
            found |= {node.module.partition(".")[0]} if node.module else {alias.name for alias in node.names}
    return found


@cache
def rooms() -> dict[str, set[str]]:
    """Room → the rooms it imports from."""
    graph: dict[str, set[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parent == PACKAGE and path.name in ("__init__.py", "__main__.py"):
            continue
        graph.setdefault(top(path), set()).update(imported(path))
    return {room: (others & graph.keys()) - {room} for room, others in graph.items()}


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that others imply."""

    def below(room: str) -> set[str]:
        return {end for other in graph[room] for end in (other, *below(other))}

    return {room: others - {end for other in others for end in below(other)} for room, others in graph.items()}


def is_package(room: str) -> bool:
    """A directory alone may be what Python left of one that is gone."""
    return (PACKAGE / room / "__init__.py").exists()


def packages() -> dict[str, set[str]]:
    """Package → the packages it imports from, but for those that follow."""
    graph = rooms()
    found = {room for room in graph if is_package(room)}
    return reduced({room: others & found for room, others in graph.items() if room in found})


def picture() -> str:
    """A diagram that GitHub draws; elsewhere its text can be read."""
    arrows = [f"    {room} --> {other}" for room, others in packages().items() for other in sorted(others)]
    return "\n".join(["```mermaid", "graph TD", *arrows, "```", ""])


def first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


def table() -> str:
    """Each room with the first line of its docstring, and each part of a package with its own."""
    lines = ["| room | holds |", "|---|---|"]
    for room in order():
        path = PACKAGE / room
        described = path / "__init__.py" if is_package(room) else path.with_suffix(".py")
        lines.append(f"| **{room}** | {first_line(described)} |")
        parts = sorted(part for part in path.glob("*/") if (part / "__init__.py").exists())
        lines += [f"| {room}/{part.name} | {first_line(part / '__init__.py')} |" for part in parts]
    return "\n".join([*lines, ""])


def order() -> list[str]:
    """The rooms in the order of the page: each imports only from those before it."""
    section = PAGE.read_text(encoding="utf-8").partition("## Packages and their order")[2].partition("\n## ")[0]
    return re.findall(r"[a-z_]+", next(block for block in section.split("\n\n") if " · " in block))


def current() -> str:
    text = PAGE.read_text(encoding="utf-8")
    text = PICTURE.sub(lambda found: f"{found[1]}\n{picture()}\n{found[2]}", text)
    return ROOMS.sub(lambda found: f"{found[1]}\n{table()}\n{found[2]}", text)


def main(arguments: list[str]) -> int:
    wanted = current()
    if PAGE.read_text(encoding="utf-8") == wanted:
        return 0
    if "--check" in arguments:
        print(f"not up to date: {PAGE.relative_to(ROOT)}: run python3 scripts/architecture.py", file=sys.stderr)
        return 1
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
