"""One call of a managed model: it gets a view, and a shorter one where the provider refuses it as too long."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from backscroll.integrations.adk.conversation import ADKConversation
from backscroll.integrations.adk.noted_requests import NotedRequest, NotedRequests
from backscroll.integrations.adk.recall_tool import RecallTool
from backscroll.integrations.adk.refusals import refuse_app, refuse_chained
from backscroll.integrations.adk.request import lane_of, offer, overhead_of, system_of, tools_of
from backscroll.integrations.adk.request_parts import RequestParts, parts_of
from backscroll.integrations.adk.usage import counted_in
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.conversations import Conversations
from backscroll.integrations.overflow_errors import is_overflow
from backscroll.integrations.overflow_retry import OverflowRetry
from backscroll.notices import warn
from backscroll.session.usage_reports import observe_usage

_UNKNOWN = (
    "a managed model was called by no agent of an app with its `BackscrollPlugin`, so the request is sent as it is: "
    "add the plugin to the app, or give this caller the model itself"
)
_REMOVED = (
    "a callback removed contents of the conversation from a request, so it is sent as it is: take that callback away, "
    "since Backscroll makes requests fit and recalls what it leaves out"
)


class Sending:
    """Sends the requests of managed models.

    Args:
        conversations: The conversations of the plugin.
        noted: Which agent makes each request.
        recall: The tool to offer with each request; `None` for none.
    """

    def __init__(
        self, conversations: Conversations[ADKConversation], noted: NotedRequests, recall: RecallTool | None
    ) -> None:
        self._conversations = conversations
        self._noted = noted
        self._recall = recall

    async def send(self, model: BaseLlm, request: LlmRequest, stream: bool) -> AsyncGenerator[LlmResponse, None]:
        """Send a view in the place of a request's contents.

        Raises:
            BudgetError: The messages that must stay do not fit.
            ConfigurationError: Something else leaves out contents.
            RequestTooLargeError: The provider refused too many requests in a row as too long.
            StoreError: The store failed.
        """
        refuse_chained(request)
        noted = self._noted.of(request)
        parts = None
        if noted is None:
            warn(_UNKNOWN)
        else:
            refuse_app(noted.invocation)
            parts = parts_of(request, noted)
            if parts is None:
                warn(_REMOVED)
        if noted is None or parts is None:
            sent = model.generate_content_async(request, stream=stream)
        else:
            sent = self._managed(model, request, stream, noted, parts)
        async with aclosing(sent) as responses:
            async for response in responses:
                yield response

    async def _managed(
        self, model: BaseLlm, request: LlmRequest, stream: bool, noted: NotedRequest, parts: RequestParts
    ) -> AsyncGenerator[LlmResponse, None]:
        """Send views until one is accepted; give the request its contents back afterwards."""
        if self._recall is not None:
            offer(self._recall, request, model)
        given, lane, calls = request.contents, lane_of(request, model), False
        with self._conversations.use(noted.key) as conversation:
            retry = OverflowRetry(conversation)
            while True:
                first, began = conversation.begins(noted.invocation.invocation_id), False
                request.contents = await _view(conversation, request, parts, lane, first=first)
                view = conversation.views
                try:
                    async with aclosing(model.generate_content_async(request, stream=stream)) as responses:
                        async for response in responses:
                            began = True
                            calls = calls or bool(response.get_function_calls())
                            if view == conversation.views:
                                _observe(conversation, lane, response)
                            yield response
                    break
                except Exception as error:
                    if began or not is_overflow(error):
                        raise
                    retry.rejected(error, lane)
                finally:
                    request.contents = given
            if not calls:
                await conversation.finish_summary()


async def _view(
    conversation: ADKConversation, request: LlmRequest, parts: RequestParts, lane: str, *, first: bool
) -> list[types.Content]:
    """Return the contents to send."""
    overhead = overhead_of(request, [content for _, content in parts.extra], conversation, lane)
    call = ModelCall(
        budget=None,
        lane=lane,
        overhead_tokens=overhead,
        tools=tools_of(request),
        first=first,
        system=system_of(request),
    )
    return parts.woven(await conversation.view_of(parts.history, call))


def _observe(conversation: ADKConversation, lane: str, response: LlmResponse) -> None:
    """Record what the provider counted, of a whole answer."""
    counted = None if response.partial else counted_in(response.usage_metadata)
    if counted is not None and counted.prompt:
        observe_usage(conversation._session, lane, counted)  # noqa: SLF001  an adapter's view of a manager
