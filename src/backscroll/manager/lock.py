"""A lock for both tasks and threads.

`asyncio.Lock` belongs to one event loop and `threading.Lock` blocks the loop, but a session may be used from both at
once. Waiters are served in order of arrival.
"""

import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class FairLock:
    """A fair, non-reentrant lock."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()  # held for a few instructions only, never while waiting
        self._taken = False
        self._waiting: deque[tuple[Future[None], asyncio.AbstractEventLoop | None]] = deque()

    @property
    def is_taken(self) -> bool:
        """Whether someone holds it now."""
        return self._taken

    def _enter(self, loop: "asyncio.AbstractEventLoop | None") -> Future[None] | None:
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

        turn = self._enter(asyncio.get_running_loop())
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
