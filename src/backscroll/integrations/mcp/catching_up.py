"""Bring the index up to date in a thread, so that an answer need not wait for all of it."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Progress(NamedTuple):
    """How far some work is."""

    what: str
    """Its name, such as `An import`."""
    done: int
    total: int
    """Number of files or sessions."""


class CatchingUp:
    """Runs the steps of some work in a thread, one run at a time.

    Args:
        steps: begins the work, and yields before each step how far it is.
    """

    def __init__(self, steps: Callable[[], Iterator[Progress]]) -> None:
        self._steps = steps
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._failure: Exception | None = None
        self._progress: Progress | None = None

    def start(self) -> threading.Thread:
        """Start the work if it is not running, and return its thread."""
        with self._starting:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="backscroll-mcp-index", daemon=True)
                self._thread.start()
            return self._thread

    def wait(self, seconds: float) -> Progress | None:
        """Start the work if it is not running, and wait for its end at most so long.

        Returns:
            `None` if it ended, else how far it is.

        Raises:
            Exception: What the work raised. The next call starts it again.
        """
        deadline = time.monotonic() + seconds
        running = self._thread
        if running is not None:
            running.join(seconds)  # it began earlier, and so may miss what is new
        thread = self.start()
        thread.join(max(0.0, deadline - time.monotonic()))
        if thread.is_alive():
            return self._progress or Progress("Catching up", 0, 0)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        return None

    def close(self) -> None:
        """End the work after its current step."""
        self._closed = True
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        self._failure = None
        try:
            for progress in self._steps():
                self._progress = progress
                if self._closed:
                    return
        except Exception as error:  # else answers would look complete that are not
            self._failure = error
        finally:
            self._progress = None
