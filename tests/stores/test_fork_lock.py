"""What keeps the process from forking while a connection is open."""

import threading
from typing import Any

from backscroll.stores.fork_lock import alone, exclusive_lock
from backscroll.stores.sqlite import SqliteStore
from tests.present import present
from tests.stores.programs import record


def test_lock_of_a_connection_delays_a_fork():
    """Work that needs all connections closed, like a fork, waits for the holder of an exclusive lock."""
    lock, begun, order, held = exclusive_lock(), threading.Event(), [], list[bool]()

    def wait():
        begun.set()
        with alone():
            order.append("alone")
            held.append(lock.locked())

    with lock:
        thread = threading.Thread(target=wait)
        thread.start()
        begun.wait()
        order.append("in use")
    thread.join()
    assert (order, held) == (["in use", "alone"], [True])
    assert not lock.locked()


def test_lock_is_not_made_while_a_fork_is_under_way():
    """A lock that a fork does not know would let its connection be open in the child."""
    made, begun = [], threading.Event()

    def make():
        begun.set()
        made.append(exclusive_lock())

    thread = threading.Thread(target=make)
    with alone():
        thread.start()
        begun.wait()
        assert made == []
    thread.join()
    assert len(made) == 1


def test_writer_closes_its_connection_before_a_fork(tmp_path):
    store = SqliteStore(tmp_path / "a.db")
    store.append("a", 0, [record("a", 0)]).result()
    writer: Any = present(store._queue)._worker
    with alone():
        assert writer._file is None
    store.append("a", 1, [record("a", 1)]).result()
    assert store.length("a") == 2
    store.close()
