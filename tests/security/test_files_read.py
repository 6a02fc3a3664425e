"""A pipe in the place of a file of settings is a clear error: nothing waits for a writer that never comes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cases import environment

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")


def told(argv: list[str], home: Path) -> tuple[int, str]:
    ended = subprocess.run(
        [sys.executable, "-m", "callsheet", "suite", *argv],
        env={**os.environ, **environment(home, "http://localhost:1")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("profiles.toml", ["config", "view"]),
        ("profiles.toml", ["config", "set", "site", "a"]),
        ("profiles.toml", ["--site", "a", "issues", "delete", "PP-1", "--yes"]),
        ("aliases.toml", ["alias", "list"]),
        ("aliases.toml", ["nosuch"]),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else given,
)
def test_a_pipe_in_the_place_of_settings(name: str, argv: list[str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    os.mkfifo(home / name, 0o600)
    code, err = told(argv, home)
    assert code in {1, 2}
    assert err.startswith("error: ")
    assert f"{name}: not a regular file" in err
