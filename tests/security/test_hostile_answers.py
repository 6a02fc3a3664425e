"""Any answer in the place of any answer that a command asks for: a result or a clear error, and no second write."""

from __future__ import annotations

import copy
import io
import json
import os
import random
import re
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import closing
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run
from callsheet.client.http.http_client import Client
from support.cases import datacenter, environment
from support.draws import SEED
from support.hostile_server import Behaviour, answer, hostile, raw, redirect
from support.places import CASES
from support.sampled import sampled
from support.server import Received, Scripted, Server, load_exchanges, reply
from support.wrong_parts import ODD, places, with_part


def leaf_of(argv: list[str]) -> str:
    """The words that a command begins with: `tests/commands` sees that there are cases of every command."""
    return " ".join(islice(takewhile(re.compile(r"[a-z][a-z-]+").fullmatch, argv), 3))


CASES_OF_LEAF: dict[str, list[dict[str, Any]]] = {}
for folder in ("commands", "http", "op", "output"):
    for path in sorted((CASES / folder).glob("*.toml")):
        for case in tomllib.loads(path.read_text(encoding="utf-8")).get("case", []):
            if "argv" in case and case.get("exchange"):
                CASES_OF_LEAF.setdefault(leaf_of(case["argv"]), []).append(case)
ON_DATACENTER = {
    leaf: there
    for leaf, cases in CASES_OF_LEAF.items()
    if (there := [case for case in cases if case.get("on") == "datacenter"])
}
INTERNALS = re.compile(
    r"In function|NoneType|unhashable|takes two numbers|object is not|has no attribute|\w requires \""
    r"| \|\| |\[\?|@\[|\\u0000|\0"
)
UNFIT = "unexpected answer from the site"
JSON = {"Content-Type": "application/json"}
WHOLE = [
    reply(204),
    reply(205),
    reply(headers=JSON),
    *(reply(body=body, headers=JSON) for body in (b"null", b"[]", b"{}", b"7", b"\xef\xbb\xbf{}", b'{"a":"\xff"}')),
    reply(body='{"id":1}'.encode("utf-16"), headers=JSON),
    reply(body=b'{"id":1,"id":[],"values":1,"values":[{}]}', headers=JSON),
    reply(text="<html><title>\x1b]0;x\x07Sign in</title>", headers={"Content-Type": "text/html"}),
    reply(body=b"{}", headers={**JSON, "Content-Encoding": "gzip"}),
    reply(body=b'{"errors":{"a":[null],"":{"x":"\\ud800 \\u001b[2J"}}}', status=400, headers=JSON),
    *(
        reply(429, headers={"Retry-After": text})
        for text in ("9" * 40, "-5", "NaN", "inf", "Mon, 01 Jan 2024 00:00:00 +" + "9" * 20, "1 jan 99999999999 0:0")
    ),
    reply(503, headers={"Date": "Mon, 01 Jan 0001 00:00:00 -0000"}),
    *(
        reply(status, headers={"Location": to})
        for status in (302, 303, 307)
        for to in ("/x", "file:///etc/passwd", "http://xn--/", f"http://{'a' * 300}.example/", "http://a..b/", "")
    ),
]


class Lying(Server):
    """Follows the script but for the answer number `at` and, when it is `steadfast`, all after it."""

    def __init__(self, case: dict[str, Any], at: int, lie: Scripted, *, steadfast: bool) -> None:
        super().__init__(load_exchanges(case["exchange"]), None)
        self.trusted, self.at, self.lie, self.steadfast = True, at, lie, steadfast

    def answer(self, request: Received) -> Scripted:
        number = len(self.requests)
        found = super().answer(request)
        return self.lie if number == self.at or (number > self.at and self.steadfast) else found


def without(value: Any, path: tuple[Any, ...]) -> Any:
    value = copy.copy(value)
    if len(path) == 1:
        del value[path[0]]
    else:
        value[path[0]] = without(value[path[0]], path[1:])
    return value


