"""Bring the index up to date in a thread, so that an answer need not wait for all of it."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
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
        self._run: Future[None] | None = None
        """The newest run."""
        self._closed = False
        self._progress: Progress | None = None

    def start(self) -> "Future[None]":
        """Start the work if it is not running, and return the run."""
        with self._starting:
            if self._run is None or self._run.done():
                run: Future[None] = Future()
                threading.Thread(target=self._work, args=(run,), name="backscroll-mcp-index", daemon=True).start()
                self._run = run
            return self._run

    def wait(self, seconds: float) -> Progress | None:
        """Start the work if it is not running, and wait for its end at most so long.

        Returns:
            `None` if it ended, else how far it is.

        Raises:
            Exception: What the work raised. The next call starts it again.
        """
        deadline = time.monotonic() + seconds
        running = self._run
        if running is not None:
            wait([running], seconds)  # it began earlier, and so may miss what is new
        run = self.start()
        wait([run], max(0.0, deadline - time.monotonic()))
        if not run.done():
            return self._progress or Progress("Catching up", 0, 0)
        run.result()
        return None

    def close(self) -> None:
        """End the work after its current step."""
        self._closed = True
        if self._run is not None:
            wait([self._run])

    def _work(self, run: "Future[None]") -> None:
        failure = None
        try:
            for progress in self._steps():
                self._progress = progress
                if self._closed:
                    break
        except Exception as error:  # else answers would look complete that are not
            failure = error
        self._progress = None
        if failure is None:
            run.set_result(None)
        else:
            run.set_exception(failure)
