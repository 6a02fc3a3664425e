"""Words that a program's definition lets stand for its commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import environment, run_program


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (["events", "-o", "id"], ["webhook", "events", "-o", "id"]),
        (["check"], ["webhook", "check"]),
        (
            ["-o", "json", "check", "--listen", "--addr", ":0"],
            ["-o", "json", "webhook", "check", "--listen", "--addr", ":0"],
        ),
        (["listen", "--help"], ["webhook", "listen", "--help"]),
        (["inbox", "--help"], ["webhook", "inbox", "--help"]),
        (["trigger", "grade_chnage"], ["webhook", "trigger", "grade_chnage"]),
    ],
)
def test_a_short_name_is_the_command(short: list[str], long: list[str], tmp_path: Path) -> None:
    environ = environment(tmp_path / "home", "")
    first, second = run_program("lms", short, environ), run_program("lms", long, environ)
    assert (first.exit, first.stderr) == (second.exit, second.stderr)
    assert first.exit == 0 or first.stdout == b""
    assert len(first.stdout) == len(second.stdout)


def test_an_alias_of_a_persons_own_comes_first(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "aliases.toml").write_text('events = "version"\n', encoding="utf-8")
    assert b"grade_change" not in run_program("lms", ["events"], environment(tmp_path / "home", "")).stdout
