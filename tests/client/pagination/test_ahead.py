from __future__ import annotations

import random
import threading
import time

import pytest

from callsheet.client.pagination.in_parallel import in_order


def test_results_come_in_order_whatever_takes_longer() -> None:
    chance = random.Random(7)

    def work(job: int) -> int:
        time.sleep(chance.random() / 500)
        return job * job

    assert list(in_order(work, range(100), 8)) == [job * job for job in range(100)]


def test_no_more_than_twice_the_workers_are_begun() -> None:
    begun: list[int] = []

    def jobs() -> object:
        for job in range(100):
            begun.append(job)
            yield job

    results = in_order(lambda job: job, jobs(), 4)
    next(results)
    assert len(begun) == 8
    results.close()
    assert len(begun) == 8


def test_an_error_is_raised_in_its_turn_even_a_timeout() -> None:
    def work(job: int) -> int:
        if job == 3:
            raise TimeoutError("too late")
        return job

    results = in_order(work, range(10), 4)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(TimeoutError, match="too late"):
        next(results)


def test_the_threads_end() -> None:
    before = threading.active_count()
    list(in_order(lambda job: job, range(20), 4))
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before
