"""The capability in one run: a view for each request, shorter ones after rejections, and the usage of the answers."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import WrapRunHandler
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext, ModelRequestParameters
from pydantic_ai.run import AgentRunResult
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import FunctionToolset

from backscroll.errors import RequestTooLargeError
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.integrations.pydantic_ai.conversation import PydanticAIConversation
from backscroll.integrations.pydantic_ai.errors import RequestTooLarge
from backscroll.integrations.pydantic_ai.history import JoinedHistory
from backscroll.integrations.pydantic_ai.refusals import check_others, check_settings
from backscroll.integrations.pydantic_ai.request import (
    budget_of,
    counted_in,
    instructions_of,
    lane_of,
    settings_of,
    tools_of,
    was_cut,
)
from backscroll.integrations.pydantic_ai.shortening_model import ShorteningModel
from backscroll.integrations.same_messages import are_same
from backscroll.notices import warn
from backscroll.session.usage_reports import observe_usage


class BackscrollRun(AbstractCapability[Any]):
    """The capability of one run.

    Args:
        opened: Opens the conversation, which is not closed before the run ends.
        toolset: Holds the `recall` tool.
        has_budget: Whether the options name a budget, which the model's window then does not replace.
    """

    def __init__(
        self,
        opened: AbstractContextManager[PydanticAIConversation],
        toolset: FunctionToolset[Any],
        *,
        has_budget: bool,
    ) -> None:
        self._opened = opened
        self._conversation: PydanticAIConversation | None = None
        self._toolset = toolset
        self._has_budget = has_budget
        self._history = JoinedHistory()
        self._requested = False
        """Whether the run made a request."""
        self._foreign = False
        """Whether it was warned of edits by others."""
        self._step: tuple[RunContext[Any], ModelSettings | None, ModelRequestParameters] | None = None
        """The newest step, as others left it, without the framework's copy of all messages."""
        self._around: tuple[Sequence[ModelMessage], Sequence[ModelMessage]] = ((), ())
        """What others put before and behind the messages of the step."""
        self._lane = ""
        self._view_number = 0
        """The number of the newest view among those of the conversation."""
        self._retry: OverflowRetry | None = None
        """The rejections in the step."""
        self._answers = 0
        """Answers to the requests of the step."""

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the `recall` tool."""
        return self._toolset

    async def wrap_run(self, ctx: RunContext[Any], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Keep the conversation open for the run."""
        check_others(type(self), ctx.root_capability)
        with self._opened as self._conversation:
            result = await handler()
            await self._conversation.finish_summary()
            return result

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Return the request with a view as its messages; the history of the run is only read.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
            ConfigurationError: The provider keeps the history, too.
            StoreError: The store failed.
        """
        check_settings(settings_of(request_context.model, request_context.model_settings))
        self._step = ctx, request_context.model_settings, request_context.model_request_parameters
        self._answers = 0
        self._around = self._foreign_messages(ctx.messages, request_context.messages)
        assert self._conversation is not None
        self._retry = OverflowRetry(self._conversation)
        return replace(request_context, messages=await self._view(request_context.model))

    def get_wrapper_model(self, model: Model[Any]) -> Model[Any] | None:
        """Return the model with an answer to rejections."""

        async def shorter(error: Exception) -> list[ModelMessage]:
            return await self._shorter(model, error)

        return None if self._step is None else ShorteningModel(model, shorter, self._accepted)

    async def after_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002  the framework's signature
        *,
        request_context: ModelRequestContext,
        response: ModelResponse,
    ) -> ModelResponse:
        """Record what the provider counted, if it answered one request that was made for its model."""
        counted = counted_in(response, self._lane)
        is_ours = self._answers == 1 and lane_of(request_context.model) == self._lane
        if is_ours and self._conversation is not None and self._conversation.views == self._view_number:
            if counted is not None:
                observe_usage(self._conversation._session, self._lane, counted)  # noqa: SLF001  an adapter's view of it
            if was_cut(response):
                self._conversation.observe_overflow(lane=self._lane)
        self._answers = 0
        return response

    def _accepted(self) -> None:
        self._answers += 1

    async def _shorter(self, model: Model[Any], error: Exception) -> list[ModelMessage]:
        """Record a rejection, and return the messages of a shorter request.

        Raises:
            RequestTooLarge: The provider rejected too many requests in a row.
        """
        assert self._retry is not None
        if lane_of(model) == self._lane:  # else the view was made for the model that this one replaces
            try:
                self._retry.rejected(error, self._lane)
            except RequestTooLargeError as last:
                raise RequestTooLarge(model.model_name, last) from error
        return await self._view(model)

    async def _view(self, model: Model[Any]) -> list[ModelMessage]:
        """Return the messages to send to a model, with those that others put before and behind them."""
        assert self._step is not None
        assert self._conversation is not None
        ctx, given, parameters = self._step
        self._lane = lane_of(model)
        settings = settings_of(model, given)
        call = ModelCall(
            budget=None if self._has_budget else budget_of(model, settings),
            lane=self._lane,
            tools=tools_of(parameters) or None,
            first=not self._requested,
            system=instructions_of(parameters) or None,
        )
        view = await self._conversation.view_of(self._history.of(ctx.messages), call)
        self._requested, self._view_number = True, self._conversation.views
        return [*self._around[0], *view, *self._around[1]]

    def _foreign_messages(
        self, own: Sequence[ModelMessage], given: Sequence[ModelMessage]
    ) -> tuple[Sequence[ModelMessage], Sequence[ModelMessage]]:
        """Return what capabilities before ours put before and behind the run's messages, for this request only."""
        for start in range(len(given) - len(own) + 1):
            end = start + len(own)
            if are_same(own, given if len(given) == len(own) else given[start:end]):
                return given[:start], given[end:]
        if not self._foreign:
            self._foreign = True
            warn(
                "a capability before Backscroll changed the messages of a request, but the view replaces them: list it "
                "behind Backscroll"
            )
        return (), ()
