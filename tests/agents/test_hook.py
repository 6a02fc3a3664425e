"""The answer to a host: its own JSON, silence where a line may run, and a denial for whatever is not understood."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.agents.agent_files import hook_command
from support.cases import run_program

CLAUDE = {"tool_name": "Bash", "tool_input": {"command": "{line}"}}
PAYLOADS: dict[str, tuple[dict[str, Any], str]] = {
    "claude-code": (CLAUDE, "hookSpecificOutput.permissionDecision"),
    "codex": (CLAUDE, "hookSpecificOutput.permissionDecision"),
    "vscode": ({**CLAUDE, "tool_name": "runInTerminal"}, "hookSpecificOutput.permissionDecision"),
    "cursor": ({"hook_event_name": "beforeShellExecution", "command": "{line}", "cwd": "/"}, "permission"),
    "gemini-cli": ({"tool_name": "run_shell_command", "tool_input": {"command": "{line}"}}, "decision"),
    "copilot-cli": ({"toolName": "bash", "toolArgs": '{"command": "{line}"}'}, "permissionDecision"),
    "opencode": ({"tool": "bash", "args": {"command": "{line}"}}, "decision"),
    "windsurf": ({"agent_action_name": "pre_run_command", "tool_info": {"command_line": "{line}", "cwd": "/"}}, ""),
}
CANNOT_ASK = ("codex", "gemini-cli", "opencode")
OF_HOST = pytest.mark.parametrize("host", PAYLOADS)


def payload(host: str, line: str) -> str:
    return json.dumps(PAYLOADS[host][0]).replace("{line}", line)


def said(host: str, text: str, variables: dict[str, str], *options: str) -> tuple[int, Any]:
    done = run_program("suite", ["agent", "hook", "--host", host, *options], variables, stdin=text)
    out = json.loads(done.stdout) if done.stdout else None
    for key in PAYLOADS[host][1].split(".") if out else ():
        out = out[key]
    return done.exit, out


@pytest.mark.slow
@OF_HOST
def test_a_host_is_answered_in_its_own_words(host: str, variables: dict[str, str]) -> None:
    ask = "deny" if host in CANNOT_ASK else "ask"
    if host == "windsurf":  # its answer is the exit code, and what is on standard error
        line = payload(host, "suite issues rm A-1")
        done = run_program("suite", ["agent", "hook", "--host", host], variables, stdin=line)
        assert (done.exit, done.stdout, "takes something away" in done.stderr) == (2, b"", True)
        assert said(host, payload(host, "suite issues list"), variables) == (0, None)
        return
    assert said(host, payload(host, "suite issues delete PP-1"), variables) == (0, ask)
    denied = {**variables, "SUITE_POLICY": "destroy=deny"}
    assert said(host, payload(host, "suite issues delete PP-1"), denied) == (0, "deny")
    assert said(host, payload(host, "suite issues list"), denied) == (0, None)
    assert said(host, payload(host, "suite issues rank A-1"), variables, "--all-writes") == (0, ask)


@OF_HOST
@pytest.mark.parametrize("text", ["", "suite", "[]", "{}", '{"other": "suite x"}', '"suite"'])
def test_what_is_not_understood_is_denied(host: str, text: str, variables: dict[str, str]) -> None:
    if host != "claude-code" and text in ("", "suite", "[]"):
        return  # the same for all
    assert said(host, text, variables) == (2, None)


def test_other_tools_of_an_agent_pass(variables: dict[str, str]) -> None:
    edit = {"tool_name": "Edit", "tool_input": {"file_path": "suite.py", "new_string": "suite issues delete PP-1"}}
    assert said("claude-code", json.dumps(edit), variables) == (0, None)


@pytest.mark.parametrize("broken", [{"SUITE_POLICY": "destory=deny"}, {"SUITE_POLICY": "/nowhere.toml"}])
def test_a_policy_that_cannot_be_read_denies(broken: dict[str, str], variables: dict[str, str]) -> None:
    text = payload("claude-code", "suite issues list")
    assert said("claude-code", text, {**variables, **broken}) == (2, None)
    assert said("claude-code", text, variables) == (0, None)


def test_a_host_that_is_not_known_denies(variables: dict[str, str]) -> None:
    done = run_program("suite", ["agent", "hook", "--host", "claude-cod"], variables, stdin="{}")
    assert (done.exit, done.stdout) == (2, b"")
    assert "did you mean 'claude-code'?" in done.stderr


@pytest.mark.skipif(shutil.which("sh") is None, reason="the hook is two lines of shell")
def test_the_two_lines_of_shell(tmp_path: Path) -> None:
    """Other commands pass without starting anything; whatever goes wrong behind them is a denial."""
    line = hook_command("suite", "claude-code", ["lms", "suite"], all_writes=True)
    assert line.count("\n") == 1
    program = tmp_path / "suite"

    def run(text: str, script: str | None) -> tuple[int, str]:
        program.unlink(missing_ok=True)
        if script is not None:
            program.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
            program.chmod(0o755)
        command = ["sh", "-c", line]
        path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=path, check=False)
        return done.returncode, done.stdout

    echo = "import sys; print(sys.argv[1:], sys.stdin.read())"
    assert run('{"command": "ls -l"}', "raise SystemExit(7)") == (0, "")
    given = '{"command": "suite \\"a\\" %s $x"}'
    shown = "['agent', 'hook', '--host', 'claude-code', '--all-writes'] " + given
    assert run(given, echo) == (0, f"{shown}\n")
    assert run('{"command": "lms events"}', "raise SystemExit(1)")[0] == 2
    for spelled in ("su''ite", 'su\\"\\"ite', "su\\\\ite", "LMS", "Suite", "x\\nsuite"):
        assert run(f'{{"command": "{spelled} * x"}}', "raise SystemExit(1)")[0] == 2, spelled
    assert run('{"command": "suite x"}', None)[0] == 2  # the program is not there
