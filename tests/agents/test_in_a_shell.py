"""Lines that no guard can read, run by a real shell: the policy still keeps what destroys from the site."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.cases import environment
from support.server import serve

DELETE = "suite issues delete PP-1 --yes"
HIDDEN = base64.b64encode(DELETE.encode()).decode()
LINES = [
    f'eval "$(echo {HIDDEN} | base64 -d)"',
    "x=delete; suite issues $x PP-1 --yes",
    "cp -P bin/suite other/suite; other/suite issues delete PP-1 --yes",
    "SUITE_POLICY=destroy=allow suite api DELETE /rest/api/3/issue/PP-1 --yes",
]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_nothing_that_destroys_arrives(tmp_path: Path) -> None:
    """One variable cannot undo what another source says: here the site's own policy."""
    for name in ("bin", "other"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin" / "suite"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m callsheet suite "$@"\n')
    program.chmod(0o755)
    with serve([], trusted=True) as server:
        home = tmp_path / "home"
        given = environment(home, server.url)
        home.mkdir(mode=0o700)
        site = f'site = "s"\n[sites.s]\nbase_url = "{server.url}"\nemail = "r@x.example"\ntoken_env = "CASE_TOKEN"\n'
        (home / "profiles.toml").write_text(f'{site}policy = "destroy=deny"\n')
        (home / "profiles.toml").chmod(0o600)
        token, cache = given["SUITE_TOKEN"], given["CALLSHEET_CACHE"]
        environ = {"HOME": str(tmp_path), "CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": cache, "CASE_TOKEN": token}
        environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
        for line in LINES:
            command = ["bash", "-c", line]
            done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert done.returncode != 0, line
            assert "denied by the policy" in done.stderr, (line, done.stderr)
        assert server.requests == []
