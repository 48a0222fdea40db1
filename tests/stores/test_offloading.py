"""Large bodies outside of the store: the published suite over it, what is fetched, what fails, and what is deleted."""

import os
import signal
import threading
from typing import Any

import pytest

from backscroll import ConfigurationError, ConflictError, CorruptionError, StoreUnavailableError
from backscroll.ports import Record
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.blobs.pointers import KIND
from backscroll.stores.conformance import CHECKS, failure, stored
from backscroll.stores.memory import MemoryStore
from backscroll.stores.sqlite import SqliteStore
from tests.fakes import FaultyBlobs
from tests.stores.running import run, start


def message(at, size, key=None):
    return Record("message", at, bytes([65 + at % 26]) * size, 1, key)


def made(over=100, store=None):
    """A store, what it keeps in itself, and its blobs."""
    inner, blobs = MemoryStore() if store is None else store, FaultyBlobs()
    return OffloadingStore(inner, blobs, over), inner, blobs


def bodies(store, session, *places):
    return [each.record.body for each in store.read(session, *places)]


# -- the published suite --


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_over_memory(check):
    missing = check(lambda: OffloadingStore(MemoryStore(), FaultyBlobs(), 10), None)
    assert missing is None or check.__name__ in (
        "check_what_is_durable_survives",
        "check_what_is_shared_is_seen_by_others",
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_over_sqlite(check, tmp_path):
    places = []

    def reopen():
        return OffloadingStore(SqliteStore(places[-1] / "a.db"), FolderBlobs(places[-1] / "blobs"), 10)

    def make():
        places.append(tmp_path / str(len(places)))
        places[-1].mkdir()
        return reopen()

    assert check(make, reopen) is None


# -- where bodies are --


def test_what_is_large_is_a_blob_and_the_record_a_pointer():
    store, inner, blobs = made()
    records = [message(0, 100), message(1, 101, "key"), message(2, 5_000)]
    store.append("a", 0, records).result()
    assert [each.record.kind for each in inner.read("a")] == ["message", KIND, KIND]
    assert all(len(each.record.body) < 300 for each in inner.read("a"))
    assert sorted(map(len, blobs.held.values())) == [101, 5_000]
    assert list(store.read("a")) == stored(0, records)
    assert (store.find("a", key="key"), store.find("a", seq=2), store.length("a")) == (1, 2, 3)


def test_small_neighbours_are_read_without_fetching_large_ones():
    """Small neighbours are read without fetching what is large."""
    store, _, blobs = made()
    sizes = [10, 5_000, 10, 5_000, 10]
    store.append("a", 0, [message(at, size) for at, size in enumerate(sizes)]).result()
    assert bodies(store, "a", 2, 3) == [b"C" * 10]
    reading = store.read("a")
    assert next(reading).position == 0
    assert blobs.got == []
    next(reading)
    assert len(blobs.got) == 1


def test_what_looks_like_a_pointer_is_a_record_like_any_other():
    store, inner, _ = made()
    store.append("a", 0, [message(0, 5_000)]).result()
    (real,) = inner.read("a")
    forged = [
        real.record,
        Record(KIND, None, b"", 7),
        Record(KIND, 3, b"x" * 5_000, 2, "k"),
        Record(KIND, 4, b"{}\n{}", 1),
    ]
    store.append("b", 0, forged).result()
    assert list(store.read("b")) == stored(0, forged)


@pytest.mark.parametrize("over", [-1, 1.5, True, None, "64k"])
def test_a_size_that_is_none_is_refused(over):
    with pytest.raises(ConfigurationError, match="must be a whole number of bytes"):
        OffloadingStore(MemoryStore(), FaultyBlobs(), over)


def test_internal_session_of_the_layer_is_hidden_and_refused():
    """A store of its own for what the layer needs is not listed and not for users."""
    store, inner, _ = made()
    store.append("a", 0, [message(0, 5_000)]).result()
    assert store.sessions() == ["a"]
    (own,) = set(inner.sessions()) - {"a"}
    for use in (store.length, store.read, store.delete, lambda name: store.append(name, 0, [])):
        assert isinstance(failure(lambda use=use: use(own)), ConfigurationError)  # type: ignore[misc]  # mypy infers no lambda with defaults


def test_what_else_a_store_can_do_is_passed_on(tmp_path):
    store: Any = OffloadingStore(SqliteStore(tmp_path / "a.db"), FaultyBlobs(), 10)
    store.append("a", 0, [message(0, 5_000)]).result()
    assert list(store.verify()) == []
    assert not hasattr(store, "sing")
    store.close()


# -- what takes long --


def test_slow_blob_blocks_only_its_own_session():
    """A blob that takes long holds up its session in order and no one else."""
    store, inner, blobs = made()
    blobs.put_slowly = threading.Event()
    large = store.append("a", 0, [message(0, 5_000)])
    small = store.append("a", 1, [message(1, 10)])
    store.append("b", 0, [message(0, 10)]).result(timeout=10)
    assert (inner.length("a"), large.done(), small.done()) == (0, False, False)
    blobs.put_slowly.set()
    small.result(timeout=10)
    assert large.done()
    assert [len(body) for body in bodies(store, "a")] == [5_000, 10]


def test_abandoned_append_in_line_is_not_written():
    store, _, blobs = made()
    blobs.put_slowly = threading.Event()
    first, second = store.append("a", 0, [message(0, 5_000)]), store.append("a", 1, [message(1, 5_000)])
    assert second.cancel()
    blobs.put_slowly.set()
    first.result(timeout=10)
    store.append("a", 1, [message(2, 10)]).result(timeout=10)
    assert [len(body) for body in bodies(store, "a")] == [5_000, 10]


def test_a_close_waits_for_blobs():
    store, inner, blobs = made()
    blobs.put_slowly = threading.Event()
    store.append("a", 0, [message(0, 5_000)])
    threading.Timer(0.05, blobs.put_slowly.set).start()
    store.close()
    assert inner.length("a") == 1


def test_forking_and_erasing_wait_for_what_is_being_written():
    store, _, blobs = made()
    blobs.put_slowly = threading.Event()
    store.append("a", 0, [message(0, 5_000)])
    forked = store.fork("a", "b", 1)
    blobs.put_slowly.set()
    forked.result(timeout=10)
    assert bodies(store, "b") == bodies(store, "a")
    store.append("c", 0, [message(0, 5_000)])
    store.delete("c")
    assert (store.sessions(), len(blobs.held)) == (["a", "b"], 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_process_has_a_line_of_its_own():
    with start("offload_and_fork") as process:
        out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ('[0, "ConflictError", 2]\n', "", 0)


# -- faults --


def test_failed_put_leaves_the_message_whole_and_warns():
    """A blob that cannot be put leaves the message whole in the store and says so."""
    store, inner, blobs = made()
    blobs.fails = [StoreUnavailableError("no room on the shelf"), OSError("odd")]
    records = [message(0, 5_000), Record(KIND, 1, b"x" * 5_000, 1), message(2, 5_000)]
    with pytest.warns(RuntimeWarning, match="stays in the store") as told:
        store.append("a", 0, records).result()
    assert ["no room" in str(told[0].message), "odd" in str(told[1].message), len(told)] == [True, True, 2]
    assert [each.record.kind for each in inner.read("a")] == ["message", KIND, KIND]
    assert len(blobs.held) == 1
    assert list(store.read("a")) == stored(0, records)
    heard = []
    quiet = OffloadingStore(MemoryStore(), blobs, 100, on_failure=heard.append)
    blobs.fails = [StoreUnavailableError("no room on the shelf")]
    quiet.append("a", 0, [message(7, 5_000)]).result()
    assert heard == [{"seq": 7, "bytes": 5_000, "error": "no room on the shelf"}]


def test_missing_or_altered_blob_is_named_and_others_readable():
    """A blob that is missing or altered is named and the rest stays readable."""
    store, _, blobs = made()
    store.append("a", 0, [message(0, 10), message(1, 5_000), message(2, 10)]).result()
    ((name, body),) = blobs.held.items()
    for altered in (None, body[:-1], body + b"B", body[:-1] + b"C", b""):
        if altered is None:
            del blobs.held[name]
        else:
            blobs.held[name] = altered
        with pytest.raises(
            CorruptionError, match=f"session 'a', the record at position 1: the blob {name} .*FaultyBlobs"
        ):
            list(store.read("a"))
        assert (bodies(store, "a", 0, 1), bodies(store, "a", 2)) == ([b"A" * 10], [b"C" * 10])
    blobs.held[name] = body
    assert bodies(store, "a", 1, 2) == [body]


@pytest.mark.parametrize("body", [b"", b"{}", b"[]\n", b'{"kind": "message"}\n', b"\xff\n", b'{"a": 1}\n'])
def test_a_pointer_that_says_nothing_is_damage(body):
    store, inner, _ = made()
    inner.append("a", 0, [Record(KIND, 0, body, 1)]).result()
    with pytest.raises(CorruptionError, match="session 'a', the record at position 0"):
        list(store.read("a"))


def test_a_conflict_leaves_no_blob():
    store, _, blobs = made()
    store.append("a", 0, [message(0, 5_000)]).result()
    held = dict(blobs.held)
    for first in (0, 2):
        with pytest.raises(ConflictError):
            store.append("a", first, [message(first, 5_000)]).result()
    assert blobs.held == held


class Killing(FaultyBlobs):
    """As above, and the blob cannot be taken back."""

    def delete(self, name):
        raise StoreUnavailableError("away")


def test_conflict_stays_one_if_its_blob_cannot_be_removed():
    """A conflict stays one where its blob cannot be taken back."""
    blobs = Killing()
    store = OffloadingStore(MemoryStore(), blobs, 100)
    with pytest.raises(ConflictError):
        store.append("a", 3, [message(0, 5_000)]).result()
    assert len(blobs.held) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="a system without SIGKILL")
def test_kill_between_blob_and_record_loses_nothing(tmp_path):
    """Killed between blob and record nothing is lost and the blob is collected later."""
    with start("offload_and_die", tmp_path) as process:
        process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    blobs = FolderBlobs(tmp_path / "blobs")
    store = OffloadingStore(SqliteStore(tmp_path / "a.db"), blobs, 100)
    assert [len(body) for body in bodies(store, "a")] == [5_000, 10, 5_000]
    assert len(list(blobs.names())) == 3
    assert store.collect() == 0, "it was put just now"
    assert store.collect(older_than_seconds=0) == 1
    assert [len(body) for body in bodies(store, "a")] == [5_000, 10, 5_000]
    assert store.collect(older_than_seconds=0) == 0
    store.close()


def test_what_is_queued_is_written_before_the_process_ends(tmp_path):
    assert run("offload_and_end", tmp_path) == ["queued"]
    store = OffloadingStore(SqliteStore(tmp_path / "a.db"), FolderBlobs(tmp_path / "blobs"), 100)
    assert [len(body) for body in bodies(store, "a")] == [5_000, 10, 5_000]
    store.close()


# -- what is not needed any more --


def test_erasing_a_session_deletes_only_its_own_blobs():
    """Erasing a session deletes its blobs and those of no one else."""
    store, _, blobs = made()
    for name in ("a", "b", "c"):
        store.append(name, 0, [message(0, 5_000), message(1, 10), message(2, 6_000)]).result()
    store.delete("b")
    assert len(blobs.held) == 4
    assert bodies(store, "a") == bodies(store, "c")
    store.delete("a")
    store.delete("c")
    assert blobs.held == {}


def test_erasing_a_fork_deletes_what_it_does_not_share():
    store, _, blobs = made()
    store.append("a", 0, [message(0, 5_000), message(1, 6_000), message(2, 7_000)]).result()
    store.fork("a", "b", 2).result()
    store.append("b", 2, [message(2, 8_000)]).result()
    store.fork("b", "c", 3).result()
    store.append("c", 3, [message(3, 9_000)]).result()
    with pytest.raises(ConflictError):
        store.delete("b")
    assert len(blobs.held) == 5, "what is not deleted keeps its blobs"
    store.delete("c")
    assert sorted(map(len, blobs.held.values())) == [5_000, 6_000, 7_000, 8_000]
    store.fork("b", "d", 1).result()
    store.append("d", 1, [message(1, 9_500)]).result()
    store.delete("b", cascade=True)
    assert sorted(map(len, blobs.held.values())) == [5_000, 6_000, 7_000]
    assert list(map(len, bodies(store, "a"))) == [5_000, 6_000, 7_000]
    store.fork("a", "e", 1).result()
    store.append("e", 1, [message(1, 9_500)]).result()
    store.delete("a", cascade=True)
    assert (blobs.held, store.sessions()) == ({}, [])


def test_a_fork_whose_parent_has_no_blobs_takes_its_own_along():
    store, _, blobs = made()
    store.append("a", 0, [message(0, 10)]).result()
    store.append("other", 0, [message(0, 10), message(1, 5_000)]).result()
    store.fork("a", "b", 1).result()
    store.append("b", 1, [message(1, 6_000)]).result()
    store.delete("a", cascade=True)
    assert [len(body) for body in blobs.held.values()] == [5_000]


def test_a_damaged_session_can_be_erased(tmp_path):
    inner = SqliteStore(tmp_path / "a.db")
    store, _, blobs = made(store=inner)
    store.append("a", 0, [message(0, 5_000), message(1, 10), message(2, 6_000)]).result()
    store.append("b", 0, [message(0, 7_000)]).result()
    inner.close()
    path = tmp_path / "a.db"
    path.write_bytes(path.read_bytes().replace(b"B" * 10, b"X" * 10))
    with pytest.raises(CorruptionError):
        list(store.read("a"))
    store.delete("a")
    assert [len(body) for body in blobs.held.values()] == [7_000]
    store.close()


def test_failed_blob_deletion_is_reported_and_collected_later():
    """A blob that cannot be deleted is reported and collected later."""
    store, _, blobs = made()
    store.append("a", 0, [message(0, 5_000)]).result()
    blobs.fails = [StoreUnavailableError("away")]
    with pytest.raises(
        StoreUnavailableError, match=r"session 'a' is deleted, but blobs of it may be left.*collect\(\).*away"
    ):
        store.delete("a")
    assert (store.sessions(), len(blobs.held)) == ([], 1)
    assert store.collect(older_than_seconds=0) == 1
    assert blobs.held == {}


def test_collect_takes_old_unused_blobs_of_this_store_only():
    """Collecting takes what is old and unused and nothing of another store."""
    store, inner, blobs = made()
    other = OffloadingStore(MemoryStore(), blobs, 100)
    for each in (store, other):
        each.append("a", 0, [message(0, 5_000)]).result()
        each.append("b", 0, [message(0, 6_000)]).result()
    inner.delete("a")  # past the layer: its blob stays
    assert len(blobs.held) == 4
    assert store.collect() == 0
    for name in list(blobs.held):
        blobs.ages[name] = 90_000
    assert store.collect(older_than_seconds=100_000) == 0
    assert store.collect() == 1
    assert (len(blobs.held), other.collect()) == (3, 0)
    assert [len(body) for each in (store, other) for body in bodies(each, "b")] == [6_000, 6_000]
    assert OffloadingStore(MemoryStore(), blobs, 100).collect() == 0


def test_what_is_being_put_is_never_collected():
    store, _, blobs = made()
    store.append("a", 0, [message(0, 5_000)]).result()

    class Late(MemoryStore):
        """Takes its time between blob and record."""

        def append(self, session, expected_position, records, **named):
            if records[0].kind == KIND:
                counts.append(late.collect(older_than_seconds=0))
            return super().append(session, expected_position, records, **named)

    counts = []
    late = OffloadingStore(Late(), blobs, 100)
    late.append("a", 0, [message(0, 5_000)]).result()
    assert counts == [0]
    assert [len(body) for body in bodies(late, "a")] == [5_000]


def test_collect_deletes_nothing_while_damage_hides_the_users(tmp_path):
    """Collecting deletes nothing where damage hides who uses it."""
    inner = SqliteStore(tmp_path / "a.db")
    store, _, blobs = made(store=inner)
    store.append("a", 0, [message(0, 5_000), message(1, 10)]).result()
    inner.close()
    path = tmp_path / "a.db"
    path.write_bytes(path.read_bytes().replace(b"B" * 10, b"X" * 10))
    with pytest.raises(CorruptionError):
        store.collect(older_than_seconds=0)
    assert len(blobs.held) == 1
    store.close()


def test_encryption_belongs_outside():
    class Sealed(MemoryStore):
        capabilities = frozenset(("encrypted",))

    with pytest.raises(ConfigurationError, match="put the encryption around"):
        OffloadingStore(Sealed(), FaultyBlobs())
