from __future__ import annotations

import threading
from email.utils import formatdate

import pytest

from callsheet.client.http.retry import RetryPolicy, retry_after
from support.listening import until
from support.ports import free_port
from support.server import Scripted, exchange, reply
from support.shop import DEFINITIONS, shop
from support.waiting import PATIENCE

NOW = 1_800_000_000.0


def busy(status: int = 503, **headers: str) -> Scripted:
    return reply(status, text="busy", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("status", [429, 502, 503, 504])
@pytest.mark.parametrize(
    ("operation", "method", "path"),
    [
        ("getItem", "GET", "/api/3/item/1"),
        ("putItem", "PUT", "/api/3/item/1"),
        ("dropItem", "DELETE", "/api/3/item/1"),
    ],
)
def test_an_idempotent_request_is_tried_again(operation: str, method: str, path: str, status: int) -> None:
    script = [exchange(method, path, busy(status), repeat=2), exchange(method, path, reply(json={"a": 1}))]
    with shop(script) as here:
        assert here.send(operation, {"id": "1"}).status == 200
    assert here.clock.total == pytest.approx(2 + 4)
    assert here.notes[0].startswith(f"waiting 2 s: {method} {here.server.url}{path}: {status}; try 2 of 5")


def test_four_retries_and_then_the_answer_counts() -> None:
    with shop([exchange("GET", "/api/3/item/1", busy(), repeat=5)]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(2 + 4 + 8 + 16)
    assert error.exit_code == 1
    assert error.message.endswith("503: busy")


@pytest.mark.parametrize("status", [400, 401, 404, 409, 500, 501])
def test_other_statuses_are_not_repeated(status: int) -> None:
    with shop([exchange("GET", "/api/3/item/1", busy(status))]) as here:
        here.fail("getItem", {"id": "1"})
    assert here.clock.slept == []


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_post_is_sent_once_whatever_the_answer(status: int) -> None:
    with shop([exchange("POST", "/api/3/item", busy(status, Retry_After="1"))]) as here:
        error = here.fail("makeItem", body={})
    assert error.details == ("it was sent once and not repeated: it may have been carried out", "it asks to wait 1 s")
    assert error.hint == "look whether it took effect before you send it again"
    assert here.clock.slept == []


PATCHING = (
    DEFINITIONS
    + """
[operation.patchItem]
product = "items"
http = "PATCH /api/3/item/{id}"
body = {}
"""
)


@pytest.mark.parametrize(
    "answer",
    [*(busy(status, Retry_After="1") for status in (429, 502, 503, 504)), reply(json={}, cut=0), reply(json={}, cut=1)],
    ids=["429", "502", "503", "504", "no answer", "half an answer"],
)
def test_a_patch_is_sent_once_whatever_happens(answer: Scripted) -> None:
    """What it changes may depend on what is there, so twice is not once."""
    with shop([exchange("PATCH", "/api/3/item/1", answer)], text=PATCHING) as here:
        error = here.fail("patchItem", {"id": "1"}, {})
        assert len(here.server.requests) == 1
    assert error.details
    assert here.clock.slept == []


def test_a_patch_that_takes_too_long_is_sent_once() -> None:
    slow = reply(json={}, delay=0.5)
    with shop([exchange("PATCH", "/api/3/item/1", slow)], text=PATCHING, timeout=0.2) as here:
        error = here.fail("patchItem", {"id": "1"}, {})
        until(lambda: here.server.requests, "the request")
        assert (error.exit_code, len(here.server.requests)) == (7, 1)
    assert error.details == ("it was sent once and not repeated: it may have been carried out",)


def test_a_rate_limited_post_is_not_repeated_either() -> None:
    with shop([exchange("POST", "/api/3/item", busy(429, Retry_After="7"))]) as here:
        error = here.fail("makeItem", body={})
    assert (error.exit_code, error.details) == (6, ("it was not carried out", "it resets in 7 s"))


def test_a_post_whose_answer_is_lost_says_what_is_known() -> None:
    with shop([exchange("POST", "/api/3/item", reply(json={}, cut=0))]) as here:
        error = here.fail("makeItem", body={})
    assert error.exit_code == 7
    assert error.details == ("it was sent once and not repeated: it may have been carried out",)


def test_a_read_by_post_is_not_repeated_but_says_nothing_about_changes() -> None:
    with shop([exchange("POST", "/api/3/find", busy())]) as here:
        assert here.fail("findItems", body={}).details == ()


def test_retry_after_is_waited_for() -> None:
    script = [
        exchange("GET", "/api/3/item/1", busy(429, Retry_After="7")),
        exchange("GET", "/api/3/item/1", busy(503, Retry_After="0")),
        exchange("GET", "/api/3/item/1", reply(json={})),
    ]
    with shop(script) as here:
        here.send("getItem", {"id": "1"})
    assert here.clock.total == pytest.approx(7 + 1)


@pytest.mark.parametrize(("status", "code", "words"), [(429, 6, "it resets in"), (503, 1, "it asks to wait")])
def test_a_wait_of_more_than_a_minute_ends_it(status: int, code: int, words: str) -> None:
    with shop([exchange("GET", "/api/3/item/1", busy(status, Retry_After="3725"))]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, here.clock.slept) == (code, [])
    assert error.details == (f"{words} 1 h 2 min",)


def test_retry_after_reads_seconds_and_dates() -> None:
    assert retry_after({"retry-after": "12"}, NOW) == 12
    assert retry_after({"retry-after": formatdate(NOW + 30, usegmt=True)}, NOW) == 30
    assert retry_after({"retry-after": formatdate(NOW - 30, usegmt=True)}, NOW) == 0
    assert retry_after({"retry-after": "soon"}, NOW) is None
    assert retry_after({"retry-after": "1e999"}, NOW) is None
    assert retry_after({}, NOW) is None


def test_delays_double_up_to_a_cap_within_the_jitter() -> None:
    policy = RetryPolicy(chance=lambda low, high: high)
    assert [policy.delay_before(attempt, None) for attempt in range(1, 6)] == pytest.approx(
        [2.6, 5.2, 10.4, 20.8, 39.0]
    )
    assert 0.7 * 2 <= RetryPolicy().delay_before(1, None) <= 1.3 * 2
    assert policy.delay_before(1, 0.0) == 1.0


def test_a_dropped_connection_is_tried_again() -> None:
    script = [
        exchange("GET", "/api/3/item/1", reply(json={}, cut=0), repeat=2),
        exchange("GET", "/api/3/item/1", reply(json={})),
    ]
    with shop(script) as here:
        assert here.send("getItem", {"id": "1"}).status == 200


BROKEN = reply(text="no gzip", headers={"Content-Encoding": "gzip"})


@pytest.mark.parametrize(
    ("answer", "reached", "waited", "words"),
    [
        (reply(json={"a": "b" * 99}, cut=20), True, [2, 4], "the answer was cut off"),
        (reply(json={"a": "b" * 99}, cut=20), False, [2, 4], "the answer was cut off"),
        (BROKEN, True, [2, 4], "the answer could not be decompressed"),
        (reply(json={}, cut=0), False, [2, 4], "the answer was cut off"),
        (reply(json={}, cut=0), True, [2, 4, 8, 16], "the answer was cut off"),
    ],
    ids=["body", "body of the first answer", "compression", "first answer", "no answer after others"],
)
def test_an_answer_that_is_cut_off_again_and_again_is_given_up_soon(
    answer: Scripted, reached: bool, waited: list[int], words: str
) -> None:
    """Only a service that answered before, and now does not, is waited for as long as a restart takes."""
    before = [exchange("GET", "/api/3/item/0", reply(json={}))] if reached else []
    script = [exchange("GET", "/api/3/item/1", answer, repeat=len(waited) + 1), *before]
    with shop(script) as here:
        if reached:
            here.send("getItem", {"id": "0"})
        error = here.fail("getItem", {"id": "1"})
        assert here.clock.total == pytest.approx(sum(waited))
        assert here.notes[0].endswith(f"try 2 of {len(waited) + 1}")
        assert sum(request.path.endswith("/1") for request in here.server.requests) == len(waited) + 1
    assert (error.exit_code, words in error.message) == (7, True), error.message


def test_an_answer_that_is_cut_off_once_comes_whole_the_next_time() -> None:
    script = [
        exchange("GET", "/api/3/item/1", reply(json={"a": "b" * 99}, cut=20)),
        exchange("GET", "/api/3/item/1", reply(json={"a": 1})),
    ]
    with shop(script) as here:
        assert here.send("getItem", {"id": "1"}).json() == {"a": 1}


def test_a_host_that_was_never_there_is_not_waited_for() -> None:
    port = free_port()
    with shop(root=f"http://127.0.0.1:{port}") as here:
        error = here.fail("getItem", {"id": "1"})
    assert (error.exit_code, here.clock.slept) == (7, [])
    assert error.message == f"GET http://127.0.0.1:{port}/api/3/item/1: cannot connect to 127.0.0.1: connection refused"


def test_an_unknown_host_is_named() -> None:
    with shop(root="http://nowhere.invalid") as here:
        error = here.fail("makeItem", body={})
    assert error.exit_code == 7
    assert "cannot connect to nowhere.invalid" in error.message
    assert error.details == ("nothing was sent",)


def test_no_answer_in_time_is_tried_once_more() -> None:
    script = [exchange("GET", "/api/3/item/1", reply(json={}, delay=1.0), repeat=2)]
    with shop(script, timeout=0.05) as here:
        error = here.fail("getItem", {"id": "1"})
        until(lambda: len(here.server.requests) == 2, "the second request")  # a busy server reads it later
    assert (error.exit_code, error.hint) == (7, "see --timeout")
    assert "no answer within 0.05 s" in error.message


def test_closing_the_client_ends_the_waits_of_other_threads() -> None:
    with shop([exchange("GET", "/api/3/item/1", busy())], verify=False) as here:
        waiting = threading.Event()
        here.client._sleep = lambda _seconds: waiting.set()  # type: ignore[assignment]
        errors: list[str] = []
        thread = threading.Thread(target=lambda: errors.append(here.fail("getItem", {"id": "1"}).message))
        thread.start()
        assert waiting.wait(PATIENCE)
        here.client.close()
        thread.join(PATIENCE)
    assert not thread.is_alive()


def test_nothing_is_told_once_the_client_is_closed() -> None:
    """Not of the connection that is cut under a request of another thread, nor of an answer that comes too late."""
    slow = exchange("GET", "/api/3/item/1", reply(json={}, delay=0.3), repeat=None)
    with shop([slow], verify=False) as here:
        threads = [threading.Thread(target=here.fail, args=("getItem", {"id": "1"}), daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        while len(here.server.requests) < len(threads):
            threading.Event().wait(0.01)
        here.client.close()
        told = [*here.notes, *here.log]
        for thread in threads:
            thread.join(PATIENCE)
        assert [*here.notes, *here.log] == told


def test_an_interrupt_ends_the_wait_at_once() -> None:
    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    with shop([exchange("GET", "/api/3/item/1", busy())]) as here:
        here.client._sleep = interrupted  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            here.send("getItem", {"id": "1"})
