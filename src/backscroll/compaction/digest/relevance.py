"""What weighs in a window: the words it mentions, what the agent is at, and which lines are no longer true. Chooses
nothing.

A line is worth what it mentions. A word weighs more if the user or the agent mentioned it, and if that was lately;
little if it stands in the view anyway. A line about what the agent is doing counts several times as much.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from backscroll.compaction.digest.stale_lines import removed_lines
from backscroll.compaction.digest.terms import line_words, ordinary_words, specific_words
from backscroll.history.history import Entry

OWN, RESULT = 4.0, 1.0  # weight of a mention by the user or the agent, and by a tool
SHOWN = 0.1  # of a word's weight that is left if it stands whole in the view
TOLD = 0.3  # if a digest's turns mention it: the word is there, what was said of it is not
_TOPIC, _OFF_TOPIC = 2.5, 0.3
_TOPIC_MESSAGES = 7  # newest messages of the agent that say what it is at
_RECENT, _OLD = 1.5, 0.5  # weight of the newest and the oldest mention
_STEPS = 16  # from the one to the other: sums of sixteenths are exact, and short where a digest is stored

Place = tuple[int, int]
"""A part: `seq` and number."""

Line = tuple[Sequence[str], float, float]
"""The specific words of a line, how much more or less than these it is worth by what it is about, and their weight."""


class Relevance:
    """Over the groups of a window, oldest first. Each text is read once, when it is asked for."""

    def __init__(self, groups: Sequence[Sequence[Entry]], before: Iterable[tuple[str, float]]) -> None:
        self._groups = groups
        self._before = before
        self._words: dict[Place, tuple[str, ...]] = {}

    def words(self, entry: Entry, number: int) -> tuple[str, ...]:
        """The specific words of a part, sorted."""
        place = entry.seq, number
        found = self._words.get(place)
        if found is None:
            found = self._words[place] = specific_words(entry.reading.parts[number].text)
        return found

    @cached_property
    def weights(self) -> Mapping[str, float]:
        """How much each word weighs that the window or its digest mentions."""
        return self.weigh(self._groups, self._before)

    def weigh(self, groups: Sequence[Sequence[Entry]], before: Iterable[tuple[str, float]]) -> dict[str, float]:
        """The weight of each word of these groups, added to that of older mentions."""
        weights: defaultdict[str, float] = defaultdict(float, before)
        for number, group in enumerate(groups):
            recency = _OLD + (_RECENT - _OLD) * (_STEPS * (number + 1) // len(groups)) / _STEPS
            for entry in group:
                for at, part in enumerate(entry.reading.parts):
                    weight = recency * (RESULT if part.kind == "result" else OWN)
                    for word in self.words(entry, at):
                        weights[word] += weight
        return weights

    @cached_property
    def asked(self) -> set[str]:
        """The words of the user: what was asked about is worth finding, however often it is mentioned."""
        return {
            word
            for group in self._groups
            for entry in group
            if entry.reading.is_user_turn
            for number in range(len(entry.reading.parts))
            for word in self.words(entry, number)
        }

    def shown(self, groups: Iterable[Sequence[Entry]], hidden: set[Place]) -> set[str]:
        """The words of these groups, save those of the hidden parts and what the user asked about."""
        found: set[str] = set()
        for group in groups:
            for entry in group:
                for number in range(len(entry.reading.parts)):
                    if (entry.seq, number) not in hidden:
                        found.update(self.words(entry, number))
        return found - self.asked

    @cached_property
    def topic(self) -> set[str]:
        """Ordinary words of what the agent said and did lately."""
        own = [entry for group in self._groups for entry in group if entry.reading.role == "assistant"]
        return {
            word
            for entry in own[-_TOPIC_MESSAGES:]
            for part in entry.reading.parts
            for word in ordinary_words(part.text)
        }

    @cached_property
    def taken_out(self) -> dict[str, int]:
        """Lines that edits in the window took out, with the `seq` of the newest such edit."""
        found: dict[str, int] = {}
        for group in self._groups:
            for entry in group:
                for part in entry.reading.call_parts if entry.reading.calls else ():
                    found.update(dict.fromkeys(removed_lines(part.text), entry.seq))
        return found

    def stale(self, text: str, seq: int) -> bool:
        """Whether an edit took out this line of message `seq`, then or later."""
        return seq <= self.taken_out.get(text, -1)

    def read(self, lines: Iterable[str], weights: defaultdict[str, float]) -> Iterator[Line]:
        """What each line mentions. `weights` answers 0 for a word that it does not know."""
        topic, weigh = self.topic, weights.__getitem__
        for line in lines:  # thousands of them: this is where a compaction spends its time
            words, ordinary = line_words(line)
            weight = sum(map(weigh, words)) if words else 0.0
            near = len(ordinary & topic) / len(ordinary) if weight and ordinary else 0.0
            yield words, _OFF_TOPIC + _TOPIC * near * near, weight


def discounted(
    weights: Mapping[str, float], shown: AbstractSet[str], told: AbstractSet[str] = frozenset()
) -> defaultdict[str, float]:
    """The weights that are left of words that stand in the view, or that a digest's turns mention; 0 of others."""
    left = defaultdict(float, weights)
    for words, share in ((shown, SHOWN), (told - shown, TOLD)):
        for word in words:
            if word in left:
                left[word] *= share
    return left
