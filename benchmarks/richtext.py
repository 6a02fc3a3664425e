"""How long Markdown takes to a document and back, beside markdown-it-py's own parse: medians of rounds in turn."""

from __future__ import annotations

import statistics
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

from callsheet.richtext import convert

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


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, which other work on the machine changes less than the clock."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def main() -> None:
    definitions = Path(__file__).parent.parent / "definitions" / "suite" / "richtext.toml"
    nodes = tomllib.loads(definitions.read_text(encoding="utf-8"))["node"]
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    source = "".join(SAMPLE.format(n=number) for number in range(size // len(SAMPLE) + 1))[:size]
    rounds = []
    for _ in range(5):
        own, _tokens = timed(lambda: MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source))
        del _tokens
        there, done = timed(lambda: convert(source, "markdown", "adf", nodes=nodes))
        back, _text = timed(lambda value=done.value: convert(value, "adf", "markdown", nodes=nodes))
        rounds.append((own, there / own, back / own))
    own, there, back = (statistics.median(column) for column in zip(*rounds, strict=True))
    print(f"{size} bytes: markdown-it-py {own:.2f} s, to a document {there:.2f} x, back {back:.2f} x")


if __name__ == "__main__":
    main()
