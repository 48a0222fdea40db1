"""A runner of one background operation for callers with an event loop and callers without one."""

import asyncio
from typing import Any

from backscroll.manager.background import Task, Thread
from backscroll.ports import Operation


class TaskOrThread:
    """Runs an operation in the running event loop, or in a thread where none runs.

    Frameworks call the same agent from an event loop and from plain code, so that this is known only when it starts.
    """

    def __init__(self) -> None:
        self._runner: Task | Thread = Thread()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def running(self) -> bool:
        """Whether an operation was started and its result not fetched yet."""
        return self._runner.running

    def start(self, operation: Operation[Any]) -> None:
        """Start an operation."""
        self._loop = _running_loop()
        self._runner = Thread() if self._loop is None else Task()
        self._runner.start(operation)

    def wait(self, seconds: float) -> Any:
        """Wait until it is done, at most this many seconds. A task of another event loop is not waited for."""
        return self._runner.wait(seconds) if self._loop is _running_loop() else None

    def fetch(self) -> Any:
        """Return the result, once."""
        return self._runner.fetch()

    async def cancel(self) -> None:
        """Discard the result; a task is cancelled."""
        if isinstance(self._runner, Task) and self._loop is _running_loop():
            await self._runner.cancel()
        self._runner = Thread()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
