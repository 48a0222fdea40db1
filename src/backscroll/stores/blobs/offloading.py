"""A layer that moves large bodies to a blob store.

    store = OffloadingStore(SqliteStore("agent.db"), FolderBlobs("blobs"))

A blob is put before its record is written, so that no record points to a missing blob. A blob belongs to one record and
is shared only by forks that share the record. `collect` deletes the blobs that a crash left without a record.
"""

import contextlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from backscroll.errors import ConfigurationError, ConflictError, CorruptionError, StoreError
from backscroll.notices import warn
from backscroll.ports import BlobStore, Pending, Record, Store, Stored
from backscroll.stores.blobs.pointers import KIND, blob_name, fits, pointer, pointing
from backscroll.stores.keyed_executor import KeyedExecutor
from backscroll.stores.names import INTERNAL, checked_keys
from backscroll.stores.options import OVER, checked_over
from backscroll.stores.wrapper import Layer

DAY = 86_400.0  # seconds
_OWN = f"{INTERNAL}blobs"
_OWNER = "owner"
_TRIES = 5  # reads of a session that others delete meanwhile

Report = Callable[[dict[str, Any]], object]


class OffloadingStore(Layer):
    """Keeps bodies of more than `over` bytes in `blobs`, and everything else in `store`.

    A body that could not be put stays in the store. Then `on_failure` gets its `seq`, its size as `bytes`, and the
    `error`; by default this is a warning. A copy of the database refers to the same blobs: copy these as well.
    """

    OWN: ClassVar[tuple[str, ...]] = (_OWN,)

    def __init__(self, store: Store, blobs: BlobStore, over: int = OVER, *, on_failure: Report | None = None) -> None:
        if "encrypted" in store.capabilities:
            raise ConfigurationError(
                "blobs would hold what the store encrypts: put the encryption around the offloading"
            )
        super().__init__(store)
        self._blobs = blobs
        self._over = checked_over(over)
        self._on_failure = on_failure or _warn
        self._jobs = KeyedExecutor("backscroll-blobs")  # no limit: an append may wait for another writer's turn
        self._putting: set[str] = set()
        """Blobs whose records are not yet written."""
        self._owner: str | None = None

    def __repr__(self) -> str:
        return f"OffloadingStore({self._store!r}, {self._blobs!r}, {self._over})"

    @property
    def inner(self) -> Store:
        """The store that keeps everything else."""
        return self._store

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Pending:
        """Put large bodies as blobs in a thread, then append the records. Small records go straight to the store."""
        name, given = self._visible(session), checked_keys(records)
        if self._jobs.idle(name) and not any(map(self._is_wrapped, given)):
            return self._store.append(name, expected_position, given, incarnation=incarnation, turn=turn)
        line = (
            name if turn is None else f"{name}\n"
        )  # an append in a turn must not queue behind those that wait for its end
        return self._jobs.put(line, partial(self._append, name, expected_position, given, incarnation, turn))

    def _is_wrapped(self, record: Record) -> bool:
        return len(record.body) > self._over or record.kind == KIND

    def _append(self, session: str, first: int, records: Sequence[Record], incarnation: str | None, turn: Any) -> Any:
        names: list[str] = []
        try:
            written = [self._outside(each, names) if self._is_wrapped(each) else each for each in records]
            try:
                return self._store.append(session, first, written, incarnation=incarnation, turn=turn).result()
            except ConflictError:  # then certainly nothing was written
                with contextlib.suppress(StoreError):  # `collect` deletes them later
                    for name in names:
                        self._blobs.delete(name)
                raise
        finally:
            self._putting.difference_update(names)

    def _outside(self, record: Record, names: list[str]) -> Record:
        """Return the record to store for a large one: a pointer, or all of it if its blob cannot be put."""
        if len(record.body) <= self._over:
            return pointing(record, None)
        try:
            name = blob_name(self._made_owner(), record.body)
            names.append(name)
            self._putting.add(name)
            self._blobs.put(name, record.body)
        except Exception as error:  # a blob store may raise anything, and the message must not be lost
            self._on_failure({"seq": record.seq, "bytes": len(record.body), "error": f"{error!s:.200}"})
            return pointing(record, None) if record.kind == KIND else record
        return pointing(record, name)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield records from `start` to before `stop`. A blob is fetched when its record is reached."""
        return self._resolved(session, super().read(session, start, stop))

    def _resolved(self, session: str, found: Iterator[Stored]) -> Iterator[Stored]:
        for stored in found:
            yield stored if stored.record.kind != KIND else Stored(stored.position, self._whole(session, stored))

    def _whole(self, session: str, stored: Stored) -> Record:
        found = None
        try:
            found = pointer(stored.record)
            assert found is not None
            body = found.body if found.blob is None else self._blobs.get(found.blob)
        except CorruptionError as error:
            raise CorruptionError(f"session {session!r}, the record at position {stored.position}: {error}") from error
        if len(body) != found.size or (found.blob is not None and not fits(found.blob, body)):
            raise CorruptionError(
                f"session {session!r}, the record at position {stored.position}: the blob {found.blob} in "
                f"{self._blobs!r} is not what was put there"
            )
        return stored.record._replace(kind=found.kind, format=found.format, body=body)

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Start a session with the first `at` records of another, after that session's pending appends."""
        if self._jobs.idle(self._visible(session)):
            return super().fork(session, new, at)
        return self._jobs.put(session, lambda: super(OffloadingStore, self).fork(session, new, at).result())

    # -- deletion --

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session, and the blobs that only its records point to.

        Reads each session of the store if this one has blobs, or with `cascade`.

        Raises:
            StoreError: a blob could not be deleted. The session is gone, and `collect` can delete the blob.
        """
        name = self._visible(session)
        if not self._jobs.idle(name):
            self._jobs.put(name, lambda: None).result()
        own = self._pointed(name, skip_damaged=True)
        family = self._sharing(0, self._record(name, 0)) if cascade else []
        held = {other: self._pointed(other, skip_damaged=True).keys() for other in family}
        at = min(own.values(), default=0)
        mark = self._record(name, at) if own else []
        self._store.delete(name, cascade)
        left = self.sessions()
        gone = set(own).union(*(blobs for other, blobs in held.items() if other not in left))
        try:
            for other in self._sharing(at, mark):  # a session that shares the first pointer may share the others
                gone -= self._pointed(other).keys()
            for blob in gone:
                self._blobs.delete(blob)
        except StoreError as error:
            raise type(error)(
                f"session {name!r} is deleted, but blobs of it may be left in {self._blobs!r}: call `collect()` once "
                f"that blob store works again ({error})"
            ) from error

    def collect(self, *, older_than_seconds: float = DAY) -> int:
        """Delete this store's blobs that no record points to, and return their number.

        Such blobs are left by a crash between a blob and its record, or by a failed deletion. Reads every record of the
        store if there are candidates.

        Args:
            older_than_seconds: minimum age of a blob. It must exceed the longest append of any process, because a blob
                is put before its record.
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
        """Wait for pending writes, then free all resources. The next use opens the store again."""
        self._jobs.close()
        self._store.close()

    def _pointed(self, session: str, skip_damaged: bool = False) -> dict[str, int]:
        """The blobs of a session with the positions of their records. `skip_damaged` skips damaged records."""
        for _ in range(_TRIES):
            try:
                return _blobs_of(self._store.read(session))
            except ConflictError:
                continue  # deleted meanwhile, and perhaps created again
            except CorruptionError:
                if not skip_damaged:
                    raise
                places = range(self._store.length(session))
                return {blob: at for at in places for blob in _blobs_of(self._record(session, at) or [])}
        raise ConflictError(
            f"session {session!r} was deleted and created again {_TRIES} times while it was read: try again"
        )

    def _record(self, session: str, at: int) -> list[Stored] | None:
        """The record at a position, or an empty list; `None` if it is damaged."""
        try:
            return list(self._store.read(session, at, at + 1))
        except CorruptionError:
            return None

    def _sharing(self, at: int, mark: list[Stored] | None) -> list[str]:
        """Sessions with this record at this position: those that share it. Damaged ones count as sharing."""
        if mark == []:
            return []
        return [name for name in self.sessions() if mark is None or self._record(name, at) in (mark, None)]

    # -- owner of the blobs --

    def _known_owner(self) -> str | None:
        """The prefix of this store's blobs: one blob store may serve several stores."""
        if self._owner is None:
            for stored in self._store.read(_OWN):
                if stored.record.kind == _OWNER:  # not the placeholder of a repair
                    self._owner = stored.record.body.decode()
        return self._owner

    def _made_owner(self) -> str:
        known = self._known_owner()
        if known is None:
            new = Record(_OWNER, None, secrets.token_hex(8).encode(), 1)
            with contextlib.suppress(ConflictError):  # another writer was first
                self._store.append(_OWN, self._store.length(_OWN), [new]).result()
            known = self._known_owner()
            assert known is not None
        return known


def _blobs_of(records: Iterable[Stored]) -> dict[str, int]:
    pointers = ((pointer(stored.record), stored.position) for stored in records)
    return {each.blob: at for each, at in pointers if each is not None and each.blob is not None}


def _warn(failure: dict[str, Any]) -> None:
    warn(
        f"a body of {failure['bytes']:,} bytes could not be put into `blob_store` ({failure['error']}) and stays "
        "in the store: make `blob_store` reachable"
    )
