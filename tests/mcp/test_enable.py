"""`mcp enable|disable|list` over the files of real programs, in a home of the test's own."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.commands.context import Context
from callsheet.commands.streams import Streams
from callsheet.errors import UsageError
from callsheet.hosts import data_of, read_foreign_file
from callsheet.mcp.mcp_commands import start_on_pipes
from support.canary import TOKEN
from support.sampled import sampled
from support.shell import Shell

HOSTS = [
    *("claude-code", "claude-desktop", "cursor", "vscode", "codex", "gemini-cli", "opencode", "windsurf", "zed"),
    "copilot-cli",
]
OTHERS = {
    "json": '\ufeff// mine\r\n{\r\n\t"theme": "dark", // keep\r\n\t"list": [1, 2,],\r\n}\r\n',
    "toml": '\ufeff# mine\r\ntheme = "dark" # keep\r\n',
}


def file_of(shell: Shell, host: str) -> Path:
    rows = shell("mcp", "list", "-o", "json").json()
    return Path(next(row["file"] for row in rows if row["name"] == host and row["scope"] == "user"))


@pytest.mark.slow
def test_what_cannot_be_read_is_told_with_what_to_paste(shell: Shell) -> None:
    path = file_of(shell, "cursor")
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")
    done = shell("mcp", "enable", "cursor")
    assert (done.code, '"mcpServers"' in done.err) == (2, True)
    assert shell("mcp", "disable", "cursor").code == 2
    assert os.readlink(path) == "nowhere"


@pytest.mark.slow
@pytest.mark.parametrize("host", sampled(HOSTS, 3))
def test_each_program_gets_the_entry_and_loses_it(shell: Shell, host: str) -> None:
    path = file_of(shell, host)
    format = "toml" if path.suffix == ".toml" else "json"
    path.parent.mkdir(parents=True, exist_ok=True)
    target = path.parent / "real"
    target.write_bytes(OTHERS[format].encode())
    target.chmod(0o640)
    path.symlink_to(target)
    done = shell("mcp", "enable", host, "--tools", "issues", "--read-only", "--site", "work", SUITE_TOKEN=TOKEN)
    assert done.code == 0, done.err
    text = target.read_bytes().decode()
    assert "# keep" in text or "// keep" in text
    assert text.count("\n") == text.count("\r\n")
    assert text.startswith("\ufeff")
    words = str(data_of(text, format))
    assert "'mcp', 'start', '--tools', 'issues', '--read-only'" in words
    assert "'--site', 'work'" in words
    assert path.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert Path(f"{target}.bak").read_bytes() == OTHERS[format].encode()
    again = shell("mcp", "enable", host, "--tools", "issues", "--read-only", "--site", "work")
    assert "unchanged" in again.out
    assert shell("mcp", "disable", host).code == 0
    assert data_of(target.read_bytes().decode(), format)["theme"] == "dark"
    assert "start" not in target.read_text()


def test_a_stream_without_a_key_store_names_the_file(shell: Shell) -> None:
    environ = {"SUITE_KEYRING_BACKEND": "file", "SUITE_KEYRING_PASSWORD": ""}
    assert "--token-file FILE" in shell("mcp", "stream", "--port", "0", **environ).err


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {}, "theme": "dark"}', '{ "theme": "dark"}'),
        ('{"mcpServers": {"b": {"command": "b"}}}', '{"mcpServers": {"b": {"command": "b"}}}'),
        ('{\n  "mcpServers": {\n    // mine\n  }\n}\n', None),
    ],
)
def test_what_held_nothing_else_goes_with_the_entry(shell: Shell, before: str, after: str | None) -> None:
    path = shell.root / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text(before)
    assert shell("mcp", "enable", "cursor").code == 0
    assert shell("mcp", "disable", "cursor").code == 0
    if after is None:
        assert "// mine" in path.read_text()
    else:
        assert path.read_text() == after


def test_the_shipped_table_has_ten_programs(shell: Shell) -> None:
    catalog = open_catalog("suite", shell.environ)
    try:
        assert {name for name, host in catalog.hosts.all().items() if "servers" in host} >= set(HOSTS)
    finally:
        catalog.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"mcpServers": ', "line 1, column 16"),
        (b'{"mcpServers": []}', "expected a table to hold 'suite'"),
        (b'\xff\xfe{"a": 1}', "is not UTF-8"),
        (b'{"mcpServers": {"suite": "x"}}', "'suite'"),
    ],
)
def test_a_file_that_cannot_be_read_stays_and_the_entry_is_shown(shell: Shell, content: bytes, said: str) -> None:
    path = shell.root / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_bytes(content)
    done = shell("mcp", "enable", "cursor")
    assert done.code == 2
    assert said in done.err
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["mcp.json"]
    assert "another server" in done.err or '"mcpServers": {' in done.err


def test_another_server_of_that_name_is_left_alone(shell: Shell) -> None:
    path = shell.root / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"suite": {"command": "other"}}}')
    for words in (["enable", "cursor"], ["disable", "cursor"]):
        assert "another server" in shell("mcp", *words).err
    assert "other" in path.read_text()
    assert shell("mcp", "enable", "cursor", "--name", "tracker").code == 0
    assert set(data_of(path.read_text(), "json")["mcpServers"]) == {"suite", "tracker"}


def test_a_project_has_a_file_of_its_own_without_a_path_of_this_machine(shell: Shell) -> None:
    project = shell.root / "project"
    project.mkdir()
    assert shell("mcp", "enable", "vscode", "--project", str(project)).code == 0
    text = (project / ".vscode" / "mcp.json").read_text()
    assert data_of(text, "json")["servers"]["suite"]["command"] == "suite"
    assert "leave out --project" in shell("mcp", "enable", "windsurf", "--project", str(project)).err
    assert "not a directory" in shell("mcp", "enable", "vscode", "--project", str(project / "no")).err


def test_nothing_is_written_by_a_dry_run_or_to_print(shell: Shell) -> None:
    done = shell("mcp", "enable", "codex", "--print")
    assert done.out.startswith("[mcp_servers.suite]\n")
    assert "nothing was changed" in shell("mcp", "enable", "codex", "--dry-run").err
    assert not (shell.root / ".codex").exists()


def test_wrong_words_are_told_before_anything_is_written(shell: Shell) -> None:
    assert "did you mean 'cursor'?" in shell("mcp", "enable", "curser").err
    assert "did you mean 'issues'?" in shell("mcp", "enable", "cursor", "--tools", "issuse").err
    assert not (shell.root / ".cursor").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_is_refused(shell: Shell) -> None:
    path = shell.root / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o400)
    assert "permission denied" in shell("mcp", "enable", "cursor").err


def test_a_file_that_was_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    file = read_foreign_file(str(path))
    path.write_text('{"new": 1}')
    with pytest.raises(Exception, match="changed by another program"):
        file.replace_text("{}")
    assert path.read_text() == '{"new": 1}'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["start", "--max-bytes", "5"], "--max-bytes expects a number of at least 1024, not 5"),
        (["start", "--tools", "issuse"], "did you mean 'issues'?"),
        (["stream", "--port", "99999"], "--port expects a number from 0 to 65535, not 99999"),
        (["stream", "--token-file", "/no/such/file"], "cannot read the token file"),
        (["tools", "--write", "issues.gte"], "did you mean 'issues.get'?"),
        (["start", "--site", "nowhere"], "nowhere"),
    ],
)
def test_a_server_that_cannot_be_as_it_is_wanted_does_not_start(shell: Shell, words: list[str], said: str) -> None:
    done = shell("mcp", *words)
    assert done.code in (2, 3)
    assert said in done.err


def test_the_list_of_tools_is_printed_as_it_is_wanted(shell: Shell) -> None:
    """A server takes the options for output from its tools; they are about the list all the same."""
    words = ("mcp", "tools", "--tools", "issues.get")
    assert shell(*words, "--columns", "class").out == "CLASS\nread\nlocal\n"
    assert "inputSchema" in shell(*words, "-o", "json").json()[0]
    assert "no column 'nix'" in shell(*words, "--columns", "nix").err


def test_at_a_terminal_nobody_is_kept_waiting(shell: Shell) -> None:
    context = Context("suite", shell.environ, Streams(Terminal(), io.StringIO(), io.StringIO()))
    try:
        with pytest.raises(UsageError, match="not to a person at a terminal"):
            start_on_pipes(context, {})
    finally:
        context.close()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


HOME_FILE = """
[host.mine]
title = "Mine"
[host.mine.servers]
format = "json"
user   = { any = ["~/.bashrc"] }
at     = ["servers"]
entry  = { command = "{command}", args = "{args}" }
"""
OVERLAY = """
[extend.host.cursor.servers]
at = ["hooks"]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [(HOME_FILE, "only definitions that come with the program name files of the home"), (OVERLAY, "it stays as it is")],
)
def test_only_what_comes_with_the_program_names_files_of_the_home(
    text: str, said: str, shell: Shell, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    (own / "host.toml").write_text(text)
    done = shell("mcp", "enable", "mine", SUITE_DEFINITIONS=str(own))
    assert (done.code, said in done.err) == (2, True), done.err


def test_a_host_of_ones_own_has_files_of_projects(shell: Shell, tmp_path: Path) -> None:
    own, project = tmp_path / "own", tmp_path / "project"
    for folder in (own, project):
        folder.mkdir(mode=0o700)
    (own / "host.toml").write_text(HOME_FILE.replace('user   = { any = ["~/.bashrc"] }', 'project = [".mine.json"]'))
    there = {"SUITE_DEFINITIONS": str(own)}
    assert shell("mcp", "enable", "mine", **there).code == 2
    assert '"servers"' in shell("mcp", "enable", "mine", "--print", **there).out
    assert shell("mcp", "enable", "mine", "--project", str(project), **there).code == 0
    assert [path.name for path in project.iterdir()] == [".mine.json"]
