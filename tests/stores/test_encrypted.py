"""Encryption around a store: the published suite over it, what can be read without the key, and what was altered."""

import base64
import secrets
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backscroll import ConfigurationError, ConflictError, CorruptionError, StoreError
from backscroll.ports import Record
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.conformance import CHECKS, failure, stored
from backscroll.stores.encryption import EncryptedStore
from backscroll.stores.memory import MemoryStore
from backscroll.stores.search import search_for
from backscroll.stores.sqlite import SqliteStore
from tests.fakes import FaultyBlobs
from tests.long_run import usually

KEY, OTHER = bytes(range(32)), bytes(range(32, 64))
SECRET = b"the wombat sleeps at noon"


def message(at, key=None):
    return Record("message", at, b"%d: %s" % (at, SECRET), 1, key)


def made(key=KEY):
    inner = MemoryStore()
    return EncryptedStore(inner, key), inner


def forge(inner, session, records):
    """Somebody with access to the store puts other records there."""
    inner.delete(session)
    inner.append(session, 0, records).result()


def raw(inner, session):
    return [each.record for each in inner.read(session)]


# -- the published suite --


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_over_memory(check):
    missing = check(lambda: EncryptedStore(MemoryStore(), KEY), None)
    assert missing is None or check.__name__ in (
        "check_what_is_durable_survives",
        "check_what_is_shared_is_seen_by_others",
    )


@pytest.mark.parametrize("check", usually(CHECKS, 7), ids=lambda check: check.__name__)
def test_over_sqlite_with_every_body_offloaded(check, tmp_path):
    made = []

    def reopen():
        path, blobs = made[-1]
        return EncryptedStore(OffloadingStore(SqliteStore(path), blobs, 10), KEY)

    def make():
        made.append((tmp_path / f"{len(made)}.db", FaultyBlobs()))
        return reopen()

    assert check(make, reopen) is None


# -- keys --


@pytest.mark.parametrize(
    "key",
    [KEY, base64.b64encode(KEY).decode(), f" {base64.urlsafe_b64encode(KEY).decode()}\n"],
    ids=["bytes", "base64", "url"],
)
def test_a_key_is_32_bytes_or_base64(key):
    store, inner = made(key)
    store.append("a", 0, [message(0)]).result()
    assert list(EncryptedStore(inner, KEY).read("a")) == stored(0, [message(0)])


@pytest.mark.parametrize(
    "key", [b"", KEY[:31], KEY + b"x", "", "hunter2hunter2", "é" * 32, KEY.hex(), 7, bytearray(KEY)], ids=repr
)
def test_what_is_no_key_is_refused_without_repeating_it(key):
    with pytest.raises(ConfigurationError, match="`encryption_key` must be 32 random bytes") as raised:
        EncryptedStore(MemoryStore(), key)
    assert "hunter2" not in str(raised.value)


def test_wrong_key_is_refused_and_is_no_empty_session():
    """A wrong key is refused by everything and never looks like an empty session."""
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    before = {name: raw(inner, name) for name in inner.sessions()}
    wrong = EncryptedStore(inner, OTHER)
    for use in (
        lambda: wrong.append("a", 1, [message(1)]), lambda: wrong.append("new", 0, [message(0)]),
        lambda: wrong.append("new", 0, []), lambda: wrong.read("a"), lambda: wrong.read("new"),
        lambda: wrong.length("a"), lambda: wrong.length("new"), lambda: wrong.find("a", seq=0),
        lambda: wrong.find("a", key="x"), wrong.sessions,
        lambda: wrong.fork("a", "b", 1), lambda: wrong.delete("a"), lambda: wrong.rotate(KEY),
    ):  # fmt: skip  # a table
        error = failure(use)
        assert isinstance(error, ConfigurationError), error
        assert "`encryption_key` is not the key that" in str(error)
    assert {name: raw(inner, name) for name in inner.sessions()} == before


def test_a_store_that_was_written_without_encryption_is_refused():
    inner = MemoryStore()
    inner.append("a", 0, [message(0)]).result()
    store = EncryptedStore(inner, KEY)
    for use in (store.sessions, lambda: store.read("a"), lambda: store.append("b", 0, [message(0)])):
        with pytest.raises(StoreError, match="written without encryption"):
            use()
    assert inner.sessions() == ["a"]


def test_a_store_that_lost_its_key_is_not_empty():
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    (own,) = set(inner.sessions()) - {"a"}
    inner.delete(own)
    with pytest.raises(StoreError, match="the record of its key is gone"):
        EncryptedStore(inner, KEY).length("a")


