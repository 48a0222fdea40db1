"""A turn: the one writer for whom a store keeps a session's log as it is, until that writer's append. No store is known
here.

Who appends at a place that others took meanwhile reads what they wrote and appends behind it, where others may be first
again. In its turn a writer cannot lose: the worker that writes has taken the log for itself, and waits for the append.
"""

import threading
from concurrent.futures import Future
from typing import Generic, TypeVar

PATIENCE = 2.0  # seconds that a turn lasts at most: a writer that was stopped in its turn stops no other for longer

J = TypeVar("J")


class Turn(Generic[J]):
    """Between the writer that has the turn and the worker that waits for its append."""

    def __init__(self) -> None:
        self.granted: Future[Turn[J]] = Future()
        """Done when the log is this writer's alone."""
        self._lock = threading.Lock()
        self._over = False
        self._came = threading.Event()
        self._given: J | None = None

    def give(self, append: J | None) -> bool:
        """Hands over what is to be appended, which ends the turn; False where the turn was over already."""
        with self._lock:
            if self._over:
                return False
            self._over, self._given = True, append
        self._came.set()
        return True

    def end(self) -> None:
        """Ends the turn without an append."""
        self.give(None)

    def wait(self) -> J | None:
        """Has the worker let the writer begin, and wait for its append; None where none comes."""
        if not self.granted.set_running_or_notify_cancel():
            return None
        self.granted.set_result(self)
        self._came.wait(PATIENCE)
        with self._lock:
            self._over = True
        return self._given

    def fail(self, error: BaseException | None) -> None:
        """Lets the writer know that there will be no turn, if it still waits for one."""
        if not self.granted.done() and self.granted.set_running_or_notify_cancel():
            self.granted.set_exception(error or RuntimeError("the turn was never granted"))
