"""A store around another one that passes everything on. Layers change what they are about; nothing else lives here."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from backscroll.errors import ConfigurationError
from backscroll.ports import Pending, Record, Store, Stored, Tip
from backscroll.stores.names import checked


class Layer:
    """Passes on also what the store can do beyond the port, such as `verify`, as it is."""

    OWN: ClassVar[tuple[str, ...]] = ()
    """What the names of sessions begin with in which the layer keeps what it needs itself."""

    def __init__(self, store: Store) -> None:
        self._store = store

    if not TYPE_CHECKING:  # a slip in a name would pass for anything

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self._store, name)

    @property
    def capabilities(self) -> frozenset[str]:
        """What the store can do."""
        return self._store.capabilities

    def append(
        self, session: str, first: int, records: Sequence[Record], *, incarnation: str | None = None, turn: Any = None
    ) -> Pending:
        """Puts records at the places from `first` on."""
        return self._store.append(self._visible(session), first, records, incarnation=incarnation, turn=turn)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop`."""
        return self._store.read(self._visible(session), start, stop)

    def end(self, session: str) -> int:
        """The place behind the last record."""
        return self._store.end(self._visible(session))

    def tip(self, session: str) -> Tip:
        """The same, with the session's incarnation."""
        return self._store.tip(self._visible(session))

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """The place of the first record with a `seq` of at least this one, or of the record with this key."""
        return self._store.find(self._visible(session), seq=seq, key=key)

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Begins a session with the first `at` records of another."""
        return self._store.fork(self._visible(session), self._visible(new), at)

    def lease(self, session: str, owner: str, seconds: float) -> Pending:
        """Keeps a session for one writer for so many seconds."""
        return self._store.lease(self._visible(session), owner, seconds)

    def turn(self, session: str) -> Pending:
        """Waits until nobody else can append to a session."""
        return self._store.turn(self._visible(session))

    def sessions(self) -> list[str]:
        """Names of all sessions that are not the layer's own, in the order of their beginning."""
        return [name for name in self._store.sessions() if not name.startswith(self.OWN)]

    def delete(self, session: str, cascade: bool = False) -> None:
        """Leaves nothing of a session."""
        self._store.delete(self._visible(session), cascade)

    def close(self) -> None:
        """Waits for what is being written and frees everything."""
        self._store.close()

    def _visible(self, session: str) -> str:
        """The name as it came. Raises `ConfigurationError` for one that is not for users."""
        if checked(session).startswith(self.OWN):
            raise ConfigurationError(
                f"the session name {session!r} is one that Backscroll uses itself: take another one"
            )
        return session
