"""Follow a framework's history: load what is new, at a cost that does not depend on the length of the history.

Frameworks hand over their whole history for each model call, and it may be edited without an event. So what was
loaded is compared with it: all of it at the beginning of a run, and only its end within one.
"""

import marshal
from array import array
from collections import deque
from collections.abc import Generator, Sequence
from copy import deepcopy
from itertools import takewhile
from typing import Any, Generic, Literal

from backscroll.errors import ConflictError, ReferenceNotFoundError
from backscroll.integrations.translation import Native, Translation
from backscroll.messages import Message, read_message, validated, without_reasoning
from backscroll.ports import Operation
from backscroll.session.append import append
from backscroll.session.branching import rewind
from backscroll.session.past import get_messages, get_rewound
from backscroll.session.state import SessionState
from backscroll.session.store_sync import TRIES, too_many_conflicts

COMPARED = 32
"""The newest messages that are compared at each step."""


class Following(Generic[Native]):
    """What a session has loaded of a framework's history, one message for each of the framework's.

    Args:
        session: The session that follows.
        translation: Reads the framework's messages.
    """

    def __init__(self, session: SessionState, translation: Translation[Native]) -> None:
        self._session = session
        self._translation = translation
        self._prints = array("q")
        """A hash of what each loaded message says. It differs in each process."""
        self._is_sure = False
        """Whether the session holds what was loaded: it was read, and no change of it failed or was cancelled since."""
        self._end: deque[object] = deque(maxlen=COMPARED)
        """What the newest loaded messages say: equal texts are compared by identity, which takes no time."""
        self._bare: set[int] = set()
        """Indexes of messages that are loaded without their reasoning."""
        self.held: int = 0
        """How many messages of the newest history the session held already, stored ones included."""

    def __len__(self) -> int:
        """Return how many messages are loaded."""
        return len(self._prints)

    def load(
        self, history: Sequence[Native], *, whole: bool = False, binds: bool = True
    ) -> Generator[Operation[Any], Any, int]:
        """Yield the operations after which the session holds this history. Returns how many messages it held already.

        Args:
            history: The framework's messages; each call hands over all of them.
            whole: Compare all messages, not only the newest ones.
            binds: The provider binds reasoning to what comes before it: behind an edit, load messages without it.

        Raises:
            ConflictError: Other writers of the stored session were faster several times in a row.
        """
        same = None
        for _ in range(TRIES):
            try:
                found = yield from self._load(history, whole=whole, binds=binds)
            except (ConflictError, ReferenceNotFoundError):  # the next try reads what another writer changed
                continue
            same = found if same is None else min(same, found)
            if self.holds_all:
                self.held = same
                return same
        raise too_many_conflicts()

    @property
    def holds_all(self) -> bool:
        """Whether the session holds what was loaded, and nothing that its user or another writer added or removed."""
        return self._is_sure and len(self._prints) == len(self._session.history.branch)

    def _load(self, history: Sequence[Native], *, whole: bool, binds: bool) -> Generator[Operation[Any], Any, int]:
        edited = False if self.holds_all else (yield from self._load_stored(history))
        self._is_sure = False  # until all of it succeeded
        known = len(self)
        same = self._in_common(history, whole=whole)
        if same < known:
            yield rewind(self._session, self.seq(same - 1))
            self._forget_from(same)
            edited = True
        if new := history[same:]:
            said = deepcopy(list(map(self._translation.says, new)))  # before they can be edited
            messages = list(map(self._to_message, new))
            if edited and binds:
                messages = [self._without_bound(message, same + at) for at, message in enumerate(messages)]
            yield append(self._session, messages)
            for each in said:
                self._note(each)
        self._is_sure = True
        return same

    @property
    def has_bare(self) -> bool:
        """Whether a message was loaded without its reasoning."""
        return bool(self._bare)

    def is_bare(self, index: int) -> bool:
        """Return whether the message at an index of the history was loaded without its reasoning."""
        return index in self._bare

    def continues(self, history: Sequence[Native]) -> bool:
        """Return whether a history goes on from what is loaded, as far as the newest loaded messages show.

        A caller with several sessions can so find the one that a history belongs to, at the same cost at any length.
        """
        if not self._prints or len(history) < len(self._prints):
            return False
        newest = len(self._prints) - len(self._end)
        return all(says == self._translation.says(history[newest + at]) for at, says in enumerate(self._end))

    def in_common(self, history: Sequence[Native]) -> int:
        """Return with how many of the loaded messages a history begins. All of them are compared."""
        return self._in_common(history, whole=True)

    def stored_in_common(self, history: Sequence[Native]) -> Generator[Operation[Any], Any, tuple[int, int]]:
        """Return with how many of the stored messages a history begins, and how many are stored. Loads nothing."""
        stored: list[Message] = yield get_messages(self._session)
        alike = (self._stored_as(there, native) for there, native in zip(stored, history, strict=False))
        return sum(1 for _ in takewhile(bool, alike)), len(stored)

    def was_left(self, native: Native) -> Generator[Operation[Any], Any, bool]:
        """Return whether a rewind took away a message that says the same as this one of the framework."""
        rewound: list[Message] = yield get_rewound(self._session)
        return any(self._stored_as(there, native) for there in rewound)

    def seq(self, index: int) -> int:
        """Return the number of the message at an index of the history; -1 before the first."""
        return -1 if index < 0 else self._session.history.branch[index]

    def _load_stored(self, history: Sequence[Native]) -> Generator[Operation[Any], Any, bool]:
        """Rewind the session to the beginning that it shares with the history. Returns whether it held more."""
        stored: list[Message] = yield get_messages(self._session)
        self._forget_from(0)
        same = 0
        for there, native in zip(stored, history, strict=False):
            form = self._stored_as(there, native)
            if form is None:
                break
            if form == "bare":
                self._bare.add(same)
            same += 1
        if same < len(stored):
            yield rewind(self._session, self.seq(same - 1))
        for native in history[:same]:
            self._note(deepcopy(self._translation.says(native)))
        return same < len(stored)

    def _stored_as(self, there: Message, native: Native) -> Literal["whole", "bare"] | None:
        """Return in which form a stored message is this one of the framework: with its reasoning or without."""
        said = self._translation.said
        here = validated(self._to_message(native), self._session.config.redact)
        if said(there) == said(here):
            return "whole"
        bare = _without_sealed(here)
        return None if bare is None or said(there) != said(bare) else "bare"

    def _to_message(self, native: Native) -> Message:
        """Return the message to store. None is passing: the framework's history holds it, and so does each view."""
        message = self._translation.to_message(native)
        metadata = message.get("metadata")
        if not isinstance(metadata, dict) or metadata.get("ephemeral") is not True or metadata.get("persisted") is True:
            return message
        return {**message, "metadata": {**metadata, "ephemeral": False, "source": "hook"}}

    def _without_bound(self, message: Message, index: int) -> Message:
        """Return a message behind an edit without the reasoning that its provider bound to what was there before."""
        bare = _without_sealed(message)
        if bare is None:
            return message
        self._bare.add(index)
        return bare

    def _in_common(self, history: Sequence[Native], *, whole: bool) -> int:
        """Return with how many of the loaded messages the history begins."""
        both = min(len(self._prints), len(history))
        newest = len(self._prints) - len(self._end)
        start = 0 if whole or both < len(self._prints) else newest
        for at in range(start, both):
            says = self._translation.says(history[at])
            if not (self._end[at - newest] == says if at >= newest else self._prints[at] == _print(says)):
                return at if start == 0 else self._in_common(history, whole=True)
        return both

    def _note(self, said: object) -> None:
        self._prints.append(_print(said))
        self._end.append(said)

    def _forget_from(self, index: int) -> None:
        for _ in range(min(len(self._end), len(self._prints) - index)):
            self._end.pop()
        del self._prints[index:]
        self._bare = {each for each in self._bare if each < index}


def _without_sealed(message: Message) -> Message | None:
    """Return a message without its reasoning; None if that is plain text, or all that the message holds."""
    return without_reasoning(message) if read_message(message).is_sealed else None


def _print(said: Any) -> int:
    return hash(marshal.dumps(said, 2))  # from version 3 on it depends on who else holds an object
