"""Views for plain graphs of LangGraph, whose nodes call a model themselves."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.conversations import MOST
from backscroll.integrations.langchain.behind_system import Behind
from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.integrations.langchain.models import unbound
from backscroll.integrations.langchain.options import read_options
from backscroll.integrations.langchain.recall import recall_tool
from backscroll.integrations.langchain.requests import RequestReader
from backscroll.integrations.langchain.sending import Sending
from backscroll.integrations.langchain.threads import Threads, place_of, running


class LangGraphContext:
    """Backscroll for the nodes of a graph: `context.invoke(model, state["messages"])` in the place of `model.invoke`.

    The state's messages are read and never changed: the node returns only the answer. Leading system messages are the
    system prompt of the request, and stay in front of the view. One instance serves all threads of a graph.

    Args:
        agent: The name of what calls the model, where several share a thread: each needs an instance of its own.
        max_conversations: Conversations that stay open, at least 1.
        options: Options of `backscroll.AsyncContextManager`. With `store`, each thread is a stored session.
            `summarizer` may also be a chat model.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(self, *, agent: str = "", max_conversations: int = MOST, **options: Any) -> None:
        self._threads = Threads(agent, max_conversations, read_options(agent, options))
        self._reader = RequestReader(has_budget="budget" in options)
        self.recall_tool: BaseTool = recall_tool(self._threads)
        """The tool `recall`, for `model.bind_tools` and a `ToolNode`."""

    def invoke(self, model: Runnable[Any, AIMessage], messages: Sequence[BaseMessage]) -> AIMessage:
        """Call a model with a view, again with a shorter one if the provider rejects it as too long.

        Args:
            model: A chat model, with its tools bound.
            messages: All messages of the state, oldest first.

        Raises:
            RequestTooLarge: No view fits. All other errors of the model pass unchanged.
        """
        system, history = _split(messages)
        with self._threads.use(running(), history) as conversation:
            call = self._call(conversation, model, system)
            return Sending(conversation, history, call, _itself).send_now(lambda view: model.invoke([*system, *view]))

    async def ainvoke(self, model: Runnable[Any, AIMessage], messages: Sequence[BaseMessage]) -> AIMessage:
        """Do the same as `invoke` in an event loop."""
        system, history = _split(messages)
        with self._threads.use(running(), history) as conversation:
            call = self._call(conversation, model, system)
            return await Sending(conversation, history, call, _itself).send(
                lambda view: model.ainvoke([*system, *view])
            )

    def view(self, messages: Sequence[BaseMessage], model: Runnable[Any, Any]) -> list[BaseMessage]:
        """Return the messages to send now, for a node that calls the model in a way of its own.

        The usage is read from the answer when the state holds it. A rejection as too long is the node's to handle.

        Args:
            messages: All messages of the state, oldest first.
            model: The chat model that they are for, with its tools bound.

        Raises:
            BudgetError: The messages that must stay do not fit the budget.
        """
        system, history = _split(messages)
        with self._threads.use(running(), history) as conversation:
            call = self._asking(conversation, history, model, system)
            return [*system, *conversation.view_now(history, call)]

    async def aview(self, messages: Sequence[BaseMessage], model: Runnable[Any, Any]) -> list[BaseMessage]:
        """Do the same as `view` in an event loop."""
        system, history = _split(messages)
        with self._threads.use(running(), history) as conversation:
            call = self._asking(conversation, history, model, system)
            return [*system, *await conversation.view_of(history, call)]

    def pre_model_hook(self, model: Runnable[Any, Any]) -> Runnable[Any, dict[str, list[BaseMessage]]]:
        """Return the `pre_model_hook` for `create_react_agent`, which leaves the state whole.

        Args:
            model: The chat model of the agent, with its tools bound.
        """

        def hook(state: Any) -> dict[str, list[BaseMessage]]:
            return {"llm_input_messages": self.view(state["messages"], model)}

        async def ahook(state: Any) -> dict[str, list[BaseMessage]]:
            return {"llm_input_messages": await self.aview(state["messages"], model)}

        return RunnableLambda(hook, ahook, name="backscroll")

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

    def _asking(
        self,
        conversation: LangChainConversation,
        history: Sequence[BaseMessage],
        model: Runnable[Any, Any],
        system: Sequence[BaseMessage],
    ) -> ModelCall:
        conversation.read_answer(history)
        call = self._call(conversation, model, system)
        conversation.answer_follows(history, call.lane)
        return call

    def _call(
        self, conversation: LangChainConversation, model: Runnable[Any, Any], system: Sequence[BaseMessage]
    ) -> ModelCall:
        chat, bound = unbound(model)
        text = "\n".join(message.text for message in system)
        return self._reader.read(conversation, chat, bound, tools=bound.get("tools") or (), system=text)


def _split(messages: Sequence[BaseMessage]) -> tuple[Sequence[BaseMessage], Sequence[BaseMessage]]:
    """Return the leading system messages, and all others."""
    history = Behind(messages)
    return messages[: history.begin], history


def _itself(answer: AIMessage) -> AIMessage:
    return answer
