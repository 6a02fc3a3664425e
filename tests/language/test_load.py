from __future__ import annotations

import os
from pathlib import Path

import pytest

from callsheet.errors import DefinitionError
from callsheet.language.layers import Layer, state_of
from callsheet.language.load import definition_layers, load_definitions
from callsheet.language.merge import merge_tables

MERGES = [
    ("tables key by key", {"a": {"x": 1, "y": 2}}, {"a": {"y": 3}}, {"a": {"x": 1, "y": 3}}),
    ("lists are replaced", {"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    (
        "named tables by name",
        {"a": [{"name": "x", "v": 1}]},
        {"a": [{"name": "x", "v": 2}]},
        {"a": [{"name": "x", "v": 2}]},
    ),
    (
        "new named tables go last",
        {"a": [{"name": "x"}]},
        {"a": [{"name": "y"}]},
        {"a": [{"name": "x"}, {"name": "y"}]},
    ),
    (
        "a named table is taken away",
        {"a": [{"name": "x"}, {"name": "y"}]},
        {"a": [{"name": "x", "remove": True}]},
        {"a": [{"name": "y"}]},
    ),
    ("a table is taken away", {"a": {"x": 1}, "b": 1}, {"a": {"remove": True}}, {"b": 1}),
    ("another type replaces", {"a": {"x": 1}}, {"a": "text"}, {"a": "text"}),
]


@pytest.mark.parametrize(("under", "over", "merged"), [m[1:] for m in MERGES], ids=[m[0] for m in MERGES])
def test_merge(under: dict, over: dict, merged: dict) -> None:
    before = repr(under)
    assert merge_tables(under, over) == merged
    assert repr(under) == before


def write(directory: Path, name: str, text: str) -> None:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def test_files_higher_up_correct_files_in_folders(tmp_path: Path) -> None:
    write(tmp_path, "operations/shop.toml", '[operation.a]\ntitle = "corrected"\n')
    write(tmp_path, "operations/shop/a.toml", '[operation.a]\ntitle = "generated"\ntag = "A"\n')
    loaded = load_definitions([Layer(str(tmp_path))])
    assert loaded["operation", "a"].table == {"title": "corrected", "tag": "A"}


def test_defaults_hold_for_their_file_only(tmp_path: Path) -> None:
    write(tmp_path, "a.toml", '[defaults.operation]\nproduct = "shop"\n[operation.a]\n[operation.b]\nproduct = "own"\n')
    write(tmp_path, "c.toml", "[operation.c]\n")
    tables = {id: definition.table for (_, id), definition in load_definitions([Layer(str(tmp_path))]).items()}
    assert tables == {"a": {"product": "shop"}, "b": {"product": "own"}, "c": {}}


def test_a_later_layer_can_remove_a_definition(tmp_path: Path) -> None:
    write(tmp_path, "under/a.toml", "[view.a]\n[view.b]\n")
    write(tmp_path, "over/a.toml", "[view.a]\nremove = true\n")
    assert list(load_definitions([Layer(str(tmp_path / "under")), Layer(str(tmp_path / "over"))])) == [("view", "b")]


def test_every_broken_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, "a.toml", "[view.a\n")
    write(tmp_path, "b.toml", "x = \n")
    (tmp_path / "c.toml").write_bytes(b"# \xff\n")
    with pytest.raises(DefinitionError) as caught:
        load_definitions([Layer(str(tmp_path))])
    assert [detail.rpartition("/")[2].split(": ")[0] for detail in caught.value.details] == [
        "a.toml:1",
        "b.toml:1",
        "c.toml:1",
    ]


def test_a_named_directory_must_exist(tmp_path: Path) -> None:
    found = definition_layers("demo", {"CALLSHEET_HOME": str(tmp_path), "DEMO_DEFINITIONS": str(tmp_path / "none")})
    with pytest.raises(DefinitionError, match="no directory of definitions at"):
        load_definitions(found[-1:])


def test_layers_stand_in_order_and_the_current_directory_is_none_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "definitions").mkdir()
    home = tmp_path / "home"
    found = definition_layers("demo", {"CALLSHEET_HOME": str(home), "DEMO_DEFINITIONS": str(tmp_path / "extra")})
    directories = [layer.directory for layer in found]
    assert directories[-2:] == [str(home / "definitions" / "demo"), str(tmp_path / "extra")]
    assert str(tmp_path / "definitions") not in directories


def test_the_state_of_a_layer_changes_with_every_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.toml").write_text("[a.b]\n")
    before = state_of(Layer(str(tmp_path)))
    (tmp_path / "inner" / "b.toml").write_text("")
    added = state_of(Layer(str(tmp_path)))
    (tmp_path / "a.toml").write_text("[a.bc]\n")
    changed = state_of(Layer(str(tmp_path)))
    (tmp_path / "inner" / "b.toml").unlink()
    assert len({before, added, changed, state_of(Layer(str(tmp_path)))}) == 4


def test_an_installed_layer_is_judged_by_its_directories_alone(tmp_path: Path) -> None:
    """Asking for each of its files would cost more than the rest of a start."""
    (tmp_path / "inner").mkdir()
    for name in ("a.toml", "inner/b.toml"):
        (tmp_path / name).write_text("[a.b]\n")
    before = state_of(Layer(str(tmp_path), frozen=True))
    assert before.count("\n") == 1
    assert ".toml" not in before
    (tmp_path / "inner" / "c.toml").write_text("")
    assert state_of(Layer(str(tmp_path), frozen=True)) != before


def test_a_person_may_have_definitions_of_their_own(tmp_path: Path) -> None:
    environ = {"CALLSHEET_HOME": str(tmp_path), "SUITE_DEFINITIONS": str(tmp_path / "named")}
    shipped = definition_layers("suite", environ, own=False)
    assert [os.path.basename(layer.directory) for layer in shipped] == ["common", "mcp", "client", "suite"]
    *of_used, own, named = [layer for layer in definition_layers("suite", environ) if layer not in shipped]
    folders = [str(tmp_path / "definitions" / program) for program in ("mcp", "client")]
    assert of_used == [Layer(folder, optional=True) for folder in folders]
    assert own == Layer(str(tmp_path / "definitions" / "suite"), optional=True)
    assert named == Layer(str(tmp_path / "named"), variable="SUITE_DEFINITIONS")


def test_a_file_that_is_no_text_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"[view.a]\nid = '\xff'\n")
    with pytest.raises(DefinitionError) as caught:
        load_definitions([Layer(str(tmp_path))])
    assert list(caught.value.details) == [f"{path}:2: not UTF-8: byte 15"]


def test_two_files_of_a_place_extend_the_same_and_the_later_one_wins(tmp_path: Path) -> None:
    (tmp_path / "deeper").mkdir()
    for name, text in {
        "deeper/view.toml": '[view.order]\nid = "key"\ncolumns = [{ name = "A", value = "a" }]\n',
        "b.toml": '[extend.view.order]\nid = "b"\n',
        "a.toml": '[extend.view.order]\nid = "a"\nempty = "none"\n',
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = load_definitions([Layer(str(tmp_path))])["view", "order"]
    assert (found.table["id"], found.table["empty"]) == ("b", "none")
    assert [Path(file.path).name for file in found.files] == ["view.toml", "a.toml", "b.toml"]
