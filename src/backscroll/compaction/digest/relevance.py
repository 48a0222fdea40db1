"""The weight of lines in a window: by the words they mention, the agent's topic, and whether they are still true.

A line is worth what it mentions. A word weighs more if the user or the agent mentioned it, and if that was recent. It
weighs little if the view shows it anyway. A line on what the agent is doing counts several times as much.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from operator import itemgetter

from backscroll.compaction.digest.overwritten import Call, overwritten_lines
from backscroll.compaction.digest.stale_lines import fingerprint, removed_lines
from backscroll.compaction.digest.terms import line_words, ordinary_words, specific_words
from backscroll.history.history import Entry

OWN, RESULT = 4.0, 1.0  # weight of a mention by the user or the agent, and by a tool
SHOWN = 0.1  # of a word's weight that is left if the view shows it whole
IN_TURNS = 0.3  # if a digest's turns mention it: the word is there, its context is not
_TOPIC, _OFF_TOPIC = 2.5, 0.3
_TOPIC_MESSAGES = 7  # newest messages of the agent, which define its topic
_RECENT, _OLD = 1.5, 0.5  # weight of the newest and the oldest mention
_STEPS = 16  # steps between both: sums of sixteenths are exact, and short in a stored digest

Place = tuple[int, int]
"""A part: `seq` and number."""

Line = tuple[tuple[str, ...], float, float]
"""The specific words of a line, a factor for its topic, and their weight."""


class Relevance:
    """Weigh words over the groups of a window, oldest first. Each text is read once, on demand."""

    def __init__(
        self,
        groups: Sequence[Sequence[Entry]],
        before: Iterable[tuple[str, float]],
        removed: Iterable[tuple[int, int]] = (),
    ) -> None:
        self._groups = groups
        self._removed = dict(removed)
        self._before = before
        self._words: dict[Place, tuple[str, ...]] = {}

    def words(self, entry: Entry, number: int) -> tuple[str, ...]:
        """Return the specific words of a part, sorted."""
        place = entry.seq, number
        found = self._words.get(place)
        if found is None:
            found = self._words[place] = specific_words(entry.reading.parts[number].readable)
        return found

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """The weight of each word that the window or its digest mentions."""
        return self.weigh(self._groups, self._before)

    def weigh(self, groups: Sequence[Sequence[Entry]], before: Iterable[tuple[str, float]]) -> dict[str, float]:
        """Weigh the words of these groups, on top of older mentions."""
        weights: defaultdict[str, float] = defaultdict(float, before)
        for number, group in enumerate(groups):
            recency = _OLD + (_RECENT - _OLD) * (_STEPS * (number + 1) // len(groups)) / _STEPS
            for entry in group:
                for at, part in enumerate(entry.reading.parts):
                    weight = recency * (RESULT if part.kind == "result" else OWN)
                    for word in self.words(entry, at):
                        weights[word] += weight
        return weights

    def heaviest(
        self, groups: Sequence[Sequence[Entry]], before: Sequence[tuple[str, float]], most: int
    ) -> tuple[tuple[str, float], ...]:
        """Return the heaviest of these words with their weights. Those that weigh what they did share the tuples of
        `before`, because the plans that an undo may reach are kept.
        """
        words = list(self.weigh(groups, before).items())  # those of `before` come first
        words[: len(before)] = [old if old[1] is new[1] else new for old, new in zip(before, words, strict=False)]
        words.sort(key=itemgetter(1), reverse=True)  # stable: of equal ones the older first
        return tuple(words[:most])

    @cached_property
    def asked(self) -> set[str]:
        """The words of the user: a topic that the user raised is worth finding, however often it is mentioned."""
        return {
            word
            for group in self._groups
            for entry in group
            if entry.reading.is_user_turn
            for number in range(len(entry.reading.parts))
            for word in self.words(entry, number)
        }

    def shown(self, groups: Iterable[Sequence[Entry]], hidden: set[Place]) -> set[str]:
        """Return the words of these groups, except those of hidden parts and those of the user."""
        found: set[str] = set()
        for group in groups:
            for entry in group:
                for number in range(len(entry.reading.parts)):
                    if (entry.seq, number) not in hidden:
                        found.update(self.words(entry, number))
        return found - self.asked

    @cached_property
    def topic(self) -> set[str]:
        """Ordinary words of the agent's recent texts and calls."""
        own = [entry for group in self._groups for entry in group if entry.reading.role == "assistant"]
        return {
            word
            for entry in own[-_TOPIC_MESSAGES:]
            for part in entry.reading.parts
            for word in ordinary_words(part.readable)
        }

    @cached_property
    def taken_out(self) -> dict[str, int]:
        """Lines that edits in the window removed, with the `seq` of the newest such edit."""
        return removed_in(self._groups)

    @property
    def removes(self) -> bool:
        """True if any line may be stale."""
        return bool(self.taken_out or self._removed)

    def stale(self, text: str, seq: int) -> bool:
        """Return whether an edit removed this line of message `seq`, then or later."""
        if seq <= self.taken_out.get(text, -1):
            return True
        return bool(self._removed) and seq <= self._removed.get(fingerprint(text), -1)

    def read(self, lines: Iterable[str], weights: defaultdict[str, float]) -> Iterator[Line]:
        """Yield what each line mentions. `weights` returns 0 for an unknown word."""
        topic, weigh = self.topic, weights.__getitem__
        for line in lines:  # thousands of them: a compaction spends most of its time here
            words, ordinary = line_words(line)
            weight = sum(map(weigh, words)) if words else 0.0
            near = len(ordinary & topic) / len(ordinary) if weight and ordinary else 0.0
            yield words, _OFF_TOPIC + _TOPIC * near * near, weight


def removed_in(groups: Sequence[Sequence[Entry]]) -> dict[str, int]:
    """Return the lines that edits in these groups removed, with the `seq` of the newest such edit."""
    calls, results = list[Call](), dict[str | None, str]()
    for group in groups:
        for entry in group:
            results |= {part.id: part.text for part in entry.reading.parts if part.kind == "result"}
            if entry.reading.calls:
                calls += [Call(entry.seq, part.id, part.text) for part in entry.reading.call_parts]
    found = overwritten_lines(calls, results)
    for call in calls:
        for line in removed_lines(call.arguments):
            found[line] = max(call.seq, found.get(line, -1))
    return found


def discounted(
    weights: Mapping[str, float], shown: AbstractSet[str], in_turns: AbstractSet[str] = frozenset()
) -> defaultdict[str, float]:
    """Reduce the weights of words that the view shows, or that a digest's turns mention; others weigh 0."""
    left = defaultdict(float, weights)
    for words, share in ((shown, SHOWN), (in_turns - shown, IN_TURNS)):
        for word in words:
            if word in left:
                left[word] *= share
    return left
