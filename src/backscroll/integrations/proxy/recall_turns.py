"""The turns of models in which our recall tool was called, and a client's messages with what it did not see of them.

A client sends its own history, without our calls. The provider then misses them: its cache ends there, and reasoning
that follows was made over them. So they are put back at the place where they were, which is known by what the client
said before it: how much, and what last. What the model said in between does not count: clients drop parts of that.

The stored conversations hold the calls, so that another process puts them back as well.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from json import dumps
from typing import NamedTuple

from backscroll.integrations.proxy.given import Given, as_given
from backscroll.integrations.proxy.recall_form import Item, RecallForm, Round, Says, Turn
from backscroll.messages.dialects.response_items import role_of

_MOST = 1_024
"""Groups of conversations whose turns are kept. Each has few, of some kilobytes; a process has tens of groups."""


class Place(NamedTuple):
    """Where a turn is."""

    said: int = 0
    """How many items of the client are before it."""
    newest: int = 0
    """A hash of the newest item before it."""


class RecallTurns:
    """The turns of all conversations of one API.

    Args:
        form: Reads them.
    """

    def __init__(self, form: RecallForm) -> None:
        self._form = form
        self._turns: OrderedDict[str, dict[Place, Turn]] = OrderedDict()
        """By group."""

    def place(self, items: Sequence[Item], says: Says) -> Place:
        """Return the place of a turn that follows these messages of a client."""
        said = sum(not _is_of_model(item) for item in items)
        return Place(said, _hash(says(items[-1]))) if items else Place()

    def note(self, group: str, place: Place, turn: Turn) -> None:
        """Keep a turn, in place of what was known of it."""
        self._of(group)[place] = turn

    def known(self, group: str, place: Place) -> Turn:
        """Return what is known of a turn."""
        return self._turns.get(group, {}).get(place, Turn())

    def knows(self, group: str) -> bool:
        """Return whether the turns of a group are known, and not only stored."""
        return group in self._turns

    def recollect(self, group: str, conversations: Iterable[Iterable[Item]], says: Says) -> None:
        """Take the turns of a group from what is stored of it.

        Args:
            group: The group.
            conversations: All that the provider saw of each conversation.
            says: Returns what a message says, without marks.
        """
        known = self._of(group)
        for items in conversations:
            for place, turn in dict(self._turns_in(items, says)).items():
                known.setdefault(place, turn)  # one that was noted meanwhile is newer

    def restored(self, group: str, items: Sequence[Given], says: Says) -> list[Given] | None:
        """Return a client's messages with what it did not see; `None` if it saw everything.

        Args:
            group: The group of the conversation.
            items: The client's messages, without its system prompt.
            says: Returns what a message says, without marks.
        """
        turns = self._turns.get(group)
        if not turns:
            return None
        ends = [at for at, item in enumerate(items, 1) if not _is_of_model(item)]
        behind = list(pairwise([*ends, len(items) + 1]))  # an answer that the model goes on from is before its turn
        found: list[Item] = list(items)
        here = 0
        for place in sorted(turns, reverse=True):  # the last first: so the numbers before it hold
            places = range(*behind[place.said - 1]) if 0 < place.said <= len(ends) else ()
            for at in places:
                if _hash(says(items[at - 1])) == place.newest:
                    found[at:] = self._form.restored(found[at:], turns[place], says)
                    here += 1
                    break
        return [as_given(item) for item in found] if here else None

    def _of(self, group: str) -> dict[Place, Turn]:
        found = self._turns.setdefault(group, {})
        self._turns.move_to_end(group)
        while len(self._turns) > _MOST:
            self._turns.popitem(last=False)
        return found

    def _turns_in(self, items: Iterable[Item], says: Says) -> Iterator[tuple[Place, Turn]]:
        """Yield the turns of a conversation, each as often as it goes on."""
        place, turn = Place(), Turn()
        for said, read in self._answers(items):
            calls = self._form.calls(said)
            ours, others = self._form.parted(read, {call.id for call in calls})
            if calls:
                found = Round(list(map(as_given, said)), list(map(as_given, ours)))
                is_last = self._form.calls_others(said)
                turn = turn._replace(last=found) if is_last else turn._replace(rounds=(*turn.rounds, found))
                yield place, turn
            if others:
                place, turn = Place(place.said + len(others), _hash(says(others[-1]))), Turn()

    def _answers(self, items: Iterable[Item]) -> Iterator[tuple[list[Item], list[Item]]]:
        """Yield each answer of the model, with what it read behind it. The first one is empty."""
        said: list[Item] = []
        for is_of_model, run in groupby(items, _is_of_model):
            if is_of_model:
                said = list(run)
                said = said if self._form.is_of_items else said[-1:]
            else:
                yield said, list(run)
                said = []
        yield said, []


def _is_of_model(item: Item) -> bool:
    return role_of(item) == "assistant"


def _hash(said: object) -> int:
    return hash(dumps(said, sort_keys=True, default=str))
