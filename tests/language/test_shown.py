"""What `definitions show` prints is an overlay: pasted as it is, it is accepted and changes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callsheet import registry
from callsheet.catalog.compile import qualified_names
from callsheet.cli.main import run
from callsheet.language.check import check_definitions
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.source_file import EXTEND
from callsheet.openapi.definition_files import definition_file_text


@pytest.mark.slow
@pytest.mark.parametrize("program", ["suite", "lms", "callsheet"])
def test_every_definition_can_be_pasted(program: str, tmp_path: Path) -> None:
    found = definition_layers(program, {"CALLSHEET_HOME": os.devnull}, own=False)
    before = load_definitions(found)
    kinds: dict[str, dict[str, dict[str, object]]] = {}
    for (kind, id), definition in before.items():
        if kind != "operation" and not definition.within:  # most of the time, and imported as plain tables
            kinds.setdefault(kind, {})[id] = definition.table
    (tmp_path / "all.toml").write_text(f"language = 2\n\n{definition_file_text(kinds, EXTEND)}", encoding="utf-8")
    after = load_definitions([*found, Layer(str(tmp_path))])
    check_definitions(after, {"operation": qualified_names(after)}, registry.registered_names())
    assert {key: each.table for key, each in after.items()} == {key: each.table for key, each in before.items()}


def test_what_is_shown_can_be_pasted_and_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path)}
    assert run("lms", ["definitions", "show", "command", "webhook events"], environ=environ) == 0
    shown = capsys.readouterr().out
    assert shown.count("\n# ") >= 2
    mine = tmp_path / "definitions" / "lms" / "mine.toml"
    mine.parent.mkdir(parents=True)
    changed = shown.replace("List the types of events", "List all that can happen")
    mine.write_text(f"language = 2\n\n{changed}", encoding="utf-8")
    assert (
        run("lms", ["definitions", "show", "command", "webhook events", "-o", "json", "--jq", ".help"], environ=environ)
        == 0
    )
    assert capsys.readouterr().out == "List all that can happen\n"
    assert run("lms", ["webhook", "events", "-o", "id"], environ=environ) == 0
