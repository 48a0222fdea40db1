"""What the core needs from outside: protocols that integrators implement, and effects that the driver performs.

The core is written as generators. Where it needs something only the outside has (the token count of a huge text, a
system prompt, a lock), it yields an effect. The driver performs it, blocking or awaiting, and sends the result back.
One implementation so serves synchronous and asynchronous callers.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Tokenizer(Protocol):
    """Count the tokens of a text. Must be deterministic, must never raise, and must not return 0 on failure."""

    @property
    def name(self) -> str:
        """Name and version, such as `o200k_base/toktok-0.3.0`. Stored counts are keyed by it."""
        ...

    @property
    def exact(self) -> bool:
        """True if counts equal those of the named vocabulary; False for an estimator."""
        ...

    def count(self, text: str) -> int:
        """Return the tokens of `text`: at least 1 for a text that is not empty."""
        ...


class Pattern(Protocol):
    """A compiled regular expression; see `manager/regex.py`."""

    def finds(self, line: str) -> bool:
        """Return whether the pattern matches anywhere in the line.

        Raises:
            ConfigurationError: Matching takes too long.
        """
        ...


class Record(NamedTuple):
    """One event of a session, as bytes; see `history/codec.py`."""

    kind: str
    seq: int | None
    """Sequence number of a message. `None`: the event is no message."""
    body: bytes
    format: int
    """Version of the body's format, which selects its reader."""
    key: str | None = None
    """A second way to find the record, unique in its session: 1 to 300 bytes of UTF-8. `None`: by position only."""


LOST = "lost"
"""The kind of a record that a repair writes in place of a lost one, so that positions stay dense.

It has format 0, no key, and the lost `seq` if that is known. Its body is UTF-8 text with the reason.
"""


class Stored(NamedTuple):
    """A record as read back from the store."""

    position: int
    """Its position in the session's log: 0, 1, 2 ... without a gap."""
    record: Record


class Tip(NamedTuple):
    """Where a session's log ends."""

    end: int
    """Number of records in the log; 0 for an unknown session."""
    incarnation: str | None
    """Identity of the session, created with its first record. A deleted session that starts again under the same name
    gets another one. `None`: the session is unknown, or damage hides it.
    """


class Extent(NamedTuple):
    """The size of a session, as `extent(session)` returns it in stores that have this method."""

    size: int
    """Bytes of its own records. Records that a fork shares count with the fork's origin."""
    changed: float | None = None
    """Time of its last record, in seconds since 1970. `None`: the store does not know."""


class Pending(Protocol):
    """A write under way, such as a `concurrent.futures.Future`. The core must not import that class."""

    def result(self) -> Any:
        """Wait for the write and return its result, or raise its error."""
        ...


class Turn(Protocol):
    """A period in which only one writer can append to a session."""

    def end(self) -> None:
        """End the period and admit other writers. Does nothing if it is over already."""
        ...


