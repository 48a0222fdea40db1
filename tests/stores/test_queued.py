"""What the stores have in common that write through a queue: its thread, and who may wait for it."""

import gc
import threading
import time
from typing import Any

import pytest

from backscroll.stores.addresses import open_store
from tests.stores.programs import record
from tests.stores.running import KINDS, address_of


@pytest.fixture(params=KINDS)
def address(request, tmp_path):
    return address_of(request.param, tmp_path, "a")


def writers(path):
    return [thread for thread in threading.enumerate() if thread.name == f"writes {path}"]


def test_store_has_one_thread_until_closed_or_dropped(address):
    """A process has one thread for a store and none when it is closed or dropped."""
    store: Any = open_store(address)
    path = store.path
    assert store.length("a") == 0
    assert writers(path) == []
    for at in range(3):
        store.append("a", at, [record("a", at)]).result()
    assert len(writers(path)) == 1
    store.close()
    assert writers(path) == []
    for at in range(3, 60):
        store.append("a", at, [record("a", at)])
    del store
    gc.collect()
    until = time.monotonic() + 20
    while writers(path) and time.monotonic() < until:
        time.sleep(0.01)
    assert writers(path) == []
    again = open_store(address)
    assert again.length("a") == 60, "what was queued is written all the same"
    again.close()


def test_unawaited_append_is_written_soon(address):
    store = open_store(address)
    for at in range(4):  # the thread that writes sleeps, dozes, or is awake
        pending: Any = store.append("a", at, [record("a", at)])
        until = time.monotonic() + 20
        while not pending.done() and time.monotonic() < until:
            time.sleep(0.001)
        assert pending.done()
        time.sleep(0.02 * (at % 2))
    store.close()


def test_append_callback_may_close_the_store(address):
    store, closed = open_store(address), threading.Event()
    pending: Any = store.append("a", 0, [record("a", 0)])
    pending.add_done_callback(lambda _: (store.close(), closed.set()))  # type: ignore[func-returns-value]  # both, one after the other
    assert closed.wait(20)
    assert store.length("a") == 1
    store.close()
