"""Other people on the machine: what they could have written is not obeyed, and they cannot read what is private."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from callsheet import files
from callsheet.errors import NotAllowed
from callsheet.files import changeable_by_others, make_private_directory, read_private
from support.cases import run_program
from support.fakesite import EMAIL, TOKEN, FakeSite
from support.programs import small_program
from support.shell import Shell
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="rights are kept elsewhere there")
AS_ROOT = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root gives files away")

WHO_AM_I = """
[service.own]
title = "Own"

[product.own]
title = "Own"
service = "own"

[operation.getCurrentUser]
product = "own"
http = "GET /rest/api/3/myself"
"""
PROFILES = 'site = "work"\n[sites.work]\nbase_url = "https://site.example.org"\nemail = "a"\ntoken_env = "WORK_TOKEN"\n'


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_what_is_made_is_private_whatever_the_umask(tmp_path: Path, site: FakeSite, overlay: Path) -> None:
    """Also the parents, whichever command comes first and whatever it makes."""
    before = os.umask(0)
    try:
        for number, words in enumerate(
            [
                "op search sprint",
                f"init --name work --base-url {site.url} --email {EMAIL} --token-stdin",
                "alias set mine 'op list'",
                "config path",
            ]
        ):
            environ = {
                "CALLSHEET_HOME": str(tmp_path / str(number) / "a" / "home"),
                "CALLSHEET_CACHE": str(tmp_path / str(min(number, 1)) / "b" / "cache"),  # two are compiled, not four
                "SUITE_DEFINITIONS": str(overlay),
                "SUITE_KEYRING_PASSWORD": "p",
                "SUITE_KEYRING_BACKEND": "file",
            }
            done = run_program("suite", shlex.split(words), environ, stdin=TOKEN)
            assert done.exit == 0, done.stderr
    finally:
        os.umask(before)
    made = [path for path in tmp_path.rglob("*") if path.relative_to(tmp_path).parts[1:]]
    assert {path.name for path in made} >= {"profiles.toml", "credentials.enc", "aliases.toml", "home", "cache"}
    assert {str(path): oct(mode(path)) for path in made if mode(path) & 0o077} == {}


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match=r"cannot make the directory .*file/x"):
        make_private_directory(str(tmp_path / "file" / "x" / "y"))


RIGHTS = [
    ("the file for all", lambda file: file.chmod(0o606)),
    ("the file for a group", lambda file: os.chown(file, -1, 12345) or file.chmod(0o664)),
    ("its directory", lambda file: file.parent.chmod(0o707)),
    ("a directory above", lambda file: file.parent.parent.chmod(0o777)),
]


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    """Of a file in a directory of its own, two levels down."""
    path = tmp_path / "above" / "own" / "file"
    make_private_directory(str(path.parent))
    path.write_text("content")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("loosen", [change for _, change in RIGHTS], ids=[name for name, _ in RIGHTS])
def test_what_others_can_change_is_doubted(loosen: Callable[[Path], object], guarded: Path) -> None:
    assert changeable_by_others(str(guarded)) is None
    try:
        loosen(guarded)
    except PermissionError:
        pytest.skip("only root gives files to a group it is not in")
    doubt = changeable_by_others(str(guarded))
    assert doubt is not None
    assert doubt.problem == "can be changed by others"
    subprocess.run(["sh", "-c", doubt.remedy], check=True)
    assert changeable_by_others(str(guarded)) is None, "the remedy helps"


@AS_ROOT
@pytest.mark.parametrize("which", ["file", "directory"])
def test_what_belongs_to_another_is_doubted(which: str, guarded: Path) -> None:
    os.chown(guarded if which == "file" else guarded.parent, 12345, -1)
    doubt = changeable_by_others(str(guarded))
    assert doubt is not None
    assert doubt.problem == "belongs to another user"
    subprocess.run(["sh", "-c", doubt.remedy], check=True)
    assert changeable_by_others(str(guarded)) is None


def test_a_directory_where_only_owners_remove_is_safe(guarded: Path) -> None:
    guarded.parent.parent.chmod(0o1777)
    assert changeable_by_others(str(guarded)) is None
    guarded.parent.chmod(0o1777)
    assert changeable_by_others(str(guarded)) is None


def test_a_link_is_followed_to_what_it_names(guarded: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(guarded)
    assert changeable_by_others(str(link)) is None
    guarded.chmod(0o666)
    assert changeable_by_others(str(link)) is not None


@pytest.fixture
def at_home(shell: Shell) -> Shell:
    """A small program, as it compiles fast."""
    shell.program = "shop"
    (small_program(shell.home) / "who.toml").write_text(WHO_AM_I)
    settings = shell.home / "programs" / "shop"
    settings.mkdir(parents=True)
    (settings / "profiles.toml").write_text(PROFILES)
    (settings / "aliases.toml").write_text('mine = "op list"\n')
    shell.home.chmod(0o700)
    return shell


@pytest.fixture
def with_definitions(shell: Shell) -> Shell:
    """A program that is there without one's own definitions, so that its doctor says what is wrong with them."""
    shell.write_profiles(PROFILES)
    shell.home.chmod(0o700)
    own = shell.home / "definitions" / "suite"
    own.mkdir(parents=True)
    (own / "own.toml").write_text('[view.own]\ncolumns = [{ name = "a", value = "a" }]\n')
    return shell


