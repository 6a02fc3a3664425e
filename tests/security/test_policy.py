"""A policy holds for every sender and every spelling: what it denies never arrives."""

from __future__ import annotations

import ast
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.cli.main import run, run_literally
from callsheet.client.http.http_client import Client
from callsheet.client.request.build import Builder
from callsheet.client.request.gate import ApprovalRequest
from callsheet.errors import NotAllowed
from callsheet.listener.handlers import HandlerContext
from callsheet.listener.handlers.command_handler import Command
from callsheet.policy import policy_sources as load
from callsheet.policy.policy import Facts, Policy, PolicySource, class_rules
from callsheet.sites.credentials.oauth import UnauthenticatedClient
from support.cases import Done, environment, run_program
from support.fakes import FakeSite
from support.server import Server, exchange, reply, serve
from support.shop import shop
from support.terminal import Screen

ISSUE = "/rest/api/3/issue/DEMO-1"

# Definitions that call themselves milder than the documented operations with the same paths.
OWN = """
[operation.myBulk]
product = "jira"
http    = "POST /rest/api/3/bulk/issues/delete"
safety  = "read"

[operation.myDelete]
product = "jira"
http    = "DELETE /rest/api/2/issue/{key}"
safety  = "write"

# A shipped one that is changed, and one that is taken away, so that its path would be unknown.
[operation.deleteDashboard]
safety  = "read"

[operation.archivePlan]
remove  = true

# Nearer to the path than the shipped one.
[operation.oneIssue]
product = "jira"
http    = "DELETE /rest/api/3/issue/DEMO-1"
safety  = "write"

[operation.ownGone]
product = "jira"
http    = "DELETE /rest/own/{id}"
safety  = "write"

[operation.ownSearch]
product = "jira"
http    = "POST /rest/own/search"
safety  = "read"

# What rules about projects go by.
[container.project]
keys    = ["nothing"]
within  = []

[container.space]
remove  = true

[command."mine bulk"]
help = "Call the one."
[[command."mine bulk".step]]
call = "myBulk"

[command."mine two"]
help = "Change something, and then call the other."
params = [{ name = "key", kind = "argument", required = true, help = "the issue" }]
[[command."mine two".step]]
call = "addVote"
args = { issueIdOrKey = "{key}" }
[[command."mine two".step]]
call = "myDelete"
args = { key = "{key}" }

[group.mine]
help = "My own."
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with definitions of its own and an alias; the catalog is compiled once."""
    home = tmp_path_factory.mktemp("policy") / "home"
    (home / "definitions" / "suite").mkdir(parents=True)
    (home / "definitions" / "suite" / "mine.toml").write_text(OWN, encoding="utf-8")
    (home / "aliases.toml").write_text('nuke = "issues delete $1 --yes"\n', encoding="utf-8")
    return home


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(
        [exchange("GET", "/rest/api/3/myself", reply(json={"accountId": "r-1"}), repeat=None)],
        verify=False,
        trusted=True,
    ) as server:
        yield server


def environ(home: Path, server: Server, policy: str) -> dict[str, str]:
    own = {"CALLSHEET_CACHE": str(home.parent / "cache"), "SUITE_POLICY": policy}
    return {**environment(home, server.url), **own}


