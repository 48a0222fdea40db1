"""The conversations of one adapter, by the framework's own key: as many as are in use, and the newest of the rest."""

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from backscroll.errors import ConfigurationError
from backscroll.integrations.conversation import Conversation
from backscroll.notices import warn

C = TypeVar("C", bound=Conversation[Any])
MOST = 256
"""Conversations that an adapter keeps open. Another one closes the one that was not used for longest."""
OF_STORES = ("store", "session", "lease", "storage")
"""Options that mean nothing to a conversation in memory."""
_CLAIMED: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()
"""Who uses a stored session, by store and name."""
_claiming = threading.Lock()


def claim(store: object, session: str, owner: Any) -> None:
    """Note who uses a stored session, for as long as that object lives.

    Args:
        store: The option `store`. `None`: in memory, where nothing can be mixed.
        session: The name of the session.
        owner: The conversation, or the object that it belongs to.

    Raises:
        ConfigurationError: Another live conversation has this session.
    """
    if store is None or _is_claimed(store, session, owner):
        return
    gc.collect()  # an agent that a program dropped may wait for the collector
    if not _is_claimed(store, session, owner):
        raise ConfigurationError(
            f"the session {session!r} belongs to another agent, and their messages would be mixed: give each agent "
            "a name or a `session` of its own"
        )


def _is_claimed(store: object, session: str, owner: Any) -> bool:
    """Note the owner, unless there is another one. Returns whether it is the owner now."""
    with _claiming:
        return _CLAIMED.setdefault((str(store), session), owner) is owner


def release(store: object, session: str) -> None:
    """Note that a stored session is free again."""
    with _claiming:
        _CLAIMED.pop((str(store), session), None)


class Conversations(Generic[C]):
    """A table of conversations. Safe for concurrent tasks and threads.

    Args:
        make: Makes a conversation with these options of the manager.
        options: Options of `backscroll.AsyncContextManager`. With a `store`, each conversation is a session named by
            its key, behind `session` and a slash if that is given.
        most: How many conversations stay open, at least 1. A closed one is read from the store when its key comes
            again; without a store it is loaded from the framework's history.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(self, make: Callable[[Mapping[str, Any]], C], options: Mapping[str, Any], *, most: int = MOST) -> None:
        if type(most) is not int or most < 1:
            raise ConfigurationError(f"`max_conversations` must be a whole number of at least 1, not {most!r:.80}")
        self._make = make
        self._options = dict(options)
        self._most = most
        self._open: OrderedDict[str, C] = OrderedDict()
        self._lock = threading.Lock()
        make(self._options)  # wrong options fail where they are given; this opens nothing

    def __len__(self) -> int:
        """Return how many conversations are open."""
        return len(self._open)

    @contextmanager
    def use(self, key: str) -> Iterator[C]:
        """Return the conversation of a key; it is not closed before the block ends.

        Args:
            key: The framework's own key, with the agent's name where several agents share one.

        Raises:
            ConfigurationError: Another live conversation has the stored session of this key.
        """
        found = self.get(key, in_use=True)
        try:
            yield found
        finally:
            self.leave(found)

    def leave(self, conversation: C) -> None:
        """Note that a conversation is used no more that `get` counted as in use."""
        with self._lock:
            conversation.calls -= 1

    def get(self, key: str, *, in_use: bool = False) -> C:
        """Return the conversation of a key. `in_use`: count it as in use, as `use` does."""
        with self._lock:
            found = self._open.get(key)
            if found is None:
                found = self._opened(key)
            self._open.move_to_end(key)
            found.calls += in_use
            idle = self._idle()
        for other in idle:
            try:
                other.close_now()
            except Exception as error:
                warn(f"the session {other.session_id!r} was closed without its newest reports of requests: {error}")
        return found

    def known(self, key: str) -> C | None:
        """Return the conversation of a key if it is open."""
        return self._open.get(key)

    def unnamed(self) -> C:
        """Return a new conversation in memory, for a run without a key."""
        return self._make(self._in_memory())

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used.

        Raises:
            StoreError: The store failed for one of them; all others are closed.
        """
        with self._lock:
            found = [self._removed(key) for key in list(self._open)]
        with ExitStack() as stack:
            for each in found:
                stack.callback(each.close_now)

    def _opened(self, key: str) -> C:
        store = self._options.get("store")
        found = self._make(self._in_memory() if store is None else {**self._options, "session": self._name(key)})
        claim(store, self._name(key), found)
        self._open[key] = found
        return found

    def _idle(self) -> list[C]:
        """Remove the conversations that were not used for longest, as many as there are too many."""
        waiting = [key for key, each in self._open.items() if not each.is_in_use]
        return [self._removed(key) for key in waiting[: max(0, len(self._open) - self._most)]]

    def _removed(self, key: str) -> C:
        release(self._options.get("store"), self._name(key))
        return self._open.pop(key)

    def _name(self, key: str) -> str:
        session = self._options.get("session")
        return f"{session}/{key}" if session else key

    def _in_memory(self) -> dict[str, Any]:
        return {name: value for name, value in self._options.items() if name not in OF_STORES}
