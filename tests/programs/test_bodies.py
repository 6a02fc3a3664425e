"""What a program out of a document sends: forms, queries and parts as the document encodes them, and typed members."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from support.machine import Machine
from support.places import TESTS
from support.server import Received, exchange, reply, serve

pytestmark = pytest.mark.slow

DOCUMENT = TESTS / "programs" / "documents" / "payments.yaml"


class Payments(Machine):
    """The program, and the last request that came."""

    requests: list[Received]

    def send(self, *words: str) -> Received:
        assert self(*words, program="pay") == 0, self.err
        return self.requests[-1]

    def refused(self, *words: str) -> str:
        before = len(self.requests)
        assert self(*words, program="pay") == 2, self.err
        assert len(self.requests) == before
        return self.err


@pytest.fixture(scope="module")
def pay(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Payments]:
    machine = Payments(tmp_path_factory.mktemp("machine"))
    assert machine("new", "pay", "--from", str(DOCUMENT)) == 0, machine.err
    posts = [
        exchange("POST", f"/v1/{name}", reply(json={"id": "1"}), repeat=None)
        for name in ("charges", "sources", "documents")
    ]
    listed = exchange("GET", "/v1/charges", reply(json={"data": []}), repeat=None)
    pages = exchange("POST", "/v1/documents/pages", reply(json={"id": "1"}), repeat=None)
    file = exchange("GET", "/v1/documents/d1/content", reply(body=b"%PDF"), repeat=None)
    with serve([*posts, listed, pages, file]) as server:
        machine.environ |= {"PAY_BASE_URL": server.url, "PAY_METHOD": "none"}
        machine.requests = server.requests
        yield machine


def form(request: Received) -> list[tuple[str, str]]:
    return parse_qsl(request.body.decode(), keep_blank_values=True)


CHARGE = ["charges", "create", "--amount", "5", "--server-type", "x"]


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        ([], []),
        (["--set", "metadata.order=6735", "--set", "metadata.by=me"],
         [("metadata[order]", "6735"), ("metadata[by]", "me")]),
        (["--set", "lines.0.price=a", "--set", "lines.0.quantity=2", "--set", "lines.1.price=b"],
         [("lines[0][price]", "a"), ("lines[0][quantity]", "2"), ("lines[1][price]", "b")]),
        (["--tags", "a", "--tags", "b"], [("tags", "a,b")]),
        (["-d", '{"metadata": {"a": {"b": [1, 2]}}}'], [("metadata[a][b][0]", "1"), ("metadata[a][b][1]", "2")]),
        (["--set", "metadata="], [("metadata", "")]),
    ],
)  # fmt: skip
def test_a_form_has_objects_as_the_document_encodes_them(
    pay: Payments, words: list[str], sent: list[tuple[str, str]]
) -> None:
    assert form(pay.send(*CHARGE, *words)) == [("amount", "5"), ("server_type", "x"), *sent]


@pytest.mark.parametrize(
    ("words", "sent"),
    [
        (["--created", "gte=5", "--created", "lt=9"], ["created[gte]=5", "created[lt]=9"]),
        (["--created", "7"], ["created=7"]),
        (["--expand", "a", "--expand", "b"], ["expand[]=a", "expand[]=b"]),
        (["--since", "2026-01-31", "--until", "2026-01-31T09:00:00+02:00"],
         ["since=2026-01-31", "until=2026-01-31T09:00:00+02:00"]),
    ],
)  # fmt: skip
def test_a_filter_is_an_object_or_a_plain_value(pay: Payments, words: list[str], sent: list[str]) -> None:
    assert pay.send("charges", "list", *words).query == sent


def test_dates_take_words(pay: Payments) -> None:
    found = dict(each.split("=", 1) for each in pay.send("charges", "list", "--since", "-7d", "--until", "-1h").query)
    week = datetime.now().astimezone() - timedelta(days=7)
    assert abs(datetime.fromisoformat(found["since"]).astimezone() - week) < timedelta(days=2)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["until"])
    assert abs(datetime.fromisoformat(found["until"]) - datetime.now(UTC)) < timedelta(hours=3)
    assert "did you mean 'today'?" in pay.refused("charges", "list", "--since", "tody")


SOURCE = ["sources", "create", "--name", "n", "--set", "method.kind=account", "--set", "method.iban=DE1"]


def test_members_have_the_types_of_the_schema(pay: Payments) -> None:
    words = ["--set", "limits.daily=5", "--set", "limits.codes=1", "--set", "limits.codes=2", "--set", "active=true"]
    assert pay.send(*SOURCE, *words, "--starts", "2026-01-31").json() == {
        "name": "n",
        "starts": "2026-01-31",
        "method": {"kind": "account", "iban": "DE1"},
        "limits": {"daily": 5, "codes": [1, 2]},
        "active": True,
    }
    assert pay.send(*SOURCE, "--set", 'extra:={"a": [1]}').json()["extra"] == {"a": [1]}
    assert pay.send(*SOURCE, "-d", '{"limits": {"codes": [3]}}', "--set", "limits.daily=1").json()["limits"] == {
        "codes": [3],
        "daily": 1,
    }


def test_any_operation_takes_members_too(pay: Payments) -> None:
    words = [
        "op",
        "call",
        "PostSources",
        "-d",
        '{"limits": {"codes": [3]}}',
        "--set",
        "name=n",
        "--set",
        "active=false",
    ]
    method = ["--set", "method.kind=account", "--set", "method.iban=DE1", "--set", "limits.daily=1"]
    assert pay.send(*words, *method).json() == {
        "limits": {"codes": [3], "daily": 1},
        "name": "n",
        "active": False,
        "method": {"kind": "account", "iban": "DE1"},
    }
    assert ("metadata[a]", "1") in form(
        pay.send("op", "call", "PostCharges", "--param", "amount=1", "--set", "server_type=x", "--set", "metadata.a=1")
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("limits.daily=x", "--set limits.daily: expected a whole number, not 'x'"),
        ("limits=x", "--set limits: this has members: write NAME.MEMBER=VALUE, or NAME:=JSON"),
        ("limits.dayly=5", "--set limits.dayly: there is no 'dayly', did you mean 'daily'?"),
        ("active=yes", "--set active: expected true or false, not 'yes'"),
        ("daily", "--set: expected NAME=VALUE, not 'daily'"),
        ("limits:={", "--set: limits: "),
    ],
)
def test_a_wrong_member_is_told_before_anything_is_sent(pay: Payments, word: str, message: str) -> None:
    assert f"error: {message}" in pay.refused(*SOURCE, "--set", word)


def test_what_must_be_there_is_marked_and_missed_by_its_option(pay: Payments) -> None:
    assert pay("charges", "create", "--help", program="pay") == 0
    assert re.search(r"--amount N +In cents \(required\)", pay.out)
    assert re.search(r"--server-type SERVER-TYPE +required", pay.out)
    assert "error: this command: --server-type is missing" in pay.refused(*CHARGE[:4])
    nothing = pay.refused("sources", "create")
    assert "--name is missing" in nothing
    assert '"method" is missing' in nothing
    assert "--starts: expected a text, not 5" in pay.refused(*SOURCE, "-d", '{"starts": 5}')


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["kind=card"], 'nearest is Card: "number" is missing; "month" is missing'),
        (["kind=card", "number=1", 'month:="x"'], 'nearest is Card: month: expected a whole number, not "x"'),
        (["kind=account"], 'nearest is Account: "iban" is missing'),
        (["iban=1"], 'nearest is Account: "kind" is missing'),
    ],
)
def test_the_nearest_form_of_several_is_named(pay: Payments, words: list[str], message: str) -> None:
    given = [part for word in words for part in ("--set", f"method.{word}")]
    assert message in pay.refused("sources", "create", "--name", "n", *given)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = [tmp_path / name for name in ("one.txt", "two.txt")]
    for path in paths:
        path.write_text(f"of {path.name}")
    return [str(path) for path in paths]


def test_a_file_is_sent_with_what_is_said_of_it(pay: Payments, files: list[str]) -> None:
    words = ["documents", "upload", files[0], "--set", "attributes.name=One", "--set", "attributes.parent.id=0"]
    words += ["--set", "attributes.pages=3"]
    request = pay.send(*words)
    parts = {part.partition(b'name="')[2].partition(b'"')[0]: part for part in request.body.split(b"\r\n--")}
    assert b'filename="one.txt"' in parts[b"file"]
    assert parts[b"file"].endswith(b"of one.txt")
    assert b"Content-Type: application/json" in parts[b"attributes"]
    assert json.loads(parts[b"attributes"].partition(b"\r\n\r\n")[2]) == {
        "name": "One",
        "parent": {"id": "0"},
        "pages": 3,
    }
    assert "expected a whole number, not 'x'" in pay.refused(*words[:3], "--set", "attributes.pages=x")
    data = '{"attributes": {"parent": {"id": 7}}}'
    assert "body.attributes.parent.id: expected a text, not 7" in pay.refused(*words[:3], "-d", data)
    assert pay("op", "describe", "PostDocuments", program="pay") == 0
    assert "      pages   integer" in pay.out
    assert 'requires the part "attributes"' in pay.refused("documents", "upload", files[0])
    assert "FILE" in pay.refused("documents", "upload")


def test_several_files_have_options_of_their_own(pay: Payments, files: list[str]) -> None:
    body = pay.send("documents", "pages", "upload", files[0], "--cover", files[1]).body
    assert body.index(b'name="page"; filename="one.txt"') < body.index(b'name="cover"; filename="two.txt"')
    assert b"cover" not in pay.send("documents", "pages", "upload", files[0]).body


def test_an_answer_that_is_a_file_is_saved(pay: Payments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pay.send("documents", "download", "d1", "--to", "mine.pdf")
    assert (tmp_path / "mine.pdf").read_bytes() == b"%PDF"
    pay.send("documents", "download", "d1")
    assert (tmp_path / "document-d1").read_bytes() == b"%PDF"
    assert pay.out.split() == ["FILE", "SIZE", "document-d1", "4", "B"]
    request = pay.send("documents", "upload", str(tmp_path / "mine.pdf"), "--set", "attributes.name=x")
    assert b"%PDF" in request.body
