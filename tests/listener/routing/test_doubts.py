"""What `webhook check` warns of in handlers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.listening import run

DASHES = "put '--' before it"


@pytest.mark.skipif(sys.platform == "win32", reason="programs of POSIX")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cat", "{body.user}"], DASHES),
        (["cat", "{body.user}.txt", "--", "{body.user}"], DASHES),
        (["cat", "--", "{body.user}"], None),
        (["cat", "--user={body.user}", "user {id}"], None),
        (["./missing.sh"], "no program './missing.sh'"),
        (["no-such-program-anywhere"], "no program"),
        (["./there.sh"], None),
        (["./text.txt"], "cannot be executed"),
    ],
)
def test_words_that_could_be_options_and_programs_that_are_not_there(
    words: list[str], said: str | None, tmp_path: Path
) -> None:
    for name, mode in (("there.sh", 0o755), ("text.txt", 0o644)):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(mode)
    routes = f'[route.r]\ndo = [{{ handler = "exec", run = {words} }}]\n'
    (tmp_path / "routes.toml").write_text(routes, encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "routes.toml")
    assert done.returncode == 0
    assert done.stderr.count("warning: ") == (said is not None)
    if said is not None:
        assert "handler r/1: run: " in done.stderr
        assert said in done.stderr
    assert ("no problems" in done.stdout) is (said is None)