def lie(case: dict[str, Any], chance: random.Random) -> tuple[int, Scripted]:
    """Which of its answers is another, and that answer: one of any kind, or the right one, a part wrong or missing."""
    right = {at: found for at, each in enumerate(case["exchange"]) if (found := each.get("response", {}).get("json"))}
    if not right or chance.random() < 0.3:
        return chance.randrange(len(case["exchange"])), chance.choice(WHOLE)
    at = chance.choice(list(right))
    members = [path for path in places(right[at]) if path and isinstance(path[-1], str)]
    if members and chance.random() < 0.5:
        path = chance.choice(members)
        wrong = without(right[at], path) if chance.random() < 0.5 else with_part(right[at], path, None)
    else:
        wrong = with_part(right[at], chance.choice(list(places(right[at]))), chance.choice(ODD))
    return at, reply(body=json.dumps(wrong).replace('"INFINITE"', "1e999").encode(), headers=JSON)


@pytest.fixture(scope="module")
def places_to_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module", autouse=True)
def _without_waiting() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(Client.__init__.__kwdefaults__, "sleep", lambda _: None)
        yield


def carried_out(case: dict[str, Any], server: Server, directory: Path, cache: Path) -> tuple[int, str]:
    for name, text in case.get("files", {}).items():
        (directory / name).write_bytes(text.encode("latin-1"))
    site = datacenter if case.get("on") == "datacenter" else environment
    environ = {**site(directory / "home", server.url), "CALLSHEET_CACHE": str(cache), **case.get("env", {})}
    argv = [word.replace("{url}", server.url) for word in case["argv"]]
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline=""), io.StringIO()
    code = run("suite", argv, environ=environ, stdin=io.StringIO(case.get("stdin", "")), stdout=out, stderr=err)
    out.flush()  # what cannot be encoded would fail here
    return code, err.getvalue()


@pytest.mark.draws
@pytest.mark.parametrize("leaf", sampled(CASES_OF_LEAF, 3))
def test_any_answer_in_the_place_of_any(leaf: str, places_to_run: Path, cache: Path) -> None:
    chance = random.Random(f"{leaf} {SEED}")
    case = chance.choice(CASES_OF_LEAF[leaf])
    lied_to(case, *lie(case, chance), steadfast=chance.random() < 0.5, places_to_run=places_to_run, cache=cache)


@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.parametrize("leaf", ON_DATACENTER)
def test_any_answer_of_a_data_center_in_the_place_of_any(leaf: str, places_to_run: Path, cache: Path) -> None:
    """Several of each command: there are few cases, and their answers have other shapes than those of cloud sites."""
    chance = random.Random(f"{leaf} on a data center {SEED}")
    for _ in range(4):
        case = chance.choice(ON_DATACENTER[leaf])
        lied_to(case, *lie(case, chance), steadfast=chance.random() < 0.5, places_to_run=places_to_run, cache=cache)


@pytest.mark.parametrize("verbose", [False, True])
def test_an_expression_that_fails_speaks_of_the_answer(verbose: bool, places_to_run: Path, cache: Path) -> None:
    case = next(case for case in CASES_OF_LEAF["pages edit"] if "number" in str(case["exchange"][0]["response"]))
    case = {**case, "argv": [*case["argv"], *(["-v"] if verbose else [])]}
    wrong = with_part(case["exchange"][0]["response"]["json"], ("version", "number"), "x")
    answer = reply(body=json.dumps(wrong).encode(), headers=JSON)
    code, err = lied_to(case, 0, answer, steadfast=False, places_to_run=places_to_run, cache=cache)
    assert code == 1
    assert f"{UNFIT}; look at page.version.number in it" in err
    assert ("add(" in err) == verbose, err


