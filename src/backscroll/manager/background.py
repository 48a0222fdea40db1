"""Runners of one background operation: a task of the event loop, or a thread."""

import threading
from typing import TYPE_CHECKING, Any

from backscroll.manager.driver import run_unlocked, run_unlocked_async
from backscroll.ports import Operation

if TYPE_CHECKING:
    import asyncio


class Task:
    """Runs an operation in the event loop that is running when it starts."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None

    @property
    def running(self) -> bool:
        """Whether an operation was started and its result not fetched yet."""
        return self._task is not None

    def start(self, operation: Operation[Any]) -> None:
        """Start an operation."""
        import asyncio  # noqa: PLC0415  programs without an event loop never load it

        self._task = asyncio.get_running_loop().create_task(run_unlocked_async(operation))

    async def wait(self, seconds: float) -> None:
        """Wait until it is done, at most this many seconds."""
        import asyncio  # noqa: PLC0415  likewise

        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)

    def fetch(self) -> Any:
        """Return the result, once; `None` if it was cancelled, by us or with its event loop."""
        if self._task is None or not self._task.done():
            return None
        task, self._task = self._task, None
        return None if task.cancelled() else task.result()

    async def cancel(self) -> None:
        """Cancel what is running and wait until it has ended."""
        import asyncio  # noqa: PLC0415  likewise

        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


class Thread:
    """Runs an operation in a daemon thread, which does not keep the interpreter alive."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._results: list[Any] = []

    @property
    def running(self) -> bool:
        """Whether an operation was started and its result not fetched yet."""
        return self._thread is not None

    def start(self, operation: Operation[Any]) -> None:
        """Start an operation."""
        results = self._results = []

        def run() -> None:
            results.append(run_unlocked(operation))

        self._thread = threading.Thread(target=run, name="backscroll summary", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until it is done, at most this many seconds."""
        if self._thread is not None:
            self._thread.join(seconds)

    def fetch(self) -> Any:
        """Return the result, once."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread = None
        return self._results[0] if self._results else None

    def cancel(self) -> None:
        """Discard the result: a thread cannot be cancelled."""
        self._thread, self._results = None, []
