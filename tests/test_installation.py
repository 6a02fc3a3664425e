"""What adds a package depends on what installed the program."""

from __future__ import annotations

import sys
import sysconfig
import zipapp
from pathlib import Path

import pytest

from callsheet import installation
from callsheet.installation import how_to_add, own_command


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of the environment that the program runs in."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "suite")])
    monkeypatch.setattr(sys, "executable", "/opt/some place/python")
    return tmp_path


def test_pip_of_the_same_python(prefix: Path) -> None:
    """The packages of an extra by their names: an index may have none of ours, or somebody else's."""
    expected = 'install it with: "/opt/some place/python" -m pip install "socksio<2,>=1"'
    assert how_to_add(extra="socks") == expected
    assert how_to_add("jq") == 'install it with: "/opt/some place/python" -m pip install jq'


def test_an_environment_of_uv_has_no_pip(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    expected = 'install it with: uv pip install --python "/opt/some place/python" "nats-py[nkeys]>=2.16"'
    assert how_to_add(extra="nats") == expected


def test_pipx_gets_what_the_extra_consists_of(prefix: Path) -> None:
    """Its `inject` takes packages; it would look up this one in an index that may not have it."""
    (prefix / "pipx_metadata.json").touch()
    assert how_to_add(extra="socks") == 'install it with: pipx inject callsheet "socksio<2,>=1"'
    assert how_to_add("jq") == "install it with: pipx inject callsheet jq"


def test_pipx_without_metadata_of_the_distribution(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (prefix / "pipx_metadata.json").touch()
    monkeypatch.setattr(installation, "distribution_name", lambda: "not-there")
    assert how_to_add(extra="mcp") == 'install it with: pipx inject not-there "not-there[mcp]"'


def test_a_tool_of_uv(prefix: Path) -> None:
    (prefix / "uv-receipt.toml").touch()
    assert how_to_add(extra="mcp") == 'install it with: uv tool install --force "callsheet[mcp]"'
    assert how_to_add("jq") == "install it with: uv tool install --force --with jq callsheet"


def test_the_python_of_a_system_is_left_alone(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(prefix))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(prefix))
    assert "pip install" in how_to_add(extra="mcp")
    (prefix / "EXTERNALLY-MANAGED").touch()
    expected = 'install it in an environment of its own: pipx install "callsheet[mcp]"'
    assert how_to_add(extra="mcp") == expected


def test_how_to_start_again_is_known_without_loading_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for while a person waits at the Tab key."""
    monkeypatch.setitem(sys.modules, "zipfile", None)
    assert own_command("suite")[0] == sys.executable


def test_a_single_file_takes_nothing(prefix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (prefix / "app").mkdir()
    (prefix / "app" / "__main__.py").write_text("pass\n")
    zipapp.create_archive(prefix / "app", prefix / "suite.pyz")
    monkeypatch.setattr(sys, "argv", [str(prefix / "suite.pyz")])
    assert how_to_add(extra="mcp").startswith("a program in a single file takes no packages")
