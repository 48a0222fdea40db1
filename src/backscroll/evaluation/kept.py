"""How much of what a transcript goes on to use its views still held. Only looking up and adding up may live here.

The recorded assistant message says what the request before it had to hold: each fact that it uses and that had been
mentioned before. Needs no model and knows of no strategy. What stood in the view was not necessarily seen; what did not
stand there cannot have been.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from backscroll.evaluation.facts import Finder, used
from backscroll.evaluation.transcript import Message
from backscroll.messages import read_message


class FactIndex:
    """The facts that the assistant messages of a transcript use, and the places where each is mentioned.

    No facts: what leading system messages hold, for they are in every view, and the names of called tools.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        read = [read_message(message) for message in messages]
        uses = {at: used(messages[at]) for at, known in enumerate(read) if at and known.role == "assistant"}
        finder = Finder(frozenset().union(*uses.values()))
        given = next((at for at, known in enumerate(read) if not known.is_system), len(read))
        ignored = {part.name for known in read for part in known.parts if part.kind == "call"}
        ignored.update(*[finder(message) for message in messages[:given]])
        self._places: dict[str, list[int]] = {}
        for at, message in enumerate(messages):
            for fact in finder(message) - ignored:
                self._places.setdefault(fact, []).append(at)
        self._uses = uses
        self.held = finder
        """The facts of this transcript that a message, such as one of a view, holds."""

    def used_at(self, at: int) -> dict[str, int]:
        """The facts that the message `at` uses and the history before it mentions, each with its last place there."""
        found = {}
        for fact in self._uses.get(at, ()):
            places = self._places.get(fact, ())
            before = bisect_left(places, at)
            if before:
                found[fact] = places[before - 1]
        return found


class _Share:
    """A mean over requests of the share of facts that was kept."""

    def __init__(self) -> None:
        self.facts = self._requests = 0
        self._sum = 0.0

    def add(self, facts: set[str], view: frozenset[str]) -> None:
        if facts:
            self.facts += len(facts)
            self._requests += 1
            self._sum += len(facts & view) / len(facts)

    @property
    def mean(self) -> float | None:
        return self._sum / self._requests if self._requests else None


class KeptFacts:
    """Adds up request by request what views held of the facts that were used next.

    Only requests count whose history is over the budget: below it everything can be sent. `weights` are the tokens of
    each message, `budget` the tokens of a request.
    """

    def __init__(self, messages: Sequence[Message], weights: Sequence[int], budget: int) -> None:
        self._index = FactIndex(messages)
        self._before = list(accumulate(weights, initial=0))
        self._budget = budget
        self.all = _Share()
        """Every fact that is used and was mentioned before."""
        self.far = _Share()
        """Those of them that no sliding window could hold: the messages after the last mention fill the budget."""

    def held(self, message: Message) -> frozenset[str]:
        """The facts of the transcript that one message of a view holds."""
        return self._index.held(message)

    def take(self, before: int, held: Iterable[frozenset[str]]) -> None:
        """Adds the request before message `before`; `held` are the facts of each message of its view.

        A refused request has no view and so kept nothing.
        """
        if self._before[before] <= self._budget:
            return
        facts = self._index.used_at(before)
        view = frozenset[str]().union(*held)
        self.all.add(set(facts), view)
        self.far.add({fact for fact, last in facts.items() if self._is_far(last, before)}, view)

    def _is_far(self, last: int, before: int) -> bool:
        return self._before[before] - self._before[last + 1] >= self._budget
