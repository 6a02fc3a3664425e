"""The class of every operation: an import or a correction that changes one has to change it here too.

`classes.txt` holds a section for each class and product. docs/agents.md says what the classes mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.language.safety import class_of_operation
from support.places import ROOT

FILE = Path(__file__).parent / "classes.txt"
Classes = dict[str, str]


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    home = tmp_path_factory.mktemp("home") / "x" / "home"
    environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(tmp_path_factory.getbasetemp() / "shared-cache")}
    catalog = open_catalog("suite", environ)
    yield catalog.operations.all()  # type: ignore[misc]
    catalog.close()


def written() -> Classes:
    found: Classes = {}
    section = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]").partition(" ")[0]
        elif line:
            assert line not in found, f"{line} has two classes"
            found[line] = section
    return found


def test_every_operation_has_the_class_that_is_written_down(operations: dict[str, dict[str, str]]) -> None:
    now = {id: class_of_operation(operation) for id, operation in operations.items()}
    then = written()
    assert {id: (then.get(id), now.get(id)) for id in {*then, *now} if then.get(id) != now.get(id)} == {}


def test_reading_is_said_of_nothing_that_changes_something_by_its_name(operations: dict[str, dict[str, str]]) -> None:
    """A slip in a correction would be most likely here."""
    changing = re.compile(
        r"(?i)^(add|append|archive|assign|bulk(delete|edit|move|set)|create|delete|dotransition|edit|move|post|put|remove|set|update)"
    )
    reads = [id for id, operation in operations.items() if class_of_operation(operation) == "read"]
    # a look-up of several people, which the document calls so
    assert {id for id in reads if changing.match(id.rpartition(".")[2])} == {"createBulkUserLookup"}


def test_the_page_names_each_exception(operations: dict[str, dict[str, str]]) -> None:
    """Operations whose method says something else than their class stand in docs/agents.md, but for reading by POST."""
    text = (ROOT / "docs" / "agents.md").read_text(encoding="utf-8")
    section = text.partition("### What destroys")[2].partition("\n### ")[0]
    named = set(re.findall(r"`([A-Za-z0-9_.-]+)`", section))
    odd = {
        id
        for id, operation in operations.items()
        if (class_of_operation(operation) == "destroy") != operation["http"].startswith("DELETE ")
    }
    assert odd - named == set()
