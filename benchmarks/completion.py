"""How long a Tab takes that is answered with words of a site: with 500 kept words, and with none, which asks for them.

The time is that of the whole process, as a shell waits for it. The site does not exist: the background ends by itself.
"""

from __future__ import annotations

import io
import os
import sys
import tempfile
from pathlib import Path

from measure import in_turn, median_ms, report

from callsheet.cli.completion.site_words import cache_of
from callsheet.commands.context import Context
from callsheet.commands.streams import Streams

AT_MOST = 100.0  # ms
SUITE = str(Path(sys.executable).with_name("suite"))
WORDS = [(f"DEMO-{number}", "An issue with a summary of some length") for number in range(500)]


def keep(environ: dict[str, str]) -> None:
    context = Context("suite", environ, Streams(io.StringIO(), io.StringIO(), io.StringIO()))
    cache = cache_of(context, context.site())
    cache.write(["issue", {}], WORDS)
    context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        site = {"SUITE_BASE_URL": "http://127.0.0.1:9", "SUITE_TOKEN": "none", "SUITE_EMAIL": "robin@example.org"}
        environ = {**os.environ, **site, "CALLSHEET_HOME": home}
        asked = {**environ, "_SUITE_COMPLETE": "bash", "COMP_LINE": "suite issues get DEMO-1"}
        click = "python -c 'import click'"
        commands = {click: [sys.executable, "-c", "import click"], "a Tab with 500 kept words": [SUITE]}
        keep(environ)
        runs = in_turn(commands, asked)
        first = {"the first Tab, which asks behind it": [SUITE]}
        for number in range(10):  # each for another list
            line = f"suite sprints get --board {number} "
            for name, found in in_turn(first, {**asked, "COMP_LINE": line}, rounds=1).items():
                runs.setdefault(name, []).extend(found)
        runs[click] = runs[click][:10]
        runs = {name: each[:10] for name, each in runs.items()}
        report(runs, click)
        if any(median_ms(each) > AT_MOST for each in runs.values()):
            raise SystemExit(f"a Tab takes longer than {AT_MOST:g} ms")


if __name__ == "__main__":
    main()