def test_asking_writes_nothing_and_neither_does_constructing():
    store, inner = made()
    assert (store.length("a"), list(store.read("a")), store.find("a", seq=0), store.sessions()) == (0, [], None, [])
    store.append("a", 0, []).result()
    assert inner.sessions() == []


class Raced(MemoryStore):
    """Another one begins the store just before the first write does."""

    before: Any = None

    def append(self, session, expected_position, records, **named):
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().append(session, expected_position, records, **named)


def test_two_that_begin_a_store_at_once_have_one_key():
    inner = Raced()
    one, other = EncryptedStore(inner, KEY), EncryptedStore(inner, KEY)
    assert (one.length("a"), other.length("a")) == (0, 0)
    inner.before = lambda: one.append("b", 0, [message(0)]).result()
    other.append("a", 0, [message(0)]).result()
    assert list(one.read("a")) == list(other.read("b")) == stored(0, [message(0)])
    assert len(inner.sessions()) == 3


class Begun(MemoryStore):
    """Another one begins the store just after it was asked for its key."""

    before: Any = None

    def sessions(self):
        before, self.before = self.before, None
        if before is not None:
            before()
        return super().sessions()


def test_store_begun_during_the_check_is_seen_as_encrypted():
    """A store that begins while it is looked at is not taken for one without encryption."""
    inner = Begun()
    inner.before = lambda: EncryptedStore(inner, KEY).append("a", 0, [message(0)]).result()
    assert list(EncryptedStore(inner, KEY).read("a")) == stored(0, [message(0)])


# -- what can be read without the key --


def test_no_file_holds_a_word_of_a_message(tmp_path):
    store = EncryptedStore(OffloadingStore(SqliteStore(tmp_path / "a.db"), FolderBlobs(tmp_path / "blobs"), 1_000), KEY)
    records = [Record("wombat-kind", at, SECRET * (1 if at % 2 else 100), 1, f"wombat key {at}") for at in range(20)]
    store.append("readable-name", 0, records).result()
    for closed in (False, True):
        if closed:
            store.close()
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        held = b"".join(path.read_bytes() for path in files)
        assert len(list((tmp_path / "blobs").rglob("*-*"))) == 10
        assert b"readable-name" in held, "what was written is in these files"
        for word in (b"wombat", SECRET, KEY, base64.b64encode(KEY), base64.b64encode(SECRET)[:12]):
            assert word not in held
            assert not any(word in str(path).encode() for path in files)
    assert list(store.read("readable-name")) == stored(0, records)
    store.close()


def test_equal_messages_look_unlike_each_other():
    store, inner = made()
    for name in ("a", "b"):
        store.append(name, 0, [message(0), message(0)._replace(seq=1)]).result()
    bodies = [record.body for name in ("a", "b") for record in raw(inner, name)]
    pieces = [body[at : at + 8] for body in bodies for at in range(17, len(body) - 8)]
    assert len(pieces) == len(set(pieces))
    assert {record.kind for record in raw(inner, "a")} == {"encrypted"}


def test_blobs_are_named_after_what_is_encrypted():
    """So that nobody who knows a text can look whether it was said."""
    blobs = FaultyBlobs()
    for _ in range(2):
        EncryptedStore(OffloadingStore(MemoryStore(), blobs, 10), KEY).append("a", 0, [message(0)]).result()
    hashes = {name.split("-")[1] for name in blobs.held}
    assert len(hashes) == len(blobs.held)


def test_keys_of_records_are_hashed_and_found():
    store, inner = made()
    store.append("a", 0, [message(0, "wombat"), message(1)]).result()
    assert (store.find("a", key="wombat"), store.find("a", key="other")) == (0, None)
    assert inner.find("a", key="wombat") is None
    twin, other = made()
    twin.append("a", 0, [message(0, "wombat")]).result()
    assert raw(inner, "a")[0].key != raw(other, "a")[0].key
    with pytest.raises(ConflictError):
        store.append("a", 2, [message(2, "wombat")]).result()


def test_it_can_do_what_the_store_can_but_search():
    class Searching(MemoryStore):
        @property
        def capabilities(self):
            return super().capabilities | {"search"}

    store = EncryptedStore(Searching(), KEY)
    assert store.capabilities == (MemoryStore().capabilities | {"encrypted"})
    index: Any = search_for(store, "a")
    assert index._memory is None, "nothing of its index goes to a disk"


# -- what was altered --


def test_every_altered_byte_is_noticed():
    store, inner = made()
    store.append("a", 0, [message(0, "key"), message(1)]).result()
    before = raw(inner, "a")
    for place in range(len(before[0].body)):
        body = bytearray(before[0].body)
        body[place] ^= 1 << place % 8
        forge(inner, "a", [before[0]._replace(body=bytes(body)), before[1]])
        with pytest.raises(CorruptionError, match="session 'a', the record at position 0: "):
            list(store.read("a"))
        assert list(store.read("a", 1)) == stored(1, [message(1)])


