"""`definitions import` as a person types it."""

from __future__ import annotations

import io
import tomllib
from pathlib import Path

import pytest

from callsheet.cli.main import run
from support.imports import DOCUMENTS, text_of
from support.programs import small_program

SHOP = str(DOCUMENTS / "petshop.yaml")


class Shell:
    def __init__(self, home: Path, program: str, cache: Path | None = None) -> None:
        self.home = home
        self.cache = cache or home / "cache"
        self.program = program
        self.out = ""
        self.err = ""

    def __call__(self, *arguments: str, given: str = "") -> int:
        out, err = io.StringIO(), io.StringIO()
        environ = {"CALLSHEET_HOME": str(self.home), "CALLSHEET_CACHE": str(self.cache)}
        code = run(self.program, arguments, environ=environ, stdin=io.StringIO(given), stdout=out, stderr=err)
        self.out, self.err = out.getvalue(), err.getvalue()
        return code

    def files(self) -> set[str]:
        found = (path.relative_to(self.definitions).as_posix() for path in self.definitions.rglob("*.toml"))
        return set(found) - {"program.toml"}

    @property
    def definitions(self) -> Path:
        return self.home / "definitions" / self.program


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    small_program(tmp_path / "home")
    return Shell(tmp_path / "home", "shop")


UNSOUND = """
openapi: 3.1.0
paths: { /x: { get: { operationId: a, parameters: [{ in: query, name: " x", schema: {} }] } } }
"""


def test_imported_operations_are_found_and_described(shell: Shell) -> None:
    assert shell("definitions", "import", SHOP, "--product", "pets") == 0
    assert shell.out.startswith("pets: 8 operations and 5 schemas in 5 files written to ")
    assert "note: webhooks and callbacks newPet, done are left out: nothing in all of them" in shell.err
    names = ("_product", "_schemas", "orders", "pets-co", "photos")
    assert shell.files() == {f"operations/pets/{name}.toml" for name in names}
    assert shell("op", "describe", "listPets") == 0
    assert "listPets: List pets\n\nLists all pets of the shop, sold ones too.\n\nGET /v2/api/pets" in shell.out
    assert shell("op", "describe", "pets.createOrder") == 0


@pytest.mark.slow
def test_an_import_over_an_import_keeps_place_and_corrections(shell: Shell) -> None:
    shell("definitions", "import", SHOP, "--product", "pets")
    first = (shell.definitions / "operations/pets/_product.toml").read_text("utf-8")
    overlay = shell.definitions / "operations/pets.toml"
    overlay.write_text('[operation.getPet]\ntitle = "Mine"\n', encoding="utf-8")
    shell("definitions", "import", str(DOCUMENTS / "forms.json"), "--product", "forms")
    assert shell("definitions", "import", SHOP, "--product", "pets", "--quiet") == 0
    assert shell.err == ""
    assert (shell.definitions / "operations/pets/_product.toml").read_text("utf-8") == first
    assert shell("op", "describe", "getPet") == 0
    assert shell.out.startswith("getPet: Mine\n")


@pytest.mark.slow
def test_ids_of_other_products_are_not_taken(tmp_path: Path, cache: Path) -> None:
    shell = Shell(tmp_path / "home", "suite", cache)
    renamed = text_of("petshop").replace("operationId: getPet\n", "operationId: getIssue\n")
    assert shell("definitions", "import", "-", "--product", "pets", given=renamed) == 0
    assert shell("op", "describe", "pets.getIssue") == 0
    assert "GET /direct/pets/{petId}" in shell.out
    assert shell("op", "describe", "getIssue") == 0
    assert "/issue/" in shell.out


def test_another_directory_another_title_no_sentences(shell: Shell, tmp_path: Path) -> None:
    options = ["--to", str(tmp_path / "here"), "--title", "Mine", "--address", "https://t.example", "--no-descriptions"]
    assert shell("definitions", "import", SHOP, "--product", "pets", *options) == 0
    assert shell.files() == set()
    product = tomllib.loads((tmp_path / "here/operations/pets/_product.toml").read_text("utf-8"))
    assert product["product"]["pets"]["title"] == "Mine"
    assert product["service"]["pets"]["base_url"] == "https://t.example"
    assert "Lists all" not in (tmp_path / "here/operations/pets/pets-co.toml").read_text("utf-8")


def test_a_dry_run_writes_nothing(shell: Shell) -> None:
    assert shell("definitions", "import", SHOP, "--product", "pets", "--dry-run") == 0
    assert shell.out.startswith("pets: 8 operations and 5 schemas in 5 files would be written to ")
    assert shell.files() == set()


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (["-", "--product", "p"], '{"swagger": "1.2"}', "standard input: this is Swagger 1.2"),
        (["-", "--product", "p"], '{"openapi": "3.0.0", "paths": {', "standard input:1: not JSON: cut off"),
        (["nowhere.yaml", "--product", "p"], "", "nowhere.yaml"),
        (["https://x.example/spec.json", "--product", "p"], "", "expected a file or -"),
        (["-", "--product", "../p"], "{}", "--product '../p': expected letters"),
        (["-"], "{}", "--product"),
        (["-", "--product", "p"], UNSOUND, "params.0.name"),
    ],
    ids=["swagger", "cut off", "no file", "a url", "a path as key", "no product", "unsound definitions"],
)
def test_what_is_wrong_is_told_and_nothing_is_written(
    shell: Shell, arguments: list[str], given: str, message: str
) -> None:
    assert shell("definitions", "import", *arguments, given=given) == 2
    assert message in shell.err
    assert "Traceback" not in shell.err
    assert shell.files() == set()
