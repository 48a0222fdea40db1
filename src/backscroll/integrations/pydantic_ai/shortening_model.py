"""A model that asks for a shorter view where its provider rejects a request as too long."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, repair_messages
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from backscroll.integrations.overflow_errors import is_overflow

Shorter = Callable[[Exception], Awaitable[list[ModelMessage]]]
"""Returns the messages of a shorter view, for the error that rejected the one before."""


class ShorteningModel(WrapperModel):
    """A model, for the requests of one step of a run.

    Args:
        wrapped: The model that sends them.
        shorter: Called for each rejection.
        accepted: Called for each answer.
    """

    def __init__(self, wrapped: Model[Any], shorter: Shorter, accepted: Callable[[], None]) -> None:
        super().__init__(wrapped)
        self._shorter = shorter
        self._accepted = accepted

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """Send a request, and shorter ones as long as they are rejected as too long."""
        while True:
            try:
                response = await self.wrapped.request(messages, model_settings, model_request_parameters)
            except Exception as error:
                messages = await self._next(messages, model_request_parameters, error)
            else:
                self._accepted()
                return response

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """Do the same for a streamed answer: an error that comes with or after its first event is not answered."""
        async with AsyncExitStack() as stack:
            while True:
                try:
                    stream = await stack.enter_async_context(
                        self.wrapped.request_stream(messages, model_settings, model_request_parameters, run_context)
                    )
                except Exception as error:
                    messages = await self._next(messages, model_request_parameters, error)
                else:
                    break
            self._accepted()
            yield stream

    async def _next(
        self, messages: list[ModelMessage], parameters: ModelRequestParameters, error: Exception
    ) -> list[ModelMessage]:
        """Return the messages to send instead. Raises the error if they would not help."""
        if not _is_overflow(error) or not isinstance(messages[-1], ModelRequest):
            raise error  # a request that ends with a response continues it: only the provider knows its beginning
        view = repair_messages(await self._shorter(error))
        prepared = self.prepare_messages(view, parameters)
        return view if prepared is view else repair_messages(prepared)


def _is_overflow(error: BaseException) -> bool:
    """Return whether a request was too long; of fallback models, for at least one."""
    if isinstance(error, BaseExceptionGroup):
        return any(map(_is_overflow, error.exceptions))
    return isinstance(error, ModelContextWindowExceededError) or is_overflow(error)
