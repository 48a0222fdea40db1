"""Which messages of a request belong to the conversation, and which to this request only.

The framework's history provider, the new input and the tool loop add messages that stay. Other context providers, such
as memories, add some that are not stored, and chat middleware may change the list for one request.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from agent_framework import HistoryProvider, Message, SessionContext

from backscroll.integrations.same_messages import are_same


class RequestParts(NamedTuple):
    """The messages of one request."""

    history: list[Message]
    """The conversation, oldest first. The list is valid until the next request is read."""
    extra: list[tuple[int, Message]]
    """Messages of this request only, each with the number of messages of the conversation before it."""

    def woven(self, view: Sequence[Message]) -> list[Message]:
        """Return a view together with the messages of this request only, each at its place."""
        found, places = list(view), {id(message): place for place, message in enumerate(view)}
        for before, message in reversed(self.extra):
            later = (places.get(id(self.history[at])) for at in range(before, len(self.history)))
            place = 0 if before == 0 else next((place for place in later if place is not None), len(view))
            found.insert(place, message)
        return found


class RequestReader:
    """Reads the requests of one run.

    Args:
        agent: The agent that runs.
        context: What its providers add to the run. It is read with the first request, when all of them have.
    """

    def __init__(self, agent: Any, context: SessionContext) -> None:
        providers = getattr(agent, "context_providers", ())
        self._keepers = {each.source_id for each in providers if isinstance(each, HistoryProvider)}
        self._context = context
        self._extra: list[int] = []
        self._known: list[tuple[int, Message]] | None = None
        """Messages at these indexes say that a request begins like the one before."""
        self._all: list[Message] = []
        """The newest request. Requests of a run grow, and are neither copied nor searched again."""
        self._history: list[Message] = []
        """The conversation in it."""

    def parts(self, messages: Sequence[Message]) -> RequestParts | None:
        """Return the parts of a request; `None` if it does not hold the conversation, which middleware removed."""
        as_before = self._begins_as_before(messages)
        if not as_before and not self._find(messages):
            return None
        new = messages[len(self._all) :]
        self._all += new
        if as_before and are_same(self._all, messages):
            self._history += new
        else:
            left = set(self._extra)
            self._all = list(messages)
            self._history = [message for at, message in enumerate(messages) if at not in left]
        return RequestParts(self._history, [(at - number, messages[at]) for number, at in enumerate(self._extra)])

    def _begins_as_before(self, messages: Sequence[Message]) -> bool:
        known = self._known
        return known is not None and all(at < len(messages) and messages[at] is one for at, one in known)

    def _find(self, messages: Sequence[Message]) -> bool:
        """Find the messages of this request only. Returns whether the request holds the conversation."""
        base = self._context.get_messages(include_input=True)
        front = next((at for at, message in enumerate(messages) if not base or _same(message, base[0])), None)
        if len(messages) - (front or 0) < len(base) and not any(map(_approves, base)):
            return False
        begin = front or 0
        end = min(begin + len(base), len(messages))
        added = self._added()
        self._extra = [*range(begin), *(at for at in range(begin, end) if _consists_of(messages[at], added))]
        self._known = [(at, messages[at]) for at in {begin, end - 1, *self._extra} if 0 <= at < len(messages)]
        return True

    def _added(self) -> set[int]:
        """Return the ids of the contents that providers other than those of the history added."""
        return {
            id(content)
            for source, messages in self._context.context_messages.items()
            if source not in self._keepers
            for message in messages
            for content in message.contents
        }


def _same(one: Message, other: Message) -> bool:
    """Return whether one is the framework's copy of the other: it copies messages and shares their contents."""
    contents = zip(one.contents, other.contents, strict=False)
    return len(one.contents) == len(other.contents) and all(here is there for here, there in contents)


def _consists_of(message: Message, contents: set[int]) -> bool:
    return bool(contents and message.contents) and all(id(content) in contents for content in message.contents)


def _approves(message: Message) -> bool:
    """Return whether the framework replaces the message by the result of a call that a user approved."""
    return any(content.type.startswith("function_approval") for content in message.contents)
