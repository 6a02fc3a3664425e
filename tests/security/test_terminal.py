"""The boundary to the screen: whoever wrote a text, nothing in it acts on a terminal."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.cli.main import run
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.registry import registered_names
from callsheet.terminal import escape_but_styles, escape_line, escape_text
from support.cases import environment
from support.hostile_text import EVERYTHING, TEXTS, acts
from support.places import ROOT
from support.sampled import sampled
from support.server import Exchange, exchange, reply, serve
from support.terminal import Screen, at_terminal

# What a definition or a file name can hold: TOML and file systems take no lone surrogates, and TOML no null.
WRITTEN = "".join(c for c in EVERYTHING if not "\ud800" <= c <= "\udfff")
# Definitions with control characters, or with marks that turn the direction of text, are refused.
REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ACCEPTED = REFUSED.sub("", WRITTEN)
COLUMN = json.dumps(re.sub(r"[\r\n\t]", "", ACCEPTED))  # the name of a column stands in one line
TOML, EXAMPLE = json.dumps(ACCEPTED), json.dumps(f"evil show '{ACCEPTED}'")
PRODUCT = f"""
[product.evil]
title = {TOML}
service = "jira"
base = "/evil"

[operation.evilOperation]
product = "evil"
http = "GET /{{key}}"
title = {TOML}
help = {TOML}
tag = {TOML}
params = [
  {{ name = "key", in = "path", required = true, help = {TOML}, example = {TOML} }},
  {{ name = "other", in = "query" }},
]
scopes = [{TOML}]

[operation.evilRemoval]
product = "evil"
http = "DELETE /"
title = {TOML}

[group.evil]
help = {TOML}

[view.evil]
columns = [{{ name = {COLUMN}, value = "key" }}]

[command."evil show"]
help = {TOML}
about = {TOML}
examples = [{EXAMPLE}]
params = [
  {{ name = "key", kind = "argument", required = true, help = {TOML} }},
  {{ name = "other", help = {TOML}, choices = [{TOML}, "evil"] }},
]
safety = "read"
view = "evil"
call = "evilOperation"
args = {{ key = "{{key}}", other = "{{other}}" }}

