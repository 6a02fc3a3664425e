"""What each program says of words that are no command of it: `tests/cases/suggestions.toml` holds what people type."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import closing

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.cli.suggestions import suggest_commands
from support.places import CASES

TYPED: dict[str, dict[str, str]] = tomllib.loads((CASES / "suggestions.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=["suite", "lms", "callsheet"])
def catalog(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    home = tmp_path_factory.mktemp("home")
    environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(tmp_path_factory.getbasetemp() / "shared-cache")}
    with closing(open_catalog(request.param, environ)) as found:
        yield found


def test_the_right_command_is_suggested(catalog: Catalog) -> None:
    groups = catalog.groups.all()
    said = {}
    for line in TYPED[catalog.program]:
        words = line.split()
        depth = max(n for n in range(len(words)) if not n or " ".join(words[:n]) in groups)
        said[line] = " | ".join(suggest_commands(catalog, " ".join(words[:depth]), words[depth:]))
    assert said == TYPED[catalog.program]


def test_what_is_suggested_for_is_no_command(catalog: Catalog) -> None:
    """A word that is one would never be reached."""
    program = catalog.programs.get(catalog.program)
    tables = {"": program.get("instead", {})} | {
        id: each.get("instead", {}) for id, each in catalog.groups.all().items()
    }
    for path, table in tables.items():
        known = {word for child in catalog.children_of(path) for word in (child.name, *child.aliases)}
        known |= set(program.get("aliases", {})) if not path else set()
        assert known & set(table) == set(), path
