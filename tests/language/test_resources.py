"""What were definitions of their own are tables of a resource: older files say it as before, and are read so."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet import registry
from callsheet.errors import DefinitionError
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import load_definitions
from callsheet.language.upgrade import find_upgrades
from support.places import DEFINITIONS

OLD = """language = 2

[lookup.shelf] # where it stands
call = "getStatuses"
match = ["name"]
[lookup.shelf.keywords]
first = { call = "getStatuses", value = "[0].id" }

[extend.lookup.account]
hint = "who?"

[naming.shelf]
call = "getStatuses"
size = 1
pattern = "x"
id = "id"
name = "name"

[resource.box]
title = "Box"
uri = "boxes/{id}"
command = "filters get"
values = { id = "{id}" }
[resource.box.complete.id]
command = "filters list"

[tool."filter bugs"]
help    = "Find what is broken"
command = "filters list" # as people say it
params  = ["name"]

[command."bugs count"]
help = "Count what is broken"
call = "countIssues"
body = { jql = "type = Bug" }

[tool.bugs]
command = 'bugs count'

[extend.tool.issues_get]
command = "issues get"
help    = "Read a ticket"
"""


@pytest.fixture
def layers(tmp_path: Path) -> list[Layer]:
    (tmp_path / "mine.toml").write_text(OLD, encoding="utf-8")
    shipped = [Layer(str(DEFINITIONS / name), shipped=True) for name in ("common", "client", "suite")]
    return [*shipped, Layer(str(tmp_path))]


def test_an_older_file_is_read_and_told_of(layers: list[Layer]) -> None:
    definitions = load_definitions(layers)
    assert definitions["lookup", "shelf"].table["match"] == ["name"]
    assert definitions["lookup", "shelf"].table["title"] == "shelf"
    assert definitions["lookup", "user"].table["hint"] == "who?"
    assert definitions["lookup", "user"].table["value"] == "accountId"
    assert definitions["naming", "shelf"].table["pattern"] == "x"
    assert definitions["resource", "box"].table["agents"]["complete"] == {"id": {"command": "filters list"}}
    assert [note.partition(": ")[2] for note in definitions.notes] == [
        "lookup \"shelf\" is now the table 'find' of resource 'shelf'",
        "lookup \"account\" is now the table 'find' of resource 'user'",
        "naming \"shelf\" is now the table 'names' of resource 'shelf'",
        "resource \"box\": command, complete, uri, values now stand in the table 'agents' of resource 'box'",
        "tool \"filter bugs\" is now the table 'agents' of command 'filters list'",
        "tool \"bugs\" is now the table 'agents' of command 'bugs count'",
        "tool \"issues_get\" is now the table 'agents' of command 'issues get'",
    ]
    offered = {id: definitions["command", id].table["agents"] for id in ("filters list", "bugs count", "issues get")}
    assert offered["filters list"] == {"name": "filter_bugs", "help": "Find what is broken", "params": ["name"]}
    assert offered["bugs count"] == {"name": "bugs"}
    assert offered["issues get"] == {"name": "issues_get", "help": "Read a ticket", "params": ["issue"]}


def test_defaults_of_an_older_file_hold(layers: list[Layer], tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(
        '[defaults.lookup]\nhint = "so"\n[lookup.one]\npattern = "x"\n', encoding="utf-8"
    )
    definitions = load_definitions(layers)
    assert definitions["lookup", "one"].table == {"title": "one", "hint": "so", "pattern": "x"}


@pytest.mark.parametrize(
    "text",
    [
        "[lookup]\nx = 3\n",
        "resource = 3\n[lookup.x]\n",
        "[resource]\nx = 3\n[lookup.x]\n",
        "[resource.x]\nfind = 3\n[lookup.x]\n",
        "defaults = 3\n[lookup.x]\n",
        "[defaults]\nlookup = 3\n[lookup.x]\n",
        "[lookup.x]\n[resource.x]\nread = 3\nupdate = {}\nfields = 3\non = 3\n",
        "[resource.x]\nread = {}\nupdate = {}\nfields = [3]\nparent = 3\nfixed = 3\nlist = 3\ntitle = 3\n",
        "[resource.x]\nread = {}\nupdate = {}\nfields = {a = 3}\non = {cloud = 3}\n",
        "[resource.x]\nfind = {match = 3}\nlist = {call = 3}\n",
        "tool = 3\n",
        "[tool]\nx = 3\n",
        "[tool.x]\nhelp = 'x'\n",
        "[tool.x]\ncommand = 3\n",
        "command = 3\n[tool.x]\ncommand = 'x'\n",
        "[tool.x]\ncommand = 'x'\n",
    ],
)
def test_what_is_no_table_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(DefinitionError):
        check_definitions(
            load_definitions([Layer(str(DEFINITIONS / "common"), shipped=True), Layer(str(tmp_path))]),
            {},
            registry.registered_names(),
        )


@pytest.mark.slow
def test_an_older_file_is_rewritten_to_say_the_same(layers: list[Layer], tmp_path: Path) -> None:
    before = load_definitions(layers)
    [upgrade] = [each for each in find_upgrades(layers) if each.path.startswith(str(tmp_path))]
    assert "[resource.shelf.find] # where it stands" in upgrade.after
    assert "[extend.resource.user.find]" in upgrade.after
    assert 'agents.uri = "boxes/{id}"' in upgrade.after
    assert '[extend.command."filters list".agents]' in upgrade.after
    assert 'name = "filter_bugs" # as people say it' in upgrade.after
    (tmp_path / "mine.toml").write_bytes(upgrade.written)
    after = load_definitions(layers)
    assert after.notes == []
    assert {key: each.table for key, each in after.items()} == {key: each.table for key, each in before.items()}