def refused(shell: Shell, path: str, words: tuple[str, ...], code: int) -> None:
    assert shell(*words, WORK_TOKEN="work-token").code == 0
    changed = shell.home / path
    before = changed.stat().st_mode
    changed.chmod(before | 0o022)
    done = shell(*words, WORK_TOKEN="work-token")
    assert done.code == code, done.err
    assert f"{changed} can be changed by others" in done.err
    assert "chmod go-w" in done.err
    rows = [row for row in shell("doctor", "--json").json() if row["status"] == "fail"]
    assert any("can be changed by others" in row["detail"] and "chmod go-w" in row["remedy"] for row in rows)
    changed.chmod(before)


@pytest.mark.parametrize(
    ("path", "words"),
    [("programs/shop/profiles.toml", ("op", "call", "getCurrentUser", "--dry-run")),
     ("programs/shop/aliases.toml", ("mine",))],
)  # fmt: skip
def test_a_start_refuses_files_that_others_can_change(path: str, words: tuple[str, ...], at_home: Shell) -> None:
    refused(at_home, path, words, 3)


@pytest.mark.slow
def test_a_start_refuses_definitions_that_others_can_change(with_definitions: Shell) -> None:
    refused(with_definitions, ".", ("op", "call", "getCurrentUser", "--dry-run"), 2)
    for path in ("definitions/suite/own.toml", "definitions/suite", "definitions"):
        refused(with_definitions, path, ("op", "list"), 2)


@pytest.mark.slow
def test_definitions_named_by_the_environment_are_looked_at_too(shell: Shell) -> None:
    own = shell.given / "own"
    own.mkdir()
    (own / "own.toml").write_text('[view.own]\ncolumns = [{ name = "a", value = "a" }]\n')
    assert shell("op", "list", SUITE_DEFINITIONS=str(own)).code == 0
    own.chmod(0o777)
    done = shell("op", "list", SUITE_DEFINITIONS=str(own))
    assert done.code == 2
    assert f"{own} can be changed by others" in done.err


