"""What the core needs from outside, as protocols and questions. No implementation may live here.

The core is written as generators. Where it needs something that only the outside has (a token count of a huge text, a
system prompt, a lock), it yields a question; a shell answers it, waiting or awaiting as it likes. So one implementation
serves synchronous and asynchronous callers.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

T = TypeVar("T")


class Tokenizer(Protocol):
    """Counts the tokens of a text. Must be deterministic, must never raise, and must not answer 0 for a failure."""

    @property
    def name(self) -> str:
        """Name and version, for instance `o200k_base/toktok-0.3.0`: stored counts are keyed by it."""
        ...

    @property
    def exact(self) -> bool:
        """Whether counts equal those of the named vocabulary; False for an estimator."""
        ...

    def count(self, text: str) -> int:
        """Tokens in `text`, at least 1 for a text that is not empty."""
        ...


class Pattern(Protocol):
    """A regular expression that was compiled; see `manager/regex.py`."""

    def finds(self, line: str) -> bool:
        """Whether it matches somewhere in the line. Raises `ConfigurationError` where that takes too long."""
        ...


class Record(NamedTuple):
    """One event of a session, as bytes; see `history/codec.py`."""

    kind: str
    seq: int | None
    """Of a message; None for every other event."""
    body: bytes
    format: int
    """Of the body: what reads it."""
    key: str | None = None
    """What it is found by besides its place; no two records of a session have the same. 1 to 300 bytes in UTF-8."""


LOST = "lost"
"""The kind of a record that a repair puts where one was lost, so that places stay dense: in format 0, with the `seq`
that was lost if that can be told, without a key. Its body is a text in UTF-8 that says why.
"""


class Stored(NamedTuple):
    """A record as it came back."""

    position: int
    """Its position in the session's log: 0, 1, 2 ... without a gap."""
    record: Record


class Tip(NamedTuple):
    """Where a session's log ends."""

    end: int
    """The place behind the last record; 0 for a session that nobody wrote to."""
    incarnation: str | None
    """The identity of the session that began with the log's first record: one that is deleted and begins again under
    the same name has another one. None for a session that nobody wrote to, or where damage hides it.
    """


class Extent(NamedTuple):
    """How much a session takes, as `extent(session)` of a store says that can."""

    size: int
    """Bytes of its own records; what a fork shares is counted with its origin."""
    changed: float | None = None
    """When its last record came, in seconds since 1970; None where the store does not know."""


class Pending(Protocol):
    """What will be done: a `concurrent.futures.Future`, which the core must not know by name."""

    def result(self) -> Any:
        """Waits for it; raises what went wrong."""
        ...


class Turn(Protocol):
    """A moment in which one writer alone can append to a session."""

    def end(self) -> None:
        """Lets others in again; does nothing where the turn is over."""
        ...


