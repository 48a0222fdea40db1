"""Work in threads: results, errors, and pauses for others that wait for the interpreter's lock."""

import threading

import pytest

from backscroll.manager import threads
from backscroll.tokens.counts import Count


class Clock:
    """Time that passes with each look at it."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[threading.Thread]()

    def perf_counter(self) -> float:
        self.now += 0.0003
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(threading.current_thread())


def test_work_in_the_background_pauses_and_its_caller_does_not():
    clock = Clock()
    count = threads.pausing(lambda text: Count(len(text)), clock)
    wait = threads.start(lambda: [count("word").tokens for _ in range(40)])
    assert wait().result(10) == [4] * 40
    paused = len(clock.slept)
    assert 5 < paused < 15  # each millisecond of 40 looks at the clock
    assert threading.current_thread() not in clock.slept
    assert [count("word").tokens for _ in range(40)] == [4] * 40
    assert len(clock.slept) == paused


def test_an_error_in_a_thread_reaches_who_waits():
    def fails() -> None:
        raise ZeroDivisionError("of the work")

    with pytest.raises(ZeroDivisionError, match="of the work"):
        threads.in_thread(fails).result(10)


def test_work_that_began_cannot_be_cancelled():
    held = threading.Event()
    done = threads.in_thread(held.wait, (10,))
    assert not done.cancel()
    held.set()
    assert done.result(10) is True
