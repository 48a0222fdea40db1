"""The model calls of one run: each gets a view, and a shorter one where the provider refuses it as too long."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    ChatResponseUpdate,
    Message,
    ResponseStream,
    SessionContext,
)

from backscroll.integrations.agent_framework.overhead import Overhead, definitions
from backscroll.integrations.agent_framework.refusals import refuse_provider_side, refuse_strategy
from backscroll.integrations.agent_framework.request_parts import RequestParts, RequestReader
from backscroll.integrations.agent_framework.usage import counted_in
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.integrations.conversations import Conversations
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.integrations.translation import Translation
from backscroll.manager.base import MAIN
from backscroll.notices import warn
from backscroll.session.usage_reports import observe_usage

CallNext = Callable[[], Awaitable[None]]
_CUT = "model_context_window_exceeded"
"""Why an answer ended that filled the window: the provider accepted the request, but its successor will not fit."""


class ViewMiddleware(ChatMiddleware):
    """Middleware of one run of an agent.

    Args:
        conversations: The conversations of the provider that made it.
        key: The key of the run's conversation.
        agent: The agent that runs.
        context: What its providers add to the run.
        translation: Reads the framework's messages.
    """

    def __init__(
        self,
        conversations: Conversations[Conversation[Message]],
        key: str,
        agent: Any,
        context: SessionContext,
        translation: Translation[Message],
    ) -> None:
        self._conversations = conversations
        self._key = key
        self._reader = RequestReader(agent, context)
        self._overhead = Overhead(translation)
        self._begun = False
        self._ended: tuple[list[Message], list[Message]] = ([], [])
        """The conversation of the newest request, and its answer."""

    async def process(self, context: ChatContext, call_next: CallNext) -> None:
        """Send a view in the place of the request's messages, and give these back afterwards.

        Raises:
            BudgetError: The messages that must stay do not fit.
            ConfigurationError: Something else would edit the view.
            RequestTooLargeError: The provider refused too many requests in a row as too long.
            StoreError: The store failed.
        """
        refuse_provider_side(context.options or {})
        refuse_strategy(context.kwargs.get("compaction_strategy"))
        parts = self._reader.parts(context.messages)
        if parts is None:
            warn(
                "another chat middleware removed messages of the conversation from a request, so it is sent as it is: "
                "take that middleware away, since Backscroll makes requests fit and recalls what it leaves out"
            )
            await call_next()
        elif context.stream:
            self._stream(context, call_next, parts)
        else:
            await self._send(context, call_next, parts)

    async def ended(self) -> None:
        """Load the answer that ended the run.

        Raises:
            StoreError: The store failed. The next run loads the answer.
        """
        history, answer = self._ended
        if history or answer:
            with self._conversations.use(self._key) as conversation:
                await conversation.load([*history, *answer])

    async def _send(self, context: ChatContext, call_next: CallNext, parts: RequestParts) -> None:
        given = context.messages
        with self._conversations.use(self._key) as conversation:
            retry = OverflowRetry(conversation)
            try:
                while True:
                    lane = await self._show(conversation, context, parts)
                    view = conversation.views
                    try:
                        await call_next()
                        break
                    except Exception as error:
                        _refused(retry, error, lane)
            finally:
                context.messages = given
            if isinstance(context.result, ChatResponse):
                self._ended = parts.history, list(context.result.messages)  # the framework adds to its own list
                if view == conversation.views:
                    _observe(conversation, context, lane, context.result)

    def _stream(self, context: ChatContext, call_next: CallNext, parts: RequestParts) -> None:
        """Put a stream in the place of the result that sends again while nothing was handed on."""
        ends: list[ChatResponse[Any]] = []

        def finish(updates: Sequence[ChatResponseUpdate]) -> ChatResponse[Any]:
            return ends[0] if ends else ChatResponse.from_updates(updates)  # the latter of a stream that broke off

        context.result = ResponseStream(self._streamed(context, call_next, parts, ends), finalizer=finish)

    async def _streamed(
        self, context: ChatContext, call_next: CallNext, parts: RequestParts, ends: list[ChatResponse[Any]]
    ) -> AsyncIterator[ChatResponseUpdate]:
        given = context.messages
        with self._conversations.use(self._key) as conversation:
            retry = OverflowRetry(conversation)
            while True:
                lane, began = await self._show(conversation, context, parts), False
                view = conversation.views
                try:
                    await call_next()
                    stream: Any = context.result
                    async with stream:  # a reader that leaves closes the connection
                        async for update in stream:
                            began = True
                            yield update
                        ends.append(await stream.get_final_response())
                    break
                except Exception as error:
                    if began:
                        raise
                    _refused(retry, error, lane)
                finally:
                    context.messages = given
            self._ended = parts.history, list(ends[0].messages)  # as above
            if view == conversation.views:
                _observe(conversation, context, lane, ends[0])

    async def _show(self, conversation: Conversation[Message], context: ChatContext, parts: RequestParts) -> str:
        """Set the messages of a request to a view. Returns the lane."""
        options: Mapping[str, Any] = context.options or {}
        lane = lane_of(context)
        extra = [message for _, message in parts.extra]
        overhead = self._overhead.tokens(conversation, lane, options, extra)
        first, self._begun = not self._begun, True
        call = ModelCall(
            budget=None, lane=lane, overhead_tokens=overhead, tools=definitions(options.get("tools")), first=first
        )
        context.messages = parts.woven(await conversation.view_of(parts.history, call))
        return lane


def lane_of(context: ChatContext) -> str:
    """Return the name of the provider and of the model, which name the lane; `main` if the client has no model."""
    model = (context.options or {}).get("model") or getattr(context.client, "model", None)
    if not isinstance(model, str):
        return MAIN
    provider = _provider_of(context)
    return f"{provider}/{model}" if provider else model


def _provider_of(context: ChatContext) -> str:
    name = getattr(context.client, "OTEL_PROVIDER_NAME", "unknown")
    return name if isinstance(name, str) and name != "unknown" else ""


def _observe(conversation: Conversation[Message], context: ChatContext, lane: str, response: ChatResponse[Any]) -> None:
    """Record what the provider counted for the newest view, and whether the window cut the answer off."""
    counted = counted_in(response.usage_details, _provider_of(context))
    if counted is not None and counted.prompt:
        observe_usage(conversation._session, lane, counted)  # noqa: SLF001  an adapter's view of a manager
    if response.finish_reason == _CUT:
        conversation.observe_overflow(lane=lane)


def _refused(retry: OverflowRetry, error: Exception, lane: str) -> None:
    """Record a refusal, after which a shorter view fits. Raises any other error."""
    if not is_overflow(error):
        raise error
    retry.rejected(error, lane)
