"""What of a session is stored, what others stored meanwhile, and what is yet to be. Pure: it asks, the shell calls.

An event is stored first and happens then: what could not be stored did not happen. Events that only steer (a lane was
opened, usage was observed, a compaction would win too little) happen at once and are stored with the next that counts.
"""

from collections.abc import Sequence

from backscroll.errors import ConflictError
from backscroll.history import Event
from backscroll.ports import Ask, Operation, Record, Store
from backscroll.records import Codec


class Logbook:
    """One session's log in a store."""

    def __init__(self, store: Store, session: str) -> None:
        self.session = session
        self._store = store
        self._codec = Codec()
        self._end = 0
        """Places below this one are known here."""
        self._waiting: list[Event] = []

    def later(self, event: Event) -> None:
        """To be stored with the next event that counts."""
        self._waiting.append(event)

    def commit(self, events: Sequence[Event]) -> Operation[bool]:
        """Stores what waits and these events; False, with nothing stored, where somebody else wrote first.

        Raises the store's error where it fails.
        """
        codec, records = self._codec.copy(), list[Record]()
        for at, event in enumerate((*self._waiting, *events), self._end):
            records.append(codec.encode(event, at))
        if not records:
            return True
        failed = yield Ask(self._store.append, (self.session, self._end, records), tolerant=True)
        if isinstance(failed, ConflictError):
            return False
        if isinstance(failed, Exception):
            raise failed
        self._codec, self._end = codec, self._end + len(records)
        self._waiting.clear()
        return True

    def news(self) -> Operation[list[Event]]:
        """What was stored since, here before a restart or by others."""
        end: int = yield Ask(self._store.end, (self.session,))
        if end <= self._end:
            return []
        stored = yield Ask(self._read, (end,), heavy=True)
        found: list[Event]
        self._codec, found = stored
        self._end = end
        if self._waiting and found[: len(self._waiting)] == self._waiting:
            # our own: whoever waited for them gave up before the answer came, and they have happened here already
            found = found[len(self._waiting) :]
            self._waiting.clear()
        return found

    def _read(self, end: int) -> tuple[Codec, list[Event]]:
        codec = self._codec.copy()
        return codec, [codec.decode(stored) for stored in self._store.read(self.session, self._end, end)]
