"""`callsheet` as a person types it: programs made, listed, run, checked, shared, installed, removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.imports import DOCUMENTS
from support.machine import Machine

PETSHOP = str(DOCUMENTS / "petshop.yaml")
UUID = "0e37df36-f698-11e6-8dd4-cb9ced3df976"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine with the pet shop, for what only reads."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    assert machine("new", "shop", "--from", PETSHOP, "--quiet") == 0
    return machine


def test_a_new_program_is_listed_checked_run_and_completed(shop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shop("list", "-o", "json", "--jq", '.[] | select(.program == "shop") | .launcher') == 0
    assert shop.out.strip() == str(shop.bin / "shop")
    assert shop("check") == 0
    assert shop.out.startswith("shop: ")
    assert shop("run", "shop", "pets", "list", "--tenant", "a", "--x-trace", "1", "--dry-run") == 0
    assert "curl 'https://pets.example.org/v2/api/pets" in shop.out
    assert shop("run", "shop", "op", "list", "-o", "id") == 0
    assert "listPets" in shop.out.split()
    monkeypatch.setitem(shop.environ, "_SHOP_COMPLETE", "fish")
    shop("pets", "list", "--kind", "", program="shop")
    assert shop.out.split() == ["word", "cat", "word", "dog"]


def test_all_that_follows_the_name_belongs_to_the_program(shop: Machine) -> None:
    assert shop("run", "shop", "version", "--json", "-o", "json") == 0
    assert '"program": "shop"' in shop.out
    assert shop("--quiet", "run", "shop", "--nothing") == 2
    assert shop.err.startswith("error: no such option --nothing")
    assert shop("run", "shop", "op", "call", "listPets") == 2


@pytest.mark.slow
def test_a_program_of_ones_own_never_sees_the_sites_of_another(shop: Machine) -> None:
    (shop.home / "profiles.toml").write_text('site = "work"\n[sites.work]\nbase_url = "https://work.example"\n')
    shop.environ |= {"SUITE_TOKEN": "not-for-the-shop", "SUITE_BASE_URL": "https://work.example"}
    assert shop("op", "call", "getPet", "--param", f"petId={UUID}", "--dry-run", "--show-token", program="shop") == 0
    assert "https://elsewhere.example.org/direct/pets/" in shop.out
    assert "not-for-the-shop" not in shop.out
    assert shop("config", "path", program="shop") == 0
    assert shop.out.strip() == str(shop.home / "programs" / "shop" / "profiles.toml")
    assert shop("config", "path", program="suite") == 0
    assert shop.out.strip() == str(shop.home / "profiles.toml")
    for name in ("SUITE_TOKEN", "SUITE_BASE_URL"):
        del shop.environ[name]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new", "shop"], "program 'shop' already exists"),
        (["new", "suite"], "'suite' is the name of a built-in program"),
        (["new", "client"], "'client' is the name of a built-in program"),
        (["new", "../x"], "'../x' is not a valid program name"),
        (["new", "nul"], "Windows keeps it for a device"),
        (["new", "x", "--from", "nowhere.yaml"], "cannot read nowhere.yaml"),
        (["new", "x", "--from", "https://x.example/a.json"], "expected a file or -"),
        (["new", "x", "--base-url", "https://x.example"], "--base-url needs --from"),
        (["new", "x", "--from", PETSHOP, "--base-url", "x"], "--base-url"),
        (["new", "x", "--uses", "clint"], "there is no program 'clint', did you mean 'client'?"),
        (
            ["new", "x", "--uses", "listener", "--uses", "lms", "--from", PETSHOP],
            "--from needs the commands of `client`",
        ),
        (["new", "x", "--uses", "client", "--uses", "callsheet"], "'base-url' is an option of the program"),
        (["run", "shp"], "there is no program 'shp', did you mean 'shop'?"),
        (["run", "nope"], "there is no program 'nope'\nhint: programs: callsheet, lms, suite, shop\n"),
        (["check", "shp"], "there is no program 'shp', did you mean 'shop'?"),
        (["remove", "shp", "--yes"], "no program 'shp' of your own, did you mean 'shop'?"),
        (["remove", "suite", "--yes"], "suite is built in"),
        (["remove", "shop"], "not a terminal"),
        (["share", "suite"], "suite is built in"),
        (["install", "nowhere"], "expected a directory"),
        (["link", "../shop"], "there is no program '../shop'"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_what_is_wrong_is_told_and_nothing_changes(shop: Machine, words: list[str], message: str) -> None:
    before = shop.files()
    assert shop(*words) == 2
    assert message in shop.err
    assert shop.files() == before


def test_a_dry_run_writes_nothing(machine: Machine) -> None:
    assert machine("new", "shop", "--from", PETSHOP, "--dry-run") == 0
    assert "would be made" in machine.out
    assert not [path for path in machine.files() if "cache" not in path]


def test_a_foreign_file_in_the_way_leaves_everything_as_it_was(machine: Machine) -> None:
    machine.bin.mkdir()
    (machine.bin / "shop").write_text("#!/bin/sh\n")
    assert machine("new", "shop", "--from", PETSHOP) == 2
    assert machine.err.startswith(f"error: {machine.bin / 'shop'} is another program")
    assert (machine.bin / "shop").read_text() == "#!/bin/sh\n"
    assert not (machine.home / "definitions").exists()


def test_a_program_can_be_made_of_another_and_receive_webhooks(machine: Machine) -> None:
    assert machine("new", "hooks", "--uses", "listener", "--title", "Hooks", "--no-launcher") == 0
    assert not machine.bin.exists()
    assert machine("webhook", "events", "--source", "github", "-o", "id", program="hooks") == 0
    assert "push" in machine.out.split()
    assert machine("webhook", "check", "--source", "github", program="hooks") == 0
    assert machine("op", "list", program="hooks") == 2
    assert machine("link", "hooks") == 0
    assert (machine.bin / "hooks").exists()


def test_a_document_can_be_laid_over_a_program_with_deployments_and_services_of_its_own(machine: Machine) -> None:
    assert machine("new", "both", "--uses", "suite", "--from", PETSHOP, "--no-launcher", "--quiet") == 0, machine.err
    machine.environ |= {"BOTH_BASE_URL": "https://tracker.example"}
    assert machine("pets", "list", "--tenant", "a", "--x-trace", "1", "--dry-run", program="both") == 0, machine.err
    assert machine("issues", "get", "DEMO-1", "--dry-run", program="both") == 0, machine.err
    assert "https://tracker.example/rest/" in machine.out


def test_a_program_built_on_another_starts_whatever_its_own_definitions_say(machine: Machine) -> None:
    assert machine("new", "mine", "--uses", "suite", "--no-launcher", "--quiet") == 0
    (machine.home / "definitions" / "mine" / "broken.toml").write_text("[command.x]\n")
    assert machine("--version", program="mine") == 0, machine.err
    assert machine("issues", "--help", program="mine") == 0, machine.err


@pytest.mark.slow
def test_an_api_can_be_imported_into_a_program_that_was_empty(machine: Machine) -> None:
    assert machine("new", "mine", "--no-launcher", "--quiet") == 0
    assert machine("definitions", "import", PETSHOP, "--product", "pets", "--quiet", program="mine") == 0
    assert machine("op", "list", "-o", "id", program="mine") == 0
    assert "listPets" in machine.out.split()


@pytest.mark.slow
def test_a_program_is_shared_removed_and_installed_again(machine: Machine) -> None:
    assert machine("new", "shop", "--from", PETSHOP, "--quiet") == 0
    made = {path for path in machine.files() if path.startswith("home/definitions/")}
    target = machine.root / "shared"
    assert machine("share", "shop", "--to", str(target)) == 0
    assert "shop pets list" in (target / "README.md").read_text(encoding="utf-8")
    assert machine("share", "shop", "--to", str(target)) == 2
    assert machine("install", str(target)) == 2
    assert "program 'shop' already exists" in machine.err
    (machine.home / "programs" / "shop").mkdir(parents=True)
    assert machine("remove", "shop", "--yes") == 0
    assert not [path for path in machine.files() if "shop" in path and not path.startswith("shared/")]
    assert machine("install", str(target)) == 2
    assert "Install shop? refused" in machine.err
    assert not (machine.home / "definitions" / "shop").exists()
    assert machine("install", str(target), "--yes") == 0
    assert {path for path in machine.files() if path.startswith("home/definitions/")} == made
    assert machine("check", "shop") == 0


PROGRAM = '[program.evil]\ntitle = "Nice\\u001b[2J"\nprefix = "EVIL"\nuses = ["listener"]\n'
HARMLESS = PROGRAM.replace("\\u001b[2J", "")
ROUTE = '[[route.r.do]]\nhandler = "exec"\nrun = ["sh", "-c", "steal"]\n'


def shared(machine: Machine, **files: str) -> str:
    directory = machine.root / "theirs"
    directory.mkdir()
    for name, text in files.items():
        (directory / f"{name}.toml").write_text(text, encoding="utf-8")
    return str(directory)


def test_what_an_installed_program_could_run_is_shown_before(machine: Machine) -> None:
    route = (
        ROUTE + '[source.mine]\ntitle = "M"\npath = "/m"\ntype = "payload.type"\nid = "payload.id"\nbody = "payload"\n'
    )
    known = PROGRAM.replace("\\u001b[2J", "")
    directory = shared(machine, program=known, route=route, more='[group.webhook]\nhelp = "https://mine.example/x"\n')
    machine("install", directory)
    assert 'warning: it runs: route "r": ' in machine.err
    assert "steal" in machine.err
    assert "\x1b" not in machine.err
    assert not (machine.home / "definitions").exists()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a": HARMLESS.replace("EVIL", "SUITE")}, "prefix must be EVIL"),
        (
            {"a": PROGRAM, "b": '[program.two]\ntitle = "T"\nprefix = "TWO"\n'},
            "expected the definitions of one program",
        ),
        ({"a": '[view.x]\nid = "id"\ncolumns = []\n'}, "it has none"),
        (
            {"a": PROGRAM.replace("program.evil", "program.suite").replace("EVIL", "SUITE")},
            "the name of a built-in program",
        ),
        ({"a": PROGRAM.replace("evil", "evil-" * 20 + "x")}, "is not a valid program name"),
        ({"a": PROGRAM + "x = "}, "not TOML"),
        ({"a": HARMLESS, "b": '[view.x]\nid = "id"\ncolums = []\n'}, 'theirs/b.toml:3: view "x": colums: unknown key'),
        ({"a": PROGRAM}, "title: holds the control character"),
        ({"a": PROGRAM.replace("listener", "evil")}, "there is no program 'evil'"),
    ],
)
def test_what_cannot_be_installed_is_refused(machine: Machine, files: dict[str, str], message: str) -> None:
    assert machine("install", shared(machine, **files), "--yes") == 2
    assert message in machine.err
    assert not (machine.home / "definitions").exists()
    assert not machine.bin.exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_only_files_are_installed(machine: Machine) -> None:
    directory = Path(shared(machine, program=HARMLESS))
    (directory / "run.sh").write_text("#!/bin/sh\n")
    (directory / ".hidden.toml").write_text("x")
    assert machine("install", str(directory), "--yes") == 0
    assert {path.name for path in (machine.home / "definitions" / "evil").iterdir()} == {"program.toml", ".made.json"}
    assert machine("remove", "evil", "--yes") == 0
    (directory / "link.toml").symlink_to("/etc/passwd")
    assert machine("install", str(directory), "--yes") == 2
    assert "a symbolic link" in machine.err
    assert not (machine.home / "definitions" / "evil").exists()


@pytest.mark.slow
def test_broken_definitions_are_told_with_file_and_line_by_both_programs(machine: Machine) -> None:
    assert machine("new", "shop", "--from", PETSHOP, "--quiet") == 0
    path = machine.home / "definitions" / "shop" / "commands" / "orders.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace('call = "createOrder"', 'call = "createOder"'), encoding="utf-8"
    )
    for words, program, code in (
        (("check",), "callsheet", 2),
        (("orders", "create"), "shop", 2),
        (("definitions", "check"), "shop", 2),
        (("--help",), "shop", 0),
        (("--version",), "shop", 0),
        (("definitions", "path"), "shop", 0),
    ):
        assert machine(*words, program=program) == code
        if words == ("definitions", "path"):
            continue
        assert "orders.toml:" in machine.err
        assert "did you mean 'createOrder'?" in machine.err
    assert machine("remove", "shop", "--yes") == 0
