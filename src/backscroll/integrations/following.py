"""Follow a framework's history: load what is new, at a cost that does not depend on the length of the history.

Frameworks hand over their whole history for each model call, and it may be edited without an event. So what was
loaded is compared with it: all of it at the beginning of a run, and only its end within one.
"""

import marshal
from array import array
from collections import deque
from collections.abc import Generator, Sequence
from copy import deepcopy
from typing import Any, Generic

from backscroll.integrations.translation import Native, Translation
from backscroll.messages import Message, validated
from backscroll.ports import Operation
from backscroll.session.append import append
from backscroll.session.branching import rewind
from backscroll.session.past import get_messages
from backscroll.session.state import SessionState

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
        self._prints: array[int] | None = None
        """A hash of what each loaded message says. It differs in each process. `None`: the store was not read yet."""
        self._end: deque[object] = deque(maxlen=COMPARED)
        """What the newest loaded messages say: equal texts are compared by identity, which takes no time."""

    def __len__(self) -> int:
        """Return how many messages are loaded."""
        return len(self._prints or ())

    def load(self, history: Sequence[Native], *, whole: bool = False) -> Generator[Operation[Any], Any, int]:
        """Yield the operations after which the session holds this history. Returns how many messages it held already.

        Args:
            history: The framework's messages; each call hands over all of them.
            whole: Compare all messages, not only the newest ones.
        """
        if self._prints is None:
            yield from self._load_stored(history)
        known = len(self)
        same = self._in_common(history, whole=whole)
        if same < known:
            yield rewind(self._session, self.seq(same - 1))
            self._forget_from(same)
        if new := history[same:]:
            said = deepcopy(list(map(self._translation.says, new)))  # before they can be edited
            yield append(self._session, list(map(self._translation.to_message, new)))
            for each in said:
                self._note(each)
        return same

    def seq(self, index: int) -> int:
        """Return the number of the message at an index of the history; -1 before the first."""
        return -1 if index < 0 else self._session.history.branch[index]

    def _load_stored(self, history: Sequence[Native]) -> Generator[Operation[Any], Any, None]:
        """Rewind the session to the beginning that it shares with the history."""
        stored: list[Message] = yield get_messages(self._session)
        said, redact = self._translation.said, self._session.config.redact
        same = 0
        for there, here in zip(stored, history, strict=False):
            if said(there) != said(validated(self._translation.to_message(here), redact)):
                break
            same += 1
        if same < len(stored):
            yield rewind(self._session, self.seq(same - 1))
        self._prints = array("q")
        for native in history[:same]:
            self._note(deepcopy(self._translation.says(native)))

    def _in_common(self, history: Sequence[Native], *, whole: bool) -> int:
        """Return with how many of the loaded messages the history begins."""
        assert self._prints is not None
        both = min(len(self._prints), len(history))
        newest = len(self._prints) - len(self._end)
        start = 0 if whole or both < len(self._prints) else newest
        for at in range(start, both):
            says = self._translation.says(history[at])
            if not (self._end[at - newest] == says if at >= newest else self._prints[at] == _print(says)):
                return at if start == 0 else self._in_common(history, whole=True)
        return both

    def _note(self, said: object) -> None:
        assert self._prints is not None
        self._prints.append(_print(said))
        self._end.append(said)

    def _forget_from(self, index: int) -> None:
        assert self._prints is not None
        for _ in range(min(len(self._end), len(self._prints) - index)):
            self._end.pop()
        del self._prints[index:]


def _print(said: Any) -> int:
    return hash(marshal.dumps(said, 2))  # from version 3 on it depends on who else holds an object
