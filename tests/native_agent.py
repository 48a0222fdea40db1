"""The bound agent with a provider that compacts by itself, whose blocks arrive some requests later."""

from dataclasses import replace
from typing import Any

from backscroll import ContextManager, NativeCompaction, NativeRequest
from backscroll.evaluation.fake_providers import FakeProviderError, Reply, reply
from backscroll.manager.background import Thread
from backscroll.ports import Operation
from tests.bound_agent import BoundAgent, Message, _sent

ON_DEMAND = "compact-2026-09-04"
FAILURES = ("raise", "call", "cut", "odd")
"""How a request for a compaction may fail: the function raises, or the model calls a tool, writes too much, or the
function returns something else.
"""


class Later(Thread):
    """Runs an operation at once, and returns its result after some further looks at it."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks, self._left = looks, 0

    def start(self, operation: Operation[Any]) -> None:
        self._left = self._looks
        super().start(operation)
        super().wait(60)

    def fetch(self) -> Any:
        if self._thread is None:
            return None
        self._left -= 1
        return super().fetch() if self._left < 0 else None


class LateManager(ContextManager):
    """A manager whose native compactions arrive after some looks."""

    def __init__(self, looks: int, **options: Any) -> None:
        self._looks = looks
        super().__init__(**options)

    def _make_background(self) -> Later:
        return Later(self._looks)


class NativeAgent(BoundAgent):
    """The agent.

    Args:
        vendor: `anthropic` or `openai`.
        seed: Everything it chooses follows from this.
        store: Where its session is kept.
        looks: How many looks later a block arrives.
        failing: Share of requests for a compaction that fail.
        options: Further options of its manager.
    """

    def __init__(
        self, vendor: str, seed: int, store: Any, *, looks: int = 2, failing: float = 0.1, **options: Any
    ) -> None:
        self.asked: list[NativeRequest] = []
        self.refused: list[str] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.failing = failing
        self.failure: str | None = None
        self.swaps = self.kept = 0
        options = {"strategies": ["native", "deduplicate", "excerpt", "digest"], **options}
        super().__init__(
            vendor,
            seed,
            lambda: LateManager(
                looks,
                session="s",
                store=store,
                native=NativeCompaction(self.compact),
                on_event=lambda name, payload: self.events.append((name, payload)),
                **options,
            ),
        )

    def compact(self, request: NativeRequest) -> Any:
        """Ask the provider, as a user's function does."""
        self.asked.append(request)
        self.failure = self.chance.choice(FAILURES) if self.chance.random() < self.failing else None
        if self.failure == "raise" or (self.failure in ("call", "cut") and self.vendor == "openai"):
            raise RuntimeError("the provider is not reachable")
        if self.failure == "odd":
            return {"content": [{"type": "text", "text": "Here is a summary."}]}
        try:
            return self._compacted(request)
        except FakeProviderError as error:
            self.refused.append(str(error))
            raise
        finally:
            self.failure = None

    def _compacted(self, request: NativeRequest) -> Any:
        if self.vendor == "anthropic":
            sent = self.anthropic_request(request.messages)
            return self.provider.create(**{**sent, "model": request.model, "compaction": {"type": "summarize"}})
        items = [_sent(message) for message in request.messages]
        tools = {"tools": self.tools} if self.tools else {}
        if self.chance.random() < 0.5:
            return self.provider.compact(model=request.model, input=items, **tools)
        return self.provider.create(model=request.model, input=[*items, {"type": "compaction_trigger"}], **tools)

    def anthropic_request(self, view: list[Message]) -> Message:
        request = super().anthropic_request(view)
        return {**request, "betas": [*request.get("betas", ()), ON_DEMAND]}

    def reply_to(self, request: Any) -> Reply:
        if not request.get("compaction"):
            return super().reply_to(request)
        if self.failure == "call":
            return reply(calls=[("read", {})])
        if self.failure == "cut":
            return replace(reply(""), stop_reason="max_tokens")
        return reply(f"Summary {len(self.asked)} of the provider. " * 10)
