"""Order calls and result blocks as Anthropic, Bedrock and Gemini require; messages in order stay untouched.

All results of a round go into one user message, directly behind the calls and before any other content. A recorded
conversation may differ: a late result in its own message, a user's text before the results, or one message that answers
the calls of two turns. Sources: the tool use guides of both providers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from backscroll.messages.contents import answers_in, is_content, matched, numbered_calls
from backscroll.messages.items import OUTPUTS, PAIRS, call_id, kind_of
from backscroll.messages.reader import ParsedMessage
from backscroll.messages.validation import Message


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
    waiting: dict[str, list[_Slot]] = {}
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
            key = "parts" if is_content(slot.like) else "content"
            found.append({**slot.like, key: [*slot.results, *slot.rest]})
            sources.append(tuple(slot.answers))
    return Arranged(found, sources)


def _share_out(
    message: Message, number: int, blocks: Sequence[Any], slots: list[_Slot], waiting: dict[str, list[_Slot]]
) -> None:
    """Assign each result to the call that it answers; the rest of the message goes with the last of them."""
    rest: list[Any] = []
    last = -1
    for block, call in zip(blocks, _named(message, blocks, waiting), strict=True):
        answered = waiting.get(call or "")
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


def _named(message: Message, blocks: Sequence[Any], waiting: dict[str, list[_Slot]]) -> list[str | None]:
    """Return the id of the call that each block answers; None for blocks that answer none."""
    names = [_answered(block) for block in blocks]
    if not is_content(message):
        return names
    calls = (((-slot.source, number), call) for number, (call, slots) in enumerate(waiting.items()) for slot in slots)
    found = iter(matched([name for name in names if name is not None], calls))
    return [None if name is None else next(found) for name in names]


def _blocks(message: Message) -> list[Any] | None:
    blocks = message.get("parts" if is_content(message) else "content")
    return blocks if type(blocks) is list else None


def _answered(block: Any) -> str | None:
    """Return the id of the call that a block answers; None for any other block."""
    if type(block) is not dict:
        return None
    if (answer := answers_in(block)) is not None:
        return answer
    if type(inner := block.get("toolResult")) is dict:
        return str(inner.get("toolUseId") or "")
    if block.get("type") == "tool_result":
        return str(block.get("tool_use_id") or "")
    return call_id(block) if kind_of(block) in OUTPUTS else None


def _calls(message: Message) -> list[str]:
    if is_content(message):
        return [call for _, _, _, call in numbered_calls(message["parts"])]
    content = message.get("content")
    found = []
    for block in content if type(content) is list else ():
        if type(block) is dict and type(inner := block.get("toolUse")) is dict:
            found.append(str(inner.get("toolUseId") or ""))
        elif type(block) is dict and block.get("type") == "tool_use":
            found.append(str(block.get("id") or ""))
        elif kind_of(block) in PAIRS:
            found.append(call_id(block))
    return found
