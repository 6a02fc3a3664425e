"""A changed document imported over the one before: what became of operations, and of what is built on them."""

from __future__ import annotations

import io
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.main import run
from callsheet.openapi.definition_files import EarlierImport, difference_from, names_since
from support.draws import chance
from support.programs import small_program

pytestmark = pytest.mark.slow

Document = dict[str, Any]

SITE = {"SHOP_BASE_URL": "https://pets.example.com", "SHOP_EMAIL": "me@example.com", "SHOP_TOKEN": "of-the-shop"}
MINE = """
[command.greet]
help = "Greet"
call = "getPet"
args = { petId = "7" }
examples = ["greet"]

[command.all]
help = "All of them"
call = "listPets"

[command.away]
help = "Take one away"
call = "pets.deletePet"
args = { petId = "7" }
confirm = "Really?"
"""


def document() -> Document:
    """Three operations that a person's own commands use, and one that none does."""
    by_id = [{"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}]
    done = {"200": {"description": "done"}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1"},
        "servers": [{"url": "https://pets.example.com/v1"}],
        "paths": {
            "/pets": {"get": {"operationId": "listPets", "responses": done}},
            "/pets/{petId}": {
                "parameters": by_id,
                "get": {"operationId": "getPet", "responses": done},
                "delete": {"operationId": "deletePet", "responses": done},
            },
            "/orders": {"get": {"operationId": "listOrders", "responses": done}},
        },
    }


class Program:
    def __init__(self, root: Path) -> None:
        self.definitions = small_program(root / "home")
        self.environ = {"CALLSHEET_HOME": str(root / "home")}
        self.out = self.err = ""

    def __call__(self, *words: str, given: str = "") -> int:
        out, err = io.StringIO(), io.StringIO()
        code = run("shop", words, environ=self.environ, stdin=io.StringIO(given), stdout=out, stderr=err)
        self.out, self.err = out.getvalue(), err.getvalue()
        assert "Traceback" not in self.err
        return code

    def imports(self, document: Document, *options: str) -> int:
        from json import dumps

        return self("definitions", "import", "-", "--product", "pets", *options, given=dumps(document))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    found = Program(tmp_path)
    assert found.imports(document()) == 0
    (found.definitions / "mine.toml").write_text(MINE, encoding="utf-8")
    assert found("definitions", "check") == 0
    return found


def test_what_lost_its_operation_is_named_and_left_out_and_all_else_goes_on(program: Program) -> None:
    changed = document()
    del changed["paths"]["/pets/{petId}"]["delete"]
    assert program.imports(changed) == 0
    assert program.out.startswith("- deletePet  DELETE /v1/pets/{petId}\n")
    gone = "operation 'pets.deletePet' is gone: the document no longer has DELETE /v1/pets/{petId}"
    assert f'mine.toml:14: command "away": call: {gone}' in program.err
    for words in (("--version",), ("--help",), ("greet", "--help"), ("definitions", "path")):
        assert program(*words) == 0
        assert f"warning: left out: {program.definitions / 'mine.toml'}:14" in program.err
    assert program("away", "--help") == 2
    assert program.imports(document()) == 0
    assert program.out.startswith("+ deletePet  DELETE /v1/pets/{petId}\n")
    assert program("away", "--help") == 0
    assert program.err == ""


def test_an_operation_under_a_new_id_is_still_called(program: Program) -> None:
    changed = document()
    changed["paths"]["/pets"]["get"]["operationId"] = "allPets"
    changed["paths"]["/pets/{petId}"]["delete"]["operationId"] = "removePet"
    assert program.imports(changed) == 0
    assert "> listPets is now allPets  GET /v1/pets\n" in program.out
    assert program.err == ""
    changed["paths"]["/pets"]["get"]["operationId"] = "everyPet"
    assert program.imports(changed) == 0
    program.environ |= SITE
    assert program("all", "--dry-run") == 0
    assert "https://pets.example.com/v1/pets" in program.out
    for former in ("listPets", "allPets", "everyPet"):
        assert program("op", "describe", former) == 0
        assert program.out.startswith("everyPet")
    assert program("definitions", "check") == 0


@pytest.mark.parametrize("named", ["listPets", "allPets", "pets.listPets", "pets.allPets"])
def test_a_rule_for_an_operation_holds_under_each_of_its_names(program: Program, named: str) -> None:
    changed = document()
    changed["paths"]["/pets"]["get"]["operationId"] = "allPets"
    assert program.imports(changed) == 0
    program.environ |= {**SITE, "SHOP_POLICY": f"{named}=deny"}
    for words in (["all"], ["op", "call", "listPets"], ["op", "call", "allPets"]):
        assert program(*words) == 3
        assert f"(rule 1 (operation {named}: deny) in SHOP_POLICY)" in program.err


def test_a_file_that_corrects_what_is_gone_is_named(program: Program) -> None:
    corrections = '[extend.operation.listOrders]\ntitle = "Mine"\n[extend.operation.getPet]\ntitle = "Its own"\n'
    (program.definitions / "operations" / "pets.toml").write_text(corrections, encoding="utf-8")
    changed = document()
    del changed["paths"]["/orders"]
    assert program.imports(changed) == 0
    assert "operations/pets.toml:1" in program.err.replace("\\", "/")
    assert program("op", "describe", "getPet") == 0
    assert program.out.startswith("getPet: Its own\n")


def test_what_would_break_in_another_way_keeps_everything_as_it_was(program: Program) -> None:
    before = {path: path.read_bytes() for path in program.definitions.rglob("*.toml")}
    changed = document()
    path = changed["paths"].pop("/pets/{petId}")
    path["parameters"][0]["name"] = "id"
    changed["paths"]["/pets/{id}"] = path
    assert program.imports(changed) == 2
    assert f"{program.definitions / 'mine.toml'}:5" in program.err
    assert "getPet does not take it" in program.err
    assert {path: path.read_bytes() for path in program.definitions.rglob("*.toml")} == before
    assert program("greet", "--help") == 0


def test_changed_parameters_are_shown(program: Program) -> None:
    changed = document()
    get = changed["paths"]["/pets"]["get"]
    get["parameters"] = [{"name": "limit", "in": "query", "schema": {"type": "integer"}}]
    assert program.imports(changed, "--dry-run") == 0
    assert program.out.startswith("~ listPets  +limit\n")
    assert program.imports(document()) == 0
    assert not program.out.startswith("~")


def _changes(document: Document) -> list[Callable[[], object]]:
    """What a new version of a document may do to it."""
    paths = document["paths"]
    operations = [(path, method) for path in paths for method in paths[path] if method != "parameters"]
    return [
        *(lambda path=path, method=method: paths[path].pop(method) for path, method in operations),
        *(
            lambda path=path, method=method: paths[path][method].update(operationId=f"{method}Renamed")
            for path, method in operations
        ),
        lambda: paths.setdefault("/new", {"get": {"operationId": "new", "responses": {"200": {"description": "x"}}}}),
        lambda: document.update(servers=[{"url": "https://other.example.com"}]),
    ]


@pytest.mark.slow
@pytest.mark.draws
def test_no_row_of_updates_ever_breaks_the_program(program: Program) -> None:
    draw = chance(27)
    for _ in range(12):
        changed = document()
        for _ in range(draw.randrange(1, 4)):
            draw.choice(_changes(changed))()
        if not any(method != "parameters" for path in changed["paths"].values() for method in path):
            continue
        assert program.imports(changed) == 0, program.err
        assert program("--help") == 0
        assert program("op", "list") == 0
        kept = tomllib.loads((program.definitions / "mine.toml").read_text("utf-8"))
        for words in kept["command"]:
            code = program(words, "--help")
            assert code == 0 or f'command "{words}"' in program.err
    assert program.imports(document()) == 0
    assert program("definitions", "check") == 0


def test_a_former_id_that_is_given_to_another_operation_is_that_operation() -> None:
    before = EarlierImport({"a": {"http": "GET /a"}, "b": {"http": "GET /b"}}, {"z": "a"}, {"y": "GET /y is gone"})
    now: dict[str, Any] = {"b": {"http": "GET /a"}, "c": {"http": "GET /b"}, "y": {"http": "GET /y"}}
    found = difference_from(before, now)
    assert found.gone == ["a"]
    assert names_since(before, found, now, "p") == {
        "gone": dict.fromkeys(("a", "p.a", "p.z", "z"), "the document no longer has GET /a")
    }
