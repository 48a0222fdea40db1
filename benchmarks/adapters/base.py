"""What the benchmark asks of an adapter. No framework is imported here."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Self

Message = dict[str, Any]
SHOWN = 40
"""Messages that the substitute for a view shows."""


class Clock:
    """CPU seconds of this process in a `with` block, with those of the threads that it started."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._begun = 0.0

    def __enter__(self) -> Self:
        self.spent, self._begun = 0.0, time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in [each for each in threading.enumerate() if each.name == "backscroll work"]:
            thread.join()
        self.spent += time.process_time() - self._begun

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what a model would do."""
        self.spent += time.process_time() - self._begun
        try:
            yield
        finally:
            self._begun = time.process_time()


class Adapter(ABC):
    """One adapter with one conversation in memory.

    Args:
        budget: Tokens of a request.
        system: The system prompt.
    """

    name: ClassVar[str]
    """As tables show it."""

    def __init__(self, budget: int, system: str) -> None:
        self.budget = budget
        self.system = system

    @abstractmethod
    def native(self, message: Message) -> Any:
        """Return the framework's message for one of OpenAI's chat: a text, one call, or its result."""

    @abstractmethod
    def add(self, natives: Sequence[Any]) -> None:
        """Add messages to the framework's own history, as it does so itself. This is not measured."""

    async def begin(self) -> None:  # noqa: B027  most need nothing here
        """Begin a run of the agent; its message of the user was added. This is not measured."""

    @abstractmethod
    async def step(self, clock: Clock) -> None:
        """Make the framework's request, call the adapter with it while the clock runs, and report an answer."""

    @abstractmethod
    def tokens(self) -> int:
        """Return the tokens of the newest request, for the usage that a model reports."""

    async def close(self) -> None:  # noqa: B027  the same
        """End the run, and free what is open."""

    async def alone(self, history: Sequence[Any], steps: int) -> list[float]:
        """Return CPU seconds of the framework's own steps behind a history, with a substitute that shows the newest
        messages in the place of a view. Empty: no framework calls the model.
        """
        return []


class Laps:
    """CPU seconds between two calls of a scripted model, the first left out: it begins the run."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._last: float | None = None

    def __len__(self) -> int:
        return len(self.seconds)

    def lap(self) -> None:
        """Note a call of the model."""
        now = time.process_time()
        if self._last is not None:
            self.seconds.append(now - self._last)
        self._last = time.process_time()


def call_of(message: Message) -> tuple[str, str, str] | None:
    """Return id, name and arguments (JSON) of the call in a message; `None` if it has none."""
    for call in message.get("tool_calls") or ():
        return call["id"], call["function"]["name"], call["function"]["arguments"]
    return None
