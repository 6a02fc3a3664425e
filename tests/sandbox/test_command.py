"""`sandbox start|stop|reset` as a person runs them."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.cli.main import run
from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.files import locked_file
from callsheet.sandbox import sandbox_server as process
from callsheet.sandbox.simulated_site import SandboxSite
from support.simulated import ask


class Person:
    """Runs the program with a home of its own; `out` and `err` are of the last command."""

    def __init__(self, home: Path, cache: Path) -> None:
        self.environ = {**os.environ, "CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(cache)}
        self.out = self.err = ""

    def __call__(self, *words: str) -> int:
        out, err = io.StringIO(), io.StringIO()
        code = run("suite", words, environ=self.environ, stdin=io.StringIO(), stdout=out, stderr=err)
        self.out, self.err = out.getvalue(), err.getvalue()
        return code


@pytest.fixture
def suite(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Person:
    return Person(tmp_path / "home", tmp_path_factory.getbasetemp() / "shared-cache")


def test_a_site_is_started_used_kept_and_stopped(suite: Person, tmp_path: Path) -> None:
    state = str(tmp_path / "site.sqlite")
    assert suite("sandbox", "start", "--state", state, "-o", "json") == 0, suite.err
    try:
        assert json.loads(suite.out)["base_url"].startswith("http://127.0.0.1:")
        for words in ([], ["--foreground"]):
            assert suite("sandbox", "start", *words) == 2
            assert "already running" in suite.err
        words = ("issues", "new", "--project", "DEMO", "--type", "Task", "--summary", "Kept", "-o", "id")
        assert suite("--site", "sandbox", *words) == 0, suite.err
        assert suite.out.strip() == "DEMO-11"
    finally:
        assert suite("sandbox", "stop") == 0, suite.err
    assert suite("sandbox", "stop") == 2
    assert suite("sandbox", "start", "--state", state, "--deployment", "datacenter") == 2
    assert "holds a site of suite (cloud)\nhint: name another file, or give its --deployment" in suite.err
    assert suite("sandbox", "start", "--state", state) == 0, suite.err
    try:
        assert suite("--site", "sandbox", "issues", "get", "DEMO-11", "-o", "json") == 0, suite.err
        assert json.loads(suite.out)["fields"]["summary"] == "Kept"
        assert suite("sandbox", "reset") == 2
        assert suite("sandbox", "reset", "--yes") == 0, suite.err
        assert suite("--site", "sandbox", "issues", "get", "DEMO-11") == 4
    finally:
        suite("sandbox", "stop")


_LIBRARY = """
language = 2
service.lib = { title = "Library", auth = ["lib-key"] }
auth.lib-key = { title = "Key of the library", scheme = "key", header = "X-Key" }
product.lib = { title = "Library", service = "lib", base = "/v1" }
operation.listBooks = { product = "lib", http = "GET /v1/books" }
group.books.help = "Books"
command."books list" = { help = "List books", call = "listBooks", items = "books" }

