"""Where a program's file lies: by platform, by variables, by what is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from callsheet.hosts.places import project_file, user_file

SERVERS: Any = {
    "user": {
        "linux": ["$XDG_CONFIG_HOME/p/s.json", "~/.config/p/s.json", "~/.config/p/s.jsonc"],
        "windows": ["$APPDATA/P/s.json"],
        "any": ["~/.p/s.json"],
    },
    "project": [".p/s.json", "s.jsonc"],
}


@pytest.mark.parametrize(
    ("platform", "variables", "path"),
    [
        ("linux", {}, "{home}/.config/p/s.json"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x/p/s.json"),
        ("linux", {"XDG_CONFIG_HOME": ""}, "{home}/.config/p/s.json"),
        ("darwin", {}, "{home}/.p/s.json"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming/P/s.json"),
        ("win32", {}, None),
    ],
)
def test_the_file_of_a_person(tmp_path: Path, platform: str, variables: dict[str, str], path: str | None) -> None:
    found = user_file(SERVERS, {"HOME": str(tmp_path), **variables}, platform)
    assert found == (path and os.path.normpath(path.format(home=tmp_path)))


def test_one_that_is_there_counts_first(tmp_path: Path) -> None:
    there = tmp_path / ".config" / "p" / "s.jsonc"
    there.parent.mkdir(parents=True)
    there.write_text("{}")
    assert user_file(SERVERS, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "/x"}, "linux") == str(there)
    (tmp_path / "s.jsonc").write_text("{}")
    assert project_file(SERVERS, str(tmp_path), {}) == str(tmp_path / "s.jsonc")


def test_not_every_program_has_every_file() -> None:
    assert user_file({"format": "json", "at": ["a"], "entry": {}}, {"HOME": "/h"}) is None
    assert project_file({"format": "json", "at": ["a"], "entry": {}}, ".", {}) is None
