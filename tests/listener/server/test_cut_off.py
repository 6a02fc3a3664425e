"""A run that has not ended when the listener ends: its sender is answered, and the log says so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.listening import event, listening, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and programs of POSIX")
ROUTES = '[route.r]\ndo = [{ handler = "exec", run = ["sh", "-c", "touch began; exec sleep 600"], timeout = "1h" }]\n'
NO_PATIENCE = '[extend.listener.webhook]\ndrain_timeout = "0s"\n'


@pytest.mark.parametrize("last", [b"", b"Connection: close\r\n"], ids=["kept", "closed"])
def test_the_sender_of_a_run_that_is_cut_off_is_told_and_it_is_logged(last: bytes, tmp_path: Path) -> None:
    body = event("long")
    with listening(tmp_path, routes=ROUTES, definitions=NO_PATIENCE) as listener, listener.connect() as sender:
        head = b"POST /webhook HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n" % (last, len(body))
        sender.sendall(head + body)
        until((tmp_path / "began").exists, "the program")
        assert listener.stop() == 0
        answer = b"".join(iter(lambda: sender.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 500 ")
        assert answer.endswith(b'\r\n\r\n{"error":"handling failed"}')
        line = next(line for line in listener.err.splitlines() if "id=long" in line)
        assert " 500 failed " in line
        assert line.endswith("reason=interrupted")
