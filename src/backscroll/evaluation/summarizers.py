"""Summaries by a model in a replay, and their cost.

In a live session a summary is started at one request and is ready some requests later, since a model's turn takes
longer than a summary. A replay makes all requests at once, so it waits for each summary where it starts. That gives the
views of a session that waits for summaries (`wait_seconds`), and the same views each time.
"""

import inspect
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from backscroll.compaction.summarization import Summarizer, SummarizerFunction, SummaryRequest
from backscroll.integrations.summarizers.anthropic import AnthropicSummarizer
from backscroll.integrations.summarizers.openai import OpenAISummarizer
from backscroll.manager.driver import run_sync, run_unlocked
from backscroll.manager.importing import ImportingManager
from backscroll.ports import BackgroundTask, Operation
from backscroll.session.store_sync import enter

SUMMARIZERS: dict[str, Callable[..., SummarizerFunction]] = {
    "openai": OpenAISummarizer,
    "anthropic": AnthropicSummarizer,
}
OUTPUT = 5.0
"""Price of an output token relative to an uncached input token: Anthropic's, for all of its models since Claude 3 (list
of November 2025). A summarizer's input counts 1, since no cache holds it.
"""
SUMMARIZING_STRATEGIES = frozenset(("digest", "importance"))
"""The strategies that use summaries of what left a view."""
_PATIENCE = 3_600.0  # seconds; none of them passes, since the summary is ready when it is requested


class Asked(NamedTuple):
    """How summaries are written in a replay."""

    summarizer: SummarizerFunction
    context_tokens: int = 32_000
    """Maximum input tokens of one call."""
    price: float = 1.0
    """Price of its tokens relative to those of the conversation's model."""


class Bill(NamedTuple):
    """The cost of summaries."""

    calls: int = 0
    """Calls of the summarizer; a long summary takes several."""
    made: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """Millions of input token equivalents."""
    cpu_seconds: float = 0.0
    """CPU seconds of the summarizer itself, such as its client."""


class AtOnce(BackgroundTask):
    """Runs an operation when it is started."""

    def __init__(self) -> None:
        self._results: list[Any] = []

    @property
    def running(self) -> bool:
        """Whether there is a result that was not fetched yet."""
        return bool(self._results)

    def start(self, operation: Operation[Any]) -> None:
        """Run the operation."""
        self._results = [run_unlocked(operation)]

    def wait(self, seconds: float) -> None:
        """Do nothing: the operation is done."""

    def fetch(self) -> Any:
        """Return the result, once."""
        return self._results.pop() if self._results else None

    def cancel(self) -> None:
        """Discard the result."""
        self._results = []


class Summarizing(ImportingManager):
    """The manager of a replay with summaries. Takes the options of `ContextManager`, and how to summarize."""

    def __init__(self, asked: Asked, **options: Any) -> None:
        self._price = asked.price
        self._calls, self._seconds = 0, 0.0
        self._asked = asked.summarizer
        super().__init__(summarizer=Summarizer(self._ask, asked.context_tokens, _PATIENCE), **options)
        self._session.clock = None  # the time of a summary here does not age the provider's cache

    def _make_background(self) -> BackgroundTask:
        return AtOnce()

    async def _ask(self, request: SummaryRequest) -> Any:
        self._calls += 1
        start = time.process_time()
        try:
            answer = self._asked(request)
            return await answer if inspect.isawaitable(answer) else answer
        finally:
            self._seconds += time.process_time() - start

    def bill(self) -> Bill:
        """Return the cost of its summaries so far."""
        run_sync(self._opened, enter(self._session))  # the newest one may not be applied yet
        spent = self.usage().summarizer
        cost = self._price * (spent.input_tokens + OUTPUT * spent.output_tokens) / 1e6
        return Bill(
            calls=self._calls,
            made=spent.summaries,
            failed=spent.failures,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost=cost,
            cpu_seconds=self._seconds,
        )