def test_every_shortened_record_is_noticed():
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    (before,) = raw(inner, "a")
    for size in range(len(before.body)):
        forge(inner, "a", [before._replace(body=before.body[:size])])
        with pytest.raises(CorruptionError, match="session 'a', the record at position 0: "):
            list(store.read("a"))


def test_swapped_moved_or_relabelled_records_are_noticed():
    """Records that were swapped moved or relabelled are noticed."""
    store, inner = made()
    for name in ("a", "b"):
        store.append(name, 0, [message(0, "x"), message(1, "y"), message(2)._replace(seq=1)]).result()
    a, b = raw(inner, "a"), raw(inner, "b")
    for forged in (
        [a[1], a[0], a[2]],  # swapped
        [a[0], a[2], a[1]],  # swapped, of the same seq
        [a[1]._replace(key=a[0].key), a[1], a[2]],  # twice
        [b[0], a[1], a[2]],  # from another session
        b,  # all of it
        [a[1], a[2]],  # the first one taken out
        [a[0]._replace(seq=1), a[1], a[2]],
        [a[0]._replace(seq=None), a[1], a[2]],
        [a[0]._replace(key=None), a[1], a[2]],
        [a[0]._replace(key="other"), a[1], a[2]],
        [a[0]._replace(format=2), a[1], a[2]],
        [a[0]._replace(kind="message"), a[1], a[2]],
        [message(0), a[1], a[2]],
    ):
        forge(inner, "a", [each._replace(key=f"{each.key}") if forged.count(each) > 1 else each for each in forged])
        with pytest.raises(CorruptionError, match="session 'a', the record at position "):
            list(store.read("a"))
    forge(inner, "a", a)
    assert len(list(store.read("a"))) == 3


def test_a_session_under_the_name_of_another_is_noticed():
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    inner.append("b", 0, raw(inner, "a")).result()
    with pytest.raises(CorruptionError, match="session 'b', the record at position 0: another session wrote it"):
        list(store.read("b"))


# -- forks --


def test_fork_reads_shared_records_elsewhere_and_later():
    """A fork reads what it shares also elsewhere and after it went on."""
    store, inner = made()
    store.append("a", 0, [message(at, f"a{at}") for at in range(6)]).result()
    assert store.length("b") == 0
    other = EncryptedStore(inner, KEY)
    assert list(other.read("b")) == []  # so that it remembers that b is no fork
    store.fork("a", "b", 4).result()
    store.append("b", 4, [message(14, "b4")]).result()
    other.fork("b", "c", 5).result()
    other.append("c", 5, [message(25)]).result()
    log = [*(message(at, f"a{at}") for at in range(4)), message(14, "b4"), message(25)]
    for each in (store, other, EncryptedStore(inner, KEY)):
        assert list(each.read("b")) == stored(0, log[:5])
        assert list(each.read("c")) == stored(0, log)
        assert (each.find("c", key="a3"), each.find("c", key="b4"), each.find("c", key="a5")) == (3, 4, None)
        assert each.sessions() == ["a", "b", "c"]


def test_records_swapped_between_session_and_fork_are_noticed():
    """Records swapped between a session and its fork are noticed."""
    store, inner = made()
    store.append("a", 0, [message(at) for at in range(3)]).result()
    store.fork("a", "b", 2).result()
    store.append("b", 2, [message(2)]).result()
    a, b = raw(inner, "a"), raw(inner, "b")
    forge(inner, "b", a)
    with pytest.raises(CorruptionError, match="session 'b', the record at position 2: another session wrote it"):
        list(store.read("b"))
    forge(inner, "b", b)
    forge(inner, "a", b)
    with pytest.raises(CorruptionError, match="session 'a', the record at position 2: another session wrote it"):
        list(store.read("a"))


def test_a_fork_of_a_name_that_was_erased_is_another_one():
    store, inner = made()
    store.append("a", 0, [message(at) for at in range(5)]).result()
    for at in (2, 4, 3):
        store.fork("a", "b", at).result()
        store.append("b", at, [message(at)]).result()
        assert len(list(store.read("b"))) == at + 1
        store.delete("b")
    store.append("b", 0, [message(0)]).result()
    other = EncryptedStore(inner, KEY)
    other.fork("b", "c", 1).result()  # by which it looked up what b shares
    store.delete("b", cascade=True)
    store.append("d", 0, [message(10)]).result()
    store.fork("d", "b", 1).result()
    assert list(other.read("b")) == list(store.read("b")) == stored(0, [message(10)])
    store.delete("b")
    store.append("b", 0, [message(0)]).result()
    assert list(store.read("b")) == stored(0, [message(0)])


