"""The tests hold wherever they are started: in the background of a shell, under nohup."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from support.places import ROOT
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


@pytest.mark.slow
def test_a_test_of_ctrl_c_holds_where_the_shell_ignores_it() -> None:
    test = "tests/client/http/test_interrupt.py::test_an_interrupt_ends_it_at_once[wait-1]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out
