"""Work in threads of their own, at a cost of about 0.1 ms.

Not in the event loop's pool: its threads are few, and all may be waiting for a lock that the caller holds.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread, local
from typing import Any, Protocol

from backscroll.tokens.counts import Count

_SLICE = 0.001  # seconds that work in the background keeps the interpreter's lock
_PAUSE = 0.0001  # seconds that it then leaves to threads that wait for the lock


def in_thread(function: Callable[..., Any], arguments: tuple[Any, ...] = ()) -> Future[Any]:
    """Call a function in a thread, in the caller's context. The call cannot be cancelled."""
    done: Future[Any] = Future()
    done.set_running_or_notify_cancel()
    context = copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(function, *arguments))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, name="backscroll work").start()
    return done


def start(work: Callable[[], Any]) -> Callable[[], Future[Any]]:
    """Start work in a thread and return a function that returns its result once it is there."""
    done = in_thread(_in_slices, (work,))
    return lambda: done


class Clock(Protocol):
    """What the module `time` has of this name."""

    def perf_counter(self) -> float:
        """Return seconds of a clock that never goes back."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
        ...


class _Slice(local):
    """How long the work of this thread may go on before it lets others have the interpreter's lock."""

    end: float | None = None
    """In seconds of the clock. `None`: this thread works for a caller that waits."""


_slice = _Slice()


def _in_slices(work: Callable[[], Any]) -> Any:
    _slice.end = 0.0
    return work()


def pausing(count: Callable[[str], Count], clock: Clock = time) -> Callable[[str], Count]:
    """Return a function that counts, and in a background thread pauses now and then.

    A thread of Python code keeps the interpreter's lock for 5 ms if another one waits for it, and an event loop waits
    for it several times in a step. Plans count all the time, so a count is a good moment to hand it over.
    """

    def counted(text: str) -> Count:
        if _slice.end is not None and clock.perf_counter() > _slice.end:
            clock.sleep(_PAUSE)
            _slice.end = clock.perf_counter() + _SLICE
        return count(text)

    return counted
