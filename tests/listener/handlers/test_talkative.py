"""A program that never stops talking: read to its end, of which the beginning is kept; memory stays as it was."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.listening import event, listening

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
MEBIBYTE = 1 << 20
MOST = 64 * MEBIBYTE


def routes(program: str, **keys: str) -> str:
    more = "".join(f', {name} = "{value}"' for name, value in keys.items())
    return f'[route.r]\ndo = [{{ handler = "exec", run = ["sh", "-c", "{program}"]{more} }}]\n'


@pytest.mark.parametrize("descriptor", [1, 2])
def test_what_a_program_prints_is_bounded(descriptor: int, tmp_path: Path) -> None:
    program = f"(echo begun; head -c {MOST} /dev/zero) >&{descriptor}"
    with listening(tmp_path, routes=routes(program)) as listener:
        assert listener.post(event("0")).status == 200
        before, logged = listener.memory(), len(listener.err)
        assert [listener.post(event(str(number))).status for number in range(1, 3)] == [200, 200]
        assert listener.memory() - before < 8 * MEBIBYTE
        # Two times what is kept of it, and what stands before each of its lines.
        listener.logged("r/1: begun")
        assert len(listener.err) - logged < MEBIBYTE


def test_one_that_does_not_end_is_stopped_and_its_output_with_it(tmp_path: Path) -> None:
    with listening(tmp_path, routes=routes("yes | tee /dev/stderr", timeout="1s")) as listener:
        before = listener.memory()
        assert listener.post(event("1")).status == 500
        assert listener.memory() - before < 16 * MEBIBYTE
        assert "timed out after 1 s" in listener.logged("500 failed")
        assert listener.request("GET", "/health").status == 200
