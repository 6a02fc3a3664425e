"""The policy holds for every call: what it denies never arrives, and what it asks for is asked through the client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.commands.context import Context
from callsheet.errors import CallsheetError, UsageError
from callsheet.language.safety import CHANGES
from callsheet.mcp.mcp_commands import toolbox_of
from callsheet.mcp.mcp_server import Resources
from callsheet.mcp.tool_calls import ConsentNeeded, Toolbox, Watch, policy_of_tool
from callsheet.mcp.tools import ALL, ToolSelection
from support.tracker import Tracker

DEFAULTS = {"tools": None, "read-only": False, "write": None, "max-bytes": 16384}


@pytest.fixture
def policy(variables: dict[str, str], tracker: Tracker, request: pytest.FixtureRequest) -> Iterator[Context]:
    """A run with the policy that the test is parametrized with."""
    context = Context("suite", {**variables, "SUITE_POLICY": request.param})
    yield context
    context.close()


def with_policy(*rules: str) -> Any:
    return pytest.mark.parametrize("policy", rules, indirect=True)


def deleting(toolbox: Toolbox) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("issues_delete", {"issue": ["DEMO-1"]}),
        ("issues_comment_delete", {"issue": "DEMO-1", "id": "7"}),
        ("op_call", {"id": "deleteIssue", "param": {"issueIdOrKey": "DEMO-1"}}),
        ("op_call", {"id": "submitBulkDelete", "data": {"selectedIssueIdsOrKeys": ["DEMO-1"]}}),
    ]


@with_policy("destroy=deny")
def test_what_is_denied_never_arrives_even_with_consent(policy: Context, tracker: Tracker) -> None:
    toolbox = toolbox_of(policy, {**DEFAULTS, "tools": "issues,op"})
    for name, given_ in deleting(toolbox):
        questions: frozenset[str] = frozenset()
        for _ in range(3):
            try:
                answer = toolbox.call_tool(name, given_, agreed=questions)
                break
            except ConsentNeeded as need:
                questions |= {need.question}
        assert answer.is_error
        assert "denied by the policy" in answer.text
    assert destroying(tracker) == []
    assert not toolbox.call_tool("issues_get", {"issue": "DEMO-1"}).is_error


@with_policy("write=ask")
def test_what_is_asked_for_needs_consent_to_the_call(policy: Context, tracker: Tracker) -> None:
    toolbox = toolbox_of(policy, DEFAULTS)
    given_ = {"issue": "DEMO-1", "body": "x"}
    with pytest.raises(ConsentNeeded) as asked:
        toolbox.call_tool("issues_comment", given_)
    assert "POST" in asked.value.question
    assert tracker.methods == ["GET"]
    assert not toolbox.call_tool("issues_comment", given_, agreed=frozenset({asked.value.question})).is_error
    assert tracker.methods == ["GET", "GET", "POST", "GET"]  # the last is for an undo


@with_policy("read-only")
def test_a_read_only_policy_leaves_reading(policy: Context, tracker: Tracker) -> None:
    toolbox = toolbox_of(policy, {**DEFAULTS, "tools": "issues,op"})
    for name, given_ in [("issues_comment", {"issue": "DEMO-1", "body": "x"}), *deleting(toolbox)]:
        assert "denied by the policy" in toolbox.call_tool(name, given_).text
    assert tracker.requests == []
    assert not toolbox.call_tool("issues_get", {"issue": "DEMO-1"}).is_error


@with_policy("", "destroy=ask")
def test_a_read_only_server_calls_no_operation_that_changes_something(policy: Context, tracker: Tracker) -> None:
    toolbox = toolbox_of(policy, {**DEFAULTS, "read-only": True})
    for id, rest in (("addComment", {"data": {"body": {}}}), ("deleteIssue", {})):
        answer = toolbox.call_tool("op_call", {"id": id, "param": {"issueIdOrKey": "DEMO-1"}, **rest})
        assert answer.is_error
        assert "denied by the policy" in answer.text
    assert tracker.requests == []
    assert not toolbox.call_tool("op_call", {"id": "getIssue", "param": {"issueIdOrKey": "DEMO-1"}}).is_error


@with_policy("")
def test_with_chosen_writers_any_operation_only_reads(policy: Context, tracker: Tracker) -> None:
    toolbox = toolbox_of(policy, {**DEFAULTS, "write": "issues.comment"})
    call = {"id": "addComment", "param": {"issueIdOrKey": "DEMO-1"}, "data": {"body": {}}}
    assert "denied by the policy" in toolbox.call_tool("op_call", call).text
    with pytest.raises(UsageError, match="unknown tool"):
        toolbox.call_tool("issues_new", {})
    assert tracker.requests == []
    assert not toolbox.call_tool("issues_comment", {"issue": "DEMO-1", "body": "x"}).is_error


def test_a_tool_is_bounded_by_its_class(selection: ToolSelection) -> None:
    for tool in selection.choose_tools(ALL):
        denied = {name for source in policy_of_tool(tool) for rule in source.rules for name in rule.safety or ()}
        wanted = {"destroy": set(), "write": {"destroy"}}.get(tool.safety, set(CHANGES))
        assert denied == (set() if tool.name == "op_call" else wanted), tool.name


@with_policy("destroy=deny")
def test_addresses_only_read(policy: Context, tracker: Tracker) -> None:
    resources = Resources(toolbox_of(policy, DEFAULTS))
    assert resources.read_resource("suite://issues/DEMO-1", Watch())[0]
    with pytest.raises(CallsheetError):
        resources.read_resource("suite://operations/deleteIssue/x", Watch())
    assert set(tracker.methods) == {"GET"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**20) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
WORDS = st.sampled_from(
    [
        "DEMO-1",
        "deleteIssue",
        "getIssue",
        "submitBulkDelete",
        "../x",
        "@/etc/passwd",
        "-",
        "--yes",
        "\u202e",
        "\0",
        "\ud800",
        "%2e%2e",
    ]
)


@with_policy("destroy=deny")
@settings(max_examples=80)
@given(data=st.data())
def test_no_call_whatever_its_arguments_destroys_or_fails_unworded(
    policy: Context, tracker: Tracker, data: st.DataObject
) -> None:
    """`benchmarks/agents.py --calls 10000` does the same at length."""
    toolbox = data.draw(st.just(everything(policy)))
    tool = toolbox.tools[data.draw(st.sampled_from(sorted(toolbox.tools)))]
    names = st.sampled_from([*tool.input_schema["properties"], "yes", "site", "output", "dry_run"])
    given_ = data.draw(st.dictionaries(names, WORDS | JSON, max_size=4))
    if data.draw(st.booleans()):
        given_ |= {name: data.draw(WORDS) for name in tool.input_schema.get("required", ())}
    try:
        answer = toolbox.call_tool(tool.name, given_, agreed=frozenset({"?"}))
    except ConsentNeeded:
        return
    assert answer.text
    assert "Traceback" not in answer.text
    assert "unexpected" not in answer.text
    assert [path for path in destroying(tracker) if not path.endswith(("/watchers", "/label"))] == []


def destroying(tracker: Tracker) -> list[str]:
    """One call takes back what the class `write` removes: a watcher, a label."""
    return [each.path for each in tracker.requests if each.method == "DELETE" or each.path.endswith("/delete")]


TOOLBOXES: dict[int, Toolbox] = {}


def everything(context: Context) -> Toolbox:
    if id(context) not in TOOLBOXES:
        TOOLBOXES[id(context)] = toolbox_of(context, {**DEFAULTS, "tools": ALL})
    return TOOLBOXES[id(context)]
