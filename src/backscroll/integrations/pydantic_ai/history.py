"""The run's messages, in which consecutive requests are one: Pydantic AI joins these before it sends them.

Where a run ends with a tool's answer, the next one adds its prompt as a request of its own, and later runs get both as
one. If each was loaded as it is, the history would seem edited with every run.
"""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest

from backscroll.integrations.following import COMPARED
from backscroll.integrations.pydantic_ai.blocks import answers_call


class JoinedHistory:
    """The messages of one run. At each request only new ones are read, and the newest are compared by identity."""

    def __init__(self) -> None:
        self._joined: list[ModelMessage] = []
        self._firsts: list[tuple[int, ModelMessage]] = []
        """Of each joined message, the first that it is made of, and its index."""

    def of(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Return the messages as they are sent; one that is not joined is the very object. It is valid until the next
        call.
        """
        kept = self._kept(messages)
        start = self._firsts[kept][0] if kept < len(self._firsts) else 0
        del self._joined[kept:], self._firsts[kept:]
        for at in range(start, len(messages)):
            message = messages[at]
            if len(self._joined) > kept and _belong_together(self._joined[-1], message):
                self._joined[-1] = _join(self._joined[-1], message)
            else:
                self._joined.append(message)
                self._firsts.append((at, message))
        return self._joined

    def _kept(self, messages: Sequence[ModelMessage]) -> int:
        """Return how many joined messages still hold: all but the last, which may have grown."""
        newest = self._firsts[-COMPARED:]
        same = all(at < len(messages) and messages[at] is message for at, message in newest)
        return max(0, len(self._firsts) - 1) if same else 0


def _belong_together(first: ModelMessage, second: ModelMessage) -> bool:
    if not (isinstance(first, ModelRequest) and isinstance(second, ModelRequest)):
        return False
    return not first.instructions or not second.instructions or first.instructions == second.instructions


def _join(first: ModelMessage, second: ModelMessage) -> ModelRequest:
    assert isinstance(first, ModelRequest)
    assert isinstance(second, ModelRequest)
    return replace(
        second,
        parts=sorted((*first.parts, *second.parts), key=lambda part: not answers_call(part)),
        instructions=first.instructions or second.instructions,
        metadata={**(first.metadata or {}), **(second.metadata or {})} or None,
    )
