"""The wait for a browser that comes back, or for an address that is pasted."""

from __future__ import annotations

import io
import os
import socket
import threading
import urllib.request
import webbrowser
from typing import Any
from urllib.error import HTTPError

import pytest

from callsheet.errors import CallsheetError, NotAllowed
from callsheet.sites.credentials.oauth import returned_url
from support.listening import until
from support.ports import free_port

STATE = "st-1"


def free() -> str:
    return f"http://127.0.0.1:{free_port()}/back"


def wait(redirect: str, typed: Any, *, browser: bool = False, patience: float = 20.0) -> tuple[str, list[str]]:
    said: list[str] = []
    found = returned_url(
        "https://page", redirect, STATE, browser=browser, say=said.append, typed=typed, patience=patience
    )
    return found, said


def test_a_pasted_address_is_taken_and_another_asked_for_again() -> None:
    own = f"http://x/back?code=1&state={STATE}"
    found, said = wait(free(), io.StringIO(f"hello\n\nhttp://x/back?code=1&state=other\n  {own} \nmore\n"))
    assert found == own
    again, first = sorted(said, key=len)  # who speaks first is not settled: the lines are there at once
    assert first.startswith("open this page in a browser:\nhttps://page\n")
    assert again == "that address does not belong to this sign-in; paste the one that the page above led to:"


def test_an_error_is_an_answer_too() -> None:
    assert wait(free(), io.StringIO(f"http://x/?error=no&state={STATE}"))[0] == f"http://x/?error=no&state={STATE}"


def test_a_pasted_address_is_taken_where_nobody_can_be_waited_for() -> None:
    """The port is in use, so the address is all there is."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        redirect = f"http://127.0.0.1:{taken.getsockname()[1]}/back"
        assert wait(redirect, io.StringIO(f"{redirect}?code=1&state={STATE}"))[0] == f"{redirect}?code=1&state={STATE}"
        with pytest.raises(CallsheetError, match="cannot wait for the browser at") as caught:
            wait(redirect, io.StringIO(), browser=True)
    assert "--port" in str(caught.value.hint)


def test_a_line_is_read_from_a_pipe_without_its_end() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"x\nhttp://x/back?code=\xff1&sta")
    os.write(writing, f"te={STATE}".encode())
    os.close(writing)
    with os.fdopen(reading) as typed:
        assert wait(free(), typed)[0] == f"http://x/back?code=\ufffd1&state={STATE}"


def test_nobody_comes() -> None:
    with pytest.raises(NotAllowed, match="nobody signed in within 0 seconds") as caught:
        wait(free(), io.StringIO(), patience=0.05)
    assert caught.value.hint == "start the sign-in again"


def asked(url: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.headers["Content-Type"], error.read().decode()


def test_a_browser_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    redirect = free()
    got: list[tuple[int, str, str]] = []

    def browse(url: str) -> bool:
        assert url == "https://page"
        targets = (redirect + "2", f"{redirect}?code=1&state=forged", f"{redirect}?code=1&state={STATE}")
        got.extend(asked(target) for target in targets)
        return True

    monkeypatch.setattr(webbrowser, "open", browse)
    found, said = wait(redirect, io.StringIO(), browser=True)
    assert found == f"{redirect}?code=1&state={STATE}"
    assert said == ["opening your browser; if nothing happens, open this page:\nhttps://page"]
    until(lambda: len(got) == 3, "the last answer")
    assert [status for status, _, _ in got] == [404, 400, 200]
    assert got[1][1:] == ("text/html", got[1][2])
    assert "Not this sign-in" in got[1][2]
    assert "go back to the terminal" in got[2][2]


def test_a_browser_that_cannot_be_opened_is_waited_for_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    redirect = free()

    def broken(_: str) -> bool:
        threading.Timer(0.05, asked, [f"{redirect}?code=1&state={STATE}"]).start()
        raise webbrowser.Error("no browser")

    monkeypatch.setattr(webbrowser, "open", broken)
    assert wait(redirect, io.StringIO(), browser=True)[0] == f"{redirect}?code=1&state={STATE}"
