from __future__ import annotations

from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import pytest

from callsheet.client.http.retry import QuotaState, RateLimiter, seconds_until
from support.server import Exchange, Scripted, exchange, reply
from support.shop import shop

NOW = 1_800_000_000.0
DATE = {"Date": formatdate(NOW, usegmt=True)}
ITEM = "/api/3/item/1"


def iso(seconds: float, form: str = "%Y-%m-%dT%H:%M:%SZ") -> str:
    return datetime.fromtimestamp(NOW + seconds, UTC).strftime(form)


def answer(status: int = 200, **headers: str) -> Scripted:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return reply(status, json={}, headers={**DATE, **given})


def get(response: Any, repeat: int | None = 1) -> Exchange:
    return exchange("GET", ITEM, response, repeat=repeat)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (iso(90), 90),
        (iso(120, "%Y-%m-%dT%H:%MZ"), 120),
        (iso(90, "%Y-%m-%dT%H:%M:%S+00:00"), 90),
        (iso(90, "%Y-%m-%dT%H:%M:%S"), 90),
        (str(int(NOW) + 45), 45),
        (str((int(NOW) + 45) * 1000), 45),
        ("30", 30),
        ("2.5", 2.5),
        (iso(-90), 0),
        (str(int(NOW) - 45), 0),
        (str((int(NOW) - 45) * 1000), 0),
        ("-5", 0),
        (iso(0.25, "%Y-%m-%dT%H:%M:%S.250Z"), 0.25),
        ("tomorrow", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_a_reset_is_read_in_every_form(text: str, seconds: float | None) -> None:
    assert seconds_until(text, NOW) == seconds


def test_a_near_reset_is_waited_for() -> None:
    with shop([get(answer(429, X_Reset=iso(20), X_Reason="burst")), get(answer())]) as here:
        here.send("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(20)


def test_a_far_reset_ends_it_and_says_when() -> None:
    with shop([get(answer(429, X_Reset=iso(1500)))]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, error.details) == (6, ("it resets in 25 min",))
    assert here.clock.slept == []


def test_a_reason_for_which_waiting_is_useless_ends_it() -> None:
    with shop([get(answer(429, X_Reset=iso(20), X_Reason="hourly"))]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, error.details) == (6, ("limit: hourly", "it resets in 20 s"))


def test_a_used_up_quota_is_not_asked_again() -> None:
    with shop([get(answer(X_Limit="100", X_Left="0", X_Reset=iso(600)))]) as here:
        here.send("getItem", {"id": "1"})
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, error.hint) == (6, "nothing was sent")
    assert error.message == "getItem: the quota is used up; it resets in 10 min"


def test_a_used_up_quota_that_resets_soon_is_waited_for() -> None:
    with shop([get(answer(X_Limit="100", X_Left="0", X_Reset=iso(30))), get(answer())]) as here:
        here.send("getItem", {"id": "1"})
        here.send("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(30)


@pytest.mark.parametrize(
    ("headers", "pace"),
    [
        ({"X_Limit": "100", "X_Left": "10", "X_Reset": iso(20)}, 2.0),
        ({"X_Near": "true", "X_Left": "10", "X_Reset": iso(20)}, 2.0),
        ({"X_Near": "true"}, 1.0),
        ({"X_Limit": "100", "X_Left": "5", "X_Fill": "10", "X_Interval": "5"}, 0.5),
        ({"X_Limit": "100", "X_Left": "50", "X_Reset": iso(20)}, 0.0),
        ({"X_Left": "5"}, 0.0),
        ({}, 0.0),
    ],
)
def test_little_left_slows_down(headers: dict[str, str], pace: float) -> None:
    with shop([get(answer(**headers), repeat=2)]) as here:
        here.send("getItem", {"id": "1"})
        here.send("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(pace)


def test_only_the_endpoint_that_is_near_its_limit_slows_down() -> None:
    with shop([get(answer(X_Near="true")), exchange("DELETE", ITEM, answer())]) as here:
        here.send("getItem", {"id": "1"})
        here.send("dropItem", {"id": "1"})
    assert here.clock.slept == []


def test_a_refusal_holds_back_the_requests_of_other_threads_too() -> None:
    limiter = RateLimiter(None, lambda: 100.0)
    limiter.learn_from_answer("a", QuotaState(wait=7.0), limited=True)
    assert limiter.reserve_turn("a").wait == 7.0
    assert limiter.reserve_turn("b").wait == 0.0


def test_rps_spaces_requests() -> None:
    with shop([get(answer(), repeat=5)], rps=4.0) as here:
        for _ in range(5):
            here.send("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(1.0)


def test_the_governor_hands_each_caller_its_own_turn() -> None:
    limiter = RateLimiter(None, lambda: 100.0)
    limiter.learn_from_answer("a", QuotaState(near=True))
    assert [limiter.reserve_turn("a").wait for _ in range(3)] == [1.0, 2.0, 3.0]
    limiter.learn_from_answer("a", QuotaState())
    assert limiter.reserve_turn("a").wait == 0.0


@pytest.mark.parametrize("start", [0.0, 0.25, 1e6])
def test_the_clock_may_start_anywhere(start: float) -> None:
    limiter = RateLimiter(4.0, lambda: start)
    limiter.learn_from_answer("a", QuotaState(limit=100.0, remaining=5.0, refill=0.5))
    assert [limiter.reserve_turn(endpoint).wait for endpoint in "aba"] == [0.5, 0.75, 1.0]
    later = RateLimiter(None, lambda: start)
    later.learn_from_answer("b", QuotaState(reset=0.125), limited=True)
    assert later.reserve_turn("b").wait == 0.125


@pytest.mark.parametrize("later", [QuotaState(near=True), QuotaState(), QuotaState(limit=100.0, remaining=90.0)])
def test_no_later_answer_shortens_a_wait(later: QuotaState) -> None:
    """Of requests that were under way together, one is refused, and another one's answer comes after that."""
    limiter = RateLimiter(None, lambda: 100.0)
    limiter.learn_from_answer("a", QuotaState(wait=20.0), limited=True)
    limiter.learn_from_answer("a", later)
    assert limiter.reserve_turn("a").wait == 20.0
