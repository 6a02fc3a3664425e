"""What is missing is asked for at a terminal, and what fits several is chosen there; nowhere else."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.main import run
from support.cases import datacenter, environment, run_program
from support.server import Exchange, exchange, reply, serve
from support.terminal import Dialog, Screen

USERS = [
    {"accountId": "r-1", "displayName": "Robin Sample", "accountType": "atlassian", "active": True},
    {"accountId": "r-2", "displayName": "Robin Other", "accountType": "atlassian", "active": True},
]
TYPES = {"issueTypes": [{"id": "1", "name": "Task"}, {"id": "2", "name": "Bug"}], "total": 2}
PROJECTS = {"values": [{"key": "OPS", "name": "Operations"}, {"key": "DEMO", "name": "Demo"}], "isLast": True}
CREATED = reply(201, json={"id": "7", "key": "DEMO-7"})


def found(word: str, count: int) -> list[Exchange]:
    return [
        exchange("GET", "/rest/api/3/user/search", reply(json=USERS[:count]), query=[f"query={word}"]),
        exchange("GET", "/rest/api/3/user/search", reply(json=[]), query=[f"query={word}", f"startAt={count}"]),
    ]


def at_terminal(
    home: Path, argv: list[str], typed: str, *exchanges: Exchange, environ: dict[str, str] | None = None
) -> tuple[int, str, str]:
    """Exit code, what was printed, and what stood on the screen."""
    out, screen = io.StringIO(), Screen()
    with serve([*exchanges], trusted=True) as server:
        code = run(
            "suite",
            argv,
            environ={**environment(home, server.url), **(environ or {})},
            stdin=Screen(typed),
            stdout=out,
            stderr=screen,
        )
    return code, out.getvalue(), screen.getvalue()


def assigned(account: str) -> Exchange:
    return exchange("PUT", "/rest/api/3/issue/A-1/assignee", reply(204), json={"accountId": account})


@pytest.mark.slow
def test_one_of_several_people_is_chosen(tmp_path: Path) -> None:
    code, out, screen = at_terminal(
        tmp_path, ["issues", "assign", "A-1", "robin"], "2\n", *found("robin", 2), assigned("r-2")
    )
    assert code == 0, screen
    assert "assigned to Robin Other (r-2)" in out
    assert 'Which user? 2 match "robin"\n  1  Robin Sample (r-1)\n  2  Robin Other (r-2)\n' in screen


def test_a_part_of_a_name_has_to_be_agreed_to(tmp_path: Path) -> None:
    code, _, screen = at_terminal(
        tmp_path, ["issues", "assign", "A-1", "rob"], "y\n", *found("rob", 1), assigned("r-1")
    )
    assert code == 0, screen
    assert 'No user is called "rob". Use Robin Sample (r-1)? [Y/n]' in screen
    code, _, screen = at_terminal(tmp_path, ["issues", "assign", "A-1", "rob"], "n\n", *found("rob", 1))
    assert code == 2, screen


@pytest.mark.parametrize("silent", [["--no-input"], ["CI"]])
def test_nothing_is_chosen_where_nobody_is_asked(tmp_path: Path, silent: list[str]) -> None:
    environ = {"CI": "true"} if silent == ["CI"] else {}
    argv = ["issues", "assign", "A-1", "robin", *(word for word in silent if word != "CI")]
    code, _, screen = at_terminal(tmp_path, argv, "2\n", *found("robin", 2), environ=environ)
    assert code == 2
    assert '"robin" matches 2 users' in screen


def test_an_issue_is_made_of_answers(tmp_path: Path) -> None:
    code, out, screen = at_terminal(
        tmp_path,
        ["issues", "new", "-o", "id"],
        "demo\nbug\nThe lamp flickers\n",
        exchange("GET", "/rest/api/3/project/search", reply(json=PROJECTS)),
        exchange("GET", "/rest/api/3/issue/createmeta/DEMO/issuetypes", reply(json=TYPES)),
        exchange("GET", "/rest/api/3/issue/createmeta/DEMO/issuetypes/2", reply(403)),
        exchange("POST", "/rest/api/3/issue", CREATED),
        environ=script(tmp_path / "editor", 'echo So > "$1"'),
    )
    assert code == 0, screen
    assert out == "DEMO-7\n"
    assert "Project\n  1  Operations (OPS)\n  2  Demo (DEMO)\n" in screen


def test_what_cannot_be_used_is_asked_for_again(tmp_path: Path) -> None:
    sent = exchange("POST", "/rest/api/3/issue/A-1/worklog", reply(201, json={"id": "1"}))
    code, _, screen = at_terminal(tmp_path, ["issues", "log-work", "A-1"], "\n1h\n", sent)
    assert code == 0, screen
    assert screen.count("Time (such as 1h30m or 2d 4h): ") == 2


def test_a_missing_value_is_an_error_without_a_person(tmp_path: Path) -> None:
    for argv, missing in (
        (["issues", "get"], "missing argument 'KEY'"),
        (["issues", "log-work", "A-1"], "missing --time"),
    ):
        code, _, screen = at_terminal(tmp_path, [*argv, "--no-input"], "A-1\n")
        assert (code, missing in screen) == (2, True), screen


def test_an_argument_with_a_setting_is_that_of_the_site(tmp_path: Path) -> None:
    sprints = {"isLast": True, "values": [{"id": 1, "name": "One", "state": "active"}]}
    with serve(
        [exchange("GET", "/tracker/rest/agile/1.0/board/7/sprint", reply(json=sprints))], trusted=True
    ) as server:
        environ = datacenter(tmp_path, server.url)
        profiles = tmp_path / "profiles.toml"
        text = profiles.read_text("utf-8").replace("[sites.dc]\n", '[sites.dc]\nboard = "7"\n')
        profiles.write_text(text, encoding="utf-8")
        done = run_program("suite", ["boards", "sprints", "-o", "id"], environ)
    assert (done.exit, done.stdout) == (0, b"1\n"), done.stderr


def test_other_faults_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    argv = ["issues", "new", "--description", "a", "--description-adf", "[1]"]
    code, _, screen = at_terminal(tmp_path, argv, "")
    assert code == 2
    assert "--description and --description-adf cannot be used together" in screen


@pytest.mark.slow
def test_the_end_of_the_input_sends_nothing(tmp_path: Path) -> None:
    assert at_terminal(tmp_path, ["issues", "log-work", "A-1"], "")[0] == 130


@pytest.mark.skipif(sys.platform == "win32", reason="a script as an editor")
def test_a_comment_is_written_in_the_editor(tmp_path: Path) -> None:
    path = tmp_path / "editor"
    path.write_text('#!/bin/sh\necho "A **word**" > "$1"\n')
    path.chmod(0o755)
    sent = exchange("POST", "/rest/api/3/issue/A-1/comment", reply(201, json={"id": "1"}))
    code, out, screen = at_terminal(
        tmp_path, ["issues", "comment", "A-1", "-o", "id"], "", sent, environ={"EDITOR": str(path)}
    )
    assert (code, out) == (0, "1\n"), screen
    path.write_text('#!/bin/sh\n: > "$1"\n')
    code, _, screen = at_terminal(tmp_path, ["issues", "comment", "A-1"], "", environ={"EDITOR": str(path)})
    assert code == 2
    assert "the text is empty; nothing was sent" in screen


def script(path: Path, *turns: str) -> dict[str, str]:
    """An editor that does one thing each time it is called."""
    cases = "".join(f"{number}) {turn};;\n" for number, turn in enumerate(turns))
    count = 'n=$(cat "$0.n" 2>/dev/null || echo 0)\necho $((n+1)) > "$0.n"'
    path.write_text(f"#!/bin/sh\n{count}\ncase $n in\n{cases}esac\n")
    path.chmod(0o755)
    return {"EDITOR": str(path)}


PRIORITY = {"id": "priority", "name": "Priority", "schema": {"type": "priority"}}
META = {"fields": [{"fieldId": "priority", "name": "Priority", "allowedValues": [{"name": "High"}]}], "total": 1}
META["fields"] += [{"fieldId": "summary", "name": "Summary", "required": True}]  # type: ignore[operator]


def of_a_new_issue(answer: Any) -> list[Exchange]:
    return [
        exchange("GET", "/rest/api/3/issue/createmeta/DEMO/issuetypes", reply(json=TYPES)),
        exchange("GET", "/rest/api/3/issue/createmeta/DEMO/issuetypes/2", reply(json=META)),
        exchange(
            "GET",
            "/rest/api/3/field",
            reply(json=[PRIORITY]),
        ),
        exchange("POST", "/rest/api/3/issue", answer),
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="a script as an editor")
def test_fields_are_filled_in_and_what_is_wrong_is_offered_again(tmp_path: Path) -> None:
    environ = script(
        tmp_path / "editor",
        """sed -i 's/^Priority:.*/Priority: Hihg/' "$1"; echo '@[Text] here' >> "$1" """,
        """sed -i 's/Hihg/High/' "$1" """,
    )
    argv = ["issues", "new", "-p", "DEMO", "-t", "Bug", "-o", "id"]
    code, out, screen = at_terminal(tmp_path, argv, "Lamp\n\n", *of_a_new_issue(CREATED), environ=environ)
    assert (code, out) == (0, "DEMO-7\n"), screen
    assert "Priority: unknown value 'Hihg', did you mean 'High'?" in screen


@pytest.mark.skipif(sys.platform == "win32", reason="a script as an editor")
def test_a_text_that_the_site_refuses_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environ = script(tmp_path / "editor", """sed -i 's/^Priority:.*/Priority: High/' "$1"; echo Text >> "$1" """)
    argv = ["issues", "new", "-p", "DEMO", "-t", "Bug"]
    refused = of_a_new_issue(reply(400, json={"errors": {"priority": "no"}}))
    code, _, screen = at_terminal(tmp_path, argv, "Lamp\n", *refused, environ=environ)
    assert code == 1, screen
    (path,) = tmp_path.glob("description-*.md")
    assert f"your text is in {path}" in screen
    assert path.read_text().endswith("\nText\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of a POSIX system")
def test_arrow_keys_choose_in_a_real_terminal(tmp_path: Path) -> None:
    with serve([*found("robin", 2), assigned("r-2")], trusted=True) as server:
        environ = {**environment(tmp_path, server.url), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1", "CI": ""}
        dialog = Dialog([sys.executable, "-m", "callsheet", "suite", "issues", "assign", "A-1", "robin"], environ)
        dialog.expect("Robin Other")
        dialog.type("zed\r")
        dialog.expect("nothing matches 'zed'")
        dialog.type("\x7f" * 3 + "\x1b[B\r")
        assert dialog.close() == 0, dialog.seen


def editor_that_adds(tmp_path: Path, line: str) -> dict[str, str]:
    """An editor that keeps what it was shown in a file, and puts a line below it; none for a line that is empty."""
    script, shown = tmp_path / "editor.py", tmp_path / "shown"
    text = "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
    text += f"pathlib.Path({str(shown)!r}).write_text(path.read_text())\n"
    text += f"path.open('a').write({line!r})\n"
    script.write_text(text, encoding="utf-8")
    return {"EDITOR": f"{sys.executable} {script}"}


def document(*paragraphs: str) -> dict[str, Any]:
    written = [{"type": "paragraph", "content": [{"type": "text", "text": text}]} for text in paragraphs]
    return {"type": "doc", "version": 1, "content": written}


def reading(description: Any) -> Exchange:
    issue = reply(json={"key": "A-1", "fields": {"description": description}})
    return exchange("GET", "/rest/api/3/issue/A-1", issue, query=["fields=description"])


def test_edit_alone_opens_the_description_in_the_editor(tmp_path: Path) -> None:
    there = document("It sticks.")
    sent = {"fields": {"description": document("It sticks.", "Oil it.")}}
    change = exchange("PUT", "/rest/api/3/issue/A-1", reply(204), json=sent)
    environ = editor_that_adds(tmp_path, "\nOil it.\n")
    code, out, screen = at_terminal(
        tmp_path, ["issues", "edit", "A-1"], "", reading(there), reading(there), change, environ=environ
    )
    assert (code, "A-1  updated" in out) == (0, True), screen
    assert (tmp_path / "shown").read_text(encoding="utf-8") == "It sticks.\n"


def test_a_text_that_stays_as_it_was_is_not_sent(tmp_path: Path) -> None:
    environ = editor_that_adds(tmp_path, "")
    code, _, screen = at_terminal(
        tmp_path, ["issues", "edit", "A-1"], "", reading(document("It sticks.")), environ=environ
    )
    assert (code, "the text is as it was; nothing was sent" in screen) == (2, True), screen


def test_a_page_is_edited_with_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = {"id": "7", "title": "Plan", "spaceId": "1", "status": "current", "version": {"number": 3}}
    body = {"storage": {"value": "<p>Sweep.</p>", "representation": "storage"}}
    changed = {**page, "version": {"number": 4}, "body": {"storage": {"value": "<p>Sweep twice.</p>"}}}
    read = exchange("GET", "/wiki/api/v2/pages/7", reply(json={**page, "body": body}), query=["body-format=storage"])
    again = exchange("GET", "/wiki/api/v2/pages/7", reply(json=changed), query=["body-format=storage"])
    environ = editor_that_adds(tmp_path, "\nMop.\n")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = exchange(
        "GET", "/wiki/api/v2/pages/7", reply(json={**page, "body": body}), query=["version=3", "body-format=storage"]
    )
    code, _, screen = at_terminal(
        tmp_path, ["pages", "edit", "7", "--no-color"], "", read, again, kept, environ=environ
    )
    assert code == 5, screen
    assert "page 7 was changed since version 3" in screen
    (text,) = tmp_path.glob("body-*.md")
    assert "Mop." in text.read_text(encoding="utf-8"), "what was written is not lost"
    assert (
        (tmp_path / "shown").read_text(encoding="utf-8").startswith("---\npage-id: 7\npage-version: 3\n---\n\nSweep.")
    )


@pytest.mark.parametrize("text", ["On it, **done** by noon", "", "@robin"])
def test_what_is_piped_in_is_the_text(text: str, tmp_path: Path) -> None:
    """In a process of its own: elsewhere standard input belongs to somebody else."""
    paragraph = exchange("POST", "/rest/api/3/issue/A-1/comment", reply(201, json={"id": "1"}))
    with serve([paragraph] if text else [], trusted=True) as server:
        done = subprocess.run(
            [sys.executable, "-m", "callsheet", "suite", "issues", "comment", "A-1", "-o", "id"],
            env=environment(tmp_path, server.url),
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == ((0, "1\n") if text else (2, "")), done.stderr
        assert "note: --body is read from standard input" in done.stderr
