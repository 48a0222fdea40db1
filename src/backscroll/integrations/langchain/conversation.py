"""One conversation of a graph."""

from array import array
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from backscroll.integrations.conversation import Conversation, ModelCall, Steps
from backscroll.integrations.langchain.translation import LangChainTranslation
from backscroll.messages import read_message, validated
from backscroll.tokens.usage import estimate_message


class LangChainConversation(Conversation[BaseMessage]):
    """The manager of one conversation of a graph.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(LangChainTranslation(), options)
        self._seen = array("Q")
        """The identity of each message that was loaded last. A message that was replaced is another object."""

    def _view_steps(self, history: Sequence[BaseMessage], call: ModelCall) -> Steps[BaseMessage]:
        return super()._view_steps(history, call._replace(first=call.first or self.may_be_edited(history)))

    def may_be_edited(self, history: Sequence[BaseMessage]) -> bool:
        """Return whether messages that were loaded may have been edited since: a run begins, or one is another object.

        Within a run a graph hands over the same objects, and one that read a checkpoint makes new ones.
        """
        known, self._seen = self._seen, array("Q", map(id, history))
        same = self._seen[: len(known)] == known
        return not same or not history or isinstance(history[-1], HumanMessage)

    def tokens_of(self, messages: Sequence[BaseMessage], lane: str) -> int:
        """Return the estimated tokens of messages that are sent and not part of the conversation."""
        if not messages:
            return 0
        readings = [read_message(validated(self._translation.to_message(each))) for each in messages]
        family = self._session.lane(lane).family
        counts = self._opened.measurer.measure(readings)
        found = [estimate_message(each, count, family) for each, count in zip(readings, counts, strict=True)]
        return ceil(sum(each.upper for each in found))
