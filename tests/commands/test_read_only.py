"""A site that is marked as read-only is only read."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import environment, run_program
from support.server import exchange, reply, serve


def site(home: Path, url: str) -> dict[str, str]:
    home.mkdir()
    settings = f'base_url = "{url}"\nemail = "a@b.c"\ntoken_env = "WORK_TOKEN"\nread_only = true\n'
    text = f'site = "work"\n[sites.work]\n{settings}'
    (home / "profiles.toml").write_text(text, encoding="utf-8")
    common = {name: text for name, text in environment(home, url).items() if not name.startswith("SUITE_")}
    return {**common, "WORK_TOKEN": "t"}


@pytest.mark.parametrize(
    "argv",
    [
        ["issues", "delete", "DEMO-1", "--yes"],
        ["issues", "assign", "DEMO-1", "--to", "me"],
        ["issues", "new", "--project", "DEMO", "--summary", "x"],
    ],
)
def test_changes_are_refused_before_anything_is_sent(argv: list[str], tmp_path: Path) -> None:
    with serve([]) as server:
        done = run_program("suite", argv, site(tmp_path / "home", server.url))
        assert (done.exit, done.stdout, server.requests) == (3, b"", [])
    assert "read_only = true in the settings of site 'work'" in done.stderr


def test_reading_and_dry_runs_go_on(tmp_path: Path) -> None:
    with serve([exchange("GET", "/rest/api/3/myself", reply(json={"accountId": "r-1"}))], trusted=True) as server:
        environ = site(tmp_path / "home", server.url)
        assert run_program("suite", ["users", "me", "-o", "id"], environ).stdout == b"r-1\n"
        done = run_program("suite", ["issues", "delete", "DEMO-1", "--dry-run"], environ)
        assert done.stdout.startswith(b"curl -X DELETE ")
