"""The key store of the operating system: a real Secret Service on a D-Bus session of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.canary import CANARY
from support.fakesite import EMAIL, TOKEN, FakeSite
from support.shell import Done, Shell
from support.waiting import PATIENCE

NEEDED = ("dbus-daemon", "gnome-keyring-daemon")
MISSING = [program for program in NEEDED if not shutil.which(program)]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"needs {' and '.join(MISSING)} (Debian: dbus, gnome-keyring)"),
]


class Session:
    """A D-Bus session with an unlocked key store, gone when the test is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        runtime = root / "runtime"
        runtime.mkdir(mode=0o700)
        self.environ = {"HOME": str(root), "XDG_RUNTIME_DIR": str(runtime), "PATH": os.environ["PATH"]}
        pipe = subprocess.PIPE
        self.bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=pipe, env=self.environ, text=True
        )
        assert self.bus.stdout is not None
        self.environ["DBUS_SESSION_BUS_ADDRESS"] = self.bus.stdout.readline().strip()
        command = ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"]
        self.daemon = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=self.environ, text=True
        )
        assert self.daemon.stdin is not None
        self.daemon.stdin.write("unlock")
        self.daemon.stdin.close()
        assert self.daemon.stdout is not None
        self.daemon.stdout.readline()  # where its control socket is; its name on the bus comes a moment later
        self._wait_for_name()

    def _wait_for_name(self) -> None:
        """A client that asks before would have the bus start a second, locked store, which pushes this one aside."""
        from jeepney.bus_messages import message_bus  # Linux only
        from jeepney.io.blocking import open_dbus_connection

        with open_dbus_connection(bus=self.environ["DBUS_SESSION_BUS_ADDRESS"]) as connection:
            until = time.monotonic() + PATIENCE
            while not connection.send_and_get_reply(message_bus.NameHasOwner("org.freedesktop.secrets")).body[0]:
                assert time.monotonic() < until, "the key store took no name on the bus"
                time.sleep(0.02)

    def close(self) -> None:
        for process in (self.daemon, self.bus):
            process.terminate()
            process.wait(timeout=PATIENCE)
            if process.stdout:
                process.stdout.close()


@pytest.fixture
def keys(shell: Shell) -> Iterator[Shell]:
    root = shell.root / "session"
    root.mkdir()
    session = Session(root)
    shell.environ.update(session.environ, SUITE_KEYRING_PASSWORD="")
    yield shell
    session.close()


def initialised(shell: Shell, site: FakeSite, name: str = "work") -> Done:
    return shell.process("init", "--name", name, "--base-url", site.url, "--email", EMAIL, "--token-stdin", stdin=TOKEN)


def test_a_credential_is_kept_read_and_forgotten(keys: Shell, site: FakeSite) -> None:
    done = initialised(keys, site)
    assert done.code == 0, done.err
    assert "its credential in the key store" in done.err
    assert 'store = "keyring"' in keys.profiles
    assert keys.process("op", "call", "getCurrentUser", "-o", "id").out == "a1\n"
    rows = {row["check"]: row for row in keys.process("doctor", "--json").json()}
    assert (rows["key store"]["status"], rows["credential"]["status"]) == ("ok", "ok")
    assert keys.process("auth", "logout").code == 0
    assert keys.process("op", "call", "getCurrentUser").code == 3
    assert not (keys.home / "credentials.enc").exists()


def test_reading_agrees_with_writing_whatever_the_environment_is_later(keys: Shell, site: FakeSite) -> None:
    assert initialised(keys, site).code == 0
    password = f"{CANARY}-password"
    assert keys.process("op", "call", "getCurrentUser", SUITE_KEYRING_PASSWORD=password).code == 0
    forced = keys.process("op", "call", "getCurrentUser", SUITE_KEYRING_PASSWORD=password, SUITE_KEYRING_BACKEND="file")
    assert forced.code == 3
    assert "it is in the key store" in forced.err
    assert "unset SUITE_KEYRING_BACKEND" in forced.err


LONG = """
import sys
from callsheet.sites.credentials.keychain import Keychain
store = Keychain("callsheet-test", "X")
long, short = {"token": "x" * 5000}, {"token": "short"}
store.put("a", long)
assert store.get("a") == long
store.put("a", {"token": "y" * 3000})
assert store.get("a") == {"token": "y" * 3000}
store.put("a", short)
assert store.get("a") == short
import keyring
backend = keyring.get_keyring()
left = [item.get_attributes()["username"] for item in backend.get_preferred_collection().get_all_items()]
assert left == ["a"], left
assert store.delete("a") and not store.delete("a") and store.get("a") is None
store.put("b", long)
part = keyring.get_password("callsheet-test", "b")
import json
keyring.delete_password("callsheet-test", f"b#{json.loads(part)['of']}#1")
from callsheet.errors import CallsheetError
try:
    store.get("b")
except CallsheetError as error:
    assert "lost a part" in str(error)
else:
    raise AssertionError
"""


def test_long_values_are_kept_in_parts_and_leave_none_behind(keys: Shell) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LONG], env=keys.variables({}), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_key_store_is_an_error_with_a_way_out(shell: Shell, site: FakeSite) -> None:
    shell.environ["SUITE_KEYRING_PASSWORD"] = ""
    shell.environ["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nowhere"
    done = initialised(shell, site)
    assert done.code == 1
    assert "this machine has no key store that can be used" in done.err
    assert "hint: set SUITE_KEYRING_PASSWORD to a password" in done.err
    assert not shell.profiles


def test_a_store_that_keeps_secrets_readable_is_not_used(shell: Shell, site: FakeSite) -> None:
    shell.environ["SUITE_KEYRING_PASSWORD"] = ""
    done = shell.process(
        *("init", "--name", "w", "--base-url", site.url, "--email", EMAIL, "--token-stdin"),
        stdin=TOKEN,
        PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring",
    )
    assert done.code == 1
    assert "no key store that can be used" in done.err
