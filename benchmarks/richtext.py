"""How long Markdown takes to a document and back, beside markdown-it-py's own parse, and marklas where it is installed.

    python3 benchmarks/richtext.py               # a sample of 1 MB
    python3 benchmarks/richtext.py FOLDER        # every Markdown file below a folder

Each file is converted by all in turn, five times, and the median of each counts.
"""

from __future__ import annotations

import statistics
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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


def works(source: str, nodes: Any) -> dict[str, Callable[[], Any]]:
    document = convert_rich_text(source, "markdown", "adf", nodes=nodes).value
    found: dict[str, Callable[[], Any]] = {
        "markdown-it-py": lambda: MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source),
        "to a document": lambda: convert_rich_text(source, "markdown", "adf", nodes=nodes),
        "back": lambda: convert_rich_text(document, "adf", "markdown", nodes=nodes),
    }
    if find_spec("marklas") is not None:
        marklas: Any = import_module("marklas")
        found |= {"marklas": lambda: marklas.to_adf(source), "marklas back": lambda: marklas.to_md(document)}
    return found


def main() -> None:
    definitions = Path(__file__).parent.parent / "definitions" / "suite" / "richtext.toml"
    nodes = tomllib.loads(definitions.read_text(encoding="utf-8"))["node"]
    given = sys.argv[1] if len(sys.argv) > 1 else "1000000"
    if given.isdigit():
        sources = ["".join(SAMPLE.format(n=number) for number in range(int(given) // len(SAMPLE) + 1))]
    else:
        files = (path for path in sorted(Path(given).rglob("*.md")) if path.is_file())
        sources = [path.read_text(encoding="utf-8", errors="replace") for path in files]
    total: Counter[str] = Counter()
    for source in sources:
        found = works(source, nodes)
        rounds = [{name: seconds(work) for name, work in found.items()} for _ in range(5)]
        total.update({name: statistics.median(one[name] for one in rounds) for name in found})
    size = sum(len(source.encode()) for source in sources) / 1e6
    own = total["markdown-it-py"]
    print(f"{len(sources)} texts, {size:.2f} MB; seconds a megabyte, and times markdown-it-py")
    for name, taken in total.items():
        print(f"{name:15} {taken / size:.3f}  {taken / own:.2f} x")


if __name__ == "__main__":
    main()
