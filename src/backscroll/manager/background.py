"""Doing one thing beside the rest: in a task of the event loop, or in a thread. Decides nothing."""

import asyncio
import threading
from typing import Any

from backscroll.manager.driver import run_unlocked, run_unlocked_async
from backscroll.ports import Operation


class Task:
    """In the event loop that is running when it is begun."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None

    @property
    def running(self) -> bool:
        """Whether something was begun whose result was not fetched yet."""
        return self._task is not None

    def start(self, operation: Operation[Any]) -> None:
        """Begins an operation."""
        self._task = asyncio.get_running_loop().create_task(run_unlocked_async(operation))

    async def wait(self, seconds: float) -> None:
        """Waits until it is done, or so long."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)

    def fetch(self) -> Any:
        """The result, once. What was cancelled, by us or with its event loop, has none."""
        if self._task is None or not self._task.done():
            return None
        task, self._task = self._task, None
        return None if task.cancelled() else task.result()

    async def cancel(self) -> None:
        """Ends what is running, and waits until it has ended."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


class Thread:
    """In a thread of its own, which does not keep the interpreter from ending."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._results: list[Any] = []

    @property
    def running(self) -> bool:
        """Whether something was begun whose result was not fetched yet."""
        return self._thread is not None

    def start(self, operation: Operation[Any]) -> None:
        """Begins an operation."""
        results = self._results = []

        def run() -> None:
            results.append(run_unlocked(operation))

        self._thread = threading.Thread(target=run, name="backscroll summary", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Waits until it is done, or so long."""
        if self._thread is not None:
            self._thread.join(seconds)

    def fetch(self) -> Any:
        """The result, once."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread = None
        return self._results[0] if self._results else None

    def cancel(self) -> None:
        """A thread cannot be ended: its result is forgotten."""
        self._thread, self._results = None, []