@pytest.mark.parametrize("rights", [0o640, 0o604, 0o622])
def test_a_secret_file_that_others_can_use_is_refused(rights: int, tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("one\n")
    path.chmod(rights)
    with pytest.raises(NotAllowed, match="can be read by others") as caught:
        read_private(str(path), "the secret file")
    assert caught.value.hint == f"chmod 600 {path}"


def test_the_listeners_secret_file_is_refused_like_a_token_file(shell: Shell) -> None:
    path = shell.secret_file("secret.txt", "one\n")
    path.chmod(0o644)
    command = [
        sys.executable,
        "-m",
        "callsheet",
        "lms",
        "webhook",
        "listen",
        "--addr",
        ":0",
        "--secret-file",
        str(path),
    ]
    environ = {**os.environ, **shell.variables({})}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 3
    assert f"--secret-file: {path} can be read by others" in done.stderr


def test_a_secret_in_a_directory_of_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "open" / "token"
    path.parent.mkdir()
    path.write_text("one\n")
    path.chmod(0o600)
    path.parent.chmod(0o777)
    with pytest.raises(NotAllowed, match="open can be changed by others"):
        read_private(str(path), "the token file")


def test_a_secret_from_a_pipe_is_taken_and_an_endless_one_refused(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"secret\n")
    os.close(write)
    assert read_private(f"/dev/fd/{read}", "the token file") == b"secret\n"
    os.close(read)
    large = tmp_path / "large"
    with large.open("wb") as file:
        file.truncate(9 << 20)
    large.chmod(0o600)
    with pytest.raises(NotAllowed, match="larger than 8 MiB"):
        read_private(str(large), "the token file")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_NO_WRITER", 0.05)
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(NotAllowed, match="nobody writes to this pipe"):
        read_private(str(tmp_path / "pipe"), "the token file")


def planted_profiles(shell: Shell, cache: Path) -> None:
    """The checked profiles, with another address: what an attacker would put there."""
    shell("config", "view", CALLSHEET_CACHE=str(cache))
    (kept,) = cache.glob("profiles-*.json")
    found = json.loads(kept.read_text())
    found["profiles"]["sites"]["work"]["base_url"] = "https://evil.example.org"
    kept.write_text(json.dumps(found))


def planted_catalog(shell: Shell, cache: Path) -> None:
    """The compiled definitions with another gateway or, as here, another title."""
    shell("op", "list", CALLSHEET_CACHE=str(cache))
    (kept,) = cache.glob("shop-*.sqlite")
    with sqlite3.connect(kept) as database:
        database.execute("UPDATE definition SET data = replace(data, '/rest/api/3/myself', '/evil')")
    database.close()


@pytest.mark.slow
@pytest.mark.parametrize("planted", [planted_profiles, planted_catalog])
@pytest.mark.parametrize("how", ["file", "directory", "owner", "sticky"])
def test_a_planted_cache_is_not_used(
    planted: Callable[[Shell, Path], None], how: str, at_home: Shell, tmp_path: Path
) -> None:
    ask = ("op", "call", "getCurrentUser", "--dry-run")
    cache = tmp_path / "shared"
    cache.mkdir(mode=0o700)
    planted(at_home, cache)
    trusted = at_home(*ask, WORK_TOKEN="work-token", CALLSHEET_CACHE=str(cache)).out
    assert "evil" in trusted, "one's own cache is used"
    if how in ("owner", "sticky"):
        if os.geteuid() != 0:
            pytest.skip("only root gives files away")
        for path in cache.iterdir():
            os.chown(path, 12345, -1)
    if how == "file":
        for path in cache.iterdir():
            path.chmod(0o666)
    if how in ("directory", "sticky"):
        cache.chmod(0o1777 if how == "sticky" else 0o777)
    out = at_home(*ask, WORK_TOKEN="work-token", CALLSHEET_CACHE=str(cache)).out
    assert "https://site.example.org/rest/api/3/myself" in out
    assert "evil" not in out


@pytest.mark.parametrize("changed", ["routes.toml", "."])
def test_routes_that_others_can_change_are_refused(changed: str, tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "routes"
    folder.mkdir(mode=0o700)
    (folder / "routes.toml").write_text('[route.r]\ndo = [{ handler = "exec", run = ["true"] }]\n')
    words = ["webhook", "check", "--routes", str(folder / "routes.toml")]
    environ = {"CALLSHEET_HOME": str(tmp_path / "home"), "CALLSHEET_CACHE": str(cache)}
    assert run_program("lms", words, environ).exit == 0
    path = folder / changed
    path.chmod(path.stat().st_mode | 0o002)
    done = run_program("lms", words, environ)
    assert (done.exit, "can be changed by others" in done.stderr) == (2, True), done.stderr


def test_what_is_mounted_read_only_is_changed_by_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directories of a container's settings often have all rights, and nobody can use them."""
    tmp_path.chmod(0o777)
    assert changeable_by_others(str(tmp_path)) is not None
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    assert changeable_by_others(str(tmp_path)) is None