@pytest.mark.parametrize("odd", sampled([[], {}, [None], [[]], 5, True, "x"], 3), ids=json.dumps)
@pytest.mark.parametrize(
    ("leaf", "path"),
    [
        ("issues get", ("fields", "description", "type")),
        ("issues list", ("issues", 0, "id")),
        ("pages list", ("results", 0, "id")),
        ("issues list", (0, "id")),
        ("pages history", ("results",)),
        ("issues download", ("fields", "attachment")),
    ],
)
def test_a_value_of_another_kind(leaf: str, path: tuple[Any, ...], odd: Any, places_to_run: Path, cache: Path) -> None:
    """In the first answer to each case of a command that has such a place."""
    met = 0
    for case in CASES_OF_LEAF[leaf]:
        for at, each in enumerate(case["exchange"]):
            right = each.get("response", {}).get("json")
            if path in places(right):
                met += 1
                wrong = reply(body=json.dumps(with_part(right, path, odd)).encode(), headers=JSON)
                lied_to(case, at, wrong, steadfast=False, places_to_run=places_to_run, cache=cache)
                break
    assert met


def lied_to(
    case: dict[str, Any], at: int, wrong: Scripted, *, steadfast: bool, places_to_run: Path, cache: Path
) -> tuple[int, str]:
    server = Lying(case, at, wrong, steadfast=steadfast)
    server.start()
    before = os.getcwd()
    with tempfile.TemporaryDirectory(dir=places_to_run) as directory:
        os.chdir(directory)
        try:
            code, err = carried_out(case, server, Path(directory), cache)
        finally:
            os.chdir(before)
            server.stop()
    shown = f"{case['name']}, answer {at}: {wrong.status} {wrong.body[:2000]!r}\n{err}"
    assert code in range(8), shown
    assert "\x1b" not in err
    assert "-v" in case["argv"] or not INTERNALS.search(err), shown
    sent = [(request.method, request.target, request.body) for request in server.requests]
    if code == 2:  # nothing was changed
        assert not {"PUT", "PATCH", "DELETE"} & {method for method, *_ in sent}, (shown, sent)
    # A POST that only reads is asked again like any read: here issues by their keys.
    posts = [one for one in sent if one[0] in {"POST", "PATCH"} and not one[1].endswith("/issue/bulkfetch")]
    usual = sum(table["request"]["method"] in {"POST", "PATCH"} for table in case["exchange"])
    assert len(posts) <= max(usual, len(set(posts))), (shown, sent)
    return code, err


def test_a_body_that_an_answer_should_fill_speaks_of_the_answer(places_to_run: Path, cache: Path) -> None:
    case = next(case for case in CASES_OF_LEAF["pages edit"] if "number" in str(case["exchange"][0]["response"]))
    wrong = without(case["exchange"][0]["response"]["json"], ("version",))
    answer = reply(body=json.dumps(wrong).encode(), headers=JSON)
    code, err = lied_to(case, 0, answer, steadfast=False, places_to_run=places_to_run, cache=cache)
    assert (code, f"{UNFIT}; look at page.version.number in it" in err) == (1, True), err


NO_LISTS = [{"message": "please sign in"}, {}, {"values": None, "results": None, "issues": {}}, 7]


def shows_a_list(command: dict[str, Any]) -> bool:
    return command["safety"] == "read" and bool({"pages", "items"} & command.keys())


