"""A store whose large bodies are blobs elsewhere. What the store itself keeps is not changed; only moving lives here.

    store = OffloadingStore(SqliteStore("agent.db"), FolderBlobs("blobs"))

A blob is put before its record is written, so that no record points to nothing. It is one record's alone, shared only
by forks that share the record. What was put and never written, after a crash, is found by `collect`.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from backscroll.errors import ConfigurationError, ConflictError, CorruptionError, StoreError
from backscroll.notices import warn
from backscroll.ports import BlobStore, Pending, Record, Store, Stored
from backscroll.stores.blobs.pointers import KIND, blob_name, fits, pointer, pointing
from backscroll.stores.keyed_executor import KeyedExecutor
from backscroll.stores.names import INTERNAL, checked_keys
from backscroll.stores.wrapper import Layer

OVER = 65_536  # bytes
DAY = 86_400.0  # seconds
_OWN = f"{INTERNAL}blobs"
_OWNER = "owner"
_TRIES = 5  # of reading a session that others delete meanwhile

Report = Callable[[dict[str, Any]], object]


def checked_over(over: int) -> int:
    """The size as it came. Raises `ConfigurationError` for what is none."""
    if type(over) is not int or over < 0:
        raise ConfigurationError(
            f"`blob_threshold_bytes` must be a whole number of bytes, at least 0, not {over!r:.80}"
        )
    return over


class OffloadingStore(Layer):
    """Keeps bodies of more than `over` bytes in `blobs`, and everything else in `store`.

    `on_failure` hears of a body that could not be put and stays in the store: its `seq`, `bytes` and the `error`; by
    default a warning says so. A copy of the database refers to the same blobs: copy these as well.
    """

    OWN = (_OWN,)

    def __init__(self, store: Store, blobs: BlobStore, over: int = OVER, *, on_failure: Report | None = None) -> None:
        if "encrypted" in store.capabilities:
            raise ConfigurationError(
                "blobs would hold what the store encrypts: put the encryption around the offloading"
            )
        super().__init__(store)
        self._blobs = blobs
        self._over = checked_over(over)
        self._on_failure = on_failure or _warn
        self._jobs = KeyedExecutor("backscroll-blobs")  # no limit: an append may wait for the turn of another one
        self._putting: set[str] = set()
        """Blobs whose records are not written yet."""
        self._owner: str | None = None

    def __repr__(self) -> str:
        return f"OffloadingStore({self._store!r}, {self._blobs!r}, {self._over})"

    @property
    def inner(self) -> Store:
        """The store that keeps everything else."""
        return self._store

    def append(
        self, session: str, first: int, records: Sequence[Record], *, incarnation: str | None = None, turn: Any = None
    ) -> Pending:
        """Puts large bodies as blobs, in a thread, and then the records. What is small goes straight to the store."""
        name, given = self._visible(session), checked_keys(records)
        if self._jobs.idle(name) and not any(map(self._is_wrapped, given)):
            return self._store.append(name, first, given, incarnation=incarnation, turn=turn)
        line = name if turn is None else f"{name}\n"  # in its turn nothing waits behind what waits for the turn's end
        return self._jobs.put(line, partial(self._append, name, first, given, incarnation, turn))

    def _is_wrapped(self, record: Record) -> bool:
        return len(record.body) > self._over or record.kind == KIND

    def _append(self, session: str, first: int, records: Sequence[Record], incarnation: str | None, turn: Any) -> Any:
        names: list[str] = []
        try:
            written = [self._outside(each, names) if self._is_wrapped(each) else each for each in records]
            try:
                return self._store.append(session, first, written, incarnation=incarnation, turn=turn).result()
            except ConflictError:  # by which nothing was written, for certain
                with contextlib.suppress(StoreError):  # `collect` finds them
                    for name in names:
                        self._blobs.delete(name)
                raise
        finally:
            self._putting.difference_update(names)

    def _outside(self, record: Record, names: list[str]) -> Record:
        """What is stored for a large record: a pointer, or where its blob cannot be put, all of it."""
        if len(record.body) <= self._over:
            return pointing(record, None)
        try:
            name = blob_name(self._made_owner(), record.body)
            names.append(name)
            self._putting.add(name)
            self._blobs.put(name, record.body)
        except Exception as error:  # whatever a place for blobs fails with: the message is not lost for that
            self._on_failure({"seq": record.seq, "bytes": len(record.body), "error": f"{error!s:.200}"})
            return pointing(record, None) if record.kind == KIND else record
        return pointing(record, name)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Records from `start` to before `stop`; a blob is fetched when its record is asked for."""
        return self._resolved(session, super().read(session, start, stop))

    def _resolved(self, session: str, found: Iterator[Stored]) -> Iterator[Stored]:
        for stored in found:
            yield stored if stored.record.kind != KIND else Stored(stored.at, self._whole(session, stored))

    def _whole(self, session: str, stored: Stored) -> Record:
        told = None
        try:
            told = pointer(stored.record)
            assert told is not None
            body = told.body if told.blob is None else self._blobs.get(told.blob)
        except CorruptionError as error:
            raise CorruptionError(f"session {session!r}, the record at place {stored.at}: {error}") from error
        if len(body) != told.size or (told.blob is not None and not fits(told.blob, body)):
            raise CorruptionError(
                f"session {session!r}, the record at place {stored.at}: the blob {told.blob} in {self._blobs!r} is not "
                "what was put there"
            )
        return stored.record._replace(kind=told.kind, format=told.format, body=body)

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Begins a session with the first `at` records of another, behind what is being written to that one."""
        if self._jobs.idle(self._visible(session)):
            return super().fork(session, new, at)
        return self._jobs.put(session, lambda: super(OffloadingStore, self).fork(session, new, at).result())

    # -- what is not needed any more --

    def delete(self, session: str, cascade: bool = False) -> None:
        """Leaves nothing of a session, nor of the blobs that only its records point to.

        Costs a look at each session of the store, if this one has blobs or with `cascade`. Where a blob cannot be
        deleted, the error says so: the session is gone then, and `collect` deletes the blob.
        """
        name = self._visible(session)
        if not self._jobs.idle(name):
            self._jobs.put(name, lambda: None).result()
        own = self._pointed(name, spare=True)
        family = self._sharing(0, self._record(name, 0)) if cascade else []
        held = {other: self._pointed(other, spare=True).keys() for other in family}
        at = min(own.values(), default=0)
        mark = self._record(name, at) if own else []
        self._store.delete(name, cascade)
        left = self.sessions()
        gone = set(own).union(*(blobs for other, blobs in held.items() if other not in left))
        try:
            for other in self._sharing(at, mark):  # who has the first of them may have the others
                gone -= self._pointed(other).keys()
            for blob in gone:
                self._blobs.delete(blob)
        except StoreError as error:
            raise type(error)(
                f"session {name!r} is deleted, but blobs of it may be left in {self._blobs!r}: call `collect()` when "
                f"that works again ({error})"
            ) from error

    def collect(self, *, older_than_seconds: float = DAY) -> int:
        """Deletes the blobs of this store that no record points to, put at least so long ago. Answers how many.

        They are left by a crash between a blob and its record, or by a deletion that failed. The time must be longer
        than an append of anybody can take: what is put now has no record yet. Reads every record of the store, if
        there is anything to look for.
        """
        owner = self._known_owner()
        if owner is None:
            return 0
        found = [kept.name for kept in self._blobs.names(f"{owner}-") if kept.age >= older_than_seconds]
        lost = set(found) - self._putting
        for session in self.sessions() if lost else ():
            lost -= self._pointed(session).keys()
        for name in lost:
            self._blobs.delete(name)
        return len(lost)

    def close(self) -> None:
        """Waits for what is being written and frees everything. The next use opens anew."""
        self._jobs.close()
        self._store.close()

    def _pointed(self, session: str, spare: bool = False) -> dict[str, int]:
        """The blobs of a session, with the places of their records. To `spare` what is damaged leaves it out."""
        for _ in range(_TRIES):
            try:
                return _blobs_of(self._store.read(session))
            except ConflictError:
                continue  # deleted meanwhile, and perhaps begun anew
            except CorruptionError:
                if not spare:
                    raise
                places = range(self._store.end(session))
                return {blob: at for at in places for blob in _blobs_of(self._record(session, at) or [])}
        raise ConflictError(f"session {session!r} was deleted and begun anew {_TRIES} times while it was read")

    def _record(self, session: str, at: int) -> list[Stored] | None:
        """The record at a place, if there is one; None where it is damaged."""
        try:
            return list(self._store.read(session, at, at + 1))
        except CorruptionError:
            return None

    def _sharing(self, at: int, mark: list[Stored] | None) -> list[str]:
        """Sessions that have this record at this place, as those have that share it; or that may, as one is damaged."""
        if mark == []:
            return []
        return [name for name in self.sessions() if mark is None or self._record(name, at) in (mark, None)]

    # -- whose blobs these are --

    def _known_owner(self) -> str | None:
        """What this store's blobs begin with: one place may hold those of several stores."""
        if self._owner is None:
            for stored in self._store.read(_OWN):
                if stored.record.kind == _OWNER:  # and not what a repair put in its place
                    self._owner = stored.record.body.decode()
        return self._owner

    def _made_owner(self) -> str:
        known = self._known_owner()
        if known is None:
            new = Record(_OWNER, None, secrets.token_hex(8).encode(), 1)
            with contextlib.suppress(ConflictError):  # somebody else was first
                self._store.append(_OWN, self._store.end(_OWN), [new]).result()
            known = self._known_owner()
            assert known is not None
        return known


def _blobs_of(records: Iterable[Stored]) -> dict[str, int]:
    told = ((pointer(stored.record), stored.at) for stored in records)
    return {each.blob: at for each, at in told if each is not None and each.blob is not None}


def _warn(told: dict[str, Any]) -> None:
    warn(
        f"a body of {told['bytes']:,} bytes could not be put into `blob_store` ({told['error']}) and stays in the "
        "store: make that place reachable"
    )
