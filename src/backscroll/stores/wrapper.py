"""Base class of layers: a store around another one that forwards everything."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from backscroll.errors import ConfigurationError
from backscroll.ports import Pending, Record, Store, Stored, Tip
from backscroll.stores.names import checked


class Layer:
    """Forwards every call, including what the inner store supports beyond the port, such as `verify`."""

    OWN: ClassVar[tuple[str, ...]] = ()
    """Prefixes of the names of sessions in which the layer keeps its own data."""

    def __init__(self, store: Store) -> None:
        self._store = store

    if not TYPE_CHECKING:  # type checkers would accept any misspelled name

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return getattr(self._store, name)

    @property
    def capabilities(self) -> frozenset[str]:
        """What the inner store supports."""
        return self._store.capabilities

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Pending:
        """Append records at `expected_position` and the following positions."""
        return self._store.append(
            self._visible(session), expected_position, records, incarnation=incarnation, turn=turn
        )

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`."""
        return self._store.read(self._visible(session), start, stop)

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        return self._store.length(self._visible(session))

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation."""
        return self._store.tip(self._visible(session))

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key."""
        return self._store.find(self._visible(session), seq=seq, key=key)

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Start a session with the first `at` records of another."""
        return self._store.fork(self._visible(session), self._visible(new), at)

    def lease(self, session: str, owner: str, seconds: float) -> Pending:
        """Lease a session to one writer for `seconds` from now."""
        return self._store.lease(self._visible(session), owner, seconds)

    def turn(self, session: str) -> Pending:
        """Wait for an exclusive turn to append to a session."""
        return self._store.turn(self._visible(session))

    def sessions(self) -> list[str]:
        """Names of all sessions except the layer's own, in the order of creation."""
        return [name for name in self._store.sessions() if not name.startswith(self.OWN)]

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session and all its records."""
        self._store.delete(self._visible(session), cascade)

    def close(self) -> None:
        """Wait for pending writes, then free all resources."""
        self._store.close()

    def _visible(self, session: str) -> str:
        """Validate a name. Raise `ConfigurationError` if it is reserved."""
        if checked(session).startswith(self.OWN):
            raise ConfigurationError(f"the session name {session!r} is reserved for Backscroll: choose another one")
        return session
