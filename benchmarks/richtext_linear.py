"""Whether rich text takes time in proportion to its length, whatever its shape.

    python benchmarks/richtext_linear.py [--size BYTES] [SHAPE ...]

Each shape is converted at one, two and four times a size, by processor time. The last columns are what each doubling
costs: 2 is linear, 4 is quadratic. Where the second one costs more than 2.5, it is marked; try that shape at
a larger size.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from callsheet.richtext import convert
from callsheet.richtext.editing import Editing
from support.shapes import MARKDOWN, STORAGE

NODES = tomllib.loads(
    (Path(__file__).parent.parent / "definitions" / "suite" / "richtext.toml").read_text(encoding="utf-8")
)["node"]
MOST = 2.5


def cost(work: Callable[[str], Any], text: str) -> float:
    """Seconds of processor time, the better of two."""
    found = []
    for _ in range(2):
        gc.collect()
        start = time.process_time()
        work(text)
        found.append(time.process_time() - start)
    return min(found)


def edited(source: str) -> None:
    edit = Editing(source, "storage", NODES)
    edit.edited(edit.markdown() + "\n\nnew\n")


def cases() -> dict[str, tuple[Callable[[int], str], Callable[[str], Any]]]:
    found: dict[str, tuple[Callable[[int], str], Callable[[str], Any]]] = {}
    for name, made in MARKDOWN.items():
        found[f"markdown > adf: {name}"] = (made, lambda text: convert(text, "markdown", "adf", nodes=NODES))
        found[f"markdown > storage > markdown: {name}"] = (made, _there_and_back)
    for name, made in STORAGE.items():
        found[f"storage > markdown: {name}"] = (
            made,
            lambda text: convert(text, "storage", "markdown", nodes=NODES, lossless=True),
        )
        found[f"edit: {name}"] = (made, edited)
    return found


def _there_and_back(text: str) -> None:
    storage = convert(text, "markdown", "storage", nodes=NODES).value
    convert(storage, "storage", "markdown", nodes=NODES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=20_000, help="bytes of the smallest text")
    parser.add_argument("shapes", nargs="*")
    given = parser.parse_args()
    for name, (made, work) in cases().items():
        if given.shapes and not any(shape in name for shape in given.shapes):
            continue
        count = max(1, given.size // max(1, len(made(100)) // 100))
        times = [cost(work, made(count * factor)) for factor in (1, 2, 4)]
        doubled = [times[1] / times[0], times[2] / times[1]]
        mark = "  <<<" if doubled[1] > MOST else ""
        shown = " ".join(f"{seconds:7.3f}" for seconds in times)
        print(f"{name:45} {shown} s   x {doubled[0]:.2f} x {doubled[1]:.2f}{mark}", flush=True)


if __name__ == "__main__":
    main()
