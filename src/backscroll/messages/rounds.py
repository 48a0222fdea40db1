"""Order calls and result blocks as Anthropic, Bedrock and Gemini require; messages in order stay untouched.

All results of a round go into one user message, directly behind the calls and before any other content. A recorded
conversation may differ: a late result in its own message, a user's text before the results, or one message that answers
the calls of two turns. Sources: the tool use guides of both providers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from backscroll.messages.dialects import DIALECTS, blocks_key
from backscroll.messages.dialects.gemini import is_content, numbered_calls
from backscroll.messages.pairing import matched
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import CallId, Message


class Arranged(NamedTuple):
    """The messages of a group in sending order."""

    messages: list[Message]
    sources: list[tuple[int, ...]]
    """For each, the indexes of the given messages it is made of."""


@dataclass(slots=True)
class _Slot:
    """A message, and the results that follow it."""

    message: Message
    source: int
    results: list[Any] = field(default_factory=list)
    rest: list[Any] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    like: Message | None = None
    """The first message with results of this round, which supplies all keys but the content."""

    def take(self, block: Any, number: int, message: Message, *, result: bool) -> None:
        (self.results if result else self.rest).append(block)
        if number not in self.answers:
            self.answers.append(number)
        self.like = self.like or message


def out_of_place(readings: Sequence[ParsedMessage]) -> bool:
    """Return whether result blocks are out of order. Called for every group, so it must be cheap."""
    answering: list[ParsedMessage] = []
    calling, several = 0, False
    for reading in readings:
        if reading.calls:
            calling += 1
        if reading.results:
            if reading.role == "user":
                answering.append(reading)
            elif reading.role == "tool" and len(reading.results) > 1:
                several = True
    if not answering:  # items of one message may answer the calls of two
        return calling > 1 and several
    if len(answering) > 1 or calling > 1:
        return True
    places = [path[1] for _, path in answering[0].results if path]
    return places != list(range(len(places)))


def arranged(messages: Sequence[Message]) -> Arranged:
    """Order the messages of a group: each round's results in one message behind its calls."""
    slots: list[_Slot] = []
    waiting: dict[CallId, list[_Slot]] = {}
    for number, message in enumerate(messages):
        blocks = _blocks(message) if message["role"] in ("user", "tool") else None
        if blocks is None or not any(map(_answered, blocks)):
            slots.append(_Slot(message, number))
            for call in reversed(_calls(message)):  # of equal ids within one message, the first is answered first
                waiting.setdefault(call, []).append(slots[-1])
            continue
        _share_out(message, number, blocks, slots, waiting)
    found: list[Message] = []
    sources: list[tuple[int, ...]] = []
    for slot in slots:
        found.append(slot.message)
        sources.append((slot.source,))
        if slot.like is not None:
            key = blocks_key(slot.like)
            found.append({**slot.like, key: [*slot.results, *slot.rest]})
            sources.append(tuple(slot.answers))
    return Arranged(found, sources)


def _share_out(
    message: Message, number: int, blocks: Sequence[Any], slots: list[_Slot], waiting: dict[CallId, list[_Slot]]
) -> None:
    """Assign each result to the call that it answers; the rest of the message goes with the last of them."""
    rest: list[Any] = []
    last = -1
    for block, call in zip(blocks, _named(message, blocks, waiting), strict=True):
        answered = None if call is None else waiting.get(call)
        if not answered or call is None:
            rest.append(block)
            continue
        slot = answered.pop()
        slot.take(block, number, message, result=True)
        last = max(last, slots.index(slot))
    if last < 0:
        slots.append(_Slot(message, number))
        return
    for block in rest:
        slots[last].take(block, number, message, result=False)


def _named(message: Message, blocks: Sequence[Any], waiting: dict[CallId, list[_Slot]]) -> list[CallId | None]:
    """Return the id of the call that each block answers; None for blocks that answer none."""
    names = [_answered(block) for block in blocks]
    if not is_content(message):
        return names
    calls = (((-slot.source, number), call) for number, (call, slots) in enumerate(waiting.items()) for slot in slots)
    found = iter(matched([name for name in names if name is not None], calls))
    return [None if name is None else next(found) for name in names]


def _blocks(message: Message) -> list[Any] | None:
    blocks = message.get(blocks_key(message))
    return blocks if type(blocks) is list else None


_ANSWERS = tuple(each.answer for each in DIALECTS)
_CALLS = tuple(each.call for each in DIALECTS)


def _answered(block: Any) -> CallId | None:
    """Return the id of the call that a block answers; None for any other block."""
    return next((found for of in _ANSWERS if (found := of(block)) is not None), None)


def _calls(message: Message) -> list[CallId]:
    if is_content(message):
        return [call for _, _, _, call in numbered_calls(message["parts"])]
    content = message.get("content")
    blocks = content if type(content) is list else ()
    return [found for block in blocks for of in _CALLS if (found := of(block)) is not None]
