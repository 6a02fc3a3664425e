"""What is to be handled one by one is handled by one process, or refused when it starts."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from support.listening import listening, run

ORDERED = '[route.by-user]\norder = "body.user"\ndo = [{ handler = "append", file = "got" }]\n'
PLAIN = ORDERED.replace('order = "body.user"\n', "")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="neither workers nor such locks there")


@POSIX
@pytest.mark.parametrize(
    "words", [["listen", "--addr", ":0"], ["check", "--listen", "--addr", ":0"]], ids=["listen", "check"]
)
@pytest.mark.parametrize("inbox", [[], ["--inbox", "in.db"]], ids=["waits", "inbox"])
def test_several_workers_are_refused(words: list[str], inbox: list[str], tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(ORDERED, encoding="utf-8")
    done = run(tmp_path, *words, "--routes", "routes.toml", "--workers", "2", *inbox)
    assert done.returncode == (2 if words[0] == "listen" else 1)
    assert 'route "by-user": order holds in one process only, and --workers asks for 2' in done.stderr + done.stdout
    assert done.stderr.count("error:") == 1


@pytest.mark.parametrize("words", [["work"], ["check"]], ids=["work", "check"])
def test_a_queue_is_refused(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(ORDERED, encoding="utf-8")
    done = run(tmp_path, *words, "--routes", "routes.toml", "--queue", "nats://127.0.0.1:9/EVENTS")
    assert done.returncode == 2
    assert "a queue is for any number of processes" in done.stderr
    assert "webhook listen --inbox" in done.stderr


@POSIX
@pytest.mark.parametrize(("first", "second", "says"), [
    (ORDERED, PLAIN, "another process uses it alone"), (PLAIN, ORDERED, "another one uses the inbox"),
    (ORDERED, ORDERED, "another process uses it alone"),
])  # fmt: skip
def test_another_listener_of_the_same_inbox_is_refused(first: str, second: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "second.toml").write_text(second, encoding="utf-8")
    given = ["listen", "--addr", ":0", "--inbox", "in.db", "--routes", "second.toml"]
    with listening(tmp_path, "--inbox", "in.db", routes=first) as listener:
        done = run(tmp_path, *given)
        assert done.returncode == 2
        assert says in done.stderr
        listener.stop(signal.SIGKILL)
    with listening(tmp_path, "--inbox", "in.db", "--routes", "second.toml"):
        pass  # at once, also after a kill


@POSIX
def test_order_that_comes_later_is_refused_where_others_are(tmp_path: Path) -> None:
    (tmp_path / "second.toml").write_text(PLAIN, encoding="utf-8")
    with listening(tmp_path, "--inbox", "in.db", routes=PLAIN) as listener:
        with listening(tmp_path, "--inbox", "in.db", "--routes", "second.toml") as other:
            (tmp_path / "routes.toml").write_text(ORDERED, encoding="utf-8")
            listener.process.send_signal(signal.SIGHUP)
            assert "another one uses the inbox" in listener.logged("routes not reloaded")
            assert other.stop() == 0
        listener.process.send_signal(signal.SIGHUP)
        listener.logged("routes reloaded: 1")
        assert run(tmp_path, "listen", "--addr", ":0", "--inbox", "in.db", "--routes", "second.toml").returncode == 2


def test_check_says_what_is_handled_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(ORDERED, encoding="utf-8")
    done = run(tmp_path, "check", "--listen", "--addr", ":0", "--routes", "routes.toml")
    assert done.returncode == 0
    assert "by-user: one by one, by this process alone" in " ".join(done.stdout.split())
