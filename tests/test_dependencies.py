"""What is imported is declared, what is declared is imported, and all of it is pinned with hashes."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from support.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DECLARED = [Requirement(text) for text in PROJECT["dependencies"]]
TOOLS = [Requirement(text) for text in PROJECT["optional-dependencies"]["dev"]]
EXTRAS = [text for name, texts in PROJECT["optional-dependencies"].items() if name != "dev" for text in texts]
ALL = DECLARED + [Requirement(text) for text in EXTRAS]
STARTED = "shfmt-py"  # a program, which is not imported
HERE = [each for each in ALL if each.marker is None or each.marker.evaluate()]


def imported() -> set[str]:
    """The distributions whose modules the engine imports, wherever the import stands."""
    modules: set[str] = set()
    for path in (ROOT / "engine").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                modules.add(node.module.partition(".")[0])
    known = packages_distributions()
    foreign = modules - sys.stdlib_module_names
    declared = {canonicalize_name(each.name) for each in ALL}
    found = set()
    for module in foreign & known.keys():  # several packages may share one, as those of opentelemetry do
        names = [canonicalize_name(name) for name in known[module]]
        found.add(next((name for name in names if name in declared), names[0]))
    return found | (foreign - known.keys())


@pytest.mark.slow
def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    assert sorted({*imported(), STARTED}) == sorted(canonicalize_name(each.name) for each in HERE)
    assert any(f'"{STARTED}"' in path.read_text(encoding="utf-8") for path in (ROOT / "engine").rglob("*.py"))


def pins(name: str) -> dict[str, list[tuple[Version, Marker | None, int]]]:
    """Each package of a lock file: version, marker, number of hashes."""
    found: dict[str, list[tuple[Version, Marker | None, int]]] = {}
    text = (ROOT / name).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if match := re.match(
            r"([A-Za-z0-9._-]+)==([^\s;]+)(?: ; ([^\\]*?))?((?:\s+--hash=sha256:[0-9a-f]{64})*)\s*$", line
        ):
            marker = Marker(match[3].strip()) if match[3] else None
            found.setdefault(canonicalize_name(match[1]), []).append(
                (Version(match[2]), marker, match[4].count("--hash"))
            )
        else:
            assert not line.strip() or line.lstrip().startswith("#"), line
    return found


@pytest.mark.parametrize(("lock", "wanted"), [("requirements.lock", ALL), ("requirements-dev.lock", ALL + TOOLS)])
def test_everything_is_pinned_with_hashes_within_its_range(lock: str, wanted: list[Requirement]) -> None:
    found = pins(lock)
    assert [name for name, entries in found.items() for *_, hashes in entries if not hashes] == []
    for requirement in wanted:
        versions = [version for version, *_ in found[canonicalize_name(requirement.name)]]
        assert versions, requirement
        assert all(version in requirement.specifier for version in versions), (requirement, versions)


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_names_no_host(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text


def test_a_platform_gets_only_what_it_can_run() -> None:
    """The packages of one platform carry the marker that keeps them from the others."""
    found = pins("requirements.lock")
    for name in ("uvloop", "pywin32-ctypes", "secretstorage"):
        assert all(marker is not None for _, marker, _ in found[name]), name
