"""The order that a view must have: the history, and behind each call the places of its results.

A result has two places. Behind its call it is a result. Where it came it may be text of the user: a second one, one for
a call that was never made, and one that came after the conversation went on.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from backscroll.evaluation.dialects import Shape
from backscroll.evaluation.odd_parts import references

Key = tuple[str, ...]


class Item(NamedTuple):
    """A place of the timeline."""

    role: str | None
    """`None`: nothing that parts two messages of one role."""
    key: Key
    at: int
    """Its index in the history; -1 for the place of a result behind its call."""
    early: int | None = None
    """Index of the round around it, if any: it may also come before that round."""
    answers: frozenset[str] = frozenset()
    others: tuple[Key, ...] = ()
    """Keys of the same message without what may have to leave it."""


class Rounds(NamedTuple):
    """Which results answer which calls. Ids that are used again belong to the nearest call."""

    of_calls: dict[int, list[tuple[int, list[str]]]]
    """Results by the index of the last piece of their call: index and ids."""
    answered: dict[int, list[str]]
    """Answered ids by the index of the call."""
    inside: dict[int, int]
    """For each piece inside a round, the index of that round's call."""
    call_of: dict[tuple[int, int], int]
    """The index of the call, by index and number of its result."""


def rounds_of(history: list[Shape]) -> Rounds:
    """Match results with calls."""
    waiting: dict[str, list[int]] = {}
    found = Rounds({}, {}, {}, {})
    last: dict[int, int] = {}
    for at, message in enumerate(history):
        places: list[int] = []
        for number, known in enumerate(message.results):
            if waiting.get(known):
                place = waiting[known].pop()
                places.append(place)
                found.answered.setdefault(place, []).append(known)
                found.call_of[at, number] = place
        if places:
            end = end_of(history, max(places))
            found.of_calls.setdefault(end, []).append((at, message.results))
            if not went_on(history, max(places), at):
                last[end] = at
        for call in message.calls:
            waiting.setdefault(call.id, []).append(at)
    for end, newest in last.items():
        found.inside.update(dict.fromkeys(range(end + 1, newest), start_of(history, end)))
    return found


def went_on(history: list[Shape], call: int, result: int) -> bool:
    """Return whether the model answered something else between a call and its result, so that the result came late.

    Answers directly behind the call are part of its turn. A program goes on over several answers.
    """
    if history[call].is_program:
        return False
    others = False
    for message in history[end_of(history, call) + 1 : result]:
        if message.role != "assistant":
            others = True
        elif others and not message.is_nothing:
            return True
    return False


def timeline_of(history: list[Shape], rounds: Rounds) -> list[Item]:
    """Return the places of a view in order."""
    items: list[Item] = []
    for at, message in enumerate(history):
        early = rounds.inside.get(at)
        if message.results and not message.calls:
            rest = message.rest
            items.append(Item(None if rest is None else str(message.role), rest or (), at, early))
        else:
            role = None if message.is_nothing else str(message.role)
            items.append(Item(role, key_of(message), at, early, others=tuple(message.parted)))
        for place, known in rounds.of_calls.get(at, ()):
            items.append(Item(role=str(history[place].role), key=(), at=-1, early=None, answers=frozenset(known)))
            if (rest := history[place].rest) is not None and rounds.inside.get(place - 1) is not None:
                items.append(Item(None, rest, place))  # words next to a result may go with it, past what came between
        missing = Counter(call.id for call in message.calls) - Counter(rounds.answered.get(at, ()))
        if missing:  # a view supplies this result, and nothing can come between it and its call
            items.append(
                Item(
                    role="user" if message.in_blocks else "tool", key=(), at=-1, early=None, answers=frozenset(missing)
                )
            )
    return items


def start_of(history: list[Shape], at: int) -> int:
    """Return the index of the first item of the message to which an item belongs."""
    while at and history[at - 1].whole is history[at].whole:
        at -= 1
    return at


def end_of(history: list[Shape], at: int) -> int:
    """Return the index of the last item of the message to which an item belongs."""
    while at + 1 < len(history) and history[at + 1].whole is history[at].whole:
        at += 1
    return at


def key_of(message: Shape) -> Key:
    """Return what equal messages share: of calls their ids, of results the words next to them."""
    asks = message.calls
    if asks:
        return ("calls", "of", *(call.id for call in asks), *message.marks)
    return message.rest or message.sameness


def places_of(view: list[Shape], history: list[Shape], timeline: list[Item]) -> tuple[list[int | None], list[str]]:
    """Return the place of each view message in the timeline, `None` for synthetic ones, and the messages out of order.

    It takes the earliest place after the previous message: if any assignment keeps the order, this one does.
    """
    return _Placing(history, timeline).of(view)


class _Placing:
    def __init__(self, history: list[Shape], timeline: list[Item]) -> None:
        self._history, self._timeline = history, timeline
        self._index = {item.at: number for number, item in enumerate(timeline) if item.at >= 0}
        self._by_key: dict[Key, list[int]] = {}
        for number, item in enumerate(timeline):
            for key in (item.key, *item.others):
                self._by_key.setdefault(key, []).append(number)
        self._last = -1.0
        self._found: list[str] = []

    def of(self, view: list[Shape]) -> tuple[list[int | None], list[str]]:
        places = [self._place(at, message) for at, message in enumerate(view)]
        return places, self._found

    def _place(self, at: int, message: Shape) -> int | None:
        place, history = None, self._history
        if message.results and not message.calls:
            place = self._answer_place(set(message.results))
            if message.rest is None:
                return place
        for frame in message.frames:
            number = next((self._index[at] for at in self._pieces(frame.place) if history[at].results), None)
            if number is not None and number <= self._last - 1:
                self._found.append(f"view[{at}]: out of order, a later result of history[{frame.place}]")
            if number is not None:
                self._last, place = max(self._last, number - 0.25), number
        if message.frames and message.rest is None:
            return place
        return self._words(at, message)

    def _words(self, at: int, message: Shape) -> int | None:
        known = self._by_key.get(key_of(message)) or self._by_reference(message)
        spots = sorted((spot, number) for number in known for spot in self._spots(number))
        last = self._last
        behind = next(((spot, number) for spot, number in spots if spot > last or spot == last != int(spot)), None)
        if behind:
            self._last = behind[0]
        elif known:
            place = self._history[self._timeline[known[-1]].at].place
            self._found.append(f"view[{at}]: out of order, history[{place}] precedes the message before it")
        return behind[1] if behind else known[0] if known else None

    def _spots(self, number: int) -> Iterator[float]:
        yield float(number)
        early = self._timeline[number].early
        if early is not None:
            yield self._index[early] - 0.5 if early in self._index else float(number)

    def _answer_place(self, answered: set[str]) -> int | None:
        behind = range(max(int(self._last), 0), len(self._timeline))
        return next((number for number in behind if answered & self._timeline[number].answers), None)

    def _by_reference(self, message: Shape) -> list[int]:
        """Return the entry that an excerpted or cleared message names; a digest, in tags, names other entries."""
        place = -1 if message.is_summary else next((first for first, _ in references(message.text)), -1)
        history = self._history
        same = [at for at in self._pieces(place) if history[at].role == message.role and not history[at].calls]
        return [self._index[at] for at in same if at in self._index]

    def _pieces(self, place: int) -> range:
        """Return the indexes of the pieces of a message."""
        history = self._history
        return range(bisect_left(history, place, key=_place), bisect_right(history, place, key=_place))


def _place(message: Shape) -> int:
    return message.place
