"""A listener that is started while its log cannot be written serves all the same."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.listening import command, environment, until
from support.waiting import PATIENCE


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as sender:
        sender.settimeout(PATIENCE)
        with contextlib.suppress(OSError):
            sender.connect(str(path))
            sender.sendall(b"GET /ready HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return sender.recv(64).startswith(b"HTTP/1.1 200")
    return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full here")
@pytest.mark.parametrize("more", [[], ["--workers", "2"]])
def test_a_full_disk_keeps_no_listener_from_starting(more: list[str], tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as short, open("/dev/full", "wb") as full:
        path = Path(short, "s")
        process = subprocess.Popen(
            command("listen", "--addr", f"unix:{path}", *more), stdout=full, stderr=full, env=environment(tmp_path)
        )
        try:
            until(lambda: process.poll() is not None or answers(path), "an answer")
            assert process.poll() is None
            process.terminate()
            process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
