"""The page in a real browser: keys, a phone, light and dark, and events that try to act."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from callsheet.listener.page.page_server import _POLICY
from support.listener_page import listening_with_page
from support.listening import event
from support.waiting import PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The browser asks nobody but the page.
OPTIONS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202e\x1b[2J"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield found
        found.close()


def opened(browser: Browser, url: str, problems: list[str], **options: Any) -> Page:
    shown = browser.new_context(**options).new_page()
    shown.set_default_timeout(PATIENCE * 1000)
    shown.on("console", lambda message: problems.append(message.text) if message.type != "log" else None)
    shown.on("pageerror", lambda error: problems.append(str(error)))
    shown.on("dialog", lambda dialog: problems.append(f"dialog {dialog.message}"))
    shown.on(
        "request",
        lambda request: (
            None if request.url.startswith((url.partition("#")[0], "data:,")) else problems.append(request.url)
        ),
    )
    shown.goto(url)
    return shown


def test_it_is_used_by_keys_and_events_are_text(browser: Browser, tmp_path: Path) -> None:
    problems: list[str] = []
    with listening_with_page(tmp_path, "--inbox", "inbox.sqlite") as (listener, found):
        assert listener.send(event(HOSTILE, "course_created", name=HOSTILE)).status == 200
        shown = opened(
            browser, f"http://{found.host}/#{found.token}", problems, viewport={"width": 1200, "height": 800}
        )
        assert found.token not in shown.url
        shown.wait_for_selector("#rows tr")
        assert listener.post(event("x"), {"X-Lms-Signature": HOSTILE.encode().hex()}).status == 401
        shown.wait_for_selector("#rows tr:nth-child(2)")  # it came by itself
        shown.keyboard.press("j")
        shown.keyboard.press("Enter")
        shown.wait_for_selector("#detail:not([hidden])")
        assert "secret 1 does not match" in shown.inner_text("#detail")
        shown.keyboard.press("j")
        shown.locator("#detail", has_text="courses: took it").wait_for()
        assert HOSTILE.partition("\u202e")[0] in shown.inner_text("#detail")
        assert shown.query_selector("#detail img, #detail script, #rows img") is None
        shown.keyboard.press("Escape")
        shown.wait_for_selector("#detail", state="hidden")
        shown.keyboard.press("5")
        shown.wait_for_selector("#tools button")
        shown.click("#tools button")  # delete what is done: asked first, and not done
        assert "cannot be brought back" in shown.inner_text("dialog")
        shown.keyboard.press("Escape")
        shown.click("#rows tr")
        shown.click("text=Run again")
        shown.click("dialog >> text=Run again")
        shown.locator("#state", has_text="1 run again").wait_for()
        assert [problem for problem in problems if "ERR_" not in problem] == []
        shown.context.close()
        assert listener.stop() == 0
    assert b"unsafe" not in _POLICY


def test_an_event_says_what_each_target_waits_for_and_on_which_day_it_came(browser: Browser, tmp_path: Path) -> None:
    problems: list[str] = []
    with listening_with_page(tmp_path, "--inbox", "inbox.sqlite") as (listener, found):
        assert listener.send(event("a", score=99)).status == 200
        listener.logged("500 failed")
        shown = opened(browser, f"http://{found.host}/#{found.token}", problems)
        shown.wait_for_selector("#rows tr")
        shown.keyboard.press("3")
        shown.locator("#rows tr", has_text="waiting").click()
        shown.locator("#detail", has_text="high/1: waiting, attempts: 1, due ").wait_for()
        assert "1970" in shown.evaluate("clock(0)")
        assert shown.evaluate("clock(Date.now() / 1000) == new Date().toLocaleTimeString()")
        assert problems == []
        shown.context.close()


def test_it_fits_a_phone_and_has_the_colors_that_are_asked_for(browser: Browser, tmp_path: Path) -> None:
    grounds = set()
    with listening_with_page(tmp_path) as (listener, found):
        assert listener.send(event("a", score=99, name="x" * 300)).status == 500
        for scheme in ("light", "dark"):
            problems: list[str] = []
            options: dict[str, Any] = {"viewport": {"width": 360, "height": 700}, "color_scheme": scheme}
            shown = opened(browser, f"http://{found.host}/#{found.token}", problems, **options)
            shown.click("#rows tr")
            shown.wait_for_selector("#detail:not([hidden])")
            assert shown.evaluate("document.documentElement.scrollWidth") <= 360
            grounds.add(shown.evaluate("getComputedStyle(document.body).backgroundColor"))
            assert problems == []
            shown.context.close()
    assert len(grounds) == 2


def test_without_the_token_it_says_where_to_find_it(browser: Browser, tmp_path: Path) -> None:
    with listening_with_page(tmp_path) as (_, found):
        shown = browser.new_context().new_page()
        shown.goto(f"http://{found.host}/")
        shown.locator("#state", has_text="ends with the token").wait_for()
        shown.context.close()
