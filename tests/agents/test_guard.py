"""Guards are merged into what is there, and compared with it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from callsheet.jsonc import parse_jsonc
from support.cases import run_program
from support.places import DEFINITIONS

HOSTS = [
    name
    for name, host in tomllib.loads((DEFINITIONS / "common" / "hosts.toml").read_text(encoding="utf-8"))["host"].items()
    if "payload" in host.get("guard", {})
]
AWKWARD = {
    "comments": '{\n  // mine\n  "a": 1, /* b */\n  "hooks": {\n    "x": [1], // last\n  },\n}\n',
    "CRLF": '{\r\n\t"a": [1,\r\n\t2],\r\n\t"hooks": {}\r\n}\r\n',
    "byte order mark": '\ufeff{"a": {"b": null}}',
    "empty": "",
    "blank": "  \n",
    "one line": '{"z":1,"hooks":{"PreToolUse":[{"matcher":"Edit","hooks":[]}]}}',
}


def guard(directory: Path, variables: dict[str, str], host: str, *options: str) -> tuple[int, str]:
    done = run_program("suite", ["agent", "guard", "--host", host, "--dir", str(directory), *options], variables)
    return done.exit, done.stderr + done.stdout.decode()


def files(directory: Path) -> dict[str, str]:
    return {
        path.relative_to(directory).as_posix(): path.read_bytes().decode()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
@pytest.mark.parametrize("host", HOSTS)
def test_a_guard_is_written_once_and_fits(host: str, tmp_path: Path, variables: dict[str, str]) -> None:
    assert guard(tmp_path, variables, host)[0] == 0
    assert files(tmp_path) == {}, "without --write nothing is written"
    assert guard(tmp_path, variables, host, "--check")[0] == 1
    assert guard(tmp_path, variables, host, "--write")[0] == 0
    written = files(tmp_path)
    assert any("agent hook --host " + host in text for text in written.values())
    for name, text in written.items():
        if name.endswith(".json"):
            assert json.loads(text)
    assert guard(tmp_path, variables, host, "--check")[0] == 0
    assert "everything is in place" in guard(tmp_path, variables, host, "--write")[1]
    assert files(tmp_path) == written
    code, told = guard(tmp_path, variables, host, "--check", "--all-writes")
    assert (code, "out of date" in told) == (1, True)
    assert guard(tmp_path, variables, host, "--write", "--all-writes")[0] == 0
    again = {name: text for name, text in files(tmp_path).items() if not name.endswith(".bak")}
    assert again.keys() == written.keys()
    assert sum(text.count("agent hook --host") for text in again.values()) == 1, "the earlier one is replaced"


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
def test_what_is_there_stays(text: str, tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode())
    assert guard(tmp_path, variables, "claude-code", "--write")[0] == 0
    after = path.read_bytes().decode()
    for part in ("// mine", "/* b */", "// last", "[1,\r\n\t2]", '"z":1', '{"matcher":"Edit"'):
        assert part not in text or part.replace(" ", "") in after.replace(" ", "")
    assert after.startswith("\ufeff") == text.startswith("\ufeff")
    assert "\r\n" not in text or "\n" not in after.replace("\r\n", "")
    before, now = (parse_jsonc(text) if text.strip() else {}), parse_jsonc(after)
    earlier = before.setdefault("hooks", {}).pop("PreToolUse", [])
    assert now["hooks"].pop("PreToolUse")[:-1] == earlier
    assert "Bash(suite issues delete:*)" in now.pop("permissions")["ask"]
    assert now == before


@pytest.mark.parametrize("text", ['{"hooks": 3}', '{"hooks": {"PreToolUse": {}}}', "[1]", "{", "\xff"])
def test_a_file_that_cannot_be_merged_is_left_alone(text: str, tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(text.encode("latin-1"))
    code, told = guard(tmp_path, variables, "claude-code", "--write")
    assert (code, path.read_bytes()) == (2, text.encode("latin-1"))
    assert "nothing was written" in told
    assert "agent hook --host claude-code" in told, "what to put there is shown"
    path.unlink()
    path.mkdir()
    code, told = guard(tmp_path, variables, "claude-code", "--write")
    assert (code, "agent hook --host claude-code" in told) == (2, True)


def test_a_host_that_asks_no_hook_has_a_rule(tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / ".config" / "zed" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text('{\n  // mine\n  "agent": {"tool_permissions": {"default": "allow"},},\n}\n')
    assert guard(tmp_path, variables, "zed", "--check")[0] == 1
    assert guard(tmp_path, variables, "zed", "--write")[0] == 0
    text = path.read_text()
    assert "// mine" in text
    found = parse_jsonc(text)["agent"]["tool_permissions"]
    rule = {"pattern": r"\bsuite\b"}
    assert found == {"default": "allow", "tools": {"terminal": {"always_confirm": [rule]}}}
    assert "everything is in place" in guard(tmp_path, variables, "zed", "--write")[1]
    assert (guard(tmp_path, variables, "zed", "--check")[0], path.read_text()) == (0, text)
    done = run_program("suite", ["agent", "hook", "--host", "zed"], variables, stdin="{}")
    assert (done.exit, "zed does not use hooks" in done.stderr) == (2, True)


def test_rules_of_ones_own_stay(tmp_path: Path, variables: dict[str, str]) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text('{"permissions": {"ask": ["Bash(git push:*)", "Bash(suite issues delete:*)"], "deny": ["x"]}}')
    for _ in range(2):
        assert guard(tmp_path, variables, "claude-code", "--write")[0] == 0
    found = json.loads(path.read_text())["permissions"]
    assert found["deny"] == ["x"]
    assert found["ask"][:2] == ["Bash(git push:*)", "Bash(suite issues delete:*)"]
    assert len(found["ask"]) == len(set(found["ask"])) > 10


@pytest.mark.skipif(shutil.which("codex") is None, reason="no codex here")
def test_codex_itself_reads_the_rules(tmp_path: Path, variables: dict[str, str]) -> None:
    """It refuses a file whose rules do not match their own examples."""
    guard(tmp_path, variables, "codex", "--write")
    rules = str(tmp_path / ".codex" / "rules" / "suite.rules")
    for line, decision in {
        "suite issues delete DEMO-1": "prompt",
        "suite i rm DEMO-1": "prompt",
        "suite issues list": None,
    }.items():
        command = ["codex", "execpolicy", "check", "--rules", rules, *line.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout).get("decision") == decision


@pytest.mark.skipif(shutil.which("gemini") is None, reason="no gemini here")
def test_gemini_itself_reads_the_policy(tmp_path: Path, variables: dict[str, str]) -> None:
    guard(tmp_path, variables, "gemini-cli", "--write")
    environ = {**os.environ, "HOME": str(tmp_path)}
    done = subprocess.run(["gemini", "mcp", "list"], env=environ, capture_output=True, text=True, check=True)
    assert "Policy file error" not in done.stdout + done.stderr


def test_rules_name_the_commands_of_the_tree(tmp_path: Path, variables: dict[str, str]) -> None:
    guard(tmp_path, variables, "codex", "--write")
    text = files(tmp_path)[".codex/rules/suite.rules"]
    names = '["issues", "issue", "i", "workitem", "workitems"]'
    assert f'prefix_rule(pattern = ["suite", {names}, ["delete", "rm"]], decision = "prompt"' in text
    assert '"view"' not in text
    denied = {**variables, "SUITE_POLICY": "destroy=deny"}
    assert guard(tmp_path, denied, "codex", "--check")[0] == 1
    guard(tmp_path, denied, "codex", "--write")
    assert 'decision = "forbidden"' in files(tmp_path)[".codex/rules/suite.rules"]


def test_the_notes_for_agents_are_short_and_name_real_things(tmp_path: Path, variables: dict[str, str]) -> None:
    text = run_program("suite", ["agent", "skill"], variables).stdout.decode()
    front = text.split("---\n")[1]
    name, description = (line.partition(": ")[2] for line in front.splitlines())
    assert (name, len(description) <= 1024, len(text) < 3500) == ("suite", True, True)
    assert "issues" in description
    assert "config" not in description
    assert run_program("suite", ["agent", "skill", "--dir", str(tmp_path)], variables).exit == 0
    assert files(tmp_path) == {"suite/SKILL.md": text}
    assert run_program("suite", ["agent", "skill", "--dir", str(tmp_path)], variables).exit == 3
    paragraph = run_program("suite", ["agent", "skill", "--paragraph"], variables).stdout.decode()
    assert paragraph.startswith("## suite\n")


def test_every_class_is_listed(variables: dict[str, str]) -> None:
    done = run_program("suite", ["agent", "classify", "-o", "csv"], variables)
    rows = done.stdout.decode().splitlines()
    assert "command,issues delete,destroy" in rows
    assert "operation,submitBulkDelete,destroy" in rows
    assert len(rows) > 1250
    line = "suite issues delete A-1; suite issues list"
    one = run_program("suite", ["agent", "classify", line, "-o", "json"], variables)
    assert [row["class"] for row in json.loads(one.stdout)] == ["destroy", "read"]
    words = run_program("suite", ["agent", "classify", "--", "suite", "issues", "delete", "A 1"], variables)
    assert b"destroy" in words.stdout


OWN_HOST = """
[host.mine]
title = "Mine"
[host.mine.guard]
[[host.mine.guard.files]]
path   = "PATH"
format = "text"
text   = "#!/bin/sh\\n"
"""


def test_a_definition_whose_file_leaves_the_directory_is_refused(tmp_path: Path, variables: dict[str, str]) -> None:
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    leaving = ["../home/.bashrc", "/etc/profile", "~/.bashrc", "a/../../b", "$HOME/.bashrc"]
    texts = [OWN_HOST.replace("mine", f"mine{number}").replace("PATH", path) for number, path in enumerate(leaving)]
    (own / "host.toml").write_text("\n".join(texts))
    code, told = guard(tmp_path / "project", {**variables, "SUITE_DEFINITIONS": str(own)}, "mine0", "--write")
    assert (code, told.count("has to stay below the directory")) == (2, len(leaving)), told
    assert files(tmp_path).keys() == {"own/host.toml"}


def test_a_host_of_ones_own_writes_into_a_project_and_not_into_the_home_directory(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    own, project, home = tmp_path / "own", tmp_path / "project", tmp_path / "home"
    for folder in (own, project, home):
        folder.mkdir(mode=0o700)
    (own / "host.toml").write_text(OWN_HOST.replace("PATH", ".mine/rules"))
    mine = {**variables, "SUITE_DEFINITIONS": str(own), "HOME": str(home)}
    code, told = guard(home, mine, "mine", "--write")
    assert (code, "only a host that comes with the program" in told) == (2, True), told
    assert guard(project, mine, "mine", "--write")[0] == 0
    assert files(project).keys() == {".mine/rules"}
    assert files(home) == {}
    assert guard(home, mine, "cursor", "--write")[0] == 0


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path, variables: dict[str, str]) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (project / ".codex" / "rules").mkdir(parents=True)
    home.mkdir()
    (home / ".bashrc").write_text("true\n")
    (project / ".codex" / "rules" / "suite.rules").symlink_to(home / ".bashrc")
    code, told = guard(project, variables, "codex", "--write")
    assert (code, "leads out of" in told) == (2, True), told
    assert (home / ".bashrc").read_text() == "true\n"
