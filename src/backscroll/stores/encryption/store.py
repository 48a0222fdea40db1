"""A layer that encrypts all records; the cryptography is in `sealing.py`.

    store = EncryptedStore(SqliteStore("agent.db"), key)

Bodies, kinds and keys of records are encrypted. A record is found by a keyed hash of its key. The names of sessions,
their number of records, and the `seq`s and sizes of these stay readable. Blobs are encrypted too if the layer that
offloads them is the inner one.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from backscroll.errors import ConfigurationError, ConflictError, CorruptionError, StoreError
from backscroll.ports import LOST, Pending, Record, Store, Stored, Tip
from backscroll.stores.encryption import sealing
from backscroll.stores.encryption.sealing import Sealer, Wrapped
from backscroll.stores.names import INTERNAL, KEYS, checked_keys
from backscroll.stores.wrapper import Layer

_FORKS = f"{INTERNAL}forks"
_PROBED = 32  # rotations that are found without listing all sessions
_MOST_KNOWN = 10_000  # sessions whose forks are cached
_TRIES = 100  # attempts to note a fork while others note theirs
_NO_SEARCH = frozenset(("search",))
_ENCRYPTED = frozenset(("encrypted",))


class EncryptedStore(Layer):
    """Encrypts everything in `store` with keys derived from `key`. Needs the extra `encryption`.

    The store must be encrypted from its first record on.

    Args:
        store: the store to encrypt.
        key: 32 bytes, or their base64 text.

    Raises:
        ConfigurationError: `key` is malformed. Every use raises it if the store was written with another key.
    """

    OWN: ClassVar[tuple[str, ...]] = (INTERNAL,)

    def __init__(self, store: Store, key: bytes | str) -> None:
        super().__init__(store)
        self._master = sealing.master_key(key)
        sealing.ciphers()
        self._sealer: Sealer | None = None
        self._forked: dict[str, dict[bytes, int]] = {}
        """By session and writer: the position before which the session may have that writer's records."""

    def __repr__(self) -> str:
        return f"EncryptedStore({self._store!r})"

    @property
    def capabilities(self) -> frozenset[str]:
        """What the inner store supports, except search, plus `encrypted`."""
        return (self._store.capabilities - _NO_SEARCH) | _ENCRYPTED

    def append(
        self,
        session: str,
        expected_position: int,
        records: Sequence[Record],
        *,
        incarnation: str | None = None,
        turn: Any = None,
    ) -> Pending:
        """Seal records for their positions and append them."""
        name, given = self._visible(session), checked_keys(records)
        sealer = self._known() or (self._made() if given else None)
        if sealer is None:
            return self._store.append(name, expected_position, given, incarnation=incarnation, turn=turn)
        writer = sealer.writer(name)
        sealed = [sealer.seal(each, writer, at) for at, each in enumerate(given, expected_position)]
        return self._store.append(name, expected_position, sealed, incarnation=incarnation, turn=turn)

    def read(self, session: str, start: int = 0, stop: int | None = None) -> Iterator[Stored]:
        """Yield decrypted records from `start` to before `stop`."""
        name = self._visible(session)
        sealer = self._known()
        found = self._store.read(name, start, stop)
        return iter(()) if sealer is None else (self._opened(sealer, name, stored) for stored in found)

    def _opened(self, sealer: Sealer, session: str, stored: Stored) -> Stored:
        if stored.record.kind == LOST:  # a repair has no key
            return stored
        try:
            if stored.record.kind != sealing.KIND:
                raise CorruptionError("it was written without encryption")
            record, writer = sealer.open(stored.record, stored.position)
            if writer != sealer.writer(session) and not self._shares(sealer, session, writer, stored.position):
                raise CorruptionError("another session wrote it")
        except CorruptionError as error:
            raise CorruptionError(f"session {session!r}, the record at position {stored.position}: {error}") from error
        return Stored(stored.position, record)

    def length(self, session: str) -> int:
        """Number of records in the log; 0 for an unknown session."""
        name = self._visible(session)
        return 0 if self._known() is None else self._store.length(name)

    def tip(self, session: str) -> Tip:
        """Number of records, and the session's incarnation."""
        name = self._visible(session)
        return Tip(0, None) if self._known() is None else self._store.tip(name)

    def find(self, session: str, *, seq: int | None = None, key: str | None = None) -> int | None:
        """Position of the first record with at least this `seq`, or of the record with this key."""
        name = self._visible(session)
        sealer = self._known()
        hashed = None if key is None or sealer is None else sealer.name("key", key)
        return None if sealer is None else self._store.find(name, seq=seq, key=hashed)

    def sessions(self) -> list[str]:
        """Names of all sessions, in the order of creation."""
        return [] if self._known() is None else super().sessions()

    def delete(self, session: str, cascade: bool = False) -> None:
        """Delete a session and all its records."""
        name = self._visible(session)
        self._known()
        self._store.delete(name, cascade)

    # -- forks --

    def fork(self, session: str, new: str, at: int) -> Pending:
        """Start a session with the first `at` records of another, and note whose records it shares."""
        name, fork = self._visible(session), self._visible(new)
        sealer = self._known()
        if sealer is not None and 0 < at <= self._store.length(name) and not self._store.length(fork):
            shared = self._shared(sealer, name) | {sealer.writer(name): at}
            self._note(sealer, fork, {writer: min(upto, at) for writer, upto in shared.items()})
        return self._store.fork(name, fork, at)

    def _note(self, sealer: Sealer, fork: str, shared: dict[bytes, int]) -> None:
        known = self._shared(sealer, fork)
        if all(known.get(writer, 0) >= upto for writer, upto in shared.items()):
            return
        body = json.dumps({writer.hex(): upto for writer, upto in shared.items()}).encode()
        for _ in range(_TRIES):
            at, number = self._store.length(_FORKS), len(list(self._notes(sealer, fork)))
            note = sealer.seal(
                Record(kind="fork", seq=None, body=body, format=1, key=f"{number} {fork}"), sealer.writer(_FORKS), at
            )
            try:
                self._store.append(_FORKS, at, [note]).result()
            except ConflictError:  # others noted a fork
                continue
            self._forked.pop(fork, None)
            return
        raise ConflictError(f"session {fork!r}: other forks came first {_TRIES} times in a row; try again")

    def _notes(self, sealer: Sealer, fork: str) -> Iterator[dict[bytes, int]]:
        """Notes of a fork: several if forks of that name were tried or deleted before."""
        for number in itertools.count():
            key = f"{number} {fork}"
            at = self._store.find(_FORKS, key=sealer.name("key", key))
            if at is None:
                return
            for stored in self._store.read(_FORKS, at, at + 1):
                record = self._opened(sealer, _FORKS, stored).record
                if record.key != key:
                    raise CorruptionError(f"session {fork!r}: the note of its fork belongs to another session")
                yield {bytes.fromhex(writer): upto for writer, upto in json.loads(record.body).items()}

    def _shared(self, sealer: Sealer, session: str) -> dict[bytes, int]:
        known = self._forked.get(session)
        if known is None:
            known = {}
            for note in self._notes(sealer, session):
                known |= {writer: max(upto, known.get(writer, 0)) for writer, upto in note.items()}
            if len(self._forked) >= _MOST_KNOWN:
                self._forked.clear()
            self._forked[session] = known
        return known

    def _shares(self, sealer: Sealer, session: str, writer: bytes, at: int) -> bool:
        if at >= self._shared(sealer, session).get(writer, 0):
            self._forked.pop(session, None)  # it may have been forked since it was looked up
        return at < self._shared(sealer, session).get(writer, 0)

    # -- the store's key --

    def rotate(self, new_key: bytes | str) -> None:
        """Encrypt the store's key with another master key. Records are not rewritten.

        Other processes that have the store open go on. After an interruption both keys open the store, and the same
        call finishes the rotation.

        Args:
            new_key: 32 bytes, or their base64 text.

        Raises:
            ConfigurationError: `new_key` is malformed, or the store cannot delete.
            ConflictError: another process rotated the key meanwhile.
        """
        new = sealing.master_key(new_key)
        if "delete" not in self.capabilities:
            raise ConfigurationError(
                f"{self._store!r} cannot delete, so the old key would still open it: copy the sessions to another store"
            )
        self._sealer = None  # so that the key is checked against what is there now
        sealer = self._known()
        if sealer is not None:
            found = self._wrapped()
            number = max(at for at, each in found.items() if each.check == sealing.check(self._master))
            self._wrap(sealer, new, number + 1, found.get(number + 1))
            for older in found:
                if older <= number:
                    self._store.delete(f"{KEYS}{older}")
        self._master = new

    def _wrap(self, sealer: Sealer, master: bytes, number: int, found: Wrapped | None) -> None:
        if found is None:
            new = Record("key", None, sealing.wrap(sealer.key, master, number), 1)
            self._store.append(f"{KEYS}{number}", 0, [new]).result()
        elif found.check != sealing.check(master):
            raise ConflictError("another rotation of the key was interrupted: finish it with its own keys first")

    def _known(self) -> Sealer | None:
        """The sealer of this store; `None` before its first record. Raises for a wrong key."""
        if self._sealer is None:
            found = self._wrapped()
            if not found and self._store.sessions():
                found = self._wrapped()  # a session may have been created in between, after its key was written
                if not found:
                    raise StoreError(
                        f"{self._store!r} holds sessions that were written without encryption, or the record of its "
                        "key is gone: encrypt a new store"
                    )
            mine = [at for at, each in found.items() if each.check == sealing.check(self._master)]
            if mine:
                self._sealer = Sealer(sealing.unwrap(found[mine[-1]], self._master, mine[-1]))
            elif found:
                raise ConfigurationError(
                    f"`encryption_key` is not the key that {self._store!r} was written with: pass that one, or open "
                    "another store"
                )
        return self._sealer

    def _made(self) -> Sealer:
        new = Record("key", None, sealing.wrap(sealing.new_key(), self._master, 1), 1)
        with contextlib.suppress(ConflictError):  # another writer was first
            self._store.append(f"{KEYS}1", 0, [new]).result()
        sealer = self._known()
        assert sealer is not None
        return sealer

    def _wrapped(self) -> dict[int, Wrapped]:
        """The store's key by number of the rotation; two where a rotation was interrupted."""
        found: dict[int, Wrapped] = {}
        for number in range(1, _PROBED):  # in this order: a new key is stored before the old one is deleted
            found |= self._kept(number)
            if found and number not in found:
                return found
        names = [] if found else self._store.sessions()
        numbers = [int(name.removeprefix(KEYS)) for name in names if name.startswith(KEYS)]
        for number in sorted(numbers):
            found |= self._kept(number)
        return found

    def _kept(self, number: int) -> dict[int, Wrapped]:
        first = next(iter(self._store.read(f"{KEYS}{number}", 0, 1)), None)
        return {} if first is None else {number: sealing.wrapped(first.record.body)}
