"""Work in threads of their own, at a cost of about 0.1 ms.

Not in the event loop's pool: its threads are few, and all may be waiting for a lock that the caller holds.
"""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import Any


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


def beside(work: Callable[[], Any]) -> Callable[[], Future[Any]]:
    """Start work in a thread and return a function that returns its result once it is there."""
    done = in_thread(work)
    return lambda: done
