"""Programs that use other programs: what they take over, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.errors import DefinitionError
from callsheet.language.layers import Layer
from callsheet.language.load import definition_layers, load_definitions, program_names, used_by
from callsheet.paths import settings_directory

BASE = """
[program.base]
title = "Base"
prefix = "BASE"
hidden = true
options = [{ name = "output", short = "o", help = "how" }, { name = "quiet", kind = "flag", help = "no notes" }]

[group.say]
help = "Say"

[command."say version"]
help = "The version of {program}, also in {prefix}_VERSION"
builtin = "version"
safety = "local"
params = [{ name = "json", kind = "flag", help = "as {program} has it" }]
"""
OWN = """
[program.own]
title = "Own"
prefix = "OWN"
uses = ["base"]
options = [{ name = "quiet", remove = true }, { name = "loud", kind = "flag", help = "louder" }]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for name, text in (("base", BASE), ("own", OWN)):
        directory = tmp_path / "definitions" / name
        directory.mkdir(parents=True)
        (directory / "program.toml").write_text(text)
    return tmp_path


def environ(home: Path) -> dict[str, str]:
    return {"CALLSHEET_HOME": str(home)}


def test_a_program_takes_over_options_and_commands_and_they_call_it_by_its_name(home: Path) -> None:
    catalog = open_catalog("own", environ(home))
    program = catalog.programs.get("own")
    assert [option["name"] for option in program["options"]] == ["output", "loud"]
    assert (program["title"], program["prefix"], "hidden" in program) == ("Own", "OWN", False)
    command = catalog.commands.get("say version")
    assert command["help"] == "The version of own, also in OWN_VERSION"
    assert command["params"][0]["help"] == "as own has it"
    assert catalog.programs.ids() == ["own"]
    catalog.close()


def test_a_change_of_what_is_used_is_seen_at_the_next_start(home: Path) -> None:
    open_catalog("own", environ(home)).close()
    base = home / "definitions" / "base" / "program.toml"
    base.write_text(BASE.replace("Say", "Speak"))
    os.utime(base, ns=(1, 1))
    catalog = open_catalog("own", environ(home))
    assert catalog.groups.get("say")["help"] == "Speak"
    catalog.close()
    (home / "definitions" / "own" / "program.toml").write_text('[program.own]\ntitle = "Own"\nprefix = "OWN"\n')
    catalog = open_catalog("own", environ(home))
    assert catalog.groups.find("say") is None
    catalog.close()


def test_what_is_used_by_what_is_used_comes_first(home: Path) -> None:
    third = home / "definitions" / "third"
    third.mkdir()
    (third / "program.toml").write_text('[program.third]\ntitle = "T"\nprefix = "T"\nuses = ["own"]\n')
    assert used_by("third", environ(home)) == ["base", "own"]
    loaded = load_definitions(definition_layers("third", environ(home)))
    assert [option["name"] for option in loaded["program", "third"].table["options"]] == ["output", "loud"]


@pytest.mark.parametrize(
    ("uses", "message"),
    [
        ("bas", "own.toml:2: program \"own\": uses: no program 'bas', did you mean 'base'?"),
        ("../base", "own.toml:2: program \"own\": uses: no program '../base', did you mean 'base'?"),
        ("own", "own.toml:2: program \"own\": uses: 'own' uses this program itself"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_line(home: Path, uses: str, message: str) -> None:
    (home / "definitions" / "own" / "program.toml").unlink()
    (home / "definitions" / "own" / "own.toml").write_text(f'[program.own]\nuses = ["{uses}"]\n')
    with pytest.raises(DefinitionError) as refused:
        definition_layers("own", environ(home))
    assert refused.value.message.endswith(message)


def test_the_shipped_programs_and_those_of_a_person_are_known(home: Path) -> None:
    names = program_names(environ(home))
    assert {"suite", "lms", "client", "listener", "base", "own"} <= {*names}
    assert "common" not in names
    assert program_names(environ(home), own=False) == [name for name in names if name not in ("base", "own")]


def test_only_shipped_programs_share_their_sites(home: Path) -> None:
    assert {settings_directory(environ(home), name) for name in ("suite", "lms")} == {str(home)}
    assert settings_directory(environ(home), "own") == str(home / "programs" / "own")


def test_definitions_without_the_programs_that_are_used_are_checked_by_themselves(home: Path) -> None:
    alone = load_definitions([Layer(str(home / "definitions" / "own"))])
    assert [option["name"] for option in alone["program", "own"].table["options"]] == ["quiet", "loud"]
