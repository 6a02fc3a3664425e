"""The watch sees a secret wherever one can go; the hostile server keeps what it gets."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from support.canary import CANARY, GIVEN, basic, leaking_files, leaks
from support.hostile_server import answer, by_path, gzip_bomb, hostile, json_answer, redirect
from support.hostile_text import TEXTS, acts
from support.server import serve
from support.waiting import PATIENCE
from support.watch import Watch, watching


@pytest.fixture
def watch(canary_watch: Watch) -> Iterator[Watch]:
    with watching() as own:
        yield own
    canary_watch.reset()  # what is done here is done on purpose


@pytest.mark.parametrize("before", ["", "x", "xy", "me@example.org:"])
def test_the_canary_is_known_in_every_form(before: str) -> None:
    text = f"{before}{CANARY}-and-more"
    assert leaks(text.encode())
    assert leaks(base64.b64encode(text.encode()))
    assert leaks(base64.urlsafe_b64encode(text.encode()))
    assert leaks(text.encode().hex().encode())
    assert leaks("".join(f"%{byte:02X}" for byte in text.encode()).encode())
    assert leaks(text.encode("utf-16-le"))
    assert not leaks(b"a word about canaries")


def test_a_file_that_holds_it_is_found_wherever_it_is_written(watch: Watch, tmp_path: Path) -> None:
    (tmp_path / GIVEN).mkdir()
    (tmp_path / GIVEN / "token").write_text(CANARY)
    assert watch.found() == []
    (tmp_path / "a").write_text(CANARY)
    assert watch.found() == [f"a secret was written to {tmp_path / 'a'}"]
    os.replace(tmp_path / "a", tmp_path / "b")
    assert watch.found() == [f"a secret was written to {tmp_path / 'b'}"]
    assert leaking_files(tmp_path) == [tmp_path / "b"]
    (tmp_path / "b").unlink()


def test_a_program_started_with_it_is_found(watch: Watch) -> None:
    subprocess.run([sys.executable, "-c", "", f"--token={CANARY}"], check=True)
    assert len(watch.found()) == 1


BELOW = """
import os, subprocess, sys
open("made", "w").write(os.environ["HELD"])
subprocess.run([sys.executable, "-c", "", os.environ["HELD"]])
"""


@pytest.mark.parametrize("environ", [{"HELD": CANARY}, {**os.environ, "HELD": CANARY}], ids=["bare", "inherited"])
def test_what_a_process_below_writes_and_starts_is_found(watch: Watch, tmp_path: Path, environ: dict[str, str]) -> None:
    """Whatever environment it was given, and also outside of the folder of the test."""
    subprocess.run([sys.executable, "-c", BELOW], check=True, cwd=tmp_path, env=environ)
    started, written = watch.found()
    assert started.startswith("a secret is an argument of a process: ")
    assert written == f"a secret was written to {tmp_path / 'made'}"
    (tmp_path / "made").unlink()


@pytest.mark.parametrize(
    ("part", "target", "headers", "body"),
    [
        ("address", f"/x?token={CANARY}", {}, b""),
        ("x-token", "/x", {"X-Token": CANARY}, b""),
        ("cookie", "/x", {"Cookie": f"session={CANARY}"}, b""),
        ("body", "/x", {}, CANARY.encode()),
    ],
)
def test_the_site_gets_it_in_one_header_only(part: str, target: str, headers: dict[str, str], body: bytes) -> None:
    with (
        pytest.raises(AssertionError, match=f"{part} of POST /x.* holds a secret"),
        serve(verify=False, trusted=True) as server,
    ):
        httpx.post(
            f"{server.url}{target}",
            headers={**headers, "Authorization": basic("robin")},
            content=body,
            timeout=PATIENCE,
        )


def test_a_connection_that_leaves_this_machine_is_found(watch: Watch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # a datagram socket sends nothing when it connects
    assert "192.0.2.1" in watch.found()[0]


def test_a_stranger_that_is_sent_it_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="received a secret"), hostile() as server:
        httpx.get(f"{server.url}/x?a={CANARY}", timeout=PATIENCE)
    with pytest.raises(AssertionError, match="holds a secret"), serve(verify=False) as script:
        httpx.get(f"{script.url}/x", headers={"x-token": CANARY}, timeout=PATIENCE)


def test_a_hostile_server_answers_what_it_is_told() -> None:
    table = {
        "/bomb": gzip_bomb(1 << 20),
        "/away": redirect("//evil.example/steal"),
        "/json": json_answer({"a": 1}, Link="<x>"),
        "/text": answer("\x9b31m".encode(), headers={"Content-Type": "text/\x9bplain"}),
    }
    with hostile(by_path(table)) as server:
        assert len(httpx.get(f"{server.url}/bomb", timeout=PATIENCE).content) >= 1 << 20
        assert httpx.get(f"{server.url}/away", timeout=PATIENCE).headers["location"] == "//evil.example/steal"
        assert httpx.get(f"{server.url}/json?q", timeout=PATIENCE).json() == {"a": 1}
        assert httpx.get(f"{server.url}/text", timeout=PATIENCE).text == "\x9b31m"
        assert server.requests == [
            "GET /bomb HTTP/1.1",
            "GET /away HTTP/1.1",
            "GET /json?q HTTP/1.1",
            "GET /text HTTP/1.1",
        ]


def test_every_hostile_text_acts_and_our_styles_need_not() -> None:
    assert [name for name, text in TEXTS.items() if not acts(text)] == []
    assert acts("one\n\ttwo ä 漢字 👩‍👩‍👧") == []
    assert acts("\x1b[1mbold\x1b[0m", styles=True) == []
    assert acts("\x1b[2J", styles=True) == ["\x1b"]
