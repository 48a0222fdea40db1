"""A lock for both tasks and threads.

`asyncio.Lock` belongs to one event loop and `threading.Lock` blocks the loop, but a session may be used from both at
once. Waiters are served in order of arrival.
"""

import os
import threading
from collections import deque
from concurrent.futures import Future
from functools import cache
from typing import TYPE_CHECKING

from backscroll.errors import ConfigurationError

if TYPE_CHECKING:
    import asyncio


class Forks:
    """How often this process was forked since its first lock. Its number would take a system call at each step."""

    number = 0


def _note_fork() -> None:
    Forks.number += 1


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):  # Windows has no forks
        os.register_at_fork(after_in_child=_note_fork)


def forked(process: int) -> ConfigurationError:
    """Return the error for the child of a fork that uses what belongs to its parent."""
    return ConfigurationError(
        f"this manager belongs to process {process}, of which this one is a fork: make a manager here, with the same "
        "`store` and `session` to go on with a stored one"
    )


def running_loop() -> "asyncio.AbstractEventLoop":
    """Return the event loop that runs the caller.

    Raises:
        ConfigurationError: None of asyncio does.
    """
    import asyncio  # noqa: PLC0415  programs without an event loop never load it

    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(
            "`AsyncContextManager` needs an event loop of asyncio, and none is running here: with trio, call a "
            "`ContextManager` in threads, as by `trio.to_thread.run_sync`"
        ) from None


class FairLock:
    """A fair, non-reentrant lock."""

    def __init__(self) -> None:
        _watch_forks()
        self.process: int = os.getpid()
        """The process that made it. The child of a fork has it as it was, and not the threads that would release it."""
        self.forks: int = Forks.number
        """As `Forks.number` was when it was made; another number: this process is a fork of the one that made it."""
        self._mutex = threading.Lock()  # held for a few instructions only, never while waiting
        self._taken = False
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop | None]] = deque()

    @property
    def is_taken(self) -> bool:
        """Whether someone holds it now."""
        return self._taken

    def _enter(self, loop: "asyncio.AbstractEventLoop | None") -> Future[None] | None:
        if self.forks != Forks.number:
            raise forked(self.process)
        with self._mutex:
            if not self._taken:
                self._taken = True
                return None
            turn: Future[None] = Future()
            self._waiting.append((turn, loop))
            return turn

    def acquire(self) -> None:
        """Block the thread until it is its turn; an interrupted waiter passes the turn on."""
        turn = self._enter(None)
        if turn is None:
            return
        try:
            turn.result()
        except BaseException:  # KeyboardInterrupt
            self._give_up(turn)
            raise

    async def acquire_async(self) -> None:
        """Await the turn; a cancelled waiter passes it on."""
        import asyncio  # noqa: PLC0415  programs without an event loop never load it

        turn = self._enter(running_loop())
        if turn is None:
            return
        try:
            await asyncio.wrap_future(turn)
        except BaseException:  # CancelledError, or GeneratorExit of a task that is thrown away
            self._give_up(turn)
            raise

    def _give_up(self, turn: Future[None]) -> None:
        if not turn.cancel():
            self.release()  # the turn had just been granted

    def release(self) -> None:
        """Pass the lock to the next waiter."""
        with self._mutex:
            while self._waiting:
                turn, loop = self._waiting.popleft()
                if loop is not None and loop.is_closed():
                    continue  # its task will never run again
                if turn.set_running_or_notify_cancel():
                    turn.set_result(None)
                    return
            self._taken = False