class Store(Protocol):
    """Where sessions are kept: one log of records per session. One object serves a whole process and is thread-safe.

    A session's name is any text of 1 to 255 bytes in UTF-8 without control characters. It is data, never a path. Every
    method may raise `StoreUnavailableError` (the store cannot be reached, or is full) and `CorruptionError` (stored
    bytes were altered).
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """Optional features: `durable` (survives the process), `shared` (several processes), `delete`, `fork`, `lease`,
        `turn`, `encrypted` (unreadable without the key).
        """
        ...

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Pending:
        """Append records at consecutive positions, all or none.

        Args:
            session: The session's name; its first append creates it.
            expected_position: Where the first record goes: the current length of the log.
            records: What to append.
            incarnation: Expected incarnation of the session. `None`: any.
            turn: The result of `turn`, which ends with this append.

        Returns:
            A pending write, done once the records are as safe as the store promises. Its result is the session's
            incarnation. It fails with `ConflictError` if the log has another length, if a key exists
            already, or if the session has another incarnation.
        """
        ...

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield the records from `start` up to but excluding `stop`, in order.

        Raises:
            CorruptionError: A record is missing or altered.
        """
        ...

    def length(self, session: str) -> int:
        """Return the number of records in the log; 0 for an unknown session."""
        ...

    def tip(self, session: str) -> Tip:
        """Return the length and the incarnation. Called before each view, so it must be cheap."""
        ...

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Return the position of the first record whose `seq` is at least `seq`, or of the record with this key.

        Exactly one of the two is given. `seq`s grow along a log. Must be as cheap as reading one record.

        Returns:
            The position, or `None` if there is no such record.
        """
        ...

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Start the session `new` with the first `at` records of another; both share these from then on.

        Requires the capability `fork`. The pending write fails with `ConflictError` if `new` exists, and with
        `ConfigurationError` if the log of `session` is shorter than `at`, or `at` is 0.
        """
        ...

    def lease(self, session: str, owner: str, seconds: float) -> Pending:
        """Reserve a session for one writer.

        Requires the capability `lease`. The same owner can renew its lease at any time. A lease does not reject appends
        of other writers: the position that each writer expects is the fence, and a lease only reports the conflict
        early.

        Args:
            session: The session's name.
            owner: Name of the writer, 1 to 255 bytes.
            seconds: Duration from now on, by the store's clock. 0 ends the lease.

        Returns:
            A pending write. It fails with `ConflictError`, which names the holder and the remaining seconds, while
                another owner holds the lease.
        """
        ...

    def turn(self, session: str) -> Pending:
        """Wait until no other writer can append to a session, for a second or two from then on.

        Requires the capability `turn`. A writer that lost an append to another one calls this: no record can then come
        between its next read and its next append.

        Returns:
            A pending `Turn`.
        """
        ...

    def sessions(self) -> list[str]:
        """Return the names of all sessions, in order of creation."""
        ...

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session. Records that its forks share stay.

        Args:
            session: The session's name.
            cascade: Delete the forks that share its records as well.

        Raises:
            ConflictError: Forks share its records, and `cascade` is False. The error names them.
        """
        ...

    def close(self) -> None:
        """Wait for pending writes and release all resources. The next call opens the store again."""
        ...


class BlobInfo(NamedTuple):
    """A blob that exists."""

    name: str
    age: float
    """Seconds since it was put, by the clock of the blob store."""


class BlobStore(Protocol):
    """Where large bodies are kept, each under its own name. One object serves a whole process and is thread-safe.

    A name has 1 to 200 ASCII letters, digits, `-` and `_`. Its `repr` shows the location and no secret. Every method
    may raise `StoreUnavailableError` (it cannot be reached, or is full).
    """

    def put(self, name: str, data: bytes) -> None:
        """Store data durably: once this returns, it survives a power cut. Never overwrites an existing name."""
        ...

    def get(self, name: str) -> bytes:
        """Return the data; the caller verifies it.

        Raises:
            CorruptionError: The name is unknown.
        """
        ...

    def delete(self, name: str) -> None:
        """Delete a blob; an unknown name is no error."""
        ...

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        """Yield all blobs whose names start with `prefix`, in any order, and leftovers of an interrupted `put`."""
        ...


class WriterLease(Protocol):
    """Keep a session for this writer alone; see `manager/lease.py`."""

    def keep(self) -> Any:
        """Acquire or renew the lease before a change. May return an awaitable.

        Raises:
            ConflictError: Another writer holds the lease.
        """
        ...

    def refused(self) -> None:
        """Note that an append was rejected: the next change acquires the lease again."""
        ...

    def release(self) -> Any:
        """Release the lease at the end. May return an awaitable."""
        ...


LONG = 64 * 1024
"""Characters from which processing a text may take milliseconds, and so is worth a thread."""


class Ask(NamedTuple):
    """Effect: the driver calls `function(*arguments)`, awaits the result and sends it back."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    heavy: bool = False
    """Run in a thread: long texts are counted and stored, views compacted and sessions searched outside the event loop.
    If the caller is cancelled, the function still runs to its end, its result is dropped, and the lock is free
    meanwhile. So it must not change the session's state.
    """
    tolerant: bool = False
    """Send an exception back as the result, instead of ending the operation."""


class BackgroundTask(Protocol):
    """Run one operation at a time in the background; its result is fetched later."""

    @property
    def running(self) -> bool:
        """True if an operation was started whose result was not fetched yet."""
        ...

    def start(self, operation: "Operation[Any]") -> None:
        """Start an operation that acquires no lock. Nothing may be running."""
        ...

    def wait(self, seconds: float) -> Any:
        """Wait until it is done, at most `seconds`. May return an awaitable."""
        ...

    def fetch(self) -> Any:
        """Return the result, once. `None`: there is none yet."""
        ...

    def cancel(self) -> Any:
        """Cancel the running operation without a result. May return an awaitable."""
        ...


@dataclass(frozen=True, slots=True)
class AcquireLock:
    """Effect: hold the session's lock until the operation ends. Yielded at most once per operation."""


Effect = Ask | AcquireLock
Operation = Generator[Effect, Any, T]
"""A piece of core logic that yields effects and returns a `T`."""

Notification = tuple[str, dict[str, Any]]
EventHandler = Callable[[str, dict[str, Any]], Any]
"""`on_event(name, payload)`. May return an awaitable. Called after the session's lock is released."""