[entity.book]
product = "lib"
seed    = [{ id = "1", title = "Dune" }]
views   = { full = { id = "{id}", title = "{title}" } }
actions = { listBooks = { list = { entity = "book", view = "full", envelope = { books = "{items}" } } } }
"""


def test_a_service_of_ones_own_asks_for_no_credential_there(suite: Person, tmp_path: Path) -> None:
    own = tmp_path / "home" / "definitions" / "suite" / "library.toml"
    own.parent.mkdir(parents=True)
    own.write_text(_LIBRARY, encoding="utf-8")
    assert suite("sandbox", "start") == 0, suite.err
    try:
        assert suite("--site", "sandbox", "books", "list", "-o", "json") == 0, suite.err
        assert json.loads(suite.out) == [{"id": "1", "title": "Dune"}]
    finally:
        suite("sandbox", "stop")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--port", "70000"], "--port expects a number from 0 to 65535"),
        (["--rate-limit", "0"], "--rate-limit expects a number above 0"),
        (["--fail", "braek"], "did you mean 'break'?"),
        (["--deployment", "cluod"], "cloud"),
        (["--webhooks", "nowhere"], "--webhooks"),
        (["--state", "no-such-folder/site.sqlite"], "the folder does not exist"),
        (["--state", ""], "the name of the state file is empty"),
        (["--product", "jria"], "did you mean 'jira'?"),
    ],
)
def test_wrong_options_start_nothing(suite: Person, words: list[str], message: str) -> None:
    assert suite("sandbox", "start", *words) == 2
    assert message in suite.err


def test_a_site_of_that_name_elsewhere_stays(suite: Person, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    text = '[sites.sandbox]\nbase_url = "https://shop.example"\ndeployment = "cloud"\n'
    (home / "profiles.toml").write_text(text, encoding="utf-8")
    assert suite("sandbox", "start") == 2
    assert "https://shop.example" in suite.err
    assert (home / "profiles.toml").read_text(encoding="utf-8") == text


def test_a_dry_run_starts_nothing(suite: Person) -> None:
    assert suite("sandbox", "start", "--dry-run") == 0
    assert suite("sandbox", "stop") == 2


@pytest.mark.parametrize("content", [b"", b"some text that is no database at all", None])
def test_a_file_of_somebody_else_stays_as_it_is(suite: Person, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "own.sqlite"
    if content is None:
        with closing(sqlite3.connect(path)) as own:
            own.execute("CREATE TABLE item (mine)")
    else:
        path.write_bytes(content)
    before = path.read_bytes()
    assert suite("sandbox", "start", "--state", str(path)) == 2
    assert "is not the file of a sandbox" in suite.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("comes", [False, True])
def test_a_file_that_goes_or_comes_while_it_is_read_is_no_sandbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, comes: bool
) -> None:
    """A sandbox that ends takes its file away, and one that starts writes it after somebody looked."""
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    running = process.RunningSandbox("http://127.0.0.1:9", "cloud", "x", 1)
    read = process.read_private_if_there

    def read_beside_another(path: str, what: str) -> bytes | None:
        os.remove(path)
        try:
            return read(path, what)
        finally:
            if comes:
                process.remember_sandbox(environ, "suite", running)

    process.remember_sandbox(environ, "suite", running)
    monkeypatch.setattr(process, "read_private_if_there", read_beside_another)
    assert process.running_sandbox(environ, "suite") is None


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    process.remember_sandbox(environ, "suite", process.RunningSandbox("http://127.0.0.1:9", "cloud", "x", 1))
    Path(process.sandbox_file(environ, "suite")).chmod(0o644)
    with pytest.raises(NotAllowed):
        process.running_sandbox(environ, "suite")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (
            b'note: x\n{"error": {"code": "usage", "message": "taken", "hint": "another"}}\n',
            UsageError("taken", hint="another"),
        ),
        (b"killed\n", CallsheetError("the sandbox did not start: killed")),
        (b"", CallsheetError("the sandbox did not start: exit code 2")),
    ],
)
def test_what_the_background_says_is_said_here(said: bytes, error: CallsheetError) -> None:
    told = process._failure_in_background(2, io.BytesIO(said))
    assert (type(told), told.message, told.hint) == (type(error), error.message, error.hint)


def test_two_starts_at_once_leave_one(tmp_path: Path) -> None:
    """The second waits until the first one's sandbox can be found; else nobody would know of one of them."""
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    with (
        process.starting_lock(environ, "suite"),
        pytest.raises(CallsheetError),
        locked_file(process.sandbox_file(environ, "suite"), 0),
    ):
        pass


def test_only_the_products_that_were_named_are_served(cache: Path) -> None:
    with (
        closing(open_catalog("suite", {"CALLSHEET_CACHE": str(cache)}, own=False)) as catalog,
        closing(SandboxSite(catalog, "cloud", products=["agile", "confluence"])) as some,
    ):
        paths = ["/rest/agile/1.0/board", "/wiki/api/v2/spaces", "/rest/api/3/myself", "/rest/servicedeskapi/request"]
        assert [ask(some, f"GET {path}").status for path in paths] == [200, 200, 404, 404]
