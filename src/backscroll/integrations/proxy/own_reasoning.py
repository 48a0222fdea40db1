"""What the model thought in answers to one conversation, by the seals of its reasoning.

A provider binds reasoning to what the model was sent. A client that goes on from several answers may put one of another
branch into a request: that one was thought over the whole history, or over a view that left out something else.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_MOST = 1_000
"""Seals that are remembered. A client goes on from its newest answers, so few are needed, and a forgotten one is taken
for reasoning that is older than the proxy. More cost 100 bytes each for as long as the conversation is open.
"""
_SEALS = {"thinking": "signature", "redacted_thinking": "data", "reasoning": "encrypted_content"}
"""The member that holds the seal, by the type of the reasoning."""


class OwnReasoning:
    """The newest reasoning of the answers to one conversation."""

    def __init__(self) -> None:
        self._newest: dict[int, bool] = {}
        self.is_read: bool = False
        """Whether the answer to the newest request was read. Otherwise it may hold reasoning with any seal: another
        process read it, it cannot be read, or the client left before its end.
        """

    def note(self, said: Iterable[Mapping[str, Any]], *, over_view: bool) -> None:
        """Note an answer.

        Args:
            said: Its items.
            over_view: Whether the model was sent a view; otherwise it was sent the client's own messages.
        """
        self.is_read = True
        self._newest.update(dict.fromkeys(seals_in(said), over_view))
        while len(self._newest) > _MOST:
            del self._newest[next(iter(self._newest))]

    def was_over_view(self, seal: int) -> bool | None:
        """Return whether the model was sent a view; `None` if no answer to this conversation has the seal."""
        return self._newest.get(seal)


def seals_in(items: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return a hash of each seal of reasoning in the items of a request or of an answer."""
    found: list[int] = []
    for item in items:
        content = item.get("content")
        for block in (item, *(content if isinstance(content, list) else ())):
            kind = block.get("type") if isinstance(block, Mapping) else None
            seal = block.get(_SEALS.get(kind, "")) if isinstance(kind, str) else None
            if isinstance(seal, str):
                found.append(hash(seal))
    return found
