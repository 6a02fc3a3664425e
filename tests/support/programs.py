"""Programs of a person's own. They compile in no time, as they have the commands of a client and no operations."""

from __future__ import annotations

from pathlib import Path

PROGRAM = """
[program.{name}]
title = "A program of one's own"
prefix = "{prefix}"
uses = ["client"]

[deployment.own]
title = "Own"
method = "basic"

[auth.basic]
title = "A password"
scheme = "basic"
"""


def small_program(home: Path, name: str = "shop") -> Path:
    """The folder of its definitions below `CALLSHEET_HOME`."""
    directory = home / "definitions" / name
    directory.mkdir(parents=True)
    (directory / "program.toml").write_text(PROGRAM.format(name=name, prefix=name.upper()), encoding="utf-8")
    return directory
