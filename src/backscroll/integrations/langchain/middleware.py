"""The middleware for agents made by `create_agent`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import BaseTool

from backscroll.integrations.conversations import MOST
from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.integrations.langchain.foreign_edits import Request, read_request
from backscroll.integrations.langchain.options import read_options
from backscroll.integrations.langchain.recall import recall_tool
from backscroll.integrations.langchain.requests import RequestReader
from backscroll.integrations.langchain.sending import Sending
from backscroll.integrations.langchain.threads import Place, Threads, place_of, running
from backscroll.notices import warn


class BackscrollMiddleware(AgentMiddleware[Any, Any, Any]):
    """Backscroll for an agent: `create_agent(model, tools, middleware=[..., BackscrollMiddleware()])`, as the last one.

    Each model call gets the best view of the messages that fits. The graph's state is read and never changed. One
    instance serves all threads of an agent.

    Args:
        agent: The agent's name, where several agents share a thread and a store.
        recall: Give the model the tool `recall`, which reads what a view left out.
        max_conversations: Conversations that stay open, at least 1.
        options: Options of `backscroll.AsyncContextManager`. With `store`, each thread is a stored session.
            `summarizer` may also be a chat model.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(self, *, agent: str = "", recall: bool = True, max_conversations: int = MOST, **options: Any) -> None:
        super().__init__()
        self._threads = Threads(agent, max_conversations, read_options(agent, options))
        self._reader = RequestReader(has_budget="budget" in options)
        self._reported = False
        self.tools: Sequence[BaseTool] = [recall_tool(self._threads)] if recall else []

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with a view. Raises `RequestTooLarge` if none fits."""
        read = self._read(request)
        with self._threads.use(_place(request), read.history) as conversation:
            return self._sending(conversation, request, read).send_now(
                lambda view: handler(request.override(messages=[*read.front, *view, *read.end]))  # type: ignore[list-item]  # a view holds what the state holds
            )

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Do the same in an event loop."""
        read = self._read(request)
        with self._threads.use(_place(request), read.history) as conversation:
            return await self._sending(conversation, request, read).send(
                lambda view: handler(request.override(messages=[*read.front, *view, *read.end]))  # type: ignore[list-item]  # a view holds what the state holds
            )

    def conversation(self, thread_id: object = None) -> LangChainConversation:
        """Return the conversation of a thread, a `backscroll.AsyncContextManager`.

        Args:
            thread_id: The thread, as the config names it. `None`: the one that runs.
        """
        return self._threads.get(running() if thread_id is None else place_of(thread_id, None))

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used.

        Raises:
            StoreError: The store failed.
        """
        self._threads.close()

    def _sending(
        self, conversation: LangChainConversation, request: ModelRequest[Any], read: Request
    ) -> Sending[ModelResponse[Any]]:
        formats = [] if request.response_format is None else [request.response_format]
        call = self._reader.read(
            conversation,
            request.model,
            request.model_settings,
            tools=[*request.tools, *formats],
            system=None if request.system_message is None else str(request.system_message.text),
            added=[*read.front, *read.end],
        )
        return Sending(conversation, read.history, call, _answer_in)

    def _read(self, request: ModelRequest[Any]) -> Request:
        read = read_request(request.state["messages"], request.messages)
        if not self._reported and (read.edited or _is_summarized(read.history)):
            self._reported = True
            warn(_EDITED if read.edited else _SUMMARIZED)
        return read


_EDITED = (
    "a middleware before Backscroll's changed or removed messages of a request, but the view replaces them: remove it "
    "if it is there to shorten requests (`ContextEditingMiddleware`), else have it change the state"
)
_SUMMARIZED = (
    "`SummarizationMiddleware` has replaced messages of the state, which cannot be read any more: remove it, because "
    "Backscroll keeps requests within the window"
)


def _is_summarized(history: Sequence[BaseMessage]) -> bool:
    return bool(history) and history[0].additional_kwargs.get("lc_source") == "summarization"


def _place(request: ModelRequest[Any]) -> Place:
    info = request.runtime.execution_info
    return Place(None, ()) if info is None else place_of(info.thread_id, info.checkpoint_ns)


def _answer_in(response: ModelResponse[Any]) -> AIMessage | None:
    return next((each for each in response.result if isinstance(each, AIMessage)), None)
