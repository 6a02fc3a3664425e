"""How long 1 MB of Markdown takes to a document and back, beside markdown-it-py's own parse."""

from __future__ import annotations

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
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    definitions = Path(__file__).parent.parent / "definitions" / "suite" / "richtext.toml"
    nodes = tomllib.loads(definitions.read_text(encoding="utf-8"))["node"]
    source = "".join(SAMPLE.format(n=number) for number in range(1_000_000 // len(SAMPLE) + 1))[:1_000_000]
    own, _tokens = timed(lambda: MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source))
    there, done = timed(lambda: convert(source, "markdown", "adf", nodes=nodes))
    back, _text = timed(lambda: convert(done.value, "adf", "markdown", nodes=nodes))
    print(f"markdown-it-py {own:.2f} s, to a document {there:.2f} s ({there / own:.2f} x), back {back:.2f} s")


if __name__ == "__main__":
    main()
