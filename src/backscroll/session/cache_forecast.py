"""What a prompt cache with marks will read of a request: the model behind the inspector's forecast.

Source: "Prompt caching" (Claude Platform Docs). A request writes the cache at its marks, if the prefix up to there has
the minimum size. It reads the longest written prefix among the blocks that its marks look back on. Time is not
modelled: a forecast holds while the cache lives.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from backscroll.messages import Message
from backscroll.messages.cache_marks import blocks_of
from backscroll.view.cache_marks import LOOK_BACK, Marking, Place
from backscroll.view.segment import Segment
from backscroll.view.view import View


class _Block(NamedTuple):
    """A block of the view."""

    key: bytes
    """SHA-256 of everything up to and including it."""
    tokens: float
    """Expected tokens up to and including it."""


class CacheForecast:
    """The prompt cache of one lane, as its requests write it."""

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._ends: list[int] = []
        """Blocks up to and including each message."""
        self._written: set[bytes] = set()
        self._tools = ""

    def read(self, places: Sequence[Place], marking: Marking, overhead: int, scale: float) -> float:
        """Return how many tokens of the followed view the provider reads, and write what it writes.

        Args:
            places: Where the view bears marks, in order.
            marking: The marks of the lane.
            overhead: Tokens before the messages.
            scale: Tokens of the request for each expected one of its messages.

        Returns:
            Expected tokens of messages; -1 where the provider reads nothing, not even what precedes them.
        """
        marks = [self._number(place) for place in places]
        found = (at for mark in marks for at in range(mark, max(mark - LOOK_BACK, -1), -1) if self._is_written(at))
        hit = max(found, default=-1)
        for mark in marks:
            if overhead + self._blocks[mark].tokens * scale >= marking.minimum:
                self._written.add(self._blocks[mark].key)
        return self._blocks[hit].tokens if hit >= 0 else -1

    def follow(self, view: View, segment: int, tools: str) -> None:
        """Take the messages of a view whose segments before number `segment` are known and unchanged, with what
        precedes them: the digest of the tools.
        """
        if tools != self._tools:
            self._tools, segment = tools, 0
        number = view.segments[segment].start if segment < len(view.segments) else len(view.messages)
        del self._ends[number:]
        del self._blocks[self._ends[-1] if self._ends else 0 :]
        messages = view.markable()
        for each in view.segments[segment:]:
            self._add(messages, each)

    def _add(self, messages: Sequence[Message], segment: Segment) -> None:
        first = segment.start + (segment.separator is not None)
        if segment.separator is not None:
            self._extend(messages[segment.start : first], segment.separator_estimate.expected)
        self._extend(messages[first : first + len(segment.messages)], segment.estimate.expected)

    def _extend(self, messages: Sequence[Message], tokens: int) -> None:
        """Add messages of so many tokens, which each block has in proportion to its JSON."""
        texts = [[json.dumps(block, sort_keys=True) for block in blocks_of(message)] for message in messages]
        length = sum(len(text) for blocks in texts for text in blocks) or 1
        key, total = self._blocks[-1] if self._blocks else _Block(self._tools.encode(), 0.0)
        before, passed = total, 0
        for message, blocks in zip(messages, texts, strict=True):
            key = sha256(key + str(message["role"]).encode()).digest()
            for text in blocks:
                passed += len(text)
                key, total = sha256(key + text.encode()).digest(), before + tokens * passed / length
                self._blocks.append(_Block(key, total))
            self._ends.append(len(self._blocks))

    def _number(self, place: Place) -> int:
        return (self._ends[place.message - 1] if place.message else 0) + place.block

    def _is_written(self, at: int) -> bool:
        return self._blocks[at].key in self._written
