"""Values out of an event stay values: never an option, a file, a command, a host or a line of a request."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.errors import CallsheetError, DefinitionError, UsageError
from callsheet.listener.handlers import HandlerContext, HandlerFailed
from callsheet.listener.handlers.command_handler import CommandCall, command_call
from callsheet.listener.handlers.event_content import AddressTemplate, HandlerArguments, header_value
from callsheet.listener.handlers.forward_handler import Forward
from support.listening import environment, event, listening, run
from support.server import exchange, reply, serve

CONTEXT = HandlerContext("", {}, frozenset(), print, 10.0, lambda *_, **__: 0)
EVIL = st.text(max_size=20) | st.sampled_from(
    [
        "../../admin?z=1#",
        "//evil.example",
        "@evil.example/",
        "\\..\\",
        "%2e%2e",
        "..",
        ".",
        "a b",
        "é",
        "\0",
        "\ud800",
        "\r\nX: y",
    ]
)
TEMPLATES = [
    "http://h.example:8/a/{x}",
    "http://h.example:8/a/{x}/b?c={x}",
    "https://h.example:8/{x}{x}#f",
    "http://h.example:8/a.{x}",
]


@given(template=st.sampled_from(TEMPLATES), value=EVIL)
def test_an_address_keeps_its_host_and_its_directory(template: str, value: str) -> None:
    import httpx

    try:
        filled = AddressTemplate(template).fill_address({"x": value})
    except HandlerFailed:
        assert set(value) <= set(".%2eE")
        return
    for parts in (urlsplit(filled), urlsplit(str(httpx.URL(filled)))):
        assert (parts.scheme, parts.netloc) == (urlsplit(template).scheme, "h.example:8")
        assert parts.path.count("/") == template.partition("?")[0].count("/") - 2
        assert ".." not in parts.path.split("/")


@pytest.mark.parametrize(
    "template",
    ["{x}", "http://{x}/", "http://h{x}", "http://h.example:{x}/", "http://h.example{x}", "http://{x}@h.example/",
     "ftp://h.example/", "h.example/{x}", "{x}://h.example/", "http://h.example:99999/"],
)  # fmt: skip
def test_an_event_never_chooses_the_host(template: str) -> None:
    with pytest.raises(UsageError):
        AddressTemplate(template)


@pytest.mark.parametrize(
    "headers", [{"Host": "{body.x}"}, {"hOST": "a{body.x}"}, {"Content-Length": "1"}, {"Upgrade": "h2c"}]
)
def test_no_header_chooses_the_host_or_the_framing(headers: dict[str, str]) -> None:
    with pytest.raises(DefinitionError):
        Forward({"handler": "forward", "url": "http://h.example/", "headers": headers}, CONTEXT)


@given(value=EVIL)
def test_any_value_fits_into_a_header(value: str) -> None:
    found = header_value(value)
    assert found.isascii()
    assert found == "" or found.isprintable()
    assert found == found.strip()
    assert header_value("50% of a, b") == "50% of a, b"


@given(value=EVIL)
def test_a_word_of_a_program_is_never_an_option(value: str) -> None:
    for words in (["p", "{x}"], ["p", "--", "{x}"], ["p", "--name={x}", "id {x}"]):
        try:
            filled = HandlerArguments(words).fill_arguments({"x": value})
        except HandlerFailed:
            assert words == ["p", "{x}"]
            assert value.startswith("-")
            continue
        "".join(filled).encode()
        assert "\0" not in "".join(filled)
        assert len(filled) == len(words)
        assert words == ["p", "--", "{x}"] or not filled[-1].startswith("-")


@pytest.mark.parametrize("words", [["./{x}"], ["{x}", "--", "y"], ["a{x}", "{y}"]], ids=" ".join)
def test_an_event_never_chooses_the_program(words: list[str]) -> None:
    with pytest.raises(DefinitionError, match="cannot be taken out of an event"):
        HandlerArguments(words)


def call(run: str | Sequence[str], environ: dict[str, str], **values: Any) -> CommandCall:
    return command_call("suite", run, values, environ)


@pytest.mark.slow
def test_a_list_is_bound_to_parameters_before_any_event(tmp_path: Path) -> None:
    environ = environment(tmp_path)
    found = call(
        ["-o", "json", "issues", "new", "--project", "EDU", "--summary={x}", "--label", "a", "--label={y}"], environ
    )
    assert found.words == ["issues", "new"]
    assert found.values == {"output": "json", "project": "EDU", "summary": "{x}", "label": ["a", "{y}"]}
    assert found.typed == {"output", "project"}
    assert found.fill_call({"x": "--out=f", "y": "@f"})["summary"] == "--out=f"
    one = call(["issues", "get", "--", "{x}"], environ)
    assert (one.values, one.typed) == ({"issue": "{x}"}, frozenset())
    assert call("issues new", environ, summary="{x}").values == {"summary": "{x}"}


@pytest.mark.parametrize(
    ("words", "values", "told"),
    [
        (["issues", "nwe"], {}, "did you mean 'issues new'?"),
        (["issues", "new", "--sumary", "x"], {}, "did you mean 'summary'?"),
        (["issues", "new", "--{x}=y"], {}, "no such option"),
        (["issues", "new", "--summary"], {}, "needs a value"),
        (["{x}", "new"], {}, "is not a command"),
        ("issues new", {"sumary": "x"}, "did you mean 'summary'?"),
        (["issues", "new", "extra"], {}, "unexpected argument 'extra'"),
    ],
)
def test_a_call_that_cannot_be_made_is_refused_before_any_event(
    words: Any, values: Any, told: str, tmp_path: Path
) -> None:
    with pytest.raises(CallsheetError, match="handler 'command'") as refused:
        call(words, environment(tmp_path), **values)
    assert told in str(refused.value)


ROUTES = """
[route.text]
on = ["grade_change"]
[[route.text.do]]
handler = "command"
program = "suite"
run     = "op call"
params  = { id = "createIssue", data = { fields = { summary = "{body.text}" } } }

