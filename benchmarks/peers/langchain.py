"""LangChain: trimming, clearing of tool results, summarization; and LangGraph's checkpoints in SQLite."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    convert_to_messages,
    convert_to_openai_messages,
    get_buffer_string,
    trim_messages,
)
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages

from peers.base import SUMMARY, Keeper, Message, Peer
from peers.exact import of_message
from peers.stand_in import first_lines, summary


def read(message: Message) -> Any:
    """One message of LangChain, with an id as its state gives it."""
    [found] = convert_to_messages([message])
    return found


def counted(messages: Any, **_: Any) -> int:
    """Exact tokens of messages of LangChain, as a model's own counter would say."""
    return sum(_openai(message)[1] for message in messages)


def _openai(message: Any) -> tuple[Message, int]:
    """The message in OpenAI chat, and its tokens. Kept in it, as every view asks for it; edited copies have another
    content.
    """
    content, known = message.__dict__.get("_written", (None, None))
    if known is None or content is not message.content:
        written = convert_to_openai_messages(message)
        known = written, of_message(written)
        message.__dict__["_written"] = message.content, known
    made: tuple[Message, int] = known
    return made


class _LangChain(Peer):
    def __init__(self, budget: int, folder: Path) -> None:
        self.budget = budget
        self.messages: Any = []
        self.system: list[Any] = []  # of an agent: its system prompt is not in its state

    def read(self, message: Message) -> Any:
        return read(message)

    async def add(self, native: Any) -> None:
        if native.type == "system":
            self.system.append(native)
        else:
            self.messages = add_messages(self.messages, [native])

    def written(self, view: Sequence[Any]) -> list[Message]:
        messages = [_openai(message)[0] for message in (*self.system, *view)]
        return [{**message, "content": message.get("content") or ""} for message in messages]


class Trim(_LangChain):
    """A function over the list."""

    name = "LangChain, trim_messages"
    package = "langchain-core"
    about = 'strategy="last", include_system, start_on="human", its approximate counter'
    keeps, where = "everything", "memory"
    counter: ClassVar[Any] = "approximate"

    async def add(self, native: Any) -> None:
        self.messages.append(native)

    async def preload(self, natives: Sequence[Any]) -> None:
        self.messages.extend(natives)

    async def view(self) -> Sequence[Any]:
        view: list[Any] = trim_messages(
            self.messages,
            max_tokens=self.budget,
            token_counter=type(self).counter,
            strategy="last",
            include_system=True,
            start_on="human",
        )
        return view


class TrimExactly(Trim):
    """The function with an exact counter."""

    about = Trim.about.replace("its approximate counter", "an exact counter")
    counter = staticmethod(counted)


class Clear(_LangChain):
    """Middleware over the state of an agent; the state stays whole."""

    name = "LangChain, ClearToolUses"
    package = "langchain"
    about = "ContextEditingMiddleware(ClearToolUsesEdit(trigger=budget)), keep=3, its approximate counter"
    keeps, where = "everything", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.middleware = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=budget)])

    async def preload(self, natives: Sequence[Any]) -> None:
        self.messages = add_messages(self.messages, [native for native in natives if native.type != "system"])

    async def view(self) -> Sequence[Any]:
        shown: list[Any] = []
        request = SimpleNamespace(messages=self.messages, system_message=None, tools=[], model=None)
        request.override = lambda messages: SimpleNamespace(messages=messages)
        self.middleware.wrap_model_call(request, lambda edited: shown.extend(edited.messages))  # type: ignore[arg-type, return-value]  # it needs no more
        return shown


class ClearExactly(Clear):
    """The middleware with an exact counter."""

    about = Clear.about.replace("its approximate counter", "an exact counter")

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        edit = ClearToolUsesEdit(trigger=budget)
        self.middleware = ContextEditingMiddleware(edits=[edit], token_counter=counted)


class Summarize(_LangChain):
    """Middleware that replaces what is old in the state."""

    name = "LangChain, SummarizationMiddleware"
    package = "langchain"
    about = "trigger at 85 % of the budget, keep 40 %, its approximate counter, a scripted summary"
    keeps, where = "its view", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.middleware = SummarizationMiddleware(
            model=FakeListChatModel(responses=[SUMMARY]),
            trigger=("tokens", int(budget * 0.85)),
            keep=("tokens", int(budget * 0.4)),
            **self.more(),
        )

    def more(self) -> dict[str, Any]:
        """Further arguments of the middleware."""
        return {}

    async def view(self) -> Sequence[Any]:
        changed = self.middleware.before_model({"messages": self.messages}, None)  # type: ignore[arg-type]  # it needs no more
        if changed:
            self.messages = add_messages(self.messages, changed["messages"])
        return list(self.messages)


class SummarizeExactly(Summarize):
    """The middleware with an exact counter; the scripted model makes summaries of what it is given."""

    about = "trigger at 85 % of the budget, keep 40 %, an exact counter, summaries extracted from what they are made of"
    answer = staticmethod(summary)

    def more(self) -> dict[str, Any]:
        return {
            "token_counter": counted,
            "summarizer": RunnableLambda(lambda messages: self.answer(get_buffer_string(messages))),
        }


class SummarizeLines(SummarizeExactly):
    """The same; its summaries have no list of words."""

    name = "LangChain, SummarizationMiddleware, summaries of lines alone"
    answer = staticmethod(first_lines)


class Checkpoints(Keeper):
    """A graph whose state is the messages."""

    name = "LangGraph, SqliteSaver"
    package = "langgraph-checkpoint-sqlite"
    about = "StateGraph(MessagesState), update_state for each message"
    synced = True

    def __init__(self, folder: Path) -> None:
        self.connection = sqlite3.connect(folder / "checkpoints.db", check_same_thread=False)
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda _: {"messages": []})
        graph.add_edge(START, "model")
        self.graph = graph.compile(checkpointer=SqliteSaver(self.connection))
        self.config: Any = {"configurable": {"thread_id": "bench"}}

    def read(self, message: Message) -> Any:
        return read(message)

    async def append(self, native: Any) -> None:
        self.graph.update_state(self.config, {"messages": [native]}, as_node="model")

    async def preload(self, natives: Sequence[Any]) -> None:
        self.graph.update_state(self.config, {"messages": list(natives)}, as_node="model")

    async def resume(self, budget: int) -> int:
        return len(self.graph.get_state(self.config).values["messages"])

    def close(self) -> None:
        self.connection.close()
