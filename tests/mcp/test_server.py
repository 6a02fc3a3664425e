"""The library's own client, in both eras of the protocol, over every way to connect."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import anyio
import httpx
import mcp_types as types
import pytest
from mcp.client.streamable_http import streamable_http_client

from callsheet.mcp.mcp_server import Resources, make_server
from callsheet.mcp.tool_calls import Toolbox, Watch
from callsheet.mcp.untrusted_text import UNTRUSTED
from mcp import Client, MCPError, StdioServerParameters
from support.tracker import Tracker
from support.waiting import PATIENCE

Make = Callable[..., Toolbox]
INSPECTOR = os.environ.get("CALLSHEET_INSPECTOR", "")
ERAS = ["legacy", "2026-07-28"]

era = pytest.mark.parametrize("era", ERAS)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def server(toolbox: Toolbox) -> Any:
    return make_server(toolbox, Resources(toolbox))


def answering(*answers: types.ElicitResult) -> tuple[Callable[..., Awaitable[types.ElicitResult]], list[str]]:
    """A person who gives these answers in turn, and what that person was asked."""
    left, asked = list(answers), []

    async def elicit(_: Any, params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return left.pop(0)

    return elicit, asked


def text(result: Any) -> str:
    return "\n".join(part.text for part in result.content)


YES = types.ElicitResult(action="accept", content={"confirm": True})
NO = types.ElicitResult(action="decline")


@era
def test_tools_are_listed_and_called(make: Make, tracker: Tracker, era: str) -> None:
    toolbox = make()

    async def use() -> None:
        async with Client(server(toolbox), mode=era) as client:
            listed = (await client.list_tools()).tools
            assert [tool.name for tool in listed] == list(toolbox.tools)
            hints = {tool.name: tool.annotations.read_only_hint for tool in listed}
            assert (hints["issues_get"], hints["undo"]) == (True, False)
            assert (await client.list_tools()).tools == listed
            found = await client.call_tool("issues_get", {"issue": "DEMO-1"})
            assert "key: DEMO-1" in text(found)
            assert found.meta["callsheet/integrity"] == "untrusted"
            wrong = await client.call_tool("issues_get", {"isue": "DEMO-1"})
            assert wrong.is_error
            assert "did you mean 'issue'" in text(wrong)
            for name in ("issues_delete", "auth_login", "nothing"):
                with pytest.raises(MCPError, match="unknown tool"):
                    await client.call_tool(name, {"issue": ["DEMO-1"]})

    anyio.run(use)
    assert tracker.methods == ["GET"]


@era
def test_a_person_is_asked_before_something_is_destroyed(make: Make, tracker: Tracker, era: str) -> None:
    elicit, asked = answering(NO, types.ElicitResult(action="accept", content={"confirm": False}), YES)

    async def use() -> None:
        async with Client(server(make("issues")), mode=era, elicitation_callback=elicit) as client:
            for _ in range(2):
                refused = await client.call_tool("issues_delete", {"issue": ["DEMO-1"]})
                assert refused.is_error
                assert "did not agree" in text(refused)
            assert tracker.requests == []
            done = await client.call_tool("issues_delete", {"issue": ["DEMO-1"]})
            assert "key: DEMO-1\ndone: deleted" in text(done)

    anyio.run(use)
    assert tracker.methods == ["DELETE"]
    assert asked == ['suite: Delete issue DEMO-1?\n\nissues_delete {"issue": ["DEMO-1"]}'] * 3


@era
def test_a_client_that_cannot_ask_is_refused(make: Make, tracker: Tracker, era: str) -> None:
    async def use() -> None:
        async with Client(server(make("issues")), mode=era) as client:
            refused = await client.call_tool("issues_delete", {"issue": ["DEMO-1"]})
            assert refused.is_error
            assert "this client cannot ask" in text(refused)

    anyio.run(use)
    assert tracker.requests == []


def test_an_answer_for_other_arguments_counts_for_nothing(make: Make, tracker: Tracker) -> None:
    """A client that sends back the state of another call, or of none."""
    serving = server(make("issues"))

    async def use() -> None:
        async with Client(serving, mode="2026-07-28", elicitation_callback=answering(YES, YES, YES)[0]) as client:
            asked = await client.session.call_tool("issues_delete", {"issue": ["DEMO-1"]}, allow_input_required=True)
            assert asked.request_state
            for state in (asked.request_state, "x.y", asked.request_state[:-6]):
                refused = await client.session.call_tool(
                    "issues_delete",
                    {"issue": ["DEMO-2"]},
                    input_responses={"confirm": YES},
                    request_state=state,
                    allow_input_required=True,
                )
                assert refused.is_error
            assert tracker.requests == []

    anyio.run(use)


@era
def test_progress_is_told_while_a_site_takes_its_time(make: Make, tracker: Tracker, era: str) -> None:
    seen: list[str] = []
    told = threading.Event()
    tracker.before_answer = lambda: told.wait(PATIENCE)

    async def progress(_: float, __: float | None, message: str | None) -> None:
        seen.append(str(message))
        told.set()

    async def use() -> None:
        async with Client(server(make()), mode=era) as client:
            await client.call_tool("issues_list", {"mine": True}, progress_callback=progress)

    anyio.run(use)
    assert seen


@era
def test_a_call_that_is_given_up_sends_no_further_request(
    make: Make, tracker: Tracker, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolbox = make()
    asked, given_up, go_on, ended = (threading.Event() for _ in range(4))
    give_up, call = Watch.give_up, toolbox.call_tool

    def hold() -> None:
        asked.set()
        go_on.wait(PATIENCE)

    def noted_giving_up(watch: Watch) -> None:
        give_up(watch)
        given_up.set()

    def noted_call(*given: Any) -> Any:
        try:
            return call(*given)
        finally:
            ended.set()

    monkeypatch.setattr(Watch, "give_up", noted_giving_up)
    monkeypatch.setattr(toolbox, "call_tool", noted_call)
    tracker.before_answer = hold

    async def use() -> None:
        async with Client(server(toolbox), mode=era) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "issues_list", {"mine": True, "fields": ["Story points"]})
                await anyio.to_thread.run_sync(asked.wait, PATIENCE)
                tasks.cancel_scope.cancel()  # the first of its two requests is under way
            await anyio.to_thread.run_sync(given_up.wait, PATIENCE)
            go_on.set()
            await anyio.to_thread.run_sync(ended.wait, PATIENCE)

    anyio.run(use)
    assert [each.is_set() for each in (asked, given_up, ended)] == [True] * 3
    assert len(tracker.requests) == 1


@era
def test_resources_and_completions(make: Make, era: str) -> None:
    async def use() -> None:
        async with Client(server(make()), mode=era) as client:
            templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
            assert "suite://issues/{key}" in templates
            read = await client.read_resource("suite://issues/DEMO-1")
            assert read.contents[0].mime_type == "text/markdown"
            assert "Sweep it" in read.contents[0].text
            with pytest.raises(MCPError, match="unknown address"):
                await client.read_resource("file:///etc/passwd")
            reference = types.ResourceTemplateReference(uri="suite://operations/{id}")
            found = await client.complete(reference, {"name": "id", "value": "getIssueW"})
            assert found.completion.values == ["getIssueWatchers", "getIssueWorklog"]
            assert found.meta is not None
            assert found.meta.items() >= UNTRUSTED.items()

    anyio.run(use)


COMMAND = [sys.executable, "-W", "error", "-m", "callsheet", "suite", "mcp"]


def test_over_pipes(environ: dict[str, str], tracker: Tracker) -> None:
    async def use() -> None:
        command, *words = COMMAND
        parameters = StdioServerParameters(
            command=command, args=[*words, "start", "--tools", "issues.get"], env=environ
        )
        async with Client(parameters) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["issues_get", "read_more"]
            assert not (await client.call_tool("issues_get", {"issue": "DEMO-1"})).is_error

    anyio.run(use)
    assert tracker.methods == ["GET"]


@contextlib.asynccontextmanager
async def connected(url: str, token: str, era: str) -> AsyncIterator[Client]:
    import httpx2

    async with (
        httpx2.AsyncClient(timeout=PATIENCE, headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=era) as client,
    ):
        yield client


@pytest.mark.slow
def test_over_http(environ: dict[str, str], tracker: Tracker, tmp_path: Any) -> None:
    path = tmp_path / "given" / "token"
    path.parent.mkdir()
    token = "of-this-test-0123456789"
    path.write_text(token)
    path.chmod(0o600)
    words = ["stream", "--tools", "issues", "--port", "0", "--token-file", str(path)]
    with subprocess.Popen([*COMMAND, *words], env=environ, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            match = re.search(r"http://127\.0\.0\.1:\d+/mcp", process.stderr.readline())
            assert match is not None
            anyio.run(use_over_http, match[0], token)
            refuse_others(match[0], token)
        finally:
            process.terminate()
            said = process.communicate(timeout=PATIENCE)[1]
    assert token not in said
    assert tracker.methods == ["GET"] * 2


async def use_over_http(url: str, token: str) -> None:
    for era in ERAS:
        async with connected(url, token, era) as client:
            assert len((await client.list_tools()).tools) > 10
            assert not (await client.call_tool("issues_get", {"issue": "DEMO-1"})).is_error


def refuse_others(url: str, token: str) -> None:
    right = f"Bearer {token}"
    for authorization in (None, "", "Bearer", f"Bearer {token}x", f"Bearer {token[:-1]}", f"Basic {token}", token):
        answer = httpx.post(
            url, json={}, headers={} if authorization is None else {"Authorization": authorization}, timeout=PATIENCE
        )
        assert (answer.status_code, answer.content) == (401, b"")
    twice = httpx.post(url, json={}, headers=[("Authorization", right), ("Authorization", right)], timeout=PATIENCE)
    assert twice.status_code == 401
    accept = {"Authorization": right, "Accept": "application/json, text/event-stream"}
    for host in ("evil.example", "localhost:80.evil.example", "127.0.0.1:1@evil.example"):
        assert httpx.post(url, json={}, headers={**accept, "Host": host}, timeout=PATIENCE).status_code == 421
        for origin in (f"https://{host}", f"http://{host}"):
            assert httpx.post(url, json={}, headers={**accept, "Origin": origin}, timeout=PATIENCE).status_code == 403
    two = [*accept.items(), ("Origin", "http://127.0.0.1:1"), ("Origin", "http://127.0.0.1:2")]
    assert httpx.post(url, json={}, headers=two, timeout=PATIENCE).status_code == 403
    assert (
        httpx.get(url.removesuffix("/mcp"), headers={"Authorization": "Bearer no"}, timeout=PATIENCE).status_code == 401
    )


def test_without_the_library_the_command_to_install_it_is_told(environ: dict[str, str]) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; sys.modules['mcp_types'] = None; "
        "from callsheet.cli.main import run; sys.exit(run('suite', ['mcp', 'start']))"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.search('pip install .*"mcp<', done.stderr), done.stderr


@pytest.mark.skipif(not INSPECTOR or not shutil.which("node"), reason="CALLSHEET_INSPECTOR names no inspector")
@pytest.mark.parametrize("protocol", ["legacy", "modern"])
def test_the_inspector_has_nothing_to_complain_of(environ: dict[str, str], protocol: str) -> None:
    """`npm install @modelcontextprotocol/inspector`; CALLSHEET_INSPECTOR is its clients/launcher/build/index.js."""
    variables = [word for name, value in environ.items() for word in ("-e", f"{name}={value}") if "TOKEN" not in name]
    asked = ["--method", "tools/list", "--format", "json", "--strict", "--protocol-era", protocol]
    command = ["node", INSPECTOR, "--cli", *variables, *COMMAND, "start", "--tools", "all", *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads(done.stdout)["result"]["tools"]) > 130
