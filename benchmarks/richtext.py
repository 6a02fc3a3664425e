"""How long Markdown takes to a document and back, beside markdown-it-py's own parse, and marklas where it is installed.

    python3 benchmarks/richtext.py               # a sample of 1 MB
    python3 benchmarks/richtext.py FOLDER        # every Markdown file below a folder

Each file is converted by all in turn, eight times, in changing order: what runs first finds nothing of the file in the
processor's cache. Of each file the median counts. Printed are the sums of these and, beside marklas, also the median of
the files' ratios, which says more of small ones.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpus import NODES
from markdown_it import MarkdownIt

from callsheet.richtext import convert_rich_text

SAMPLE = """# Heading {n}

A paragraph with **bold**, *emphasis*, `code`, a [link](https://example.org/{n} "title") and some
more words on a second line, {{status:green|DONE}} and :tada: too.

- one
  - nested *item*
- two

1. first
2. second

> a quote

| a | b |
|---|---|
| 1 | **2** |

```python
print({n})
```

"""


def seconds(work: Callable[[], Any]) -> float:
    """Processor time, which other work on the machine changes less than the clock."""
    start = time.process_time()
    with suppress(Exception):  # a peer may fail where nothing else does
        work()
    return time.process_time() - start


ROUNDS = 8
PEERS = {"to a document": "marklas", "back": "marklas back"}


def medians(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    names = list(works)
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS):
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned if number < ROUNDS // 2 else turned[::-1]:
            found[name].append(seconds(works[name]))
    return {name: statistics.median(taken) for name, taken in found.items()}


def works_of(source: str) -> dict[str, Callable[[], Any]]:
    document = convert_rich_text(source, "markdown", "adf", nodes=NODES).value
    found: dict[str, Callable[[], Any]] = {
        "markdown-it-py": lambda: MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source),
        "to a document": lambda: convert_rich_text(source, "markdown", "adf", nodes=NODES),
        "back": lambda: convert_rich_text(document, "adf", "markdown", nodes=NODES),
    }
    if find_spec("marklas") is not None:
        marklas: Any = import_module("marklas")
        found |= {"marklas": lambda: marklas.to_adf(source), "marklas back": lambda: marklas.to_md(document)}
    return found


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    if given.isdigit():
        sources = ["".join(SAMPLE.format(n=number) for number in range(int(given) // len(SAMPLE) + 1))]
    else:
        files = (path for path in sorted(Path(given).rglob("*.md")) if path.is_file())
        sources = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    each = [medians(works_of(source)) for source in sources]
    total: Counter[str] = Counter()
    for one in each:
        total.update(one)
    size = sum(len(source.encode()) for source in sources) / 1e6
    own = total["markdown-it-py"]
    print(f"{len(sources)} texts, {size:.2f} MB; seconds a megabyte, and times markdown-it-py")
    for name, taken in total.items():
        print(f"{name:15} {taken / size:.3f}  {taken / own:.2f} x")
    for name, peer in PEERS.items():
        if peer in total:
            of_files = statistics.median(one[name] / one[peer] for one in each)
            print(
                f"{name}, times marklas: {total[name] / total[peer]:.2f} of all, {of_files:.2f} in the median of files"
            )


if __name__ == "__main__":
    main()
