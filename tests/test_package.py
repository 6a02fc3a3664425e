"""What a distribution of the source holds."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import tomllib
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from support.places import ROOT

BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
BUILD_HOOK = "scripts/build_hook.py"
METADATA_HOOK = "scripts/metadata_hook.py"
# Put into every source distribution by the build itself.
ALWAYS = {"pyproject.toml", "README.md", "LICENSE", ".gitignore", "PKG-INFO"}


def named_below_root() -> set[str]:
    """The first part of every path that the tests build from the project's directory."""
    found = set()
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.BinOp(left=ast.Name(id="ROOT"), op=ast.Div(), right=ast.Constant(value=str(name))):
                    found.add(name.partition("/")[0])
                case _:
                    pass
    return found


@pytest.mark.slow
def test_the_source_distribution_has_all_that_its_tests_read() -> None:
    included = {*BUILD["sdist"]["include"], *ALWAYS}
    needed = named_below_root() - {"build"}  # what is made there is no source: a broker that `.ci/run` fetches
    assert needed >= {"engine", "definitions", "docs", "scripts"}
    assert sorted(name for name in needed - included if (ROOT / name).exists()) == []


def test_what_it_includes_exists() -> None:
    made = {"build/share", "build/stubs"}  # before a release
    assert [name for name in BUILD["sdist"]["include"] if name not in made and not (ROOT / name).exists()] == []


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    return loaded(BUILD_HOOK)


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("target", "version", "made", "has"),
    [
        ("wheel", "standard", True, True),
        ("wheel", "standard", False, False),
        ("wheel", "editable", True, False),
        ("sdist", "standard", True, False),
    ],
)
def test_a_wheel_has_manual_pages_completion_and_types_where_they_were_made(
    hook: ModuleType, target: str, version: str, made: bool, has: bool, tmp_path: Path
) -> None:
    if made:
        (tmp_path / hook.MADE).mkdir(parents=True)
        (tmp_path / hook.STUBS).mkdir(parents=True)
    data: dict[str, dict[str, str]] = {"shared_data": {}, "force_include": {}}
    hook.SharedFiles.initialize(SimpleNamespace(root=str(tmp_path), target_name=target), version, data)
    assert data["shared_data"] == ({hook.MADE: "share"} if has else {})
    assert data["force_include"] == ({hook.STUBS: "callsheet_suite-stubs"} if has else {})
    assert BUILD["sdist"]["artifacts"] == [hook.MADE, os.path.dirname(hook.STUBS)]


def test_an_image_has_all_that_the_wheel_is_built_from() -> None:
    """What is copied into it, and what of that the builder gets to see."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    copied = {word for line in re.findall(r"^COPY (?!--)(.+)$", text, re.MULTILINE) for word in line.split()[:-1]}
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {*BUILD["wheel"]["force-include"], BUILD_HOOK, "pyproject.toml", "README.md", "LICENSE", "engine"} <= copied
    assert copied == {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_an_image_and_a_unit_start_what_there_is() -> None:
    """The words that they start the listener with are those of its definition; nothing starts as root."""
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    unit = (ROOT / "deploy" / "systemd" / "lms-listener.service").read_text(encoding="utf-8")
    compose = (ROOT / "deploy" / "docker" / "compose.yaml").read_text(encoding="utf-8")
    definition = (ROOT / "definitions" / "listener" / "commands.toml").read_text(encoding="utf-8")
    known = {f"--{name}" for name in re.findall(r'name = "([\w-]+)"', definition)}
    started = re.findall(
        r"--[a-z-]+", image.rpartition("CMD")[2] + compose.partition("init:")[0].partition("command:")[2]
    )
    assert set(started) | set(re.findall(r"--[a-z-]+", unit)) <= known
    assert re.search(r"^USER (?!root|0)", image, re.MULTILINE)
    assert "DynamicUser=yes" in unit


def test_every_action_of_a_workflow_is_pinned() -> None:
    uses = [
        line for path in (ROOT / ".github").rglob("*.yml") for line in path.read_text().splitlines() if "uses:" in line
    ]
    assert len(uses) > 10
    assert [line for line in uses if not re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []


def test_every_page_that_another_page_links_to_is_included() -> None:
    """CONTRIBUTING is linked from the README, and the pages link each other."""
    included = {*BUILD["sdist"]["include"], *ALWAYS}
    assert [page.name for page in ROOT.glob("*.md") if page.name not in included] == []


@pytest.mark.parametrize("repository", [None, "owner/name"])
def test_addresses_are_those_of_the_repository_that_a_release_is_made_in(
    repository: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    if repository:
        monkeypatch.setenv("GITHUB_REPOSITORY", repository)
    metadata: dict[str, dict[str, str]] = {}
    hook = loaded(METADATA_HOOK)
    hook.ProjectUrls.update(None, metadata)
    assert metadata["urls"].get("Homepage") == (repository and f"https://github.com/{repository}")
    paths = [url.removeprefix("https://github.com/owner/name/blob/main/") for url in metadata["urls"].values()]
    assert all((ROOT / path).is_file() for path in paths if ":" not in path)