[route.list]
on = ["quiz_submitted"]
[[route.list.do]]
handler = "command"
program = "suite"
run     = ["issues", "comment", "EDU-1", "--body", "{body.text}"]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_text_out_of_an_event_reads_and_writes_no_file(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("xyzzy", encoding="utf-8")
    evil = [f"@{tmp_path}/private", "@-", "-", "--out=made", "--dry-run"]
    with serve(
        [
            exchange("POST", "/rest/api/3/issue", reply(201, json={"key": "EDU-1"}), repeat=None),
            exchange("POST", "/rest/api/3/issue/EDU-1/comment", reply(201, json={"id": "1"}), repeat=None),
        ],
        trusted=True,
    ) as server:
        site = {"SUITE_BASE_URL": server.url, "SUITE_EMAIL": "r@example.org", "SUITE_TOKEN": "t"}
        with listening(tmp_path, routes=ROUTES, environ=site) as listener:
            for number, text in enumerate(evil):
                for type in ("grade_change", "quiz_submitted"):
                    answer = listener.post(event(f"{type}{number}", type, text=text, secret_word="plugh"))
                    assert answer.status == 200, listener.err
        sent = [request.json() for request in server.requests]
    assert [each["fields"]["summary"] for each in sent if "fields" in each] == evil
    assert len(sent) == 2 * len(evil)
    assert "xyzzy" not in json.dumps(sent)
    assert "plugh" not in json.dumps(sent)
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "private", "routes.toml"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_forwarded_event_stays_in_its_place_and_on_this_host(tmp_path: Path) -> None:
    with serve([exchange("POST", "/a/..%2F..%2Fadmin%3Fz%3D1%23/b", reply(200))]) as server, serve([]) as proxy:
        routes = f"""
        [route.r]
        [[route.r.do]]
        handler = "forward"
        url     = "{server.url}/a/{{body.to}}/b"
        headers = {{ X-Name = "{{body.name}}", X-Plain = "{{event_type}}" }}
        """
        proxies = {"HTTP_PROXY": proxy.url, "http_proxy": proxy.url, "ALL_PROXY": proxy.url}
        with listening(tmp_path, routes=routes, environ=proxies) as listener:
            body = event(to="../../admin?z=1#", name="é\r\nX-Evil: 1 ")
            answer = listener.post(body, {"X-Sender": "caf\xe9", "Upgrade-Insecure-Requests": "1"})
            assert answer.status == 200, listener.err
        received = server.requests[0]
        assert received.headers["x-name"] == "%C3%A9%0D%0AX-Evil: 1%20"
        assert received.headers["x-plain"] == "grade_change"
        assert received.headers["x-sender"] == "caf\xe9"
        assert "x-evil" not in received.headers
        assert proxy.requests == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_short_form_sends_every_event_on(tmp_path: Path) -> None:
    with (
        serve([exchange("POST", "/a%7Bb%7D", reply(200), body=event("on"))]) as server,
        listening(tmp_path, "--forward-to", f"{server.url}/a{{b}}") as listener,
    ):
        assert listener.post(event("on")).status == 200, listener.err


@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell")
def test_handlers_get_only_the_secrets_that_they_are_given(tmp_path: Path) -> None:
    secrets = {
        "LMS_SECRET": "one", "GITHUB_WEBHOOK_SECRET": "two", "SUITE_KEYRING_PASSWORD": "three",
        "LMS_KEYRING_PASSWORD_FILE": "four", "PLAIN": "five",
    }  # fmt: skip
    (tmp_path / "own.py").write_text(
        "import json, os\ndef seen(event):\n    json.dump(dict(os.environ), open('python.json', 'w'))\n",
        encoding="utf-8",
    )
    routes = """
    [route.r]
    do = [
      { handler = "exec", run = ["sh", "-c", "env > plain"] },
      { handler = "exec", run = ["sh", "-c", "env > given"], secrets = ["GITHUB_WEBHOOK_SECRET"] },
      { handler = "python", call = "own:seen" },
    ]
    """
    with listening(tmp_path, routes=routes, environ=secrets) as listener:
        answer = listener.send(event(), "one")
        assert answer.status == 200, listener.err
    plain = dict(line.split("=", 1) for line in (tmp_path / "plain").read_text().splitlines() if "=" in line)
    given = dict(line.split("=", 1) for line in (tmp_path / "given").read_text().splitlines() if "=" in line)
    python = json.loads((tmp_path / "python.json").read_text())
    assert secrets.keys() & plain.keys() == {"PLAIN"}
    assert secrets.keys() & given.keys() == {"PLAIN", "GITHUB_WEBHOOK_SECRET"}
    assert secrets.keys() & python.keys() == {"PLAIN"}
    absent = '[route.r]\ndo = [{ handler = "exec", run = ["x"], secrets = ["ABSENT"] }]\n'
    (tmp_path / "absent.toml").write_text(absent, encoding="utf-8")
    done = run(tmp_path, "check", "--routes", "absent.toml")
    assert (done.returncode, "ABSENT is not set" in done.stderr) == (2, True)
