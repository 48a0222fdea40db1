"""Checks of the capabilities that a store may claim."""

import os
import threading
import time
from functools import partial

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Record, Store, Tip
from backscroll.stores.conformance.helpers import (
    PATIENCE,
    Absent,
    Make,
    expect,
    failure,
    itself,
    record,
    same,
    stored,
)


def check_use_after_close_opens_again(make: Make, reopen: Make | None = None) -> Absent:
    """A closed store can be used again, and a durable one still has everything."""
    store = make()
    pending = store.append("a", 0, [record(0)])
    store.close()
    same(failure(partial(itself, pending)), None, "an append before a close")
    store.close()
    end = store.length("a")
    expect(end == 1 or "durable" not in store.capabilities, "a durable store lost a record at its close")
    store.append("a", end, [record(1)]).result()
    same(list(store.read("a", end)), stored(end, [record(1)]), "what was written after a close")
    store.close()
    return None


def check_what_is_durable_survives(make: Make, reopen: Make | None = None) -> Absent:
    """A store that is opened again has everything."""
    store = make()
    if "durable" not in store.capabilities:
        return "the store does not claim to be durable"
    if reopen is None:
        return "no `reopen` was given"
    records = [record(number, os.urandom(number * 7)) for number in range(300)]
    for first in range(0, 300, 10):
        store.append("a", first, records[first : first + 10]).result()
    store.append("'b/..", 0, records[:3]).result()
    store.close()
    again = reopen()
    same(again.sessions(), ["a", "'b/.."], "sessions of a store that was opened again")
    same(list(again.read("a")), stored(0, records), "the log of a store that was opened again")
    again.append("a", 300, [record(300)]).result()
    same((again.length("a"), again.length("'b/..")), (301, 3), "the ends in a store that was opened again")
    again.close()
    return None


def check_what_is_shared_is_seen_by_others(make: Make, reopen: Make | None = None) -> Absent:
    """Two objects that are open at once see each other's records and conflicts."""
    one = make()
    if "shared" not in one.capabilities:
        return "the store does not claim to be shared"
    if reopen is None:
        return "no `reopen` was given"
    other = reopen()
    for number in range(40):
        writer, reader = (one, other) if number % 2 else (other, one)
        writer.append("a", number, [record(number)]).result()
        same(reader.length("a"), number + 1, "the end that the other one sees")
        error = failure(partial(reader.append, "a", number, [record(number)]))
        expect(isinstance(error, ConflictError), f"writing what the other one wrote gave {error!r}")
    same(list(one.read("a")), list(other.read("a")), "what both see")
    one.close()
    other.close()
    return None


def check_what_is_erased_is_gone(make: Make, reopen: Make | None = None) -> Absent:
    """A deleted session is unknown and can be created again. Other sessions are unchanged."""
    store = make()
    if "delete" not in store.capabilities:
        return "the store does not claim to delete"
    for name in ("a", "b", "c"):
        store.append(name, 0, [record(number) for number in range(50)]).result()
    for _ in range(2):
        store.delete("b")
        same((store.sessions(), store.length("b"), list(store.read("b"))), (["a", "c"], 0, []), "after erasing")
    same(list(store.read("c")), stored(0, [record(number) for number in range(50)]), "the other session")
    store.append("b", 0, [record(7)]).result()
    same(store.sessions(), ["a", "c", "b"], "sessions after one began again")
    same(list(store.read("b")), stored(0, [record(7)]), "a session that began again")
    store.close()
    return None


def check_who_begins_again_is_another(make: Make, reopen: Make | None = None) -> Absent:
    """A session that is created again has another incarnation. Appends to the old one fail."""
    store = make()
    if "delete" not in store.capabilities:
        return "the store does not claim to delete"
    other = reopen() if reopen is not None and "shared" in store.capabilities else store
    old = store.append("a", 0, [record(0), record(1)]).result()
    same(other.tip("a"), Tip(2, old), "the tip that the other one sees")
    known = []
    for number in range(3):
        other.delete("a")
        for first in (2, 0):
            error = failure(partial(store.append, "a", first, [record(7)], incarnation=old))
            expect(isinstance(error, ConflictError), f"an append to a session that was deleted gave {error!r}")
        same((store.tip("a"), store.length("a")), (Tip(0, None), 0), "the tip of a session that was deleted")
        known.append(other.append("a", 0, [record(number), record(1)]).result())
        error = failure(partial(store.append, "a", 2, [record(7)], incarnation=old))
        expect(isinstance(error, ConflictError), f"an append to a session that was begun again gave {error!r}")
        same(store.tip("a"), Tip(2, known[-1]), "the tip of a session that was begun again")
    same(len({old, *known}), 4, "incarnations of a session that was begun four times")
    same(list(store.read("a")), stored(0, [record(2), record(1)]), "the log of the last one")
    store.append("a", 2, [record(2)], incarnation=known[-1]).result()
    if other is not store:
        other.close()
    store.close()
    return None