[command."evil remove"]
help = {TOML}
safety = "destroy"
confirm = {TOML}
call = "evilRemoval"
"""


class Way(NamedTuple):
    """A way for text to a screen. `argv` may name `{evil}`; `answer` is what the site says to everything."""

    argv: list[str]
    answer: Any = None
    environ: Mapping[str, str] = MappingProxyType({})
    profiles: str = ""
    program: str = "suite"
    stdin: str = ""


def told(value: Any, status: int = 200) -> Any:
    """JSON in ASCII, which can say lone surrogates too."""
    return reply(status, body=json.dumps(value).encode(), headers={"Content-Type": "application/json"})


def issue(text: str) -> dict[str, Any]:
    return {"key": text, "id": text, "fields": {"summary": text, "status": {"name": text}, text: text}}


def error(text: str) -> Any:
    body = {"errorMessages": [text, text], "errors": {text: text}, "message": text, "errorMessage": text}
    return told(body, 400)


ISSUES = ["issues", "list", "--jql", "project = A"]
LISTED = told({"issues": [issue(EVERYTHING)], "nextPageToken": EVERYTHING, "isLast": False})
CALLED = ["op", "call", "getIssue", "--param", "issueIdOrKey=A-1"]
FORMATS = ["table", "json", "ndjson", "yaml", "csv", "markdown", "id"]
PATHS: dict[str, Way] = {
    **{f"a list as {form}": Way([*ISSUES, "-o", form], LISTED) for form in FORMATS},
    **{f"one object as {form}": Way([*CALLED, "-o", form], told(issue(EVERYTHING))) for form in FORMATS},
    **{f"an error in {form}": Way([*CALLED, "-o", form], error(EVERYTHING)) for form in FORMATS},
    "text out of jq": Way([*CALLED, "--jq", ".key"], told(issue(EVERYTHING))),
    "objects out of jq": Way([*CALLED, "--jq", "."], told(issue(EVERYTHING))),
    "a query": Way([*CALLED, "--query", "fields"], told(issue(EVERYTHING))),
    "a column": Way([*ISSUES, "--columns", "key,summary"], LISTED),
    "an unknown column": Way([*ISSUES, "--columns", "{evil}"], LISTED),
    "a list that has more": Way(["op", "call", "searchAndReconsileIssuesUsingJql"], LISTED),
    "an answer that is no JSON": Way(["api", "GET", "/x"], reply(text=WRITTEN)),
    "an answer that is text": Way(
        ["api", "GET", "/x"], reply(body=WRITTEN.encode(), headers={"Content-Type": "text/plain"})
    ),
    "an answer that is JSON": Way(["api", "GET", "/x"], told({WRITTEN: EVERYTHING})),
    "an error page": Way(["api", "GET", "/x"], reply(500, text=WRITTEN)),
    "broken JSON": Way(CALLED, reply(body=b'{"a": "' + WRITTEN.encode(), headers={"Content-Type": "application/json"})),
    "verbose lines": Way(["-v", "api", "GET", "/x"], reply(json={}, headers={"Location": "/\x9b31m\x9d0;evil\x9c"})),
    "a redirect": Way(["api", "GET", "/x"], reply(302, headers={"Location": "/\x9b31m/\x9d0;evil\x9c"})),
    "a dry run": Way(["op", "call", "createIssue", "-d", '{"fields": {"summary": "\x9b31mevil\\u009d"}}', "--dry-run"]),
    "a dry run of anything": Way(["api", "POST", "/evil\x9b31m\x07", "-d", '"\x9b31mevil"', "--dry-run"]),
    "an unknown command": Way(["{evil}"]),
    "an unknown option": Way(["issues", "list", "--{evil}"]),
    "an unknown operation": Way(["op", "call", "{evil}"]),
    "an unknown operation described": Way(["op", "describe", "{evil}"]),
    "a search for nothing": Way(["op", "search", "{evil}"]),
    "an unknown parameter": Way([*CALLED, "--param", "{evil}={evil}"]),
    "a wrong value": Way(["op", "call", "getAllBoards", "--param", "maxResults={evil}"]),
    "a wrong choice": Way(["-o", "{evil}", "op", "list"]),
    "a wrong filter": Way([*CALLED, "--jq", "{evil}"], reply(json={})),
    "a wrong query": Way([*CALLED, "--query", "{evil}"], reply(json={})),
    "a file that is absent": Way(["op", "call", "createIssue", "-d", "@/absent/{evil}"]),
    "a place that is absent": Way(["api", "GET", "/x", "--out", "/absent/{evil}"], reply(text="x")),
    "a body that is no JSON": Way(["api", "POST", "/x", "-d", "{evil}"]),
    "a query that is none": Way(["api", "GET", "/x", "-q", "{evil}"]),
    "a variable with a format": Way(ISSUES, LISTED, {"SUITE_OUTPUT": EVERYTHING}),
    "a variable with a site": Way(ISSUES, LISTED, {"SUITE_SITE": EVERYTHING}),
    "a variable with an address": Way(ISSUES, LISTED, {"SUITE_BASE_URL": f"https://{EVERYTHING}"}),
    "a variable with a name": Way(["-v", *ISSUES], LISTED, {"SUITE_EMAIL": WRITTEN}),
    "a profile": Way(
        ["config", "view"], None, {}, f'site = "a"\n[sites.a]\nbase_url = "https://a.example"\nemail = {TOML}\n'
    ),
    "profiles with a wrong key": Way(["config", "list-sites"], None, {}, f"[sites.a]\n{TOML} = 1\n"),
    "profiles with a wrong name": Way(["config", "list-sites"], None, {}, f"[sites.{TOML}]\nbase_url = 1\n"),
    "an unknown site": Way(["--site", "{evil}", *ISSUES], LISTED),
    "an operation described": Way(["op", "describe", "evilOperation"]),
    "operations listed": Way(["op", "list", "--product", "evil"]),
    "operations found": Way(["op", "search", "evilOperation"]),
    "operations in JSON": Way(["op", "list", "--product", "evil", "-o", "json"]),
    "a definition shown": Way(["definitions", "show", "operation", "evilOperation"]),
    "a definition as YAML": Way(["definitions", "show", "operation", "evilOperation", "-o", "yaml"]),
    "a name asked for": Way(["--quiet", "op", "call", "evilRemoval"]),
    "a deletion": Way(["issues", "delete", "{evil}"]),
    "a command with a hostile view": Way(["evil", "show", "{evil}"], told(issue(EVERYTHING))),
    "a choice of a definition": Way(["evil", "show", "a", "--other", "{evil}"]),
    "a definition's question": Way(["evil", "remove"]),
    "a definition's dry run": Way(["evil", "show", "{evil}", "--dry-run"]),
    "text converted": Way(["convert", "--from", "markdown", "--to", "wiki"], None, {}, "", "suite", WRITTEN),
    "documents converted": Way(
        ["convert", "--from", "adf", "--to", "markdown"],
        None,
        {},
        "",
        "suite",
        '{"type": "doc", "version": 1, "content": [{"type": ' + TOML + "}]}",
    ),
    "the place of settings": Way(["config", "path"], None, {"CALLSHEET_HOME": f"/tmp/{WRITTEN}".replace("\0", "")}),
    "an event of an unknown type": Way(["webhook", "trigger", "{evil}"], program="lms"),
    "a routes file that is absent": Way(["webhook", "check", "--routes", "/absent/{evil}"], program="lms"),
    "an address to listen at": Way(["webhook", "listen", "--addr", "{evil}"], program="lms"),
    "a secret's file": Way(["webhook", "listen", "--addr", ":0", "--secret-file", "/absent/{evil}"], program="lms"),
}


# What is refused by its place or kind, without a word of it.
BLIND = {
    "a body that is no JSON",
    "a query that is none",
    "a wrong query",
    "a wrong filter",
    "text converted",
    "a redirect",
    "a wrong value",
}


@pytest.fixture(scope="session")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    (folder / "evil.toml").write_text(PRODUCT, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_the_hostile_definitions_are_right_ones(tmp_path: Path, definitions: Path) -> None:
    err = Screen()
    environ = {**environment(tmp_path / "home", "http://localhost:1"), "SUITE_DEFINITIONS": str(definitions)}
    assert run("suite", ["definitions", "check"], environ=environ, stdout=Screen(), stderr=err) == 0, err.getvalue()


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if REFUSED.search(text)])
def test_definitions_that_act_are_refused_without_acting(name: str, tmp_path: Path) -> None:
    text = json.dumps(TEXTS[name]).replace("\x7f", "\\u007f")
    (tmp_path / "own.toml").write_text(f"[product.evil]\ntitle = {text}\n", encoding="utf-8")
    with pytest.raises(DefinitionError) as refused:
        check_definitions(load_definitions([Layer(str(tmp_path))]), {}, registered_names())
    assert "holds the control character" in refused.value.details[0]
    assert not acts("".join(map(escape_line, refused.value.details)))


def filled(word: str) -> str:
    """What is no text is refused as an argument before anything else is looked at."""
    return word.replace("{evil}", EVERYTHING.replace("\0", "").encode("utf-8", "ignore").decode())


@pytest.mark.parametrize("name", sampled(PATHS, 3))
def test_nothing_acts_on_the_screen(name: str, tmp_path: Path, definitions: Path) -> None:
    path = PATHS[name]
    script = [] if path.answer is None else anything(path.answer)
    home = tmp_path / "home"
    if path.profiles:
        home.mkdir()
        home.chmod(0o700)
        (home / "profiles.toml").write_text(path.profiles, encoding="utf-8")
        (home / "profiles.toml").chmod(0o600)
    out, err, asked = Screen(), Screen(), Screen(path.stdin)
    with serve(script, verify=False) as server:
        environ = {**environment(home, server.url), "SUITE_DEFINITIONS": str(definitions), **path.environ}
        if path.stdin:
            asked.isatty = lambda: False  # type: ignore[method-assign]
        run(path.program, [filled(word) for word in path.argv], environ=environ, stdin=asked, stdout=out, stderr=err)
    assert acts(out.getvalue(), styles=True) == []
    assert acts(err.getvalue()) == []
    shown = out.getvalue() + err.getvalue()
    assert "evil" in shown or name in BLIND, f"the way shows nothing of what it was given: {shown}"


def anything(answer: Any) -> list[Exchange]:
    entry = exchange("GET", "/", answer, repeat=None)
    entry.request.differences = lambda request: []  # type: ignore[method-assign]
    return [entry]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["an error in json", "an error in table", "an unknown operation", "an unknown site"])
def test_messages_are_harmless_in_a_pipe_too(name: str, tmp_path: Path, definitions: Path) -> None:
    """They are read later: in the log of a build, in a mail of cron."""
    path = PATHS[name]
    with serve(anything(path.answer or reply()), verify=False) as server:
        environ = {**environment(tmp_path / "home", server.url), "SUITE_DEFINITIONS": str(definitions)}
        arguments = [os.fsencode(filled(word).replace("\ud800", "")) for word in path.argv]
        command = [sys.executable, "-m", "callsheet", "suite", *arguments]
        done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, check=False)
    text = done.stderr.decode("utf-8")
    assert acts(text) == []
    if "json" in name:
        assert json.loads(text)["error"]["details"] or json.loads(text)["error"]["message"]


def test_a_pipe_gets_the_result_as_it_was_sent(tmp_path: Path) -> None:
    value = issue(WRITTEN)
    with serve(anything(reply(json=value))) as server:
        command = [sys.executable, "-m", "callsheet", "suite", *CALLED, "-o", "json"]
        environ = {**os.environ, **environment(tmp_path / "home", server.url)}
        done = subprocess.run(command, env=environ, capture_output=True, check=True)
    assert json.loads(done.stdout) == value
    assert "\u202e".encode() in done.stdout


@pytest.mark.parametrize("command", [["evil"], ["evil", "show"], ["--"]])
def test_help_and_usage_at_a_terminal(command: list[str], tmp_path: Path, definitions: Path) -> None:
    pytest.importorskip("pty")
    words = [*command[:2], "--help"] if command != ["--"] else ["evil", "\x9d0;evil\x9c\u202e"]
    environ = {**environment(tmp_path / "home", "http://localhost:1"), "SUITE_DEFINITIONS": str(definitions)}
    code, shown = at_terminal([sys.executable, "-m", "callsheet", "suite", *words], environ, "")
    assert code == (0 if words[-1] == "--help" else 2)
    assert "evil" in shown
    assert acts(shown.replace("\r\n", "\n")) == []


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_words_to_complete_a_line_with(shell: str, tmp_path: Path, definitions: Path) -> None:
    environ = {**environment(tmp_path / "home", "http://localhost:1"), "SUITE_DEFINITIONS": str(definitions)}
    for line in ("suite evil ", "suite evil show --other ", "suite op list --tag "):
        words = json.dumps([*line.split()[1:], ""])
        asked = {"_SUITE_COMPLETE": shell, "COMP_LINE": line, "COMP_WORDBREAKS": "", "_SUITE_COMPLETE_WORDS": words}
        command = [sys.executable, "-m", "callsheet", "suite", *line.split()[1:], ""]
        done = subprocess.run(command, env={**os.environ, **environ, **asked}, capture_output=True, check=False)
        assert done.stdout
        assert acts(done.stdout.decode("utf-8").replace("\t", "")) == []


def test_a_question_is_one_line_and_shows_what_it_asks(tmp_path: Path) -> None:
    out, err = Screen(), Screen()
    environ = environment(tmp_path / "home", "http://localhost:1")
    name = "A-1\r\x1b[2Kissue B-2? [y/N] \nnote: sure"
    run(
        "suite",
        ["op", "call", "deleteIssue", "--param", f"issueIdOrKey={name}"],
        environ=environ,
        stdin=Screen("n\n"),
        stdout=out,
        stderr=err,
    )
    question = err.getvalue().splitlines()[0]
    assert question.endswith("[y/N] error: not confirmed, nothing was sent")
    assert acts(err.getvalue()) == []


def test_no_text_looks_like_another_message(tmp_path: Path) -> None:
    err = Screen()
    body = reply(400, json={"errorMessages": ["no\nerror: all fine\nhint: run this"]})
    with serve(anything(body)) as server:
        run(
            "suite",
            CALLED,
            environ=environment(tmp_path / "home", server.url),
            stdin=Screen(),
            stdout=Screen(),
            stderr=err,
        )
    assert sum(line.startswith(("error:", "hint:")) for line in err.getvalue().splitlines()) <= 2
    assert "\nerror: all fine" not in err.getvalue()


@given(st.text() | st.lists(st.sampled_from([*TEXTS.values(), "\n", "\x1b", "\x1b[1", "m", "\r"])).map("".join))
def test_what_passes_the_gate_does_not_act(text: str) -> None:
    assert acts(escape_text(text)) == []
    assert acts(escape_but_styles(text), styles=True) == []
    assert acts(escape_line(text)) == []
    assert not {"\n", "\t"} & set(escape_line(text))


@pytest.mark.parametrize("around", ["", "x" * 100])
def test_each_character_is_seen_in_short_and_in_long_texts(around: str) -> None:
    for code in range(0x300):
        text = f"{around}{chr(code)}{around}"
        shown = escape_line(text)
        assert acts(shown) == []
        assert (shown == text) == (not acts(text) and chr(code) not in "\n\t"), hex(code)


@given(st.text())
def test_the_gate_changes_no_value_of_json(text: str) -> None:
    written = json.dumps({text: text}, ensure_ascii=False)
    assert json.loads(escape_text(written)) == {text: text}


# Where the engine may reach a stream itself: the gate, and those who stand before or behind it.
DOORS = {
    "terminal.py": "the gate",
    "commands/context.py": "asks questions",
    "commands/rich_prompts.py": "draws menus, of texts that were made harmless",
    "commands/streams.py": "puts the gate before the streams of a run",
    "cli/main.py": "puts the gate before the process's streams",
    "output/stream.py": "behind the gate: cleans all it writes, and pages it",
    "client/http/download.py": "draws through the gate",
    "commands/execute.py": "draws through the gate; bytes of a file, refused at a terminal",
    "mcp/mcp_commands.py": "lines of the protocol, in which text is JSON and escaped",
}
CLICK = {"echo", "secho", "prompt", "confirm", "progressbar", "echo_via_pager", "pause", "edit", "getchar", "clear"}
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


WRITERS = {("sys", name) for name in STREAMS} | {("click", name) for name in CLICK}
WRITERS |= {("os", "system"), ("os", "popen"), ("traceback", "print_exc"), ("warnings", "warn")}
MODULES = {"getpass", "pprint"}


def reached(tree: ast.AST) -> Iterable[str]:
    """What in a module writes to a stream of the process by itself."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id in {"print", "input", "breakpoint"}
        ):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in WRITERS:
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{each.name}" for each in node.names if (node.module, each.name) in WRITERS)
            yield from (MODULES & {str(node.module)})
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in MODULES)


@pytest.mark.slow
def test_nothing_in_the_engine_goes_around_the_gate() -> None:
    package = ROOT / "engine" / "callsheet"
    found = {}
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        ways = sorted(set(reached(ast.parse(path.read_text(encoding="utf-8")))))
        if ways and name not in DOORS:
            found[name] = ways
    assert found == {}


def test_the_search_for_ways_around_finds_them() -> None:
    source = "print(1); sys.stderr.write('x'); click.echo('x')\nfrom click import prompt\nfrom sys import stdout"
    assert len(list(reached(ast.parse(source)))) == 5
