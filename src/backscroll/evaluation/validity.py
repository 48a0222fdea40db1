"""An oracle for views: what a provider would reject, and what the design forbids. It uses no code of the library.

It judges only by messages, so it works for any context manager and any dialect. It is strict where a provider is
strict, and each exception to a rule is documented next to it.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from backscroll.evaluation.dialects import Call, Message, Shape, compacted_head, name_answers

_SHARED = 16  # characters at one end that identify an excerpt; excerpts keep more at either end
_REFERENCE = re.compile(r"\[ref:(\d+)[\].]")


class Judge:
    """Judges the requests of one session. Each message of the history is read once, so it must not change."""

    def __init__(self) -> None:
        self._read: dict[int, Shape] = {}

    def problems(self, view: list[Message], history: list[Message]) -> list[str]:
        """Return what is wrong with `view` as a request that represents `history`, one line each; empty if it is valid.

        Problems: results without their call; calls without all results (allowed only at the end of both, where they are
        pending); arguments that are no longer JSON; a changed order; a missing first or last user message or leading
        system message; two messages of one role in a row where the history had none; and, of the Responses API,
        reasoning without the item that it led to, an item whose `id` demands reasoning that is not there, and a missing
        compaction. Each item of a message counts by itself.

        A view may begin with a provider's own compaction, which is in no message of the history, instead of the
        messages that it represents. Then a summary must quote the user's first and last message if they are not shown.
        """
        if not history:
            return [] if not view else ["the view holds messages although the history is empty"]
        if not view:
            return ["the view is empty"]
        kept = [self._shape(message) for message in history]
        for at, message in enumerate(kept):
            for piece in message.pieces:
                piece.place = at
        sent = [Shape(message) for message in view]
        name_answers(kept)
        name_answers(sent)
        shown = [piece for message in sent for piece in message.pieces]
        return list(_problems(shown, [piece for message in kept for piece in message.pieces]))

    def _shape(self, message: Message) -> Shape:
        known = self._read.get(id(message))  # the history keeps the message alive, so its id is not reused
        if known is None:
            known = self._read[id(message)] = Shape(message)
        return known


def problems(view: list[Message], history: list[Message]) -> list[str]:
    """Return the problems that a new `Judge` finds."""
    return Judge().problems(view, history)


def _problems(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    native = compacted_head(view, history)
    if native:
        view = [message for at, message in enumerate(view) if at >= native or message.is_system]
        known = {message.sameness for message in history if message.is_compaction}
        for at, message in enumerate(view):
            if message.is_compaction and message.sameness not in known:
                yield f"view[{at}]: a second compaction by the provider"
        yield from _quoted(view, history)
    yield from _blocks(view)
    own = (_pairs, _arguments, _leading, _thoughts)
    for check in own if native else (*own, _users, _sealed):
        yield from check(view, history)
    timeline = _timeline(history)
    places, disorder = _places(view, history, timeline)
    yield from disorder
    yield from _alternation(view, history, timeline, places)


# Compactions by the provider


def _quoted(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    """Check that the user's first and last message are shown, or quoted in a summary."""
    own = [message for message in history if message.is_users]
    summaries = [message.text for message in view if message.is_summary]
    for which, original in (("first", own[0]), ("last", own[-1])) if own else ():
        at, text = original.place, original.text
        quoted = any(f"] user: {text[:_SHARED]}" in summary for summary in summaries)
        if not quoted and text and not any(_represents(message, original, at) for message in view):
            yield f"the {which} user message, history[{at}], is neither in the view nor quoted in it"


# Calls and results


