"""A pipe or a device in the place of a file is a clear error: nothing waits for a writer, or reads, for ever."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from callsheet.errors import CallsheetError, NotAllowed
from callsheet.files import read_private, write_atomically
from support.canary import TOKEN
from support.cases import Done, environment, run_program
from support.programs import small_program
from support.tls import Authority
from support.waiting import PATIENCE, at_most

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no such files")

SITE = '[sites.a]\nbase_url = "https://127.0.0.1:1"\n'
ASK = ("suite", "--site", "a", "op", "call", "getCurrentUser")
ALONE = ("suite", "api", "GET", "/x")
LISTEN = ("lms", "webhook", "listen", "--addr", ":0")
CHECK = ("lms", "webhook", "check")


class Read(NamedTuple):
    """A file that is read: where it is below the test's folder, by which command, with which profile or variables."""

    path: str
    command: tuple[str, ...]
    profile: str = ""
    environ: Mapping[str, str] = MappingProxyType({})


READ: dict[str, Read] = {
    "profiles": Read("home/profiles.toml", ("suite", "config", "view")),
    "profiles, changed": Read("home/profiles.toml", ("suite", "config", "set", "site", "a")),
    "profiles, by a command": Read("home/profiles.toml", ASK),
    "aliases": Read("home/aliases.toml", ("suite", "alias", "list")),
    "aliases, by a misspelt command": Read("home/aliases.toml", ("suite", "nosuch")),
    "definitions": Read("own/own.toml", ("suite", "op", "list"), "", {"SUITE_DEFINITIONS": "own"}),
    "credentials": Read("home/credentials.enc", ASK, SITE + 'store = "file"\n', {"SUITE_KEYRING_PASSWORD": "x"}),
    "password": Read("password", ASK, SITE + 'store = "file"\n', {"SUITE_KEYRING_PASSWORD_FILE": "password"}),
    "token": Read("token", ASK, SITE + 'token_file = "{path}"\nemail = "r@example.org"\n'),
    "CA bundle": Read("ca.pem", ASK, SITE + 'ca_bundle = "{path}"\nmethod = "none"\n'),
    "client certificate": Read("own.pem", ASK, SITE + 'client_cert = "{path}"\nmethod = "none"\n'),
    "client key": Read("key.pem", ASK, SITE + 'client_cert = "{other}"\nclient_key = "{path}"\nmethod = "none"\n'),
    "CA bundle of the environment": Read("ca.pem", ASK, SITE + 'method = "none"\n', {"SSL_CERT_FILE": "ca.pem"}),
    "routes": Read("routes.toml", (*CHECK, "--routes", "routes.toml")),
    "secret": Read("secret", (*LISTEN, "--secret-file", "secret")),
    "certificate": Read("cert.pem", (*LISTEN, "--insecure", "--tls-cert", "cert.pem")),
    "key of the certificate": Read("key.pem", (*LISTEN, "--insecure", "--tls-cert", "any.pem", "--tls-key", "key.pem")),
    "key of tokens": Read("jwt.pem", ("lms", "webhook", "trigger", "grade_change", "--jwt-key", "jwt.pem")),
    "inbox": Read("in.db", ("lms", "webhook", "inbox", "list", "--inbox", "in.db")),
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)


def device(path: Path) -> None:
    """For root one of its own: what would replace the end of a link must not find the machine's."""
    if os.geteuid() == 0:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
    else:
        path.symlink_to("/dev/zero")


def link_to_a_pipe(path: Path) -> None:
    pipe(path.with_name(f"{path.name}.pipe"))
    path.symlink_to(path.with_name(f"{path.name}.pipe"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pipe, device])
@pytest.mark.parametrize("name", READ)
def test_what_is_no_file_is_refused(
    name: str, kind: Callable[[Path], None], tmp_path: Path, authority: Authority
) -> None:
    read = READ[name]
    home, path = tmp_path / "home", tmp_path / read.path
    home.mkdir(mode=0o700)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if read.profile:
        (home / "profiles.toml").write_text(
            read.profile.replace("{path}", str(path)).replace("{other}", str(tmp_path / "any.pem")), encoding="utf-8"
        )
    (tmp_path / "any.pem").write_bytes(authority.certificate("localhost").read_bytes())
    kind(path)
    given = {
        variable: str(tmp_path / text) if variable != "SUITE_KEYRING_PASSWORD" else text
        for variable, text in read.environ.items()
    }
    done = run(read.command, tmp_path, {"SUITE_BASE_URL": "", "SUITE_TOKEN": "", **given})
    assert done.exit in {1, 2, 3}, done.stderr
    assert done.stderr.startswith("error: "), done.stderr
    assert path.name in done.stderr


def run(command: tuple[str, ...], folder: Path, environ: dict[str, str]) -> Done:
    program, *words = command
    plain = {"PATH": os.environ["PATH"], **environment(folder / "home", "http://localhost:1"), **environ}
    with contextlib.chdir(folder), at_most(PATIENCE):
        return run_program(program, words, {variable: text for variable, text in plain.items() if text})


@pytest.mark.parametrize("kind", [pipe, device, link_to_a_pipe])
def test_what_is_no_file_is_no_cache(kind: Callable[[Path], None], tmp_path: Path) -> None:
    """Compiled definitions and the checked profiles are made again."""
    small_program(tmp_path / "home")
    profiles = tmp_path / "home" / "programs" / "shop" / "profiles.toml"
    profiles.parent.mkdir(parents=True)
    profiles.write_text(SITE, encoding="utf-8")
    environ = {"CALLSHEET_CACHE": str(tmp_path / "cache")}
    command = ("shop", "config", "view", "-o", "json")
    first = run(command, tmp_path, environ)
    made = [path for path in (tmp_path / "cache").iterdir() if path.is_file()]
    assert {path.suffix for path in made} == {".sqlite", ".json"}
    for path in made:
        path.unlink()
        kind(path)
    there = stat.S_IFMT(made[0].stat().st_mode)
    again = run(command, tmp_path, environ)
    assert (again.exit, again.stdout) == (first.exit, first.stdout) == (0, first.stdout), again.stderr
    if kind is link_to_a_pipe:
        assert stat.S_IFMT(made[0].with_name(f"{made[0].name}.pipe").stat().st_mode) == there


@pytest.mark.parametrize("kind", [pipe, device, link_to_a_pipe])
def test_what_is_no_file_is_not_replaced_by_one(kind: Callable[[Path], None], tmp_path: Path) -> None:
    """Least of all the end of a link: as root that was a device of the machine."""
    path = tmp_path / "profiles.toml"
    kind(path)
    before = stat.S_IFMT(path.stat().st_mode)
    with pytest.raises(CallsheetError, match=r"profiles\.toml: not a regular file"):
        write_atomically(str(path), b"a = 1")
    assert stat.S_IFMT(path.stat().st_mode) == before


def test_a_pipe_that_somebody_writes_to_will_do(tmp_path: Path) -> None:
    """As `<(...)` of a shell, however slowly it comes."""
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o600)

    def write() -> None:
        with open(path, "w", encoding="utf-8") as file:
            for part in (TOKEN[:3], TOKEN[3:]):
                file.write(part)
                file.flush()
                threading.Event().wait(0.05)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    assert read_private(str(path), "the token file").decode() == TOKEN
    writer.join(PATIENCE)


def test_a_pipe_without_a_writer_is_given_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(NotAllowed, match=r"cannot read the token file .*pipe: nobody writes to this pipe"):
        read_private(str(tmp_path / "pipe"), "the token file")
