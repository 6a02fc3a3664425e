"""Every command that a data center has works there: by a case of its own, or as the one for cloud sites does."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.language.merge import on_deployment
from support.cases import load_cases, nobody, run_case
from support.places import CASES

# Where the paths of a cloud site are below the addresses of a data center.
PATHS = {
    "/rest/api/3/": "/tracker/rest/api/2/",
    "/rest/software/1.0/": "/tracker/rest/agile/1.0/",
    "/rest/agile/1.0/": "/tracker/rest/agile/1.0/",
    "/rest/servicedeskapi/": "/tracker/rest/servicedeskapi/",
    "/wiki/rest/api/": "/docs/rest/api/",
}
LONGEST = 3  # words of a command


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    catalog = open_catalog("suite", nobody(tmp_path_factory))
    yield catalog
    catalog.close()


def exists(catalog: Catalog, command: Any) -> bool:
    """Whether a data center has the command, and everything that it calls whatever is given."""
    here = on_deployment(command, "datacenter")
    tables = [here]
    for step in here["step"]:
        if "call" in step and "when" not in step:
            operation = catalog.operations.get(step["call"])
            tables += [on_deployment(operation, "datacenter")]
            tables += [on_deployment(catalog.products.get(operation["product"]), "datacenter")]
    return not any(table.get("unavailable") for table in tables)


def cases_by_command(commands: dict[str, Any]) -> dict[str, dict[str, list[Any]]]:
    """Deployment → command → the cases of it that succeed, the shortest first."""
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for param in load_cases(CASES / "commands"):
        case: Any = param.values[0]
        if case.get("expect", {}).get("exit", 0) or "--dry-run" in case["argv"]:
            continue
        words = (" ".join(case["argv"][:length]) for length in range(LONGEST, 0, -1))
        if (command := next((each for each in words if each in commands), None)) is not None:
            found[case.get("on", "cloud")][command].append(case)
    for cases in found["cloud"].values():
        cases.sort(key=lambda case: len(json.dumps(case)))
    return found


def moved(case: Any) -> Any:
    text = json.dumps(case)
    for cloud, here in PATHS.items():
        text = text.replace(f'"{cloud}', f'"{here}')
    return {**json.loads(text), "on": "datacenter"}


@pytest.mark.slow
def test_every_command_of_a_data_center_works_there(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = {id: command for id, command in catalog.commands.all().items() if "builtin" not in command}
    cases = cases_by_command(commands)
    without = [id for id, each in commands.items() if id not in cases["datacenter"] and exists(catalog, each)]
    failures: dict[str, list[str]] = {}
    for number, id in enumerate(without):
        failures[id] = []
        for place, case in enumerate(cases["cloud"][id][:4]):
            folder = tmp_path / f"{number}-{place}"
            folder.mkdir()
            try:
                run_case(moved(case), folder)
            except AssertionError as error:
                failures[id].append(f"{case['name']}: {error}")
            else:
                del failures[id]
                break
    assert failures == {}, "a case with on = 'datacenter' is needed"
    assert len(without) > 50
