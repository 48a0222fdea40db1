"""What the rules of the oracle judge: a view as a request that represents a history, both read once."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

from backscroll.evaluation.dialects import Shape
from backscroll.evaluation.odd_parts import all_texts, references
from backscroll.evaluation.validity_rules.timeline import Item, Rounds, places_of, rounds_of, timeline_of, went_on


class Case:
    """A view and its history, as pieces: an item of the Responses API counts by itself.

    Attributes:
        view: The pieces of the request, without what a provider's own compaction represents.
        history: All pieces of the history.
        is_native: Whether the view begins with a provider's compaction, which is in no message of the history.
        takes_prefill: Whether the model goes on from an answer that it is given.
    """

    def __init__(self, view: list[Shape], history: list[Shape], *, takes_prefill: bool = True) -> None:
        head = compacted_head(view, history)
        kept = [message for at, message in enumerate(view) if at >= head or message.is_system]
        self.view: list[Shape] = kept if head else view
        self.history: list[Shape] = history
        self.is_native: bool = bool(head)
        self.takes_prefill: bool = takes_prefill

    @cached_property
    def rounds(self) -> Rounds:
        """Which results answer which calls."""
        return rounds_of(self.history)

    @cached_property
    def timely(self) -> set[tuple[int, int]]:
        """The results that may follow their calls, by index and number: the first ones, before the model went on."""
        return {
            (at, number) for (at, number), call in self.rounds.call_of.items() if not went_on(self.history, call, at)
        }

    @cached_property
    def answered(self) -> set[str]:
        """The ids of the calls with a result that may follow them."""
        return {self.history[at].results[number] for at, number in self.timely}

    @cached_property
    def timeline(self) -> list[Item]:
        """The order that the view must have."""
        return timeline_of(self.history, self.rounds)

    @cached_property
    def _ordered(self) -> tuple[list[int | None], list[str]]:
        return places_of(self.view, self.history, self.timeline)

    @property
    def places(self) -> list[int | None]:
        """The place of each view message in the timeline; `None` for synthetic ones."""
        return self._ordered[0]

    @property
    def disorder(self) -> list[str]:
        """The messages that are out of order, one line each."""
        return self._ordered[1]

    @cached_property
    def calls(self) -> Counter[str]:
        """How often the history made a call of each id."""
        return Counter(call.id for message in self.history for call in message.calls)

    @cached_property
    def _references(self) -> list[tuple[int, int]]:
        return [found for message in self.view for text in all_texts(message.held) for found in references(text)]

    @property
    def has_references(self) -> bool:
        """Whether the view names any message that it leaves out."""
        return bool(self._references)

    def is_referenced(self, place: int) -> bool:
        """Return whether the view names a message of the history by its `seq`, alone or in a range."""
        return any(first <= place <= last for first, last in self._references)


class Rule(NamedTuple):
    """One thing that a view may not do."""

    name: str
    """Stable, in kebab-case."""
    check: Callable[[Case], Iterator[str]]
    situations: tuple[str, ...] = ()
    """The odd situations of a history that it judges, such as `late_result`."""
    is_kept: bool = True
    """Whether it holds for views that begin with a provider's own compaction."""


def compacted_head(view: list[Shape], history: list[Shape]) -> int:
    """Return how many messages at the beginning are a provider's compaction, system messages included; 0 if none is.

    OpenAI puts messages of the user before its item.
    """
    known = {message.sameness for message in history if message.is_compaction}
    for at, message in enumerate(view):
        if message.is_compaction and message.sameness not in known:
            return at + 1
        if not message.is_system and not (message.is_item and message.role == "user"):
            return 0
    return 0
