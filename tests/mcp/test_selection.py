"""Which commands can be tools, and which of them are offered."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.context import Context
from callsheet.errors import UsageError
from callsheet.language.safety import CHANGES
from callsheet.mcp.tools import ALL, Tool, ToolSelection
from support.places import ROOT
from support.programs import small_program

OWN = """
[group.pets]
help = "Pets"

[service.shop]
title = "Shop"

[product.shop]
title = "Shop"
service = "shop"

[operation.dropPet]
product = "shop"
tag = "Pets"
http = "DELETE /pets/{id}"
[operation.sellPet]
product = "shop"
tag = "Pets"
http = "POST /pets/{id}/sale"
[operation.listPets]
product = "shop"
tag = "Pets"
http = "GET /pets"
reply = "json"

[command."pets drop"]
help = "Drop a pet"
safety = "destroy"
confirm = "Drop {id}?"
params = [{ name = "id", kind = "argument", help = "the pet" }]
call = "dropPet"
args = { id = "{id}" }
[command."pets sell"]
help = "Sell a pet"
params = [{ name = "id", kind = "argument", help = "the pet" }]
call = "sellPet"
args = { id = "{id}" }
[command."pets list"]
help = "List pets"
call = "listPets"
"""
ENGINE = ROOT / "engine" / "callsheet"
LIBRARY = ("mcp", "mcp_types")
# A token of the common tokenizers is 3.9 bytes of these schemas; benchmarks/agents.py counts exactly.
MOST_BYTES = 8000 * 3.6
OBVIOUS = {"text", "label", "fix_version", "summary", "priority", "component", "title", "description"}
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "enum", "description"}


@pytest.fixture(scope="module")
def everything(selection: ToolSelection) -> list[Tool]:
    return selection.choose_tools(ALL)


def schemas(schema: dict[str, Any]) -> Any:
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from schemas(inner)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from schemas(schema[key])


def test_strict_gateways_take_every_schema(everything: list[Tool]) -> None:
    """One type each, nothing but plain keywords, at least one parameter."""
    for tool in everything:
        assert tool.input_schema["properties"], tool.name
        assert set(tool.input_schema.get("required", ())) <= tool.input_schema["properties"].keys()
        for part in schemas(tool.input_schema):
            assert set(part) <= KEYWORDS, (tool.name, part)
            assert isinstance(part["type"], str), (tool.name, part)
            assert part["type"] != "array" or "items" in part, (tool.name, part)


def test_names_are_short_unlike_each_other_and_of_plain_characters(everything: list[Tool]) -> None:
    names = [tool.name for tool in everything]
    assert len(set(names)) == len(names) > 130
    assert [name for name in names if not name.isascii() or not name.replace("_", "").isalnum() or len(name) > 48] == []


def test_every_parameter_and_tool_of_the_default_sets_is_described(selection: ToolSelection) -> None:
    for tool in selection.choose_tools(None):
        assert tool.description
        bare = [name for name, schema in tool.input_schema["properties"].items() if not schema.get("description")]
        assert set(bare) <= OBVIOUS, tool.name


def test_the_default_sets_are_small(selection: ToolSelection) -> None:
    tools = selection.choose_tools(None)
    sent = [{"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema} for tool in tools]
    assert 35 <= len(tools) <= 45
    assert len(json.dumps(sent, separators=(",", ":"))) <= MOST_BYTES


def test_annotations_follow_the_class(everything: list[Tool]) -> None:
    for tool in everything:
        notes = tool.annotations
        assert notes["readOnlyHint"] == (tool.safety not in CHANGES), tool.name
        assert notes.get("destructiveHint", False) == (tool.safety == "destroy" or tool.name == "op_call"), tool.name


def test_nothing_that_reveals_or_changes_this_side_can_be_a_tool(base: Context, selection: ToolSelection) -> None:
    left_out = {
        command
        for command in base.catalog.commands.ids()
        if command not in selection.commands and "builtin" in base.catalog.commands.get(command)
    }
    assert {"auth login", "auth status", "config set", "config use", "config view", "init", "doctor", "api"} <= left_out
    assert {
        "definitions import",
        "definitions show",
        "alias set",
        "mcp token",
        "mcp start",
        "convert",
        "open",
    } <= left_out
    served = {base.catalog.commands.get(command).get("builtin") for command in selection.commands} - {None}
    assert served == {"op call", "op describe", "op search", "sql", "undo"}


def test_no_tool_reads_or_writes_files(base: Context, everything: list[Tool]) -> None:
    assert {"issues_download", "pages_attach"}.isdisjoint(tool.name for tool in everything)
    assert "file" not in next(
        tool.params for tool in everything if tool.name == "issues_attach"
    )  # it copies from others
    for tool in everything:
        assert not any(param.get("type") == "path" for param in tool.params.values()), tool.name


@pytest.mark.parametrize(
    ("tools", "settings", "there", "absent"),
    [
        ("issues", {}, {"issues_get", "issues_delete"}, {"pages_get", "op_call"}),
        ("issues.get,pages list", {}, {"issues_get", "pages_list", "read_more"}, {"issues_list"}),
        ("issues_get", {}, {"issues_get"}, {"issues_list"}),
        ("pages.labels", {}, {"pages_labels_add"}, {"pages_get"}),
        (None, {"read_only": True}, {"issues_get", "op_call"}, {"issues_comment", "issues_new"}),
        (None, {"write": "issues.comment"}, {"issues_get", "issues_comment"}, {"issues_new", "pages_edit"}),
        ("pages", {"write": "issues.delete"}, {"pages_get", "issues_delete"}, {"issues_get", "pages_edit"}),
        ("issues", {"read_only": True, "write": "issues.comment"}, {"issues_get"}, {"issues_comment"}),
    ],
)
def test_sets_are_chosen(
    selection: ToolSelection, tools: str | None, settings: dict[str, Any], there: set[str], absent: set[str]
) -> None:
    names = {tool.name for tool in selection.choose_tools(tools, **settings)}
    assert there <= names
    assert absent.isdisjoint(names)


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("issuse", "unknown tool set or command 'issuse', did you mean 'issues'?"),
        ("issues.gte", "did you mean 'issues.get'?"),
        ("auth.login", "cannot be a tool"),
        ("", "no tool is left"),
        ("-issues", "did you mean 'issues'"),
    ],
)
def test_what_is_not_there_is_refused(selection: ToolSelection, tools: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        selection.choose_tools(tools)


def test_every_command_that_is_offered_belongs_to_a_group_or_a_set(selection: ToolSelection) -> None:
    grouped = {command for commands in selection.commands_by_set.values() for command in commands}
    assert set(selection.commands) - grouped == set()


def test_what_a_deployment_does_not_have_is_not_offered_there(base: Context, selection: ToolSelection) -> None:
    there = ToolSelection(base.catalog, "datacenter").commands
    assert "whiteboards get" in selection.commands
    assert "whiteboards get" not in there
    assert "issues get" in there


@pytest.mark.slow
def test_only_the_server_imports_the_library() -> None:
    """So no other command pays for it, and each works without it."""
    importing = {
        path.relative_to(ENGINE).as_posix()
        for path in ENGINE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name.split(".")[0] in LIBRARY for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] in LIBRARY)
    }
    assert importing == {"mcp/mcp_commands.py", "mcp/mcp_server.py"}


def test_a_program_of_ones_own_offers_its_commands(tmp_path: Path) -> None:
    """As long as no definition of its own chooses among them."""
    directory = small_program(tmp_path)
    (directory / "commands.toml").write_text(OWN, encoding="utf-8")
    context = Context("shop", {"CALLSHEET_HOME": str(tmp_path)})
    try:
        names = [tool.name for tool in ToolSelection(context.catalog).choose_tools(None)]
    finally:
        context.close()
    assert [name for name in names if name.startswith("pets")] == ["pets_list", "pets_sell", "pets_drop"]
    assert "op_search" in names