def check_a_turn_is_one_writers_alone(make: Make, reopen: Make | None = None) -> Absent:
    """In its turn a writer can append behind what it reads. Others wait. A turn can be ended unused."""
    store = make()
    if "turn" not in store.capabilities:
        return "the store does not claim to give turns"
    other = reopen() if reopen is not None and "shared" in store.capabilities else store
    store.append("a", 0, [record(0)]).result()
    for first in (1, 3, 5):
        turn, late = store.turn("a").result(), list[Exception | None]()
        thread = threading.Thread(target=lambda late=late, at=first: late.append(_tried(other, at)))
        thread.start()
        time.sleep(0.05)
        same((store.length("a"), late), (first, []), "the end in a turn, and what others appended meanwhile")
        same(len(list(store.read("a"))), first, "records that can be read in a turn")
        store.append("a", first, [record(first), record(first + 1)], turn=turn).result()
        thread.join()
        expect(isinstance(late[0], ConflictError), f"an append that had to wait for a turn gave {late[0]!r}")
    store.turn("a").result().end()
    waiting = store.turn("a").result()
    pending = other.turn("a")
    waiting.end()
    waiting.end()
    other.append("a", 7, [record(7)], turn=pending.result()).result()
    error = failure(partial(store.append, "a", 7, [record(8)], turn=store.turn("a").result()))
    expect(isinstance(error, ConflictError), f"an append at a wrong place in a turn gave {error!r}")
    store.append("b", 0, [record(0)], turn=store.turn("b").result()).result()
    same(list(store.read("a")), stored(0, [record(number) for number in range(8)]), "the log after turns")
    if other is not store:
        other.close()
    store.close()
    return None


def _tried(store: Store, first: int) -> Exception | None:
    return failure(partial(store.append, "a", first, [record(99)]))


def check_forks_share_the_past(make: Make, reopen: Make | None = None) -> Absent:
    """A fork has the other session's records up to the fork, and both go on independently."""
    store = make()
    if "fork" not in store.capabilities:
        return "the store does not claim to fork"
    first = [
        Record(kind="message", seq=number, body=b"first %d" % number, format=1, key=f"key {number}")
        for number in range(700)
    ]
    second = [record(number, b"second %d" % number) for number in range(600, 900)]
    store.append("a", 0, first).result()
    store.fork("a", "b", 600).result()
    store.append("b", 600, second).result()
    store.fork("b", "c", 650).result()
    store.fork("c", "d", 300).result()
    logs = {"a": first, "b": first[:600] + second, "c": first[:600] + second[:50], "d": first[:300]}
    for name, log in logs.items():
        same((store.length(name), list(store.read(name))), (len(log), stored(0, log)), f"the log of {name}")
        same(list(store.read(name, 290, 620)), stored(290, log[290:620]), f"the middle of {name}")
        same([store.find(name, seq=seq) for seq in (0, 299, 620)], [0, 299, 620 if len(log) > 620 else None], name)
        same(store.find(name, key="key 650"), 650 if name == "a" else None, f"a key that {name} may not know")
        same(store.find(name, key="key 250"), 250, f"a key that {name} shares")
    error = failure(partial(store.append, "b", 900, [Record(kind="k", seq=None, body=b"", format=1, key="key 1")]))
    expect(isinstance(error, ConflictError), f"a key of the shared past gave {error!r}")
    store.append("a", 700, second[:1]).result()
    same((store.length("b"), store.length("a")), (900, 701), "ends after a session went on behind its fork")
    same(store.sessions(), ["a", "b", "c", "d"], "sessions with forks")
    store.close()
    return None


