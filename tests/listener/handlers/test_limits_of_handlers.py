"""Whatever a handler meets or raises, it keeps its time and memory, and the listener goes on."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.listening import event, listening, run
from support.server import exchange, reply, serve

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of POSIX")

OWN = """
import asyncio, sys, threading

class Odd(Exception):
    def __str__(self):
        raise ValueError("no text")

async def leaves(event): sys.exit(0)
async def interrupts(event): raise KeyboardInterrupt
async def cancels(event): raise asyncio.CancelledError
async def odd(event): raise Odd
def leaves_plainly(event): sys.exit(0)
def interrupts_plainly(event): raise KeyboardInterrupt
def odd_plainly(event): raise Odd
async def stays(event):
    for _ in range(60):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            pass
"""
RAISING = ("leaves", "interrupts", "cancels", "odd", "leaves_plainly", "interrupts_plainly", "odd_plainly")


def dripped() -> Iterator[bytes]:
    while True:
        yield b"x"
        time.sleep(0.05)


def endless() -> Iterator[bytes]:
    while True:
        yield b"x" * 65536


@pytest.mark.slow
def test_what_a_handler_raises_is_a_failed_run(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(OWN, encoding="utf-8")
    names = (*RAISING, "stays")
    types = dict(
        zip(
            names,
            ("assignment", "submission", "enrollment", "user", "course", "quiz", "conversation", "discussion"),
            strict=True,
        )
    )
    routes = "".join(
        f'[route.{name}]\non = ["{type}_*"]\ndo = [{{ handler = "python", call = "own:{name}", timeout = "1s" }}]\n'
        for name, type in types.items()
    )
    sent = {"assignment": "assignment_created", "submission": "submission_created", "enrollment": "enrollment_created",
            "user": "user_created", "course": "course_created", "quiz": "quiz_submitted",
            "conversation": "conversation_created", "discussion": "discussion_topic_created"}  # fmt: skip
    with listening(tmp_path, routes=routes) as listener:
        for name, type in types.items():
            assert listener.post(event(name, sent[type])).status == 500, name
            assert f"{name}/1" in listener.logged(f"id={name}")
        assert listener.post(event("fine")).status == 200
        assert "Traceback" not in listener.err
        assert listener.stop() == 0


def test_a_module_that_leaves_is_a_broken_route(tmp_path: Path) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit()\n", encoding="utf-8")
    broken = '[route.r]\ndo = [{ handler = "python", call = "leaving:f" }]\n'
    (tmp_path / "broken.toml").write_text(broken, encoding="utf-8")
    for command in ("check", "listen"):
        done = run(tmp_path, command, "--routes", "broken.toml")
        assert done.returncode == 2, done.stderr
        assert "importing it failed: SystemExit" in done.stderr
    with listening(tmp_path, routes='[route.r]\ndo = [{ handler = "append", file = "got" }]\n') as listener:
        (tmp_path / "routes.toml").write_text(broken, encoding="utf-8")
        listener.process.send_signal(signal.SIGHUP)
        assert "importing it failed: SystemExit" in listener.logged("keeping the old ones")
        assert listener.post(event()).status == 200
        assert listener.stop() == 0


@pytest.mark.slow
def test_a_target_that_never_ends_takes_neither_time_nor_memory(tmp_path: Path) -> None:
    answers = [
        exchange("POST", "/drip", reply(chunks=dripped)),
        exchange("POST", "/endless", reply(chunks=endless)),
        exchange("POST", "/silent", reply(delay=3)),
    ]
    with serve(answers, verify=False) as server:
        routes = "".join(
            f'[route.{name}]\non = ["{type}"]\n'
            f'do = [{{ handler = "forward", url = "{server.url}/{name}", timeout = "1s" }}]\n'
            for name, type in (("drip", "grade_change"), ("endless", "quiz_submitted"), ("silent", "user_created"))
        )
        with listening(tmp_path, routes=routes) as listener:
            before = listener.memory()
            assert listener.post(event("drip")).status == 500
            assert "no answer after 1 s" in listener.logged("id=drip")
            assert listener.post(event("endless", "quiz_submitted")).status == 200
            assert listener.post(event("silent", "user_created")).status == 500
            assert listener.memory() - before < 32 * 1024 * 1024
            assert listener.stop() == 0


@pytest.mark.slow
def test_a_pipe_that_nobody_reads_holds_nothing_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    routes = '[route.r]\ndo = [{ handler = "append", file = "pipe", timeout = "1s" }]\n'
    with listening(tmp_path, routes=routes) as listener:
        assert listener.post(event("none")).status == 500
        assert "a pipe that nobody reads" in listener.logged("id=none")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert listener.post(event("read")).status == 200
            assert b'"id": "read"' in os.read(reader, 65536)
            assert listener.post(event("full", pad="x" * 200_000)).status == 500
            line = listener.logged("id=full")
            assert "a pipe that is read too slowly" in line or "no result after 1 s" in line
        finally:
            os.close(reader)
        assert listener.stop() == 0


@pytest.mark.slow
def test_a_program_that_never_stops_talking_is_ended_in_time(tmp_path: Path) -> None:
    routes = '[route.r]\ndo = [{ handler = "exec", run = ["yes"], timeout = "1s" }]\n'
    with listening(tmp_path, routes=routes) as listener:
        before = listener.memory()
        assert listener.post(event("yes")).status == 500
        assert "timed out after 1 s" in listener.logged("id=yes")
        assert listener.memory() - before < 16 * 1024 * 1024