def _pairs(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    waiting: Counter[str] = Counter()
    asked = -1
    programs = Counter(call.id for message in view if message.is_program for call in message.calls)
    for at, message in enumerate(view):
        answered, asks = message.results, message.calls
        for known in answered:
            if not waiting[known]:
                yield f"view[{at}]: result for call {known!r} without that call before it"
            else:
                waiting[known] -= 1
        # for the provider, adjacent assistant messages of block dialects are one turn with all their calls
        joined = bool(asks) and asked == at - 1 and message.in_blocks and view[at - 1].in_blocks
        joined = joined and not message.is_gemini
        joined = joined or (at > 0 and message.is_made and view[at - 1].is_made)  # one response is several items
        if not answered and not joined:
            running = waiting & programs if message.is_made else Counter[str]()
            yield from _unanswered(waiting - running, asked, f"before view[{at}]")
            waiting = running
        if asks:
            yield from _unanswered(waiting, asked, f"before view[{at}]") if answered else ()
            waiting.update(call.id for call in asks)
            asked = at
    yield from _unanswered(waiting - _pending(history), asked, "at the end, and not pending in the history")


def _blocks(view: list[Shape]) -> Iterator[str]:
    """Check results in blocks: after their calls, and first in their message; with Bedrock and Gemini in one message.
    Anthropic merges messages of one role itself. A response of Gemini is an object.
    """
    for at, message in enumerate(view):
        answered = message.block_results
        if not answered:
            continue
        if not message.has_objects:
            yield f"view[{at}]: a response is no object"
        if not all(answered[: sum(answered)]):
            yield f"view[{at}]: results come after other content"
        before = view[at - 1] if at else None
        if before is not None and before.block_results:
            if message.is_strict:
                yield f"view[{at}]: the results of one round are in two messages"
        elif before is None or not before.calls:
            yield f"view[{at}]: results that do not directly follow their calls"


def _unanswered(waiting: Counter[str], asked: int, where: str) -> Iterator[str]:
    for known in +waiting:
        yield f"view[{asked}]: call {known!r} has no result {where}"


def _pending(history: list[Shape]) -> Counter[str]:
    """Return the calls without a result in the last round of calls, if no assistant message follows it."""
    answered: Counter[str] = Counter()
    for message in dict.fromkeys(piece.whole for piece in reversed(history)):
        asks = message.calls
        if asks:
            running = {piece.program for piece in message.pieces if piece.program} - {call.id for call in asks}
            return Counter([*(call.id for call in asks), *running]) - answered - Counter(message.results)
        if message.role == "assistant":
            break
        answered.update(message.results)
    return Counter()


def _arguments(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    known: dict[str, list[Call]] = {}
    for message in history:
        for call in message.calls:
            known.setdefault(call.id, []).append(call)
    for at, message in enumerate(view):
        for call in message.calls:
            originals = known.get(call.id)
            if originals is None:
                yield f"view[{at}]: call {call.id!r} was never made"
            elif all(_is_json(original.arguments) for original in originals) and not _is_json(call.arguments):
                yield f"view[{at}]: arguments of call {call.id!r} are no longer JSON"
            elif type(call.arguments) not in {type(original.arguments) for original in originals}:
                yield f"view[{at}]: arguments of call {call.id!r} changed their type to {type(call.arguments).__name__}"


def _is_json(arguments: Any) -> bool:
    return _parses(arguments) if isinstance(arguments, str) else arguments is not None


@lru_cache(maxsize=4096)  # successive views hold the same arguments
def _parses(arguments: str) -> bool:
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


# What must be there


def _leading(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    for at, message in enumerate(history):
        if not message.is_system:
            return
        if at >= len(view) or view[at].sameness != message.sameness:
            yield f"view[{at}]: leading system message history[{at}] is missing or changed"


def _users(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    own = [at for at, message in enumerate(history) if message.is_users]
    for which, at in (("first", own[0]), ("last", own[-1])) if own else ():
        place = history[at].place
        if not any(_represents(message, history[at], place) for message in view):
            yield f"the {which} user message, history[{place}], is not in the view"
    begins = next((message for message in history if not message.is_system and not message.results), None)
    after = next((at for at, message in enumerate(view) if not message.is_system), None)
    if (
        begins is not None
        and (begins.role == "user" or begins.is_gemini)
        and (after is None or view[after].role != "user")
    ):
        yield f"view[{after}]: the dialogue begins with no user message"


def _represents(shown: Shape, original: Shape, at: int) -> bool:
    """Return whether a message equals the original or is its excerpt: both ends of a long text, or its reference."""
    if shown.role != original.role or shown.results:
        return False
    if shown.sameness == original.sameness:
        return True
    cut, whole = shown.text, original.text
    if f"[ref:{at}]" not in cut and f"[ref:{at}." not in cut:
        return False
    return cut[:_SHARED] == whole[:_SHARED] or cut[-_SHARED:] == whole[-_SHARED:] or len(whole) < _SHARED


# Items of the Responses API


def _thoughts(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    """Check that reasoning in blocks is shown as it was made, all or none of a message's."""
    known = {message.thoughts for message in history}
    for at, message in enumerate(view):
        if message.thoughts and message.thoughts not in known:
            yield f"view[{at}]: the reasoning is in no message of the history"


def _sealed(view: list[Shape], history: list[Shape]) -> Iterator[str]:
    """Check that reasoning is whole and next to what it led to: OpenAI's servers know which items belong together."""
    thought: dict[_Key, list[int]] = {}
    demands: dict[str, set[_Key | None]] = {}
    before: _Key | None = None
    for at, message in enumerate(history):
        before = before if at and history[at - 1].whole is message.whole else None
        if message.is_reasoning:
            before = message.sameness
            thought.setdefault(before, []).append(at)
        elif message.is_made and message.item_id:
            demands.setdefault(message.item_id, set()).add(before)
    run: set[_Key] = set()
    for at, message in enumerate(view):
        run = run if message.is_made else set()
        if message.is_reasoning:
            run.add(message.sameness)
            known = thought.get(message.sameness, ())
            after = _key(view[at + 1]) if at + 1 < len(view) else None
            if not known:
                yield f"view[{at}]: the reasoning is in no message of the history"
            elif not any(after == _key(history[place + 1]) for place in known if place + 1 < len(history)):
                yield f"view[{at}]: reasoning without the item that followed it"
        elif message.is_made and message.item_id:
            needed = demands.get(message.item_id, {None})
            if None not in needed and not needed & run:
                yield f"view[{at}]: {message.item_id!r} without its reasoning"
    shown = {message.sameness for message in view}
    for message in history:
        if message.is_needed and message.sameness not in shown:
            yield f"an item of history[{message.place}] that every view must hold is missing"


# Order


_Key = tuple[str, ...]


class _Item(NamedTuple):
    """A message of the timeline: the history with every result after its call, the order that a view must have."""

    role: str
    key: _Key
    at: int
    """Its index in the history; -1 for the missing result of a call."""
    early: int | None
    """Index of the round around it, if any: it may also come before that round."""
    answers: frozenset[str]


def _timeline(history: list[Shape]) -> list[_Item]:
    rounds, answers_to, inside = _rounds(history)
    behind = {at for answers in rounds.values() for at, _ in answers}
    pending = _pending(history)
    items: list[_Item] = []
    for at, message in enumerate(history):
        answered = message.results
        if at in behind or (answered and not message.calls):
            continue  # it follows its call, or is an orphan, which no view may hold
        early = inside.get(at)
        items.append(_Item(str(message.role), _key(message), at, early, frozenset()))
        if not message.calls and at not in rounds:
            continue
        for place, known in rounds.get(at, ()):
            role = str(history[place].role)
            items.append(_Item(role, (), place, None, frozenset(known)))
        answers = answers_to.get(at, [])
        if len(answers) == len(message.calls):
            continue
        missing = Counter(call.id for call in message.calls) - Counter(answers) - pending
        if missing:  # a view supplies this result, and nothing can come between it and its call
            items.append(_Item("user" if message.in_blocks else "tool", (), -1, None, frozenset(missing)))
    return items


_Rounds = dict[int, list[tuple[int, list[str]]]]


def _rounds(history: list[Shape]) -> tuple[_Rounds, dict[int, list[str]], dict[int, int]]:
    """Return results by the index of their last call; answered ids by the index of the call; and for each message
    inside a
    round, the index of that round's call.
    """
    waiting: dict[str, list[int]] = {}
    rounds: _Rounds = {}
    answers_to: dict[int, list[str]] = {}
    for at, message in enumerate(history):
        answered = message.results
        places = [(waiting[known].pop(), known) for known in answered if waiting.get(known)]
        for place, known in places:
            answers_to.setdefault(place, []).append(known)
        if places:
            rounds.setdefault(_end(history, max(places)[0]), []).append((at, answered))
        for call in message.calls:
            waiting.setdefault(call.id, []).append(at)
    inside = {
        between: _start(history, start)
        for start, answers in rounds.items()
        for between in range(start + 1, max(at for at, _ in answers))
    }
    for left in waiting.values():  # pending rounds reach to the end, unless another assistant message follows
        for start in left:
            end = _end(history, start)
            if not any(message.role == "assistant" for message in history[end + 1 :]):
                inside |= dict.fromkeys(range(end + 1, len(history)), _start(history, start))
    return rounds, answers_to, inside


def _start(history: list[Shape], at: int) -> int:
    """Return the index of the first item of the message to which an item belongs."""
    while at and history[at - 1].whole is history[at].whole:
        at -= 1
    return at


def _end(history: list[Shape], at: int) -> int:
    while at + 1 < len(history) and history[at + 1].whole is history[at].whole:
        at += 1
    return at


def _key(message: Shape) -> _Key:
    asks = message.calls
    return ("calls", "of", *(call.id for call in asks), *message.marks) if asks else message.sameness


def _places(view: list[Shape], history: list[Shape], timeline: list[_Item]) -> tuple[list[int | None], list[str]]:
    """Return the place of each view message in the timeline, `None` for synthetic ones, and the messages out of order.

    It takes the earliest place after the previous message: if any assignment keeps the order, this one does.
    """
    by_key: dict[_Key, list[int]] = {}
    index = {item.at: number for number, item in enumerate(timeline) if item.at >= 0}
    for number, item in enumerate(timeline):
        by_key.setdefault(item.key, []).append(number)
    places: list[int | None] = []
    found: list[str] = []
    last = -1.0
    for at, message in enumerate(view):
        answered = message.results
        if answered and not message.calls:
            places.append(_answer_place(set(answered), timeline, last))
            continue
        known = by_key.get(_key(message)) or _by_reference(message, history, index)
        spots = sorted((spot, number) for number in known for spot in _spots(number, timeline, index))
        behind = next(((spot, number) for spot, number in spots if spot > last or spot == last != int(spot)), None)
        if behind:
            last = behind[0]
        elif known:
            place = history[timeline[known[-1]].at].place
            found.append(f"view[{at}]: out of order, history[{place}] precedes the message before it")
        places.append(behind[1] if behind else known[0] if known else None)
    return places, found


def _spots(number: int, timeline: list[_Item], index: dict[int, int]) -> Iterator[float]:
    yield float(number)
    early = timeline[number].early
    if early is not None:
        yield index[early] - 0.5 if early in index else float(number)


def _answer_place(answered: set[str], timeline: list[_Item], last: float) -> int | None:
    behind = range(max(int(last), 0), len(timeline))
    return next((number for number in behind if answered & timeline[number].answers), None)


def _by_reference(message: Shape, history: list[Shape], index: dict[int, int]) -> list[int]:
    """Return the entry that an excerpted or cleared message names; a digest, in tags, names other entries."""
    shown = message.text
    synthetic = shown.startswith("<summary>") and shown.endswith("</summary>")
    found = None if synthetic else _REFERENCE.search(shown)
    place = int(found[1]) if found else -1
    pieces = range(bisect_left(history, place, key=_place), bisect_right(history, place, key=_place))
    same = [at for at in pieces if history[at].role == message.role and not history[at].calls]
    return [index[at] for at in same if at in index]


def _place(message: Shape) -> int:
    return message.place


# Roles


def _alternation(
    view: list[Shape], history: list[Shape], timeline: list[_Item], places: list[int | None]
) -> Iterator[str]:
    neighbors = {
        (_key(one), _key(other)) for one, other in pairwise(history) if one.whole is other.whole
    }  # the place of a text that was said twice may be another one
    before: int | None = None
    for at, message in enumerate(view):
        role = message.role
        if message.is_system:
            continue
        same = before is not None and role in ("user", "assistant") and view[before].role == role
        if before is not None and same and message.is_made:
            same = not _one_message(places[before], places[at], timeline, history)
            same = same and (_key(view[before]), _key(message)) not in neighbors
        if before is not None and same and role == "user" and (view[before].is_summary or message.is_summary):
            same = False  # notes on a provider's compaction: it takes them next to any role
        if before is not None and same and not _one_run(places[before], places[at], str(role), timeline):
            yield f"view[{before}] and view[{at}]: two messages of role {role} in a row, the history had none there"
        before = at


def _one_run(first: int | None, second: int | None, role: str, timeline: list[_Item]) -> bool:
    """Return whether only messages of this role were between the two."""
    if first is None or second is None:
        return False
    low, high = sorted((first, second))
    return all(item.role in (role, "system", "developer") for item in timeline[low : high + 1])


def _one_message(first: int | None, second: int | None, timeline: list[_Item], history: list[Shape]) -> bool:
    """Return whether both are items of the same message."""
    if first is None or second is None:
        return False
    here, there = timeline[first].at, timeline[second].at
    return min(here, there) >= 0 and history[here].whole is history[there].whole
