"""One conversation of a graph."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from backscroll.integrations.conversation import Conversation, ModelCall, Steps
from backscroll.integrations.langchain.behind_system import Behind
from backscroll.integrations.langchain.models import WINDOW_EXCEEDED, counted_in
from backscroll.integrations.langchain.translation import LangChainTranslation
from backscroll.integrations.same_messages import are_same


class LangChainConversation(Conversation[BaseMessage]):
    """The manager of one conversation of a graph.

    Args:
        options: Options of `backscroll.AsyncContextManager`.
    """

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__(LangChainTranslation(), options)
        self._seen: list[BaseMessage] = []
        """The messages that were loaded last, behind the system messages of their list."""
        self._begin = 0
        """How many these system messages are."""
        self._asked: tuple[int, str] | None = None
        """Length of the history and lane of a view whose answer is not known yet."""

    def _view_steps(self, history: Sequence[BaseMessage], call: ModelCall) -> Steps[BaseMessage]:
        return super()._view_steps(history, call._replace(first=call.first or self.may_be_edited(history)))

    def may_be_edited(self, history: Sequence[BaseMessage]) -> bool:
        """Return whether messages that were loaded may have been edited since: a run begins, or one is another.

        Within a run a graph hands over the same objects, and one that read a checkpoint makes equal ones.
        """
        messages, begin = (history.messages, history.begin) if isinstance(history, Behind) else (history, 0)
        seen = self._seen
        seen[: self._begin] = messages[:begin]  # a system prompt may change with each request
        self._begin = begin
        seen += messages[len(seen) :]
        if are_same(seen, messages):
            return not history or isinstance(history[-1], HumanMessage)
        self._seen = list(messages)
        return True

    def answer_follows(self, history: Sequence[BaseMessage], lane: str) -> None:
        """Note that the answer to a view of this history will be its next message."""
        self._asked = len(history), lane

    def read_answer(self, history: Sequence[BaseMessage]) -> None:
        """Record the usage in the answer to the view before, if the history holds it."""
        asked, self._asked = self._asked, None
        if asked is not None and len(history) > asked[0] and isinstance(answer := history[asked[0]], AIMessage):
            self.answered(answer, asked[1])

    def answered(self, answer: AIMessage, lane: str) -> None:
        """Record the answer to the lane's newest view: its usage, and whether the window cut it off."""
        if answer.response_metadata.get("stop_reason") == WINDOW_EXCEEDED:  # an answer all the same: not sent again
            self.observe_overflow(lane=lane)
        elif (counted := counted_in(answer)) is not None:
            self.observe_usage(
                input_tokens=counted.fresh,
                output_tokens=counted.answer,
                cache_read_tokens=counted.read,
                cache_write_tokens=counted.written,
                lane=lane,
            )
