"""A model of the framework that passes its requests through Backscroll."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse

from backscroll.notices import warn

_CHAINS = "use_interactions_api"
Send = Callable[[BaseLlm, LlmRequest, bool], AsyncGenerator[LlmResponse, None]]
"""Sends a request to a model. The flag: streamed."""


def managed_model(model: BaseLlm, send: Send) -> BaseLlm:
    """Return a model of the same class whose requests a function sends to the given model.

    The framework asks for the class of a model to know whether it pairs calls by id, so it must not be another one.
    Where the agent's model has `use_interactions_api` on, the framework continues each interaction by its id, with what
    is new alone. So it is off there and stays on in the given model, which gets whole views to send.

    Args:
        model: The model. It is not changed.
        send: Sends each request to it.
    """

    async def generate_content_async(
        _: BaseLlm, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        async with aclosing(send(model, llm_request, stream)) as responses:
            async for response in responses:
                yield response

    def connect(_: BaseLlm, llm_request: LlmRequest) -> AbstractAsyncContextManager[Any]:
        warn(
            "a live connection sends the whole history and keeps it at the provider, so Backscroll does not manage it: "
            "give the agent the model itself as `live_model`"
        )
        return model.connect(llm_request)

    kind = type(model)
    made = model.model_copy(update={_CHAINS: False} if hasattr(model, _CHAINS) else None)
    made.__class__ = type(
        f"Managed{kind.__name__}",
        (kind,),
        {
            "__doc__": kind.__doc__,
            "__module__": __name__,
            "generate_content_async": generate_content_async,
            "connect": connect,
        },
    )
    return made
