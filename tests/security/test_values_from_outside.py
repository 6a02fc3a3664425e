"""What an event or another program hands to a command by name is only ever a value."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run_literally
from support.cases import Done, environment, nobody
from support.sampled import sampled
from support.server import Server, exchange, reply, serve

SECRET = "canary-in-a-file"

NASTY = ["@{file}", "@-", "-", "--", "@@{file}", "--out={file}", "--jq=.", "-d@{file}", "-y", "--help", "$1", "`id`"]
NASTY += ["[~accountid:5b10a]", "@[Robin](accountid:5b10a)", "https://{host}/browse/DEMO-1", "{{status:red|x}}"]
NASTY += ['<!-- callsheet {{"kind":"mention","attrs":{{"id":"5b10a"}}}} -->']


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    answers = [
        exchange("POST", "/rest/api/3/issue", reply(201, json={"key": "EDU-1"}), repeat=None),
        exchange("POST", "/rest/api/3/issue/DEMO-1/comment", reply(201, json={"id": "1"}), repeat=None),
        exchange("GET", "/rest/api/3/user/search", reply(json=[]), repeat=None),
        exchange("GET", "/rest/api/3/users/search", reply(json=[]), repeat=None),  # whose names are close
        exchange(
            "GET", "/rest/api/3/issue/DEMO-1", reply(json={"id": "1", "key": "DEMO-1", "fields": {}}), repeat=None
        ),
        exchange("PUT", "/rest/api/3/issue/DEMO-1", reply(204), repeat=None),
    ]
    with serve(answers, trusted=True) as server:
        yield server


class Caller:
    def __init__(self, directory: Path, server: Server) -> None:
        self.environ = environment(directory / "home", server.url)
        self.server = server

    def __call__(self, words: str, values: dict[str, Any], typed: tuple[str, ...] = ()) -> Done:
        self.server.requests.clear()
        out, err = io.StringIO(), io.StringIO()
        stdin = io.TextIOWrapper(io.BytesIO(SECRET.encode()), encoding="utf-8")
        code = run_literally(
            "suite", words.split(), values, typed=typed, environ=self.environ, stdin=stdin, stdout=out, stderr=err
        )
        return Done(code, out.getvalue().encode(), err.getvalue(), tuple(self.server.requests))


@pytest.fixture
def call(tmp_path: Path, server: Server) -> Caller:
    return Caller(tmp_path, server)


def filled(text: str, tmp_path: Path, server: Server) -> str:
    (tmp_path / "secret").write_text(SECRET, encoding="utf-8")
    return text.format(file=tmp_path / "secret", host=server.url.partition("//")[2])


@pytest.mark.parametrize("text", sampled(["-urgent", "--odd", "\\\\-urgent", "a,-b", *NASTY], 3))
@pytest.mark.parametrize("name", ["label", "component", "fix-version"])
def test_a_text_is_added_and_takes_nothing_away(
    text: str, name: str, call: Caller, tmp_path: Path, server: Server
) -> None:
    value = filled(text, tmp_path, server)
    done = call("issues edit", {"issue": ["DEMO-1"], name: [value]})
    assert done.exit == 0, done.stderr
    (update,) = done.requests[-1].json()["update"].values()
    assert update == [{"add": value if name == "label" else {"name": value}}]


@pytest.mark.parametrize("text", NASTY)
def test_a_text_arrives_as_it_is(text: str, call: Caller, tmp_path: Path, server: Server) -> None:
    value = filled(text, tmp_path, server)
    done = call("issues new", {"project": "EDU", "summary": value, "label": [value], "description": value})
    assert done.exit == 0, done.stderr
    fields = done.requests[0].json()["fields"]
    assert (fields["summary"], fields["labels"]) == (value, [value])
    assert SECRET not in json.dumps(fields)
    assert '"type": "mention"' not in json.dumps(fields)
    assert '"type": "status"' not in json.dumps(fields)
    body = json.dumps({"fields": {"summary": value}})
    assert call("op call", {"id": "createIssue", "data": {"fields": {"summary": value}}}).exit == 0
    assert server.requests[0].json() == json.loads(body)


@pytest.mark.slow
@pytest.mark.parametrize("text", NASTY)
def test_a_text_where_json_or_a_thing_is_expected_is_refused(
    text: str, call: Caller, tmp_path: Path, server: Server
) -> None:
    value = filled(text, tmp_path, server)
    for words, values in (
        ("issues create", {"data": value}),
        ("issues comment", {"issue": value, "body": "x"}),
        ("issues new", {"project": "EDU", "summary": "x", "assignee": value}),
        ("op call", {"id": "createIssue", "data": value}),
        ("op call", {"id": value}),
    ):
        done = call(words, values)
        assert done.exit == 2, (words, done)
        assert [request for request in done.requests if request.method != "GET"] == []
        assert SECRET not in done.stderr


@pytest.mark.slow
@settings(max_examples=40)
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), min_size=1).filter(str.strip))
def test_any_text_is_the_value(text: str, call: Caller) -> None:
    done = call("issues new", {"project": "EDU", "summary": text})
    assert done.exit == 0, done.stderr
    assert done.requests[0].json()["fields"]["summary"] == text


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ("issues new", {"project": "EDU", "summary": "x", "site": "other"}),
        ("issues new", {"project": "EDU", "summary": "x", "base-url": "https://evil.example"}),
        ("issues delete", {"id": "DEMO-1", "yes": True}),
        ("issues attach", {"issue": "DEMO-1", "file": ["/etc/passwd"]}),
        ("op call", {"id": "getIssue", "param": {"issueIdOrKey": "DEMO-1"}, "out": "/tmp/x"}),
        ("issues new", {"project": "EDU", "summary": "x", "sumary": "y"}),
        ("issues new", {"project": "EDU"}),
        ("issues new --jq .", {"project": "EDU", "summary": "x"}),
        ("issues new extra", {"project": "EDU", "summary": "x"}),
        ("issues new", {"project": "EDU", "summary": "x", "set": ["Summary:=[1]"]}),
    ],
)
def test_what_is_no_value_is_refused(words: str, values: dict[str, Any], call: Caller) -> None:
    done = call(words, values)
    assert (done.exit, done.requests) == (2, ()), done


def test_a_person_s_own_words_keep_their_meaning(call: Caller, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("from [~accountid:5b10a]", encoding="utf-8")
    values = {"issue": "DEMO-1", "body": f"@{tmp_path / 'notes.md'}", "output": "id"}
    done = call("issues comment", values, ("body", "output"))
    assert (done.exit, done.stdout) == (0, b"1\n"), done.stderr
    assert "mention" in done.requests[0].body.decode()


def test_every_file_is_marked_as_one(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A parameter that names a file without `@` has the type that keeps others' values out of it."""
    for program in ("suite", "lms"):
        catalog = open_catalog(program, nobody(tmp_path_factory))
        for id, command in catalog.commands.all().items():
            for param in command.get("params", ()):
                named = param.get("metavar", param["name"].upper())
                if named in ("FILE", "PATH", "DIR", "[PART=]PATH") and (id, param["name"]) != ("api", "path"):
                    assert param.get("type") == "path", (id, param["name"])
        catalog.close()