DESTROYING = [
    ["issues", "delete", "DEMO-1", "--yes"],
    ["--yes", "-o", "ndjson", "issues", "rm", "DEMO-1"],
    ["nuke", "DEMO-1"],
    ["mine", "bulk"],
    ["mine", "two", "DEMO-1", "--yes"],
    ["op", "call", "deleteIssue", "--param", "issueIdOrKey=DEMO-1", "--yes"],
    ["op", "call", "jira.deleteIssue", "--param", "issueIdOrKey=DEMO-1", "--yes"],
    ["op", "call", "myBulk"],
    ["op", "call", "deleteDashboard", "--param", "id=1", "--yes"],
    ["op", "call", "oneIssue", "--yes"],
    ["op", "call", "ownGone", "--param", "id=1", "--yes"],
    ["api", "PUT", "/rest/api/3/plans/plan/1/archive", "--yes"],
    ["op", "call", "getIssue", "--no-strict", "--param", "issueIdOrKey=DEMO-1", "--param", "_method=DELETE", "--yes"],
    [
        "op",
        "call",
        "updateProject",
        "--no-strict",
        "--param",
        "projectIdOrKey=1%2Fx",
        "--param",
        "_method=DELETE",
        "-y",
    ],
    ["api", "DeLeTe", ISSUE, "--yes"],
    ["api", "-q", "a=b", "DELETE", ISSUE, "--yes"],
    ["api", "DELETE", "/anything/at/all", "--yes"],
    ["api", "POST", "/rest/api/latest/bulk//issues/%64elete/", "-d", "{}", "--yes"],
    ["api", "POST", "/rest/api/3/bulk/issues/%2564elete", "-d", "{}", "--yes"],
    ["api", "POST", "/ex/gate/1-2/rest/api/3/bulk/issues/delete", "-d", "{}", "--yes"],
    ["api", "POST", ISSUE, "-H", "X-HTTP-Method-Override: DELETE", "--yes"],
    ["api", "GET", f"{ISSUE}?_method=DELETE", "--yes"],
    ["api", "PUT", "/rest/api/3/version/1/mergeto/2", "--yes"],
]


@pytest.mark.slow
@pytest.mark.parametrize("words", DESTROYING, ids=" ".join)
def test_nothing_that_destroys_is_sent(words: list[str], home: Path, server: Server) -> None:
    done = run_program("suite", words, environ(home, server, "destroy=deny"))
    assert (done.exit, server.requests) == (3, []), done.stderr
    assert 'denied by the policy (destroy = "deny" in SUITE_POLICY)' in done.stderr