@pytest.fixture(scope="module")
def lists(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every command that shows a list."""
    home = tmp_path_factory.mktemp("home")
    with closing(open_catalog("suite", {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(cache)})) as catalog:
        return [words for words, found in catalog.commands.all().items() if shows_a_list(found)]


@pytest.mark.parametrize("answered", sampled(NO_LISTS, len(NO_LISTS)), ids=json.dumps)
def test_a_200_that_is_no_list(answered: Any, lists: list[str], places_to_run: Path, cache: Path) -> None:
    """What a proxy or a page to sign in answers is never an empty list."""
    for leaf in lists:
        own = [case for words, cases in CASES_OF_LEAF.items() if f"{words} ".startswith(f"{leaf} ") for case in cases]
        cases = [case for case in own if case.get("expect", {}).get("exit", 0) == 0]
        on = {case.get("on", "cloud"): case for case in reversed(cases) if "--dry-run" not in case["argv"]}
        assert "cloud" in on or "datacenter" in on
        for case in on.values():
            wrong = reply(body=json.dumps(answered).encode(), headers=JSON)
            code, err = lied_to(case, 0, wrong, steadfast=True, places_to_run=places_to_run, cache=cache)
            assert code != 0, (case["name"], answered, err)


@pytest.fixture(scope="module")
def changes_that_show_their_answer(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every command that changes a thing and shows it as the service answers it."""
    home = tmp_path_factory.mktemp("home")
    with closing(open_catalog("suite", {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(cache)})) as catalog:
        # a command that says itself what was done needs nothing of the answer
        shown = {
            name
            for name, view in catalog.views.all().items()
            if "id" in view and "done" not in [column["value"] for column in view["columns"]]
        }
        return [
            words
            for words, found in catalog.commands.all().items()
            if found["safety"] != "read" and found.get("view") in shown and "builtin" not in found
        ]


NO_THINGS: list[Any] = [None, [], [{}], "please sign in", 7, True]


@pytest.fixture(scope="module")
def things(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every command that reads one thing and shows it as the service answers it."""
    home = tmp_path_factory.mktemp("home")
    with closing(open_catalog("suite", {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(cache)})) as catalog:
        shown = {name for name, view in catalog.views.all().items() if "id" in view}
        return [
            words
            for words, found in catalog.commands.all().items()
            if found["safety"] == "read" and found.get("view") in shown
            if words.endswith(" get") or not {"pages", "items", "result", "builtin"} & found.keys()
        ]


@pytest.mark.parametrize("answered", sampled(NO_THINGS, 3), ids=json.dumps)
def test_a_200_that_is_no_thing(answered: Any, things: list[str], places_to_run: Path, cache: Path) -> None:
    """A header above nothing, or a text of whoever answered, would pass for what was asked."""
    wrong = reply(body=json.dumps(answered).encode(), headers=JSON)
    tried = 0
    for leaf in things:
        for case in CASES_OF_LEAF.get(leaf, ()):
            if case.get("expect", {}).get("exit", 0) == 0 and not {"--dry-run", "--out"} & {*case["argv"]}:
                code, err = lied_to(case, 0, wrong, steadfast=True, places_to_run=places_to_run, cache=cache)
                assert code != 0, (case["name"], err)
                tried += 1
                break
    assert tried > 20


@pytest.mark.parametrize("answered", sampled(NO_THINGS, 3), ids=json.dumps)
def test_a_change_that_is_answered_with_no_thing_is_no_success(
    answered: Any, changes_that_show_their_answer: list[str], places_to_run: Path, cache: Path
) -> None:
    """A script that reads the new id would go on without one."""
    nothing = reply(body=json.dumps(answered).encode(), headers=JSON)
    tried = 0
    for leaf in changes_that_show_their_answer:
        for case in CASES_OF_LEAF.get(leaf, ()):
            changing = [at for at, each in enumerate(case["exchange"]) if each["request"]["method"] != "GET"]
            is_answered = len(changing) == 1 and "json" in case["exchange"][changing[0]].get("response", {})
            if is_answered and case.get("expect", {}).get("exit", 0) == 0 and "--dry-run" not in case["argv"]:
                code, err = lied_to(
                    case, changing[0], nothing, steadfast=False, places_to_run=places_to_run, cache=cache
                )
                assert code != 0, (case["name"], err)
                tried += 1
                break
    assert tried > 10


@pytest.mark.parametrize(("item", "said"), [(None, "null"), (7, "7"), (True, "true"), ([], "a list")])
def test_a_list_of_what_is_no_thing_is_an_error(item: Any, said: str, places_to_run: Path, cache: Path) -> None:
    case = CASES_OF_LEAF["boards list"][0]
    wrong = reply(json={"values": [item], "isLast": True})
    code, err = lied_to(case, 0, wrong, steadfast=True, places_to_run=places_to_run, cache=cache)
    assert code == 1
    assert f"{said} in the place of a thing" in err


def test_what_an_answer_lacks_is_told_in_its_words(places_to_run: Path, cache: Path) -> None:
    case = CASES_OF_LEAF["page-attachments download"][0]
    wrong = without(case["exchange"][0]["response"]["json"], ("id",))
    answer = reply(body=json.dumps(wrong).encode(), headers=JSON)
    code, err = lied_to(case, 0, answer, steadfast=False, places_to_run=places_to_run, cache=cache)
    assert code == 1
    assert f"{UNFIT}: it has no " in err


LINES: dict[str, Behaviour] = {
    "too short": raw(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{}"),
    "no number": raw(b"HTTP/1.1 200 OK\r\nContent-Length: \xb2\r\n\r\n{}"),
    "below zero": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
    "two lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\n{}"),
    "no chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}"),
    "no last chunk": raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    "no status": raw(b"HTTP/1.1\r\n\r\n"),
    "no version": raw(b"\x00\x01\xff\r\n\r\n"),
    "nothing": raw(b""),
    "not gzip": answer(b"{}", headers={"Content-Encoding": "gzip"}),
}
COMMANDS = [
    ["op", "call", "getIssue", "--param", "issueIdOrKey=A-1"],
    ["op", "call", "getIssue", "--param", "issueIdOrKey=A-1", "--out", "saved"],
    ["projects", "list", "--all", "-o", "ndjson"],
    ["api", "POST", "/rest/api/3/issue", "-d", "{}"],
    ["issues", "edit", "A-1", "--summary", "x"],
]


@pytest.mark.parametrize("line", sampled(LINES, 3))
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_what_is_no_http(line: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    err = io.StringIO()
    with hostile(LINES[line], trusted=True) as server:
        environ = environment(tmp_path / "home", server.url)
        code = run("suite", ["--timeout", "5", *words], environ=environ, stdout=io.StringIO(), stderr=err)
    assert code in ({0, 1, 7} if line == "no number" else {1, 7}), err.getvalue()
    assert "POST" not in words or len(server.received) == 1
    assert not (tmp_path / "saved").exists()


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("status", ["302 Found", "307 Temporary Redirect"])
def test_a_redirect_to_itself_is_asked_once(method: str, status: str, tmp_path: Path) -> None:
    err = io.StringIO()
    with hostile(redirect("/x", status), trusted=True) as server:
        environ = environment(tmp_path / "home", server.url)
        code = run("suite", ["api", method, "/x", "--yes"], environ=environ, stdout=io.StringIO(), stderr=err)
    assert code == 1
    assert len(server.received) == 1, err.getvalue()


@pytest.mark.parametrize("host", ["xn--", "a..b", ".a", "a" * 64, "ex%41mple.org", "ＥＸ.org"])  # noqa: RUF001 -- wide letters
def test_a_host_that_nothing_can_be_called(host: str, tmp_path: Path) -> None:
    err = io.StringIO()
    environ = environment(tmp_path / "home", f"https://{host}")
    assert run("suite", ["api", "GET", "/x"], environ=environ, stdout=io.StringIO(), stderr=err) == 2
    assert "cannot be the name of a host" in err.getvalue()


@pytest.mark.parametrize("words", [["projects", "list"], ["fields", "list"], ["issues", "list", "--mine"]])
@pytest.mark.parametrize("start", ["²", "9" * 5000])
def test_a_page_that_is_no_number(words: list[str], start: str, tmp_path: Path) -> None:
    err = io.StringIO()
    with hostile(answer(b"[]"), trusted=True) as server:
        environ = environment(tmp_path / "home", server.url)
        code = run("suite", [*words, "--page-token", start], environ=environ, stdout=io.StringIO(), stderr=err)
    assert code == 2 or words == ["issues", "list", "--mine"], err.getvalue()  # its pages have names
