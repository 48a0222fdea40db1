"""Summaries by a model in a replay: who is asked, when the answer is there, and what it cost. No output here.

In a live session a summary is begun at one request and is there some requests later, as a model's turn takes longer
than a summary. A replay makes all requests at once, so there each summary is waited for where it is begun. That gives
the views of a session that waits for summaries (`wait_seconds`), and the same views each time.
"""

import inspect
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from backscroll.compaction.summarization import Summarizer, SummarizerFunction, SummaryRequest
from backscroll.integrations.summarizers.anthropic import AnthropicSummarizer
from backscroll.integrations.summarizers.openai import OpenAISummarizer
from backscroll.manager.driver import run_sync, run_unlocked
from backscroll.manager.sync_manager import ContextManager
from backscroll.ports import BackgroundTask, Operation
from backscroll.session.store_sync import enter

SUMMARIZERS: dict[str, Callable[..., SummarizerFunction]] = {
    "openai": OpenAISummarizer,
    "anthropic": AnthropicSummarizer,
}
OUTPUT = 5.0
"""Price of a token that a model writes, relative to one that it reads without a cache: Anthropic's, for all of its
models since Claude 3 (list of November 2025). What a summarizer reads counts 1, as no cache has it.
"""
TELLING = frozenset(("digest", "importance"))
"""The strategies that tell of what left a view, so that a summary has a place."""
_PATIENCE = 3_600.0  # seconds; none of them passes, since an answer is there when it is asked for


class Asked(NamedTuple):
    """How summaries are made in a replay."""

    summarizer: SummarizerFunction
    window: int = 32_000
    """Tokens that one call of it may take in."""
    price: float = 1.0
    """Of its tokens, relative to those of the conversation's model."""


class Bill(NamedTuple):
    """What summaries took."""

    calls: int = 0
    """Of the summarizer; a long summary takes several."""
    made: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """Millions of input token equivalents."""
    cpu_seconds: float = 0.0
    """CPU of the summarizer itself, such as its client."""


class AtOnce(BackgroundTask):
    """Does what is begun before going on."""

    def __init__(self) -> None:
        self._results: list[Any] = []

    @property
    def running(self) -> bool:
        """Whether there is a result that was not fetched yet."""
        return bool(self._results)

    def start(self, operation: Operation[Any]) -> None:
        """Does it."""
        self._results = [run_unlocked(operation)]

    def wait(self, seconds: float) -> None:
        """It is done."""

    def fetch(self) -> Any:
        """The result, once."""
        return self._results.pop() if self._results else None

    def cancel(self) -> None:
        """Forgets the result."""
        self._results = []


class Summarizing(ContextManager):
    """The manager of a replay with summaries. Takes the options of `ContextManager`, and whom to ask."""

    def __init__(self, asked: Asked, **options: Any) -> None:
        self._price = asked.price
        self._calls, self._seconds = 0, 0.0
        self._asked = asked.summarizer
        super().__init__(summarizer=Summarizer(self._ask, asked.window, _PATIENCE), **options)
        self._session.clock = None  # how long a summary takes here says nothing of a cache that is cold

    def _make_background(self) -> BackgroundTask:
        self._background = AtOnce()
        return self._background

    async def _ask(self, request: SummaryRequest) -> Any:
        self._calls += 1
        start = time.process_time()
        try:
            answer = self._asked(request)
            return await answer if inspect.isawaitable(answer) else answer
        finally:
            self._seconds += time.process_time() - start

    def bill(self) -> Bill:
        """What its summaries took so far."""
        run_sync(self._opened, enter(self._session))  # the newest one may not be taken in yet
        spent = self.usage().summarizer
        cost = self._price * (spent.input_tokens + OUTPUT * spent.output_tokens) / 1e6
        made, failed, tokens = spent.summaries, spent.failures, (spent.input_tokens, spent.output_tokens)
        return Bill(self._calls, made, failed, *tokens, cost, self._seconds)