def check_forks_that_cannot_be(make: Make, reopen: Make | None = None) -> Absent:
    """Refused: an existing target, more records than there are, no records, an invalid name."""
    store = make()
    if "fork" not in store.capabilities:
        return "the store does not claim to fork"
    store.append("a", 0, [record(number) for number in range(5)]).result()
    store.append("b", 0, [record(0)]).result()
    for wanted, session, new, at in (
        (ConflictError, "a", "b", 3), (ConflictError, "a", "a", 3), (ConfigurationError, "a", "c", 6),
        (ConfigurationError, "a", "c", 0), (ConfigurationError, "x", "c", 1), (ConfigurationError, "a", "", 1),
    ):  # fmt: skip  # a table
        error = failure(partial(store.fork, session, new, at))
        expect(isinstance(error, wanted), f"fork({session!r}, {new!r}, {at}) gave {error!r}")
    same((store.sessions(), store.length("a"), store.length("b")), (["a", "b"], 5, 1), "sessions after that")
    store.close()
    return None


def check_erasing_what_forks_share(make: Make, reopen: Make | None = None) -> Absent:
    """Deleting shared records fails and names the forks, unless `cascade` deletes them too."""
    store = make()
    if not {"fork", "delete"} <= store.capabilities:
        return "the store does not claim to fork and to delete"
    log = [record(number) for number in range(30)]
    store.append("a", 0, log).result()
    for session, new in (("a", "b"), ("b", "c"), ("a", "d")):
        store.fork(session, new, 20).result()
        store.append(new, 20, [record(20, new.encode())]).result()
    error = failure(partial(store.delete, "a"))
    expect(isinstance(error, ConflictError) and "'b'" in str(error), f"erasing what forks share gave {error!r}")
    same(list(store.read("a")), stored(0, log), "the session that was not deleted")
    store.delete("d")
    same((store.sessions(), list(store.read("a"))), (["a", "b", "c"], stored(0, log)), "after erasing a fork")
    store.delete("b", cascade=True)
    same((store.sessions(), list(store.read("a"))), (["a"], stored(0, log)), "after erasing a fork with its own")
    store.delete("a")
    same(store.sessions(), [], "after erasing everything")
    store.close()
    return None


def check_a_lease_keeps_a_session(make: Make, reopen: Make | None = None) -> Absent:
    """An owner can renew and end its lease. Another is refused with the owner's name. Appends are not."""
    store = make()
    if "lease" not in store.capabilities:
        return "the store does not claim to lease"
    for _ in range(2):
        store.lease("a", "one", 600).result()
    error = failure(partial(store.lease, "a", "other", 600))
    expect(isinstance(error, ConflictError) and "'one'" in str(error), f"a lease that another one holds gave {error!r}")
    expect(isinstance(failure(partial(store.lease, "a", "other", 0)), ConflictError), "another one could end a lease")
    store.lease("b", "other", 600).result()
    same((store.sessions(), store.length("a")), ([], 0), "sessions after leases")
    store.append("a", 0, [record(0)]).result()
    store.lease("a", "one", 0).result()
    store.lease("a", "other", 600).result()
    error = failure(partial(store.lease, "a", "one", 600))
    expect(isinstance(error, ConflictError) and "'other'" in str(error), f"a lease that went on gave {error!r}")
    for owner, seconds in (("", 1), ("x" * 256, 1), ("o", -1), ("o", float("nan")), ("o", float("inf"))):
        error = failure(partial(store.lease, "c", owner, seconds))
        expect(isinstance(error, ConfigurationError), f"{seconds} seconds for {owner!r:.20} gave {error!r}")
    store.close()
    return None


def check_a_lease_ends_byitself(make: Make, reopen: Make | None = None) -> Absent:
    """A lease ends after its seconds, and when its session is deleted."""
    store = make()
    if "lease" not in store.capabilities:
        return "the store does not claim to lease"
    store.lease("a", "one", 0.2).result()
    until = time.monotonic() + PATIENCE
    while (error := failure(partial(store.lease, "a", "other", 600))) is not None:
        expect(isinstance(error, ConflictError), f"waiting for the end of a lease gave {error!r}")
        expect(time.monotonic() < until, f"a lease of 0.2 seconds is held after {PATIENCE}")
        time.sleep(0.02)
    if "delete" in store.capabilities:
        store.delete("a")
        store.lease("a", "one", 600).result()
    store.close()
    return None
