"""Which conversation a request belongs to, where several agents use one session.

The SDK does not say which agent calls a model. But an agent that works as the tool of another one begins with an input
of its own, while the other one waits for the result. So a request belongs to the conversation whose messages it goes
on from. If there is none, it is the session's own history after an edit, or the beginning of another agent's.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count

from backscroll.integrations.conversations import Conversations
from backscroll.integrations.item_runs import Item
from backscroll.integrations.openai_agents.conversation import ItemConversation, digest_of


class Lines:
    """The conversations of one session: its own, and one for each agent that works for it.

    Args:
        conversations: The table that they are in.
        key: The name of the session, and of its own conversation.
    """

    def __init__(self, conversations: Conversations[ItemConversation], key: str) -> None:
        self._conversations = conversations
        self._key = key
        self._names: dict[str, None] = {}
        self._lock = threading.Lock()

    @contextmanager
    def use(self, items: Sequence[Item]) -> Iterator[ItemConversation]:
        """Return the conversation of these items; nothing else uses it before the block ends."""
        with ExitStack() as stack:
            with self._lock:
                name = self._name_of(items)
                self._names[name] = None
                found = stack.enter_context(self._conversations.use(name))
            yield found

    def main(self) -> ItemConversation:
        """Return the session's own conversation."""
        return self._conversations.get(self._key)

    def of_agent(self, items: Sequence[Item]) -> ItemConversation:
        """Return the conversation that began with the first of these items; the session's own if there is none."""
        opening = digest_of(items[0]) if items else ""
        found = [each for each in self.all().values() if each.opening == opening]
        return max(found, key=lambda each: each.messages) if found else self.main()

    def all(self) -> dict[str, ItemConversation]:
        """Return the open conversations by name."""
        found = {name: self._conversations.known(name) for name in (self._key, *self._names)}
        return {name: each for name, each in found.items() if each is not None}

    def _name_of(self, items: Sequence[Item]) -> str:
        known = self.all()
        self._names = dict.fromkeys(known)
        lone = len(items) == 1
        fits = [
            (each.messages, name)
            for name, each in known.items()
            if not each.calls and not (lone and each.waits) and each.continues(items)
        ]
        if fits:
            return max(fits)[1]
        main = known.get(self._key)
        if main is None or not (main.calls or main.waits):
            return self._key
        opening = digest_of(items[0]) if items else ""
        if not main.calls and not lone and main.opening == opening:
            return self._key
        return self._free(f"{self._key}/{opening}", known)

    def _free(self, name: str, known: dict[str, ItemConversation]) -> str:
        """Return a name whose conversation is not in use."""
        for number in count(1):
            each = name if number == 1 else f"{name}-{number}"
            found = known.get(each)
            if found is None or not (found.calls or found.waits):
                break
        return each
