"""What a model reads of a tool is written for a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.mcp.tools import ALL, Tool, ToolSelection, for_tools

# What only a person at a command line can do.
OF_A_PERSON = re.compile(
    r"--\w|standard input|\bstdin\b|@FILE|@-|-o json|\bterminal\b|\bCtrl|\boptions?\b|\bflags?\b|\brepeatable\b|`|"
    r"\b(?:suite|lms|callsheet) [a-z]"
)


def texts(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "description", tool.description
    for name, schema in tool.input_schema["properties"].items():
        yield name, schema.get("description", "")


@pytest.fixture(scope="module")
def tools(selection: ToolSelection) -> list[Tool]:
    return selection.choose_tools(ALL)


def test_no_text_speaks_of_the_command_line(tools: list[Tool]) -> None:
    found = [
        f"{tool.name}.{where}: {text}" for tool in tools for where, text in texts(tool) if OF_A_PERSON.search(text)
    ]
    assert found == []


def test_what_is_required_is_there_and_has_no_default(tools: list[Tool]) -> None:
    for tool in tools:
        properties: dict[str, Any] = tool.input_schema["properties"]
        required = {name: properties[name].get("description", "") for name in tool.input_schema.get("required", ())}
        assert not [name for name, text in required.items() if "default" in text], tool.name


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Markdown, or what --body-format says", "Markdown"),
        ("what --format says; the rest", "the rest"),
        ("the title (default: that of --body)", "the title (default: that of body)"),
        ("the title (default: that of --file)", "the title"),
        ("only before --until-day", "only before until_day"),
        ("its id; `suite issues comments KEY` shows them", "its id; issues_comments shows them"),
        ("its id; `suite browse KEY` shows it", "its id"),
        ("a--b and ---", "a--b and ---"),
        ("", ""),
    ],
)  # fmt: skip
def test_words_of_the_command_line_become_those_of_tools(text: str, wanted: str) -> None:
    known = {"issues": None, "issues comments": "issues_comments"}
    assert for_tools(text, {"body": "body", "until-day": "until_day"}, known.get) == wanted
