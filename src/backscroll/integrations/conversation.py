"""One conversation of a framework: its history is followed, and each model call gets a view in its own messages."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Generic, NamedTuple, TypeVar

from backscroll.integrations.background import TaskOrThread
from backscroll.integrations.following import Following
from backscroll.integrations.translation import Native, Translation
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.base import MAIN
from backscroll.manager.driver import run_async, run_async_each, run_sync, run_sync_each
from backscroll.manager.lock import FairLock
from backscroll.messages import Message, read_message, validated
from backscroll.ports import BackgroundTask, Operation
from backscroll.recall.tool import answer
from backscroll.session.request import request_with_indexes
from backscroll.session.store_sync import TRIES, flush, too_many_conflicts
from backscroll.tokens.usage import estimate_message
from backscroll.view.view_message import ViewMessage

Steps = Generator[Operation[Any], Any, list[Native]]
T = TypeVar("T")


class ModelCall(NamedTuple):
    """What a framework sends together with the messages."""

    budget: int | None = None
    """Input tokens of the whole request. `None`: by the options, or the window of the model."""
    lane: str = MAIN
    """The lane of the request: usually the model's name."""
    overhead_tokens: int = 0
    """Tokens outside of messages and tools, as far as they are known."""
    tools: Any = None
    """Tool definitions in a shape that `get_messages_for_request` knows."""
    first: bool = False
    """Whether it is the first of a run: the whole history is then compared, because it may have been edited."""
    system: str | None = None
    """The system prompt, where the framework sends it apart from the messages: it is counted and recorded, reasoning
    that was bound to another one leaves the view, and the view does not hold it. It replaces system messages of the
    history, unless their `metadata` has `source: hook` or `source: host`."""


class Conversation(AsyncContextManager, Generic[Native]):
    """The manager of one conversation of a framework. It works with an event loop and without one.

    The framework's history is read and never changed. A message that the view leaves as it is goes out as the
    framework's very own object, so that nothing is lost that only the framework knows.

    Args:
        translation: Reads and writes the framework's messages.
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, translation: Translation[Native], options: Mapping[str, Any]) -> None:
        super().__init__(**options)
        self._translation = translation
        self._following = Following(self._session, translation)
        self._turn = FairLock()
        self._prompted = False
        """Whether the newest call had a system prompt: the view then begins with it."""
        self.views: int = 0
        """Views made so far: an answer to an older one than the newest says nothing of the lane's newest view."""
        self.calls = 0
        """Model calls under way."""

    def _make_background(self) -> BackgroundTask:
        return TaskOrThread()

    async def load(self, history: Sequence[Native], *, first: bool = False) -> None:
        """Load what is new in the framework's history. `first`: compare all of it."""
        await self._turn.acquire_async()
        try:
            await run_async_each(self._opened, self._following.load(history, whole=first))
        finally:
            self._turn.release()

    def load_now(self, history: Sequence[Native], *, first: bool = False) -> None:
        """Load what is new in the framework's history, for callers without an event loop."""
        self._turn.acquire()
        try:
            run_sync_each(self._opened, self._following.load(history, whole=first))
        finally:
            self._turn.release()

    async def view_of(self, history: Sequence[Native], call: ModelCall) -> list[Native]:
        """Load what is new in the framework's history and return the view to send.

        Args:
            history: All messages of the framework's history, oldest first; it must not change while this runs.
            call: The request.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            MessageError: A message cannot be stored.
            StoreError: The store failed.
        """
        await self._turn.acquire_async()
        try:
            return await run_async_each(self._opened, self._view_steps(history, call))
        finally:
            self._turn.release()

    def view_now(self, history: Sequence[Native], call: ModelCall) -> list[Native]:
        """Do the same as `view_of`, for callers without an event loop."""
        self._turn.acquire()
        try:
            return run_sync_each(self._opened, self._view_steps(history, call))
        finally:
            self._turn.release()

    def _view_steps(self, history: Sequence[Native], call: ModelCall) -> Steps[Native]:
        found = yield from self._requested(history, call, request_with_indexes)
        return [self._native(each, history) for each in found[self._prompted :]]

    def _requested(
        self, history: Sequence[Native], call: ModelCall, request: Callable[..., Operation[T]]
    ) -> Generator[Operation[Any], Any, T]:
        """Load what is new and make a request. Returns what the operation `request` returns.

        Args:
            history: The framework's history.
            call: The request.
            request: Takes the session, the budget and the lane, and by name `outside` and `tools`.
        """
        binds = self._session.config.binds(call.lane)
        if call.system or self._prompted:
            self._prompted = bool(call.system)
            self.set_system_prompt_factory((lambda: call.system or "") if call.system else None)
        for _ in range(TRIES):
            yield from self._following.load(history, whole=call.first, binds=binds)
            found: T = yield request(
                self._session, call.budget, call.lane, outside=call.overhead_tokens, tools=call.tools
            )
            if self._following.holds_all:  # else another writer was faster between these two
                self.views += 1
                return found
        raise too_many_conflicts()

    def _native(self, shown: ViewMessage, history: Sequence[Native]) -> Native:
        natives = [history[index] for index in shown.indexes]
        if shown.unchanged and not self._following.is_bare(shown.indexes[0]) and not self._is_redacted(natives[0]):
            return natives[0]
        return self._translation.to_native(shown.message, natives)

    def _is_redacted(self, native: Native) -> bool:
        """Return whether the model must not see the framework's own message, which is not redacted."""
        redact = self._session.config.redact
        if redact is None:
            return False
        message = self._translation.to_message(native)
        return validated(message, redact) != validated(message, None)

    def answer_recall_now(self, arguments: dict[str, Any]) -> str:
        """Answer a call of the `recall` tool, for callers without an event loop."""
        return run_sync(self._opened, answer(self._recall, arguments))

    async def answer_recall(self, arguments: dict[str, Any]) -> str:
        """Answer a call of the `recall` tool."""
        return await run_async(self._opened, answer(self._recall, arguments))

    @property
    def is_in_use(self) -> bool:
        """Whether a model call or another operation is under way: closing it would wait for that, and an operation of
        the same event loop could then never end.
        """
        return bool(self.calls) or self._opened.turnstile.is_taken

    def expected_tokens(self, messages: Iterable[Message], lane: str) -> int:
        """Return the expected tokens of messages that belong to a request and not to the conversation.

        Args:
            messages: The messages.
            lane: The lane of the request.
        """
        readings = [read_message(validated(message)) for message in messages]
        counts = self._opened.measurer.measure(readings)
        family = self._session.lane(lane).family
        return ceil(sum(estimate_message(*each, family).expected for each in zip(readings, counts, strict=True)))

    async def finish_summary(self) -> None:
        """Wait for a summary under way, as long as its options allow: the event loop may end with a run."""
        summaries = self._session.summaries
        seconds = 0.0 if summaries is None else summaries.summarizer.wait_seconds
        if seconds and self._background.running:
            await self._background.wait(seconds)

    def close_now(self) -> None:
        """Store what is buffered and close what is open, for callers without an event loop.

        Raises:
            StoreError: The store failed.
        """
        run_sync(self._opened, flush(self._session))
        self._close_search()