def test_a_fork_that_cannot_be_leaves_nothing():
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    store.append("b", 0, [message(0)]).result()
    before = inner.sessions()
    for session, new, at in (("a", "b", 1), ("a", "c", 2), ("a", "c", 0), ("x", "c", 1)):
        assert isinstance(failure(partial(store.fork, session, new, at)), ConflictError | ConfigurationError)
    assert inner.sessions() == before


# -- another master key --


def test_a_rotated_key_opens_everything_and_the_old_one_nothing():
    store, inner = made()
    store.append("a", 0, [message(0)]).result()
    store.fork("a", "b", 1).result()
    before = raw(inner, "a")
    keys = [KEY, OTHER, *(secrets.token_bytes(32) for _ in range(40))]
    for old, new in pairwise(keys):
        EncryptedStore(inner, old).rotate(new)
        assert isinstance(failure(EncryptedStore(inner, old).sessions), ConfigurationError)
    assert list(EncryptedStore(inner, keys[-1]).read("b")) == stored(0, [message(0)])
    assert raw(inner, "a") == before, "records are not written anew"
    assert len(inner.sessions()) == 4, "a, b, one key and the forks"
    store.append("a", 1, [message(1)]).result()  # who has it open goes on
    assert len(list(EncryptedStore(inner, keys[-1]).read("a"))) == 2


def test_unused_store_takes_the_new_key():
    store, inner = made()
    store.rotate(OTHER)
    store.append("a", 0, [message(0)]).result()
    assert EncryptedStore(inner, OTHER).length("a") == 1


class Stopped(MemoryStore):
    """Ends before it deletes."""

    def delete(self, session, cascade=False):
        raise KeyboardInterrupt


def test_interrupted_rotation_keeps_both_keys_and_can_finish():
    """A rotation that was cut short leaves both keys and can be finished."""
    inner = Stopped()
    store = EncryptedStore(inner, KEY)
    store.append("a", 0, [message(0)]).result()
    with pytest.raises(KeyboardInterrupt):
        store.rotate(OTHER)
    for key in (KEY, OTHER):
        assert list(EncryptedStore(inner, key).read("a")) == stored(0, [message(0)])
    with pytest.raises(ConflictError, match="finish it with its own keys first"):
        EncryptedStore(inner, KEY).rotate(bytes(32))
    inner.__class__ = MemoryStore  # type: ignore[assignment]  # from now on it deletes
    for key, new in ((KEY, OTHER), (OTHER, bytes(32))):
        EncryptedStore(inner, key).rotate(new)
        assert EncryptedStore(inner, new).length("a") == 1
        assert isinstance(failure(EncryptedStore(inner, key).sessions), ConfigurationError)


def test_interrupted_rotation_is_finished_by_the_next():
    """A rotation that was cut short is finished by the next one."""
    inner = Stopped()
    store = EncryptedStore(inner, KEY)
    store.append("a", 0, [message(0)]).result()
    with pytest.raises(KeyboardInterrupt):
        store.rotate(OTHER)
    inner.__class__ = MemoryStore  # type: ignore[assignment]  # likewise
    EncryptedStore(inner, OTHER).rotate(bytes(32))
    assert EncryptedStore(inner, bytes(32)).length("a") == 1
    for old in (KEY, OTHER):
        assert isinstance(failure(EncryptedStore(inner, old).sessions), ConfigurationError)


def test_a_store_that_cannot_erase_cannot_forget_a_key():
    class Keeping(MemoryStore):
        capabilities = frozenset()

    store = EncryptedStore(Keeping(), KEY)
    with pytest.raises(ConfigurationError, match="cannot delete"):
        store.rotate(OTHER)


def test_the_old_key_is_in_no_file_after_a_rotation(tmp_path):
    inner = SqliteStore(tmp_path / "a.db")
    store = EncryptedStore(inner, KEY)
    store.append("a", 0, [message(0)]).result()
    (own,) = set(inner.sessions()) - {"a"}
    (old,) = raw(inner, own)
    store.rotate(OTHER)
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert old.body[1:] not in held
    assert old.body[-48:] not in held
    store.close()


def test_the_key_is_in_no_repr_and_no_error(tmp_path):
    key = base64.b64encode(KEY).decode()
    store = EncryptedStore(SqliteStore(Path(tmp_path, "a.db")), key)
    assert repr(store).startswith("EncryptedStore(SqliteStore(")
    assert key not in repr(store)
    assert repr(KEY)[:8] not in repr(store)
