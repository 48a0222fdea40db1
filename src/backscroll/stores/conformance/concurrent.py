"""Checks of what every store does for several threads at once."""

import threading
from functools import partial

from backscroll.stores.conformance.helpers import Absent, Make, expect, record, retried, same, stored, together


def check_threads_with_sessions_of_their_own(make: Make, reopen: Make | None = None) -> Absent:
    """Each thread reads its own log as it wrote it."""
    store = make()

    def write(name: str) -> None:
        for number in range(25):
            store.append(name, number, [record(number, f"{name} {number}".encode())]).result()

    names = [f"thread {number}" for number in range(24)]
    together([partial(write, name) for name in names])
    same(sorted(store.sessions()), sorted(names), "sessions of many threads")
    for name in names:
        wanted = [record(number, f"{name} {number}".encode()) for number in range(25)]
        same(list(store.read(name)), stored(0, wanted), f"the log of {name}")
    store.close()
    return None


def check_threads_on_one_session(make: Make, reopen: Make | None = None) -> Absent:
    """Pairs compete for one log: none is lost or doubled, and both halves stay together."""
    store = make()

    def write(writer: int) -> None:
        for number in range(20):
            call, result = f"call {writer} {number}".encode(), f"result {writer} {number}".encode()
            retried(store, "a", (call, result))

    together([partial(write, writer) for writer in range(8)])
    bodies = [each.record.body for each in store.read("a")]
    same(len(bodies), 320, "records of 8 threads with 20 pairs each")
    calls = [body.removeprefix(b"call ") for body in bodies[::2]]
    same([body.removeprefix(b"result ") for body in bodies[1::2]], calls, "the second halves of the pairs")
    same(len(set(calls)), 160, "different pairs")
    store.close()
    return None


def check_reading_while_it_is_written(make: Make, reopen: Make | None = None) -> Absent:
    """A reader sees a prefix of the log, whole appends only, and everything acknowledged."""
    store, acknowledged, over = make(), [0], threading.Event()

    def write() -> None:
        try:
            for first in range(0, 600, 3):
                store.append("a", first, [record(first), record(first + 1), record(first + 2)]).result()
                acknowledged[0] = first + 3
        finally:
            over.set()

    def read() -> None:
        while not over.is_set():
            before = acknowledged[0]
            got = list(store.read("a"))
            expect(len(got) >= before, f"{before} records were acknowledged and {len(got)} could be read")
            expect(len(got) % 3 == 0, f"{len(got)} records were read where 3 are written at once")
            same(got, stored(0, [record(number) for number in range(len(got))]), "what was read meanwhile")
            expect(store.length("a") >= len(got), "the end lies before what was read")

    together([write, read, read])
    same(store.length("a"), 600, "the end after writing")
    store.close()
    return None
