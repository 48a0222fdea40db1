"""The lock of a session: one holder among threads and tasks of several loops, in order, never lost. Waits are few."""

import asyncio
import gc
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from backscroll.manager.lock import FairLock

LONG = 60.0  # seconds after which a wait counts as a deadlock; far beyond what any of these needs


class Inside:
    """Whoever holds the lock goes in; notes when somebody else is there already."""

    def __init__(self) -> None:
        self.now = 0
        self.visits = 0
        self.crowded = 0

    def enter(self) -> None:
        self.now += 1
        self.visits += 1
        self.crowded += self.now > 1

    def leave(self) -> None:
        self.crowded += self.now != 1
        self.now -= 1


def waiting(turnstile: FairLock) -> int:
    return len(turnstile._waiting)


def until(condition: Callable[[], bool]) -> None:
    """Waits in a thread."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "deadlock"
        time.sleep(0.001)


async def queued(turnstile: FairLock, number: int) -> None:
    """Waits in a task until so many stand in the queue."""
    async with asyncio.timeout(LONG):
        while waiting(turnstile) < number:
            await asyncio.sleep(0)


async def free(turnstile: FairLock) -> None:
    """Shows that the lock can be had, and leaves it free."""
    await asyncio.wait_for(turnstile.acquire_async(), LONG)
    turnstile.release()


def run_all(*targets: Callable[[], None]) -> None:
    """Runs each in a thread of its own, to the end; fails on a deadlock or an exception."""
    failures: list[BaseException] = []

    def guarded(target: Callable[[], None]) -> None:
        try:
            target()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(target,), daemon=True) for target in targets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in threads), "deadlock"
    assert failures == []


def in_loop(main: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """A target for `run_all` with an event loop of its own."""
    return lambda: asyncio.run(main())


# --- one at a time -------------------------------------------------------------------------------------------------


def test_lock_has_one_holder_among_threads_and_loops() -> None:
    """One holder at a time among threads and tasks of several loops."""
    turnstile, inside = FairLock(), Inside()

    def thread() -> None:
        for _ in range(100):
            turnstile.acquire()
            inside.enter()
            time.sleep(0)
            inside.leave()
            turnstile.release()

    async def task() -> None:
        for _ in range(25):
            await turnstile.acquire_async()
            inside.enter()
            await asyncio.sleep(0)
            inside.leave()
            turnstile.release()

    async def tasks() -> None:
        await asyncio.gather(*[task() for _ in range(5)])

    run_all(thread, in_loop(tasks), thread, in_loop(tasks), thread)
    assert (inside.visits, inside.crowded) == (3 * 100 + 2 * 5 * 25, 0)
    asyncio.run(free(turnstile))


def test_a_holder_keeps_everybody_else_out_until_it_releases() -> None:
    async def main() -> None:
        turnstile = FairLock()
        await turnstile.acquire_async()
        task = asyncio.create_task(turnstile.acquire_async())
        thread = asyncio.create_task(asyncio.to_thread(turnstile.acquire))
        await queued(turnstile, 2)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done()
        assert not thread.done()
        turnstile.release()
        await asyncio.wait_for(task, LONG)
        assert not thread.done()
        turnstile.release()
        await asyncio.wait_for(thread, LONG)
        turnstile.release()
        await free(turnstile)

    asyncio.run(main())


def test_lock_taken_in_a_thread_can_be_released_in_a_loop() -> None:
    """A lock taken in a thread may be released in a loop and the other way round."""

    async def main() -> None:
        turnstile = FairLock()
        await asyncio.to_thread(turnstile.acquire)
        task = asyncio.create_task(turnstile.acquire_async())
        await queued(turnstile, 1)
        turnstile.release()
        await asyncio.wait_for(task, LONG)
        await asyncio.to_thread(turnstile.release)
        await free(turnstile)

    asyncio.run(main())


# --- in order ------------------------------------------------------------------------------------------------------


def test_lock_serves_waiters_in_order_of_arrival() -> None:
    """Threads and tasks are served in the order of their arrival."""
    turnstile = FairLock()
    served: list[str] = []
    turnstile.acquire()

    def thread(name: str) -> None:
        turnstile.acquire()
        served.append(name)
        turnstile.release()

    async def task(name: str) -> None:
        await turnstile.acquire_async()
        served.append(name)
        turnstile.release()

    async def both() -> None:
        tasks = []
        for number in range(3):
            tasks.append(asyncio.create_task(task(f"task {number}")))
            await queued(turnstile, 2 * number + 1)
            tasks.append(asyncio.create_task(asyncio.to_thread(thread, f"thread {number}")))
            await queued(turnstile, 2 * number + 2)
        turnstile.release()
        await asyncio.wait_for(asyncio.gather(*tasks), LONG)

    asyncio.run(both())
    assert served == [f"{kind} {number}" for number in range(3) for kind in ("task", "thread")]


def test_returning_holder_queues_behind_the_waiters() -> None:
    async def main() -> None:
        turnstile = FairLock()
        served: list[str] = []

        async def visit(name: str) -> None:
            await turnstile.acquire_async()
            served.append(name)
            turnstile.release()

        await turnstile.acquire_async()
        other = asyncio.create_task(visit("other"))
        await queued(turnstile, 1)
        turnstile.release()
        await asyncio.wait_for(visit("again"), LONG)
        await other
        assert served == ["other", "again"]

    asyncio.run(main())


# --- giving up -----------------------------------------------------------------------------------------------------


def test_a_waiter_that_is_cancelled_is_passed_over() -> None:
    async def main() -> None:
        turnstile = FairLock()
        await turnstile.acquire_async()
        first, second, third = [asyncio.create_task(turnstile.acquire_async()) for _ in range(3)]
        await queued(turnstile, 3)
        first.cancel()
        third.cancel()
        await asyncio.gather(first, third, return_exceptions=True)
        turnstile.release()
        await asyncio.wait_for(second, LONG)
        assert first.cancelled()
        assert third.cancelled()
        turnstile.release()
        await free(turnstile)

    asyncio.run(main())


@pytest.mark.parametrize("behind", [0, 1, 2])
def test_waiter_cancelled_at_its_turn_passes_the_turn_on(behind: int) -> None:
    """A waiter that is cancelled just when its turn comes passes it on."""

    async def main() -> None:
        turnstile = FairLock()
        await turnstile.acquire_async()
        unlucky = asyncio.create_task(turnstile.acquire_async())
        await queued(turnstile, 1)
        others = [asyncio.create_task(turnstile.acquire_async()) for _ in range(behind)]
        await queued(turnstile, 1 + behind)
        turnstile.release()  # granted now, but the task has not run since
        unlucky.cancel()
        with pytest.raises(asyncio.CancelledError):
            await unlucky
        for other in others:
            await asyncio.wait_for(other, LONG)
            turnstile.release()
        await free(turnstile)

    asyncio.run(main())


def test_waiter_cancelled_after_its_grant_passes_the_turn_on() -> None:
    """A waiter that is cancelled between grant and running on passes it on."""

    async def main() -> None:
        turnstile = FairLock()
        await turnstile.acquire_async()
        unlucky = asyncio.create_task(turnstile.acquire_async())
        await queued(turnstile, 1)
        turnstile.release()
        await asyncio.sleep(0)  # the grant has reached the loop, the task is about to run
        unlucky.cancel()
        await asyncio.gather(unlucky, return_exceptions=True)
        if not unlucky.cancelled():  # it ran already: then the turn is its own
            turnstile.release()
        await free(turnstile)

    asyncio.run(main())


def test_cancelled_before_it_ran_a_task_never_queues() -> None:
    async def main() -> None:
        turnstile = FairLock()
        await turnstile.acquire_async()
        task = asyncio.create_task(turnstile.acquire_async())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert waiting(turnstile) == 0
        turnstile.release()
        await free(turnstile)

    asyncio.run(main())


def test_random_cancellations_lose_and_double_no_turn() -> None:
    """No turn is lost and none given twice when waiters are cancelled at random."""
    turnstile, inside = FairLock(), Inside()

    async def visit(chance: random.Random) -> None:
        await turnstile.acquire_async()
        inside.enter()
        try:
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
        finally:
            inside.leave()
            turnstile.release()

    async def main(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(60):
            tasks = [asyncio.create_task(visit(chance)) for _ in range(6)]
            for task in tasks:
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                if chance.random() < 0.6:
                    task.cancel()
            await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), LONG)

    def thread() -> None:
        for _ in range(100):
            turnstile.acquire()
            inside.enter()
            inside.leave()
            turnstile.release()

    run_all(in_loop(lambda: main(1)), in_loop(lambda: main(2)), thread)
    assert inside.crowded == 0
    asyncio.run(free(turnstile))


def test_closed_loop_with_a_waiting_task_keeps_the_turn() -> None:
    """A loop that is closed on a waiting task does not take the turn with it."""
    turnstile = FairLock()
    turnstile.acquire()
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _loop, _context: None)  # it says that a pending task was destroyed
    task = loop.create_task(turnstile.acquire_async())
    loop.run_until_complete(asyncio.wait_for(queued(turnstile, 1), LONG))
    loop.close()
    del task
    gc.collect()
    turnstile.release()
    asyncio.run(free(turnstile))


class Interrupted(BaseException):
    """What a signal raises in the waiting thread, as Ctrl-C raises KeyboardInterrupt."""


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no signals of one's own")
def test_an_interrupted_thread_does_not_take_the_turn_with_it() -> None:
    def interrupt(_number: int, _frame: object) -> None:
        raise Interrupted

    def helper() -> None:
        until(lambda: waiting(turnstile) == 1)
        time.sleep(0.05)  # the waiter is on its way from the queue into its wait
        os.kill(os.getpid(), signal.SIGUSR1)

    turnstile = FairLock()
    turnstile.acquire()
    before = signal.signal(signal.SIGUSR1, interrupt)
    thread = threading.Thread(target=helper, daemon=True)
    try:
        thread.start()
        with pytest.raises(Interrupted):
            turnstile.acquire()
    finally:
        thread.join(LONG)
        signal.signal(signal.SIGUSR1, before)
    turnstile.release()
    asyncio.run(free(turnstile))
