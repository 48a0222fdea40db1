"""A turn: one writer's exclusive right to append to a session, until its append.

A writer that loses a race reads the other's records and appends behind them, where it may lose again. In its turn it
cannot lose: the worker that writes has locked the log and waits for the append.
"""

import threading
from concurrent.futures import Future
from typing import Generic, TypeVar

PATIENCE = 2.0  # seconds, maximum of a turn: a writer that is stopped in its turn blocks others no longer

J = TypeVar("J")


class Turn(Generic[J]):
    """Connects the writer that has the turn with the worker that waits for its append."""

    def __init__(self) -> None:
        self.granted: Future[Turn[J]] = Future()
        """Done when the writer has the log to itself."""
        self._lock = threading.Lock()
        self._over = False
        self._came = threading.Event()
        self._given: J | None = None

    def give(self, append: J | None) -> bool:
        """Hand over the append, which ends the turn; `False` if the turn was over already."""
        with self._lock:
            if self._over:
                return False
            self._over, self._given = True, append
        self._came.set()
        return True

    def end(self) -> None:
        """End the turn without an append."""
        self.give(None)

    def wait(self) -> J | None:
        """Grant the turn, and wait for the writer's append; `None` if none comes."""
        if not self.granted.set_running_or_notify_cancel():
            return None
        self.granted.set_result(self)
        self._came.wait(PATIENCE)
        with self._lock:
            self._over = True
        return self._given

    def fail(self, error: BaseException | None) -> None:
        """Fail the writer's wait for its turn, if it still waits."""
        if not self.granted.done() and self.granted.set_running_or_notify_cancel():
            self.granted.set_exception(error or RuntimeError("the turn was never granted"))
