"""The conversations of one adapter: which one a model call belongs to."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.config import get_config

from backscroll.integrations.conversations import OF_STORES, Conversations
from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.notices import warn


class Place(NamedTuple):
    """Where in which graph a node runs."""

    thread: str | None
    """`None`: the graph runs without a thread."""
    names: tuple[str, ...]
    """Names of the nodes around the agent, outermost first: empty unless it is a sub-agent."""


def place_of(thread: object, namespace: str | None) -> Place:
    """Return the place for a thread and LangGraph's namespace of a node, `name:id|name:id`; the last is the node.

    Programs name threads by texts, numbers or UUIDs.
    """
    parts = (namespace or "").split("|")[:-1]
    named = None if thread is None or thread == "" else str(thread)
    return Place(named, tuple(part.partition(":")[0] for part in parts))


def running() -> Place:
    """Return the place of the node that runs; one without a thread outside of a graph."""
    try:
        configurable = get_config().get("configurable", {})
    except RuntimeError:
        return Place(None, ())
    return place_of(configurable.get("thread_id"), configurable.get("checkpoint_ns"))


class Threads:
    """The conversations of one adapter.

    A thread has one conversation for each agent. A sub-agent shares the thread with its caller, and each of its own
    histories has one, which the id of its first message names. So has each history of a graph without a thread, whose
    conversation is kept in memory; without that id, each call has one.

    Args:
        agent: The agent's name, where several share a thread.
        most: Conversations that stay open.
        options: Options of `backscroll.AsyncContextManager`.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(self, agent: str, most: int, options: Mapping[str, Any]) -> None:
        self._agent = agent
        self._stored = Conversations(LangChainConversation, options, most=most)
        in_memory = {name: value for name, value in options.items() if name not in OF_STORES}
        self._in_memory = Conversations(LangChainConversation, in_memory, most=most)
        self._unkept = options.get("store") is not None
        """Whether a conversation without a thread is still to be reported."""

    @contextmanager
    def use(self, place: Place, history: Sequence[BaseMessage]) -> Iterator[LangChainConversation]:
        """Return the conversation of a history at this place; it is not closed before the block ends."""
        table = self._table(place)
        if place.thread is None and not _first_id(history):  # nothing distinguishes it from those of other users
            yield table.unnamed()
        else:
            with table.use(self._key(place, history)) as found:
                yield found

    def get(self, place: Place, history: Sequence[BaseMessage] = ()) -> LangChainConversation:
        """Return the conversation of a history at this place."""
        return self._table(place).get(self._key(place, history))

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used."""
        self._stored.close()
        self._in_memory.close()

    def _table(self, place: Place) -> Conversations[LangChainConversation]:
        if place.thread is not None:
            return self._stored
        if self._unkept:
            self._unkept = False
            warn(
                "a graph runs without a thread, so its conversation is not stored: pass "
                '`{"configurable": {"thread_id": ...}}` as its config, or omit `store`'
            )
        return self._in_memory

    def _key(self, place: Place, history: Sequence[BaseMessage]) -> str:
        parts = [place.thread or "", self._agent, *place.names]
        if place.thread is None or place.names:
            parts.append(_first_id(history))
        return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts if part)


def _first_id(history: Sequence[BaseMessage]) -> str:
    """Return the id of the first message; empty if there is none."""
    first = next((each for each in history if not isinstance(each, SystemMessage)), None)
    return "" if first is None else first.id or ""
