"""What a shell is offered when a person presses the tab key."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import environment, run_program

ALIASES = 'mine = "issues list --mine"\n'


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("iss", {"issues", "issue-types"}),
        ("mi", {"mine"}),
        ("issues li", {"link", "list"}),
        ("issue tr", {"transition", "transitions"}),
        ("issues list --pro", {"--project"}),
        ("issues list --no-c", {"--no-color"}),
        ("issues list -o nd", {"ndjson"}),
        ("issues list --columns key,st", {"key,STATUS"}),
        ("dashboards list --filter f", {"favourite"}),
        ("op call getIssueT", None),
        ("--site w", {"work"}),
        ("completion f", {"fish"}),
        ("alias remove m", {"mine"}),
    ],
)
def test_completion(
    words: str,
    offered: set[str] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "aliases.toml").write_text(ALIASES, encoding="utf-8")
    (home / "profiles.toml").write_text('[sites.work]\nbase_url = "https://work.example"\n', encoding="utf-8")
    line = f"suite {words}"
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    environ = {**environment(home, "https://work.example"), "_SUITE_COMPLETE": "bash_complete"}
    run_program("suite", [], environ)
    found = {line.partition(",")[2] for line in capsys.readouterr().out.splitlines()}
    if offered is None:
        assert "getIssueType" in found
        assert all(name.startswith("getIssueT") for name in found)
    else:
        assert found == offered