@pytest.mark.slow
def test_rules_about_projects_go_by_what_was_shipped(home: Path, server: Server, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nproject = "SECRET"\ndecision = "deny"\n[[rule]]\nspace = "S"\ndecision = "deny"\n')
    for words in (["issues", "get", "SECRET-1"], ["api", "GET", "/wiki/rest/api/space/S"]):
        done = run_program("suite", words, environ(home, server, str(rules)))
        assert (done.exit, server.requests) == (3, []), done.stderr


def test_the_machine_believes_no_definition_of_ones_own(
    home: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever wrote the definition wrote the policy of the site or the shell, too; not so the administrator's."""
    server.exchanges.append(exchange("POST", "/rest/own/search", reply(json=[]), repeat=None))
    assert run_program("suite", ["op", "call", "ownSearch"], environ(home, server, "write=deny")).exit == 0
    machine = tmp_path / "policy.toml"
    machine.write_text('write = "deny"\n')
    monkeypatch.setattr(load, "system_file", lambda: str(machine))
    monkeypatch.setattr(load, "why_not_administrators", lambda _: None)
    assert run_program("suite", ["op", "call", "ownSearch"], environ(home, server, "")).exit == 3
    found = run_program("suite", ["issues", "list", "--jql", "x", "--dry-run"], environ(home, server, ""))
    assert (found.exit, "policy" in found.stderr) == (0, False)
    assert len(server.requests) == 1


def test_reading_goes_on(home: Path, server: Server) -> None:
    for policy in ("destroy=deny", "read-only"):
        for words in (["users", "me"], ["api", "GET", "/rest/api/3/myself"], ["op", "call", "getCurrentUser"]):
            done = run_program("suite", [*words, "-o", "json"], environ(home, server, policy))
            assert (done.exit, b"r-1" in done.stdout) == (0, True), done.stderr
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    "words",
    [
        ["users", "me"],
        ["issues", "assign", "DEMO-1", "--to", "Robin"],  # looks the person up first
        ["doctor"],
        ["api", "GET", "/rest/api/3/myself"],
        ["op", "call", "getAllBoards", "--all"],
        ["op", "call", "getAttachmentContent", "--param", "id=1", "--out", "x.bin"],
        ["auth", "status"],
        ["init", "--name", "x"],
    ],
    ids=" ".join,
)
def test_a_policy_can_stop_reading_too(
    words: list[str], home: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_program("suite", words, environ(home, server, "read=deny"))
    assert (done.exit != 0, server.requests) == (True, []), done.stderr
    assert "denied by the policy" in done.stderr + done.stdout.decode()


def test_a_handler_of_a_route_passes_too(home: Path, server: Server) -> None:
    """Also where the variable is one of those that handlers are not to see."""
    variables, told = environ(home, server, "destroy=deny"), list[str]()
    context = HandlerContext("", variables, frozenset({"SUITE_POLICY"}), told.append, 30.0, run_literally)
    handler = Command({"handler": "command", "program": "suite", "run": "issues delete {key} --yes"}, context)  # type: ignore[typeddict-item]
    values = handler.call.fill_call({"key": "DEMO-1"})
    err = io.StringIO()
    typed = handler.call.typed
    code = run_literally("suite", ["issues", "delete"], values, typed=typed, environ=handler.environ, stderr=err)
    assert (code, server.requests) == (3, []), err.getvalue()


def test_signing_in_passes_too() -> None:
    denied = Policy([PolicySource("here", class_rules({"read": "deny"}))])
    with serve([], verify=False) as server:
        for send in (lambda web: web.get(server.url), lambda web: web.post(server.url, "a=b", ["secret"])):
            with pytest.raises(NotAllowed, match="denied by the policy"):
                send(UnauthenticatedClient(FakeSite(policy=denied)))
        assert server.requests == []


def test_a_redirect_is_judged_where_it_leads(home: Path) -> None:
    onward = reply(307, headers={"Location": "/rest/api/3/version/1/mergeto/2"})
    with serve([exchange("PUT", "/rest/api/3/version/1", onward)], trusted=True) as server:
        words = ["api", "PUT", "/rest/api/3/version/1", "-d", "{}"]
        done = run_program("suite", words, environ(home, server, "destroy=deny"))
        assert (done.exit, [request.path for request in server.requests]) == (3, ["/rest/api/3/version/1"]), done.stderr


def test_each_try_is_judged() -> None:
    asked: list[ApprovalRequest] = []
    with shop([exchange("PUT", "/items/1", reply(503)), exchange("PUT", "/items/1", reply(json={}))]) as here:
        here.client.gate.policy = Policy([PolicySource("here", class_rules({"write": "ask"}))])
        here.client.gate._ask = lambda question: not asked.append(question)
        seen: list[Facts] = []
        judge = here.client.gate.facts_of
        here.client.gate.facts_of = lambda request: seen.append(judge(request)) or seen[-1]  # type: ignore[method-assign]
        here.client.send(Builder(here.definitions, here.site, "shop").build_raw_request("PUT", "/items/1"))  # type: ignore[arg-type]
    assert (len(asked), len(seen)) == (1, 2)


def at_screen(answer: str, words: list[str], variables: dict[str, str]) -> tuple[int, str]:
    err = Screen()
    code = run("suite", words, environ=variables, stdin=Screen(answer), stdout=io.StringIO(), stderr=err)
    return code, err.getvalue()


def test_a_policy_asks_a_person_whatever_the_command_line_says(home: Path) -> None:
    ask = "write=ask,destroy=ask"
    with serve([exchange("DELETE", ISSUE, reply(204), repeat=None)], trusted=True, verify=False) as server:
        variables = environ(home, server, ask)
        words = ["op", "call", "deleteIssue", "--param", "issueIdOrKey=DEMO-1"]
        done = run_program("suite", [*words, "--yes"], variables, stdin="y\n")
        assert (done.exit, server.requests) == (3, [])
        assert 'wants a person to confirm this (destroy = "ask" in SUITE_POLICY)' in done.stderr
        for answer, given, code, sent in (("n\n", ["--yes"], 3, 0), ("y\n", ["--yes"], 0, 1), ("y\n", [], 0, 2)):
            got, shown = at_screen(answer, [*words, *given], variables)
            assert (got, len(server.requests), shown.count("[y/N]")) == (code, sent, 1), shown


def test_a_dry_run_tells_what_the_policy_says(home: Path, server: Server) -> None:
    done = run_program("suite", ["issues", "delete", "DEMO-1", "--dry-run"], environ(home, server, "destroy=deny"))
    assert (done.exit, done.stdout.startswith(b"curl -X DELETE "), server.requests) == (0, True, [])
    assert 'the policy denies this (destroy = "deny" in SUITE_POLICY)' in done.stderr


def test_a_policy_that_is_not_understood_sends_nothing(home: Path, server: Server) -> None:
    for policy, problem in (("destory=deny", "unknown operation"), ("/nowhere.toml", "cannot read /nowhere.toml")):
        done = run_program("suite", ["users", "me"], environ(home, server, policy))
        assert (done.exit, server.requests) == (2, []), done.stderr
        assert problem in done.stderr


def test_a_sites_own_policy_holds(tmp_path: Path, home: Path, server: Server) -> None:
    (tmp_path / "home").mkdir()
    settings = f'base_url = "{server.url}"\nemail = "a@b.c"\ntoken_env = "WORK_TOKEN"\n'
    policy = '[sites.work.policy]\nwrite = "deny"\n[[sites.work.policy.rule]]\noperation = "add*"\ndecision = "allow"\n'
    profiles = tmp_path / "home" / "profiles.toml"
    variables = {**environment(tmp_path / "home", server.url), "WORK_TOKEN": "t"}
    variables = {name: text for name, text in variables.items() if not name.startswith("SUITE_")}

    def call(text: str, *words: str) -> Done:
        profiles.write_text(f'site = "work"\n[sites.work]\n{settings}{text}', encoding="utf-8")
        return run_program("suite", [*words], variables)

    assert call(policy, "api", "PUT", "/rest/api/3/issue/A-1", "-d", "{}").exit == 3
    assert call('policy = "write=deny"\n', "api", "PUT", "/rest/api/3/issue/A-1", "-d", "{}").exit == 3
    assert server.requests == []
    call(policy, "op", "call", "addVote", "--param", "issueIdOrKey=A-1")
    assert [request.method for request in server.requests] == ["POST"]
    broken = call('policy = "wirte=dny,x"\n', "users", "me")
    assert (broken.exit, "policy" in broken.stderr) == (2, True), broken.stderr
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("words", "policy", "denied"),
    [
        (["webhook", "inbox", "purge", "--inbox", "in.db", "--older", "0", "--yes"], "destroy=deny", True),
        (["webhook", "inbox", "purge", "--inbox", "in.db", "--older", "0", "--yes"], "destroy=ask", True),
        (["webhook", "inbox", "replay", "x", "--inbox", "in.db"], "read-only", True),
        (["webhook", "trigger", "grade_change", "--to", "http://localhost:9/"], "read-only", True),
        (["webhook", "inbox", "purge", "--inbox", "in.db", "--older", "0", "--yes"], "write=deny", False),
    ],
)
def test_what_goes_to_no_site_is_judged_by_its_class(
    words: list[str], policy: str, denied: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run_program("lms", words, {**environment(tmp_path / "x" / "home", ""), "LMS_POLICY": policy})
    assert (done.exit == 3, "LMS_POLICY" in done.stderr) == (denied, denied), done.stderr


# Whatever else can reach the network, and why it is no way around: it takes no credential of a site.
OTHER_SENDERS = {
    "cli/builtin/trigger.py",  # signed events for a listener
    "listener/handlers/forward_handler.py",  # events for a fixed address
    "listener/verify/key_set.py",  # public keys
    "sandbox/sandbox_server.py",  # the sandbox's own process on this machine, with a token made for it
    "sandbox/simulated_site.py",  # made-up events of a sandbox, to an address that a person registered there
}


# What opens a connection to somebody, in the libraries that are installed.
SENDING = ("httpx.Client", "httpx.AsyncClient", "HTTPConnection", "HTTPSConnection", "urlopen", "create_connection")


@pytest.mark.slow
def test_there_is_one_way_out() -> None:
    """A sender that is new has to pass the gate, or to be named above with its reason."""
    engine = Path(sys.modules["callsheet"].__file__ or "").parent
    senders, transports = set(), []
    for path in sorted(engine.rglob("*.py")):
        name = path.relative_to(engine).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(SENDING):
                senders.add(name)
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("_connections.handle_request"):
                transports.append(name)
    assert (senders, transports) == (OTHER_SENDERS, ["client/http/http_client.py"])
    assert Client.__init__.__kwdefaults__["ask"].__name__ == "ask_nobody"
