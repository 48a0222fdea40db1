"""A model that sends views."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agents import AgentOutputSchemaBase, Handoff, ModelResponse, ModelSettings, Tool
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.models.interface import Model, ModelTracing
from agents.retry import ModelRetryAdvice, ModelRetryAdviceRequest
from openai.types.responses.response_prompt_param import ResponsePromptParam

from backscroll.integrations.conversations import Conversations
from backscroll.integrations.openai_agents.conversation import ItemConversation
from backscroll.integrations.openai_agents.exchange import Exchange
from backscroll.integrations.openai_agents.lines import Lines
from backscroll.integrations.openai_agents.model_request import ModelRequest
from backscroll.integrations.openai_agents.recall import RecallTool
from backscroll.integrations.openai_agents.streaming import Opening
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.manager.base import MAIN
from backscroll.notices import warn

if TYPE_CHECKING:
    from agents import FunctionTool


class ManagedModel(Model):
    """A model of the SDK that gets a view of each request's items. Everything else passes unchanged.

    It belongs to one session: make one with `managed` or `ManagedModels.model`.

    Args:
        model: The model that answers.
        lines: The conversations of the session.
        recall: The tool `recall`.
        own: The table of conversations, if this model closes it. `None`: others use it, too.
    """

    def __init__(
        self, model: Model, lines: Lines, recall: RecallTool, own: Conversations[ItemConversation] | None = None
    ) -> None:
        self._inner = model
        self._recall = recall
        self._own = own
        self._warned = False
        self.lines = lines
        """The conversations of the session."""

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the model that answers, such as its name in `model`."""
        if name == "_inner":  # it is not there yet in a copy
            raise AttributeError(name)
        return getattr(self._inner, name)

    @property
    def recall_tool(self) -> "FunctionTool":
        """The tool `recall`, for `Agent(tools=[...])`."""
        return self._recall.tool

    @property
    def conversation(self) -> ItemConversation:
        """The session's conversation, a `backscroll.AsyncContextManager`: for its usage, pins and reports."""
        return self.lines.main()

    async def get_response(  # noqa: PLR0917  the SDK's signature
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> ModelResponse:
        """Answer a request, as `Model.get_response` says.

        Raises:
            BudgetError: The items that must stay do not fit the budget.
            ConfigurationError: The settings let the provider shorten the history as well.
            RequestTooLargeError: The provider rejected the request as too long, and all shorter ones.
            StoreError: The store failed.
        """
        request = ModelRequest(
            system_instructions=system_instructions, input=input, model_settings=model_settings, tools=tools,
            output_schema=output_schema, handoffs=handoffs, tracing=tracing, previous_response_id=previous_response_id,
            conversation_id=conversation_id, prompt=prompt,
        )  # fmt: skip  # as in the signature
        if self._passes(request):
            return await request.send(self._inner)
        with self.lines.use(request.items) as conversation:
            exchange = Exchange(conversation, request, lane_of(self._inner))
            while True:
                view = await exchange.view()
                try:
                    response = await request.send(self._inner, view)
                except Exception as error:
                    exchange.rejected(error)
                    continue
                exchange.answered(response.output, response.usage, self._recall)
                return response

    async def stream_response(  # noqa: PLR0917  the SDK's signature
        self,
        system_instructions: str | None,
        input: str | list[TResponseInputItem],
        model_settings: ModelSettings,
        tools: list[Tool],
        output_schema: AgentOutputSchemaBase | None,
        handoffs: list[Handoff[Any, Any]],
        tracing: ModelTracing,
        *,
        previous_response_id: str | None,
        conversation_id: str | None,
        prompt: ResponsePromptParam | None,
    ) -> AsyncIterator[TResponseStreamEvent]:
        """Stream the answer to a request, as `Model.stream_response` says. Raises what `get_response` raises."""
        request = ModelRequest(
            system_instructions=system_instructions, input=input, model_settings=model_settings, tools=tools,
            output_schema=output_schema, handoffs=handoffs, tracing=tracing, previous_response_id=previous_response_id,
            conversation_id=conversation_id, prompt=prompt,
        )  # fmt: skip  # as in the signature
        if self._passes(request):
            async for event in request.stream(self._inner):
                yield event
            return
        with self.lines.use(request.items) as conversation:
            exchange = Exchange(conversation, request, lane_of(self._inner))
            while True:
                opening = Opening(request.stream(self._inner, await exchange.view()))
                try:
                    async with aclosing(opening.events()) as events:
                        async for event in events:
                            exchange.saw(event, self._recall)
                            yield event
                    return
                except Exception as error:
                    if opening.is_open or not is_overflow(error):
                        for event in opening.released():
                            yield event
                        raise
                    exchange.rejected(error)

    async def close(self) -> None:
        """Close the model that answers, and what `managed` made for this one. All of it opens again when it is used."""
        if self._own is not None:
            self._own.close()
        await self._inner.close()

    def get_retry_advice(self, request: ModelRetryAdviceRequest) -> ModelRetryAdvice | None:
        """Return the advice of the model that answers."""
        return self._inner.get_retry_advice(request)

    async def _cleanup_on_run_end(self, owner: object) -> None:
        await self._inner._cleanup_on_run_end(owner)  # noqa: SLF001  the SDK asks it of every model

    def _passes(self, request: ModelRequest) -> bool:
        """Return whether a request passes unchanged. Raises `ConfigurationError` for one that is refused."""
        if not request.is_kept_by_provider:
            request.check()
            return False
        if not self._warned:
            self._warned = True
            warn(
                "the provider keeps this history (previous_response_id or conversation_id), so requests hold only "
                "what is new, and Backscroll passes them on unchanged: use a session of the SDK instead"
            )
        return True


def lane_of(model: object) -> str:
    """Return the name of a model, which names its lane; `main` if it has none."""
    found = model if isinstance(model, str) else getattr(model, "model", None)
    return found if isinstance(found, str) and found else MAIN
