"""What the core needs from outside, as protocols and questions. No implementation may live here.

The core is written as generators. Where it needs something that only the outside has (a token count of a huge text, a
system prompt, a lock), it yields a question; a shell answers it, waiting or awaiting as it likes. So one implementation
serves synchronous and asynchronous callers.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Tokenizer(Protocol):
    """Counts the tokens of a text. Must be deterministic, must never raise, and must not answer 0 for a failure."""

    @property
    def name(self) -> str:
        """Name and version, for instance `o200k_base/toktok-0.3.0`: stored counts are keyed by it."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts equal those of the named vocabulary; False for an estimator."""
        ...

    def count(self, text: str) -> int:
        """Tokens in `text`, at least 1 for a text that is not empty."""
        ...


@dataclass(frozen=True, slots=True)
class Ask:
    """Call `function(*arguments)` outside; if the answer is awaitable, await it. The answer is sent back."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    heavy: bool = False
    """Worth a thread: long texts are counted outside the event loop."""
    tolerant: bool = False
    """An exception is an answer: it is sent back instead of ending the operation."""


@dataclass(frozen=True, slots=True)
class Exclusive:
    """Hold the session's lock from here to the end of the operation. Asked at most once in an operation."""


Question = Ask | Exclusive
Operation = Generator[Question, Any, T]
"""A piece of core logic that answers a `T` and asks its questions on the way."""

Event = tuple[str, dict[str, Any]]
EventHandler = Callable[[str, dict[str, Any]], Any]
"""`on_event(name, payload)`; may return an awaitable. Called after the session's lock is released."""