class Store(Protocol):
    """Where sessions are kept: a log of records for each. One object serves a whole process; safe for threads.

    A session's name is any text of 1 to 255 bytes in UTF-8 without control characters; it is data, never a path.
    `StoreUnavailableError` where the place cannot be reached or is full, `CorruptionError` for what is not as it was
    written.
    """

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do besides: `durable` (survives the process), `shared` (several processes), `delete`, `fork`,
        `lease`, `turn`, `encrypted` (nobody can read it without its key).
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
        """Puts records at `expected_position` and behind, all or none; done when they are as safe as the store
        promises, with the session's incarnation as the result. Fails with `ConflictError` where the log does not have
        `expected_position` records, or has a key already, or where the session is not this `incarnation`; None: any.

        `turn`: what `turn` answered, which ends with this.
        """
        ...

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop`, in order. Raises `CorruptionError` where one is missing or altered."""
        ...

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        ...

    def tip(self, session: str) -> Tip:
        """The same, with the session's incarnation. Cheap: asked before each view."""
        ...

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """The place of the first record with a `seq` of at least this one, or of the record with this key; None where
        there is none. `seq`s grow along a log. Exactly one of the two is given. As cheap as reading one record.
        """
        ...

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Begins the session `new` with the first `at` records of another, which both share from then on.

        Only with the capability `fork`. Fails with `ConflictError` where `new` has begun already, and with
        `ConfigurationError` where the log of `session` is shorter, or `at` is 0.
        """
        ...

    def lease(self, session: str, owner: str, seconds: float) -> Pending:
        """Keeps a session for one writer for so many seconds from now on, by the store's clock; 0 ends that.

        Only with the capability `lease`. The same owner, 1 to 255 bytes, takes it anew at any time. Fails with
        `ConflictError`, which names the holder and says for how long, while another one holds it. An append of others
        is not refused: the place that each expects is the fence, and a lease only tells early.
        """
        ...

    def turn(self, session: str) -> Pending:
        """Waits until nobody else can append to a session, for a second or two from then on; answers a `Turn`.

        Only with the capability `turn`. Asked for by a writer that lost an append to another one: what it reads now,
        it can append behind.
        """
        ...

    def sessions(self) -> list[str]:
        """Names of all sessions, in the order of their beginning."""
        ...

    def delete(self, session: str, cascade: bool = False) -> None:
        """Leaves nothing of a session; of a fork only what it does not share goes.

        Raises `ConflictError` where forks share its records, and names them; with `cascade` they go as well.
        """
        ...

    def close(self) -> None:
        """Waits for what is being written and frees everything. Can be used again afterwards: it opens anew."""
        ...


class BlobInfo(NamedTuple):
    """A blob that is there."""

    name: str
    age: float
    """Seconds since it was put, by the clock of its place."""


class BlobStore(Protocol):
    """Where large bodies are kept, each under a name of its own. One object serves a whole process; safe for threads.

    A name has 1 to 200 ASCII letters, digits, `-` and `_`. Its `repr` tells the place, and no secret.
    `StoreUnavailableError` where the place cannot be reached or is full.
    """

    def put(self, name: str, data: bytes) -> None:
        """Keeps data; when this returns, it survives a power cut. Never changes what has the name already."""
        ...

    def get(self, name: str) -> bytes:
        """What was put; the caller checks whether it was altered. Raises `CorruptionError` for an unknown name."""
        ...

    def delete(self, name: str) -> None:
        """Leaves nothing of it; that there is nothing is no error."""
        ...

    def names(self, prefix: str = "") -> Iterator[BlobInfo]:
        """All that begin with this, in any order; also what a `put` that was cut short left behind."""
        ...


class WriterLease(Protocol):
    """Keeps a session for this writer alone; see `manager/lease.py`."""

    def keep(self) -> Any:
        """Before each change; may answer something to wait for. Fails with `ConflictError` while another one has it."""
        ...

    def refused(self) -> None:
        """That failed: the next change asks again."""
        ...

    def release(self) -> Any:
        """At the end; may answer something to wait for."""
        ...


LONG = 64 * 1024
"""Characters from which what is done with a text is worth a thread: it may take milliseconds."""


class Ask(NamedTuple):
    """Call `function(*arguments)` outside; an answer that is awaitable or a future is waited for, and sent back."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    heavy: bool = False
    """Worth a thread: long texts are counted, views compacted and sessions searched outside of the event loop. Where
    the caller gives up, it runs to its end and nobody gets the answer: what follows for the session waits for that.
    """
    tolerant: bool = False
    """An exception is an answer: it is sent back instead of ending the operation."""


class BackgroundTask(Protocol):
    """Does one thing at a time beside everything else; what comes of it is fetched later."""

    @property
    def running(self) -> bool:
        """Whether something was begun whose result was not fetched yet."""
        ...

    def start(self, operation: "Operation[Any]") -> None:
        """Begins an operation that asks for no lock. Nothing may be running."""
        ...

    def wait(self, seconds: float) -> Any:
        """Waits until it is done, or so long; may answer an awaitable."""
        ...

    def fetch(self) -> Any:
        """The result, once; None while there is none."""
        ...

    def cancel(self) -> Any:
        """Ends what is running, without a result; may answer an awaitable."""
        ...


@dataclass(frozen=True, slots=True)
class AcquireLock:
    """Hold the session's lock from here to the end of the operation. Asked at most once in an operation."""


Effect = Ask | AcquireLock
Operation = Generator[Effect, Any, T]
"""A piece of core logic that answers a `T` and asks its questions on the way."""

Notification = tuple[str, dict[str, Any]]
EventHandler = Callable[[str, dict[str, Any]], Any]
"""`on_event(name, payload)`; may return an awaitable. Called after the session's lock is released."""
