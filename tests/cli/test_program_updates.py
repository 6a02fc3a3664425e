"""`callsheet update` as a person types it: new versions of documents and of shared programs, over changes by hand."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from support.imports import DOCUMENTS
from support.machine import Machine

pytestmark = pytest.mark.slow

PETSHOP = str(DOCUMENTS / "petshop.yaml")


def document(*paths: str) -> dict[str, Any]:
    item = {"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}}
    found = {"200": {"description": "x", "content": {"application/json": {"schema": {"type": "array", "items": item}}}}}
    return {
        "openapi": "3.0.3",
        "info": {"title": "The zoo", "version": "1"},
        "servers": [{"url": "https://zoo.example.com"}],
        "paths": {
            path: {
                "get": {"operationId": f"list{path[1:].title()}", "tags": [path[1:]], "responses": found},
                "post": {
                    "operationId": f"create{path[1:].title()}",
                    "tags": [path[1:]],
                    "requestBody": {"content": {"application/json": {"schema": item}}},
                    "responses": {"201": {"description": "x"}},
                },
            }
            for path in paths
        },
    }


@pytest.fixture
def zoo(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    save(machine, document("/lions", "/birds"))
    assert machine("new", "zoo", "--from", str(tmp_path / "zoo.json"), "--title", "Mine", "--quiet") == 0
    return machine


def save(machine: Machine, made: dict[str, Any]) -> None:
    (machine.root / "zoo.json").write_text(json.dumps(made), encoding="utf-8")


def definitions(machine: Machine) -> Path:
    return machine.home / "definitions" / "zoo"


def test_commands_follow_the_document(zoo: Machine) -> None:
    made = document("/lions", "/fish")
    made["paths"]["/lions"]["get"]["parameters"] = [{"name": "age", "in": "query", "schema": {"type": "integer"}}]
    save(zoo, made)
    assert zoo("update", "zoo", "--dry-run") == 0
    lines = zoo.out.splitlines()
    assert {"+ listFish  GET /fish", "- listBirds  GET /birds", "~ listLions  +age"} <= {*lines}
    assert {"+ command fish list", "- command birds list"} <= {*lines}
    assert not (definitions(zoo) / "commands" / "fish.toml").exists()
    assert zoo("update", "zoo") == 0
    assert zoo("lions", "list", "--age", "3", "--help", program="zoo") == 0
    assert zoo("fish", "list", "--help", program="zoo") == 0
    assert zoo("birds", program="zoo") == 2
    assert zoo("--help", program="zoo") == 0
    assert zoo.out.splitlines()[2].strip() == "Mine"
    assert zoo("update", "zoo") == 0
    assert zoo.out == f"zoo: updated, 0 files of {definitions(zoo)} changed\n"


def test_an_import_of_the_programs_own_document_is_an_update(zoo: Machine) -> None:
    save(zoo, document("/lions", "/fish"))
    path = str(zoo.root / "zoo.json")
    assert zoo("definitions", "import", path, "--product", "zoo", program="zoo") == 0
    assert zoo("fish", "list", "--help", program="zoo") == 0
    assert zoo("birds", program="zoo") == 2


def test_what_a_person_changed_or_deleted_or_added_stays(zoo: Machine) -> None:
    lions, birds = (definitions(zoo) / "commands" / f"{name}.toml" for name in ("lions", "birds"))
    lions.write_text(lions.read_text("utf-8").replace("List lions", "MINE"), encoding="utf-8")
    birds.unlink()
    program = definitions(zoo) / "program" / "program.toml"
    text = program.read_text("utf-8").replace('"birds"', '"api"').replace('"birds list"', '"version"')
    program.write_text(text, encoding="utf-8")
    assert zoo("definitions", "check", program="zoo") == 0
    own = definitions(zoo) / "own.toml"
    own.write_text('language = 2\n[extend.command."lions create"]\nhelp = "Born"\n', encoding="utf-8")
    before = lions.read_bytes(), own.read_bytes()
    made = document("/lions", "/birds", "/fish")
    made["paths"]["/lions"]["get"]["parameters"] = [{"name": "age", "in": "query", "schema": {"type": "integer"}}]
    save(zoo, made)
    assert zoo("update", "zoo") == 0, zoo.err
    assert "note: commands/lions.toml stays as it is: you have changed it" in zoo.err
    assert (lions.read_bytes(), own.read_bytes()) == before
    assert not birds.exists()
    assert zoo("lions", "create", "--help", program="zoo") == 0
    assert "Born" in zoo.out
    assert zoo("fish", "list", "--help", program="zoo") == 0
    assert zoo("definitions", "check", program="zoo") == 0


def test_what_is_unsound_leaves_everything_as_it_was(zoo: Machine) -> None:
    own = definitions(zoo) / "own.toml"
    text = 'language = 2\n[command.old]\nhelp = "Old"\ncall = "listLions"\nargs = { age = "3" }\n'
    made = document("/lions", "/birds")
    made["paths"]["/lions"]["get"]["parameters"] = [{"name": "age", "in": "query", "schema": {"type": "integer"}}]
    save(zoo, made)
    assert zoo("update", "zoo") == 0
    own.write_text(text, encoding="utf-8")
    before = {path: path.read_bytes() for path in definitions(zoo).rglob("*") if path.is_file()}
    save(zoo, document("/lions", "/birds"))
    assert zoo("update", "zoo") == 2
    assert f"{own}:5" in zoo.err
    assert "listLions does not take it" in zoo.err
    assert {path: path.read_bytes() for path in definitions(zoo).rglob("*") if path.is_file()} == before
    assert zoo("lions", "list", "--age", "3", "--help", program="zoo") == 0


def test_a_document_without_operations_takes_nothing_away(zoo: Machine) -> None:
    before = {path: path.read_bytes() for path in definitions(zoo).rglob("*") if path.is_file()}
    save(zoo, {**document(), "paths": {}})
    assert zoo("update", "zoo") == 2
    assert "zoo.json: the document has no operations" in zoo.err
    assert {path: path.read_bytes() for path in definitions(zoo).rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_sites_and_the_chosen_address_stay(zoo: Machine) -> None:
    assert zoo("remove", "zoo", "--yes", "--quiet") == 0
    path = str(zoo.root / "zoo.json")
    assert zoo("new", "zoo", "--from", path, "--base-url", "http://127.0.0.1:1/api", "--quiet") == 0
    assert zoo("update", "zoo", "--quiet") == 0
    product = (definitions(zoo) / "operations" / "zoo" / "_product.toml").read_text("utf-8")
    assert 'base_url = "http://127.0.0.1:1"' in product


@pytest.mark.slow
def test_a_shared_program_is_updated_by_what_it_was_installed_from(zoo: Machine) -> None:
    team = zoo.root / "team"
    assert zoo("share", "zoo", "--to", str(team), "--quiet") == 0
    assert zoo("remove", "zoo", "--yes", "--quiet") == 0
    assert zoo("install", str(team), "--yes", "--quiet") == 0
    own = definitions(zoo) / "own.toml"
    own.write_text('language = 2\n[extend.command."lions list"]\nhelp = "MINE"\n', encoding="utf-8")
    (team / "hello.toml").write_text(
        'language = 2\n[command.hello]\nhelp = "Hello"\nbuiltin = "definitions path"\nsafety = "local"\n',
        encoding="utf-8",
    )
    assert zoo("update", "zoo") == 2
    assert "Update zoo?" in zoo.err
    assert not (definitions(zoo) / "hello.toml").exists()
    assert zoo("update", "zoo", "--yes") == 0
    assert "+ command hello" in zoo.out
    assert zoo("hello", program="zoo") == 0
    assert zoo("lions", "list", "--help", program="zoo") == 0
    assert "MINE" in zoo.out
    (team / "hello.toml").unlink()
    assert zoo("update", "zoo", "--yes") == 0
    assert "- command hello" in zoo.out
    assert zoo("hello", program="zoo") == 2
    assert own.exists()


@pytest.mark.slow
def test_what_cannot_be_updated_says_so(zoo: Machine, tmp_path: Path) -> None:
    assert zoo("update", "zo") == 2
    assert "did you mean 'zoo'?" in zoo.err
    assert zoo("update", "suite") == 2
    assert zoo("update", "zoo", "--from", str(tmp_path / "nowhere.json")) == 2
    (definitions(zoo) / ".made.json").write_text("{", encoding="utf-8")
    assert zoo("update", "zoo") == 2
    assert "--from" in zoo.err
    assert zoo("update", "zoo", "--from", str(tmp_path / "zoo.json")) == 2
    assert "zoo definitions import FILE --product zoo" in zoo.err
    other = Machine(tmp_path / "other")
    assert other("new", "shop", "--from", PETSHOP, "--quiet") == 0
    assert other("share", "shop", "--to", str(tmp_path / "shop"), "--quiet") == 0
    assert other("update", "shop", "--from", str(tmp_path / "shop"), "--yes") == 0
    assert zoo("new", "ark", "--from", str(tmp_path / "zoo.json"), "--quiet") == 0
    assert zoo("update", "ark", "--from", str(tmp_path / "shop"), "--yes") == 2
    assert "holds the program 'shop', not 'ark'" in zoo.err


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="launchers are other files there")
def test_every_launcher_goes_with_the_program(zoo: Machine) -> None:
    elsewhere = zoo.root / "elsewhere"
    assert zoo("link", "zoo", "--bin", str(elsewhere)) == 0
    assert zoo("update", "zoo", "--quiet") == 0
    assert (elsewhere / "zoo").exists()
    assert zoo("remove", "zoo", "--yes") == 0
    assert not (elsewhere / "zoo").exists()
    assert not (zoo.bin / "zoo").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="another file there")
def test_the_name_of_another_program_is_asked_about(zoo: Machine) -> None:
    other = zoo.root / "usr"
    other.mkdir()
    (other / "lion").write_text("#!/bin/sh\n")
    (other / "lion").chmod(0o755)
    zoo.environ["PATH"] += f":{other}"
    assert zoo("new", "lion", "--from", str(zoo.root / "zoo.json")) == 2
    assert f"'lion' starts {other / 'lion'} now. Make another program of this name?" in zoo.err
    assert not (zoo.home / "definitions" / "lion").exists()
    assert zoo("new", "lion", "--from", str(zoo.root / "zoo.json"), "--yes") == 0


@pytest.mark.slow
def test_words_that_mean_something_already_make_no_dead_program(tmp_path: Path) -> None:
    """Tags that are aliases or groups of the built-in commands, and names that are short options."""
    machine = Machine(tmp_path)
    words = ("setup", "web", "browse", "op", "inbox", "help", "ls", "source", "events", "-x", "日本")
    made = document(*(f"/{word}" for word in words))
    for word in words:
        names = ("o", "y", "v", "h", "q", "d", "data", "site", "limit", "all")
        path = made["paths"][f"/{word}"]
        path["get"]["parameters"] = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in names]
        path["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"] |= {
            name: {"type": "string"} for name in names
        }
    save(machine, made)
    assert machine("new", "odd", "--from", str(tmp_path / "zoo.json")) == 0, machine.err
    assert "left out" not in machine.err
    assert machine.out.startswith(f"odd: {2 * len(words)} commands for {2 * len(words)} operations")
    assert machine("odd-setup", "list", "--o-param", "1", "--help", program="odd") == 0
