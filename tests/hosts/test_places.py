"""Where a program's file lies: by platform, by variables, by what is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.hosts import path_below, project_file, user_file

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
    assert project_file(SERVERS, str(tmp_path)) == str(tmp_path / "s.jsonc")


def test_not_every_program_has_every_file() -> None:
    assert user_file({"format": "json", "at": ["a"], "entry": {}}, {"HOME": "/h"}) is None
    assert project_file({"format": "json", "at": ["a"], "entry": {}}, ".") is None


OUTSIDE = [
    *(
        "../x",
        "a/../../x",
        "/etc/x",
        "~/.bashrc",
        "$HOME/x",
        "a/$HOME",
        "C:/x",
        "a\\..\\x",
        ".",
        "..",
        "",
        "a//b",
        "a/",
        "a/.",
    ),
    *("a\n", "a\x00b"),
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_what_leads_out_of_a_folder_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not stay below"):
        path_below(str(tmp_path), path)
    with pytest.raises(UsageError, match="does not stay below"):
        project_file({**SERVERS, "project": [path]}, str(tmp_path))


@pytest.mark.parametrize("path", [".p/s.json", "a/b.json", "..a/b..", "a b"])
def test_what_stays_in_a_folder_is_taken(path: str, tmp_path: Path) -> None:
    assert path_below(str(tmp_path), path) == str(tmp_path.joinpath(*path.split("/")))


def test_a_link_that_leads_out_of_a_folder_is_refused(tmp_path: Path) -> None:
    """As in a project of others, where a file that is written would lead to one of the home directory."""
    project, elsewhere = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".p").symlink_to(elsewhere)
    (project / "s.jsonc").symlink_to(elsewhere / ".bashrc")
    (project / "inside").symlink_to("other")
    for path in (".p/s.json", "s.jsonc"):
        with pytest.raises(UsageError, match="leads out of"):
            path_below(str(project), path)
    assert path_below(str(project), "inside") == str(project / "inside")
