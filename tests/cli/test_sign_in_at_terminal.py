"""A cold start from an empty home in a real terminal: asked questions, a hidden secret, a site that works."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

import pytest

from support.canary import PASSWORD
from support.fakesite import EMAIL, TOKEN, FakeSite
from support.shell import Shell, leaks
from support.waiting import PATIENCE

pty = pytest.importorskip("pty", reason="needs a terminal of a POSIX system")


class Terminal:
    """A program at a terminal of its own; `seen` is all that stood on the screen."""

    def __init__(self, shell: Shell, *arguments: str) -> None:
        self.seen = ""
        self.place = 0
        self.pid, self.screen = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background ignores it
            environ = {**shell.environ, "TERM": "dumb"}
            os.execve(sys.executable, [sys.executable, "-m", "callsheet", "suite", *arguments], environ)

    def expect(self, text: str) -> None:
        """Wait until a text stands on the screen, behind what was expected before."""
        end = time.monotonic() + PATIENCE
        while (found := self.seen.find(text, self.place)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.seen[self.place :]!r}"
            assert self._read() is not None, f"ended without {text!r}: {self.seen[self.place :]!r}"
        self.place = found + len(text)

    def answer(self, text: str) -> None:
        os.write(self.screen, text.encode() + b"\n")

    def interrupt(self) -> None:
        """Ctrl-C until it is taken: one just before the program waits for a key is only seen with the key."""
        while self._read() is not None:
            os.write(self.screen, b"\x03")
            end = time.monotonic() + 3
            while time.monotonic() < end:
                if self._read() is None:
                    return

    def close(self) -> int:
        end = time.monotonic() + PATIENCE
        while self._read() is not None:
            assert time.monotonic() < end, f"still there: {self.seen!r}"
        os.close(self.screen)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> str | None:
        """What came within a moment; None when the program is gone."""
        if not select.select([self.screen], [], [], 0.1)[0]:
            return ""
        try:
            read = os.read(self.screen, 65536).decode()
        except OSError:  # how Linux says it
            return None
        self.seen += read
        return read or None


@pytest.mark.slow
def test_from_nothing_to_a_verified_site_with_every_answer_wrong_once(shell: Shell, site: FakeSite) -> None:
    terminal = Terminal(shell, "init")
    terminal.expect("Address of the site: ")
    terminal.answer("http://localhost:9")
    terminal.expect("try again, or press Ctrl-C")
    terminal.expect("Address of the site: ")
    terminal.answer(f"{site.url}/browse/DEMO-1")
    terminal.expect("Way of signing in (basic, pat, oauth2, none) [basic]: ")
    terminal.answer("basci")
    terminal.expect("did you mean 'basic'?")
    terminal.expect("Way of signing in (basic, pat, oauth2, none) [basic]: ")
    terminal.answer("")
    terminal.expect("Name for this site [localhost]: ")
    terminal.answer("at work")
    terminal.expect("try again, or press Ctrl-C")
    terminal.expect("Name for this site [localhost]: ")
    terminal.answer("work")
    terminal.expect("create one at https://")
    terminal.expect("E-mail address (or user name): ")
    terminal.answer(EMAIL)
    terminal.expect("API token: ")
    terminal.answer("wrong")
    terminal.expect("the credential was refused")
    terminal.expect("E-mail address (or user name): ")
    terminal.answer(EMAIL)
    terminal.expect("API token: ")
    terminal.answer(TOKEN)
    assert terminal.close() == 0, terminal.seen
    assert "Jira platform: Robin Sample" in terminal.seen
    assert "site work is saved, its credential in the encrypted file, and selected" in terminal.seen
    assert not leaks(terminal.seen.encode())
    assert shell("op", "call", "getCurrentUser", "-o", "id").out == "a1\n"


@pytest.mark.slow
def test_without_a_key_store_a_password_is_asked_for_before_anything_secret(shell: Shell, site: FakeSite) -> None:
    for name in [name for name in shell.environ if "KEYRING" in name]:
        del shell.environ[name]
    shell.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    terminal = Terminal(shell, "init", "--base-url", site.url, "--method", "basic", "--name", "work", "--email", EMAIL)
    for first, second, told in (
        ("one", "two", "the two are not the same"),
        (PASSWORD, PASSWORD, "create one at https://"),
    ):
        terminal.expect("Password for the encrypted file")
        terminal.answer(first)
        terminal.expect("The same password again: ")
        terminal.answer(second)
        terminal.expect(told)
    terminal.expect("API token: ")
    terminal.answer(TOKEN)
    assert terminal.close() == 0, terminal.seen
    assert "from now on set SUITE_KEYRING_PASSWORD" in terminal.seen
    assert "in the encrypted file" in terminal.seen
    assert shell("users", "me", "-o", "id", SUITE_KEYRING_PASSWORD=PASSWORD).out == "a1\n"


def test_ctrl_c_at_a_question_saves_nothing(shell: Shell) -> None:
    terminal = Terminal(shell, "init")
    terminal.expect("Address of the site: ")
    terminal.interrupt()
    assert terminal.close() == 130
    assert "Traceback" not in terminal.seen
    assert not shell.profiles
