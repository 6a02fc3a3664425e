"""How long a start takes, beside the import of the library it cannot do without: `python benchmarks/start.py`."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from measure import in_turn, report

SCRIPTS = Path(sys.executable).parent


def main() -> None:
    suite = str(SCRIPTS / "suite")
    commands = {
        "python -c 'import click'": [sys.executable, "-c", "import click"],
        "suite --help": [suite, "--help"],
        "suite op describe getIssue": [suite, "op", "describe", "getIssue"],
        "suite op search sprint": [suite, "op", "search", "sprint"],
        "suite op list": [suite, "op", "list"],
        "completion of an operation's id": [suite],
    }
    with tempfile.TemporaryDirectory() as home:
        environ = {**os.environ, "CALLSHEET_HOME": home}
        plain = {name: command for name, command in commands.items() if len(command) > 1}
        report(in_turn(plain, environ), "python -c 'import click'")
        asked = {**environ, "_SUITE_COMPLETE": "bash", "COMP_LINE": "suite op call getIs"}
        completion = {name: commands[name] for name in ("python -c 'import click'", "completion of an operation's id")}
        report(in_turn(completion, asked), "python -c 'import click'")


if __name__ == "__main__":
    main()
