"""Output that cannot be written: the exit codes that docs/exit-codes.md promises, of real processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.cases import nobody

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full here")
NOTED = '{"type": "doc", "version": 1, "content": [{"type": "nope", "text": "a"}]}'  # one note, one line of result


@pytest.mark.parametrize(
    ("words", "redirection", "code", "printed"),
    [
        ("convert --from adf --to markdown", "", 0, "a\n"),
        ("convert --from adf --to markdown", "2> /dev/full", 0, "a\n"),
        ("convert --from adf --to markdown", "2>&-", 0, "a\n"),
        ("convert --from adf --to markdown", ">&-", 0, ""),
        ("convert --from adf --to markdown", "> /dev/full", 1, ""),
        ("convert --from adf --to markdown", "> /dev/full 2> /dev/full", 1, ""),
        ("convert --from adf --to markdown", ">&- 2>&-", 0, ""),
        ("op list -o json", "> /dev/full", 1, ""),
        ("op list -o json", "| head -n 1", 0, "[\n"),
        ("nonsense", ">&-", 2, ""),
        ("nonsense", "2>&-", 2, ""),
        ("nonsense", "> /dev/full 2> /dev/full", 2, ""),
    ],
)
def test_the_exit_code(
    words: str, redirection: str, code: int, printed: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    line = f"set -o pipefail; {sys.executable} -m callsheet suite {words} {redirection}"
    environ = {**os.environ, **nobody(tmp_path_factory)}
    done = subprocess.run(
        ["bash", "-c", line], input=NOTED, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, printed), done.stderr
    assert "Traceback" not in done.stderr
