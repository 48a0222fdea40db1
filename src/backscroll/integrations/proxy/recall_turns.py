"""The turns of models in which our recall tool was called, and a client's messages with what it did not see of them.

A client sends its own history, without our calls. The provider then misses them: its cache ends there, and reasoning
that follows was made over them. So they are put back at the place where they were, which is known by the number of
messages before it and by what the newest of these says.

They are kept in memory only. After a restart a conversation goes on as the client knows it: the stored calls are
behind an edit then, as any message that a client takes out. The other way would be to read all stored conversations
of a client's session before its first request; the loss is one miss of the cache.
"""

from collections import OrderedDict
from collections.abc import Sequence

from backscroll.integrations.proxy.given import Given, as_given
from backscroll.integrations.proxy.recall_form import Item, RecallForm, Says, Turn

_MOST = 1_024
"""Groups of conversations whose turns are kept. Each has few, of some kilobytes; a process has tens of groups."""


class RecallTurns:
    """The turns of all conversations of one API.

    Args:
        form: Reads them.
    """

    def __init__(self, form: RecallForm) -> None:
        self._form = form
        self._turns: OrderedDict[str, dict[tuple[int, int], Turn]] = OrderedDict()
        """By group; there by the number of the client's messages before it, and a hash of the newest of them."""

    def place(self, items: Sequence[Item], says: Says) -> tuple[int, int]:
        """Return the place of a turn that follows these messages of a client."""
        return len(items), hash(repr(says(items[-1]))) if items else 0

    def note(self, group: str, place: tuple[int, int], turn: Turn) -> None:
        """Keep a turn, in place of what was known of it."""
        self._turns.setdefault(group, {})[place] = turn
        self._turns.move_to_end(group)
        while len(self._turns) > _MOST:
            self._turns.popitem(last=False)

    def known(self, group: str, place: tuple[int, int]) -> Turn:
        """Return what is known of a turn."""
        return self._turns.get(group, {}).get(place, Turn())

    def restored(self, group: str, items: Sequence[Given], says: Says) -> list[Given] | None:
        """Return a client's messages with what it did not see; `None` if it saw everything.

        Args:
            group: The group of the conversation.
            items: The client's messages, without its system prompt.
            says: Returns what a message says, without marks.
        """
        found: list[Item] = list(items)
        places = sorted(self._turns.get(group, {}), reverse=True)  # the last first: so the numbers before it hold
        here = [at for at in places if 0 < at[0] <= len(items) and self.place(items[: at[0]], says) == at]
        for at in here:
            found[at[0] :] = self._form.restored(found[at[0] :], self._turns[group][at], says)
        return [as_given(item) for item in found] if here else None
