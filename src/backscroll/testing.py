"""The contract of a store as a suite that anybody can run on theirs. What a `Store` promises is checked here only.

    report = check_store(lambda: MyStore(new_place()), reopen=lambda: MyStore(the_same_place))

Or each check as a test of its own: `CHECKS` holds them all, and each takes the same two functions. `make` gives a new,
empty store; `reopen` opens once more what `make` gave last. A check answers None for a store that passed it, or says
what is absent: a capability that a store does not claim is never counted as passed. Needs no test framework.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Pending, Record, Store, Stored

Make = Callable[[], Store]
Absent = str | None
Check = Callable[[Make, Make | None], Absent]

EVERY_BYTE = bytes(range(256))
NAMES = (
    *("a", "A", " ", "'", '"', "`", "\\", "/", ".", "..", "../../etc/passwd", "/etc/passwd", "C:\\x", "a/b", "%", "_"),
    *("*", "?", ";", "--", "' or 1=1 --", "null", "None", "0", "-1", "é", "e\u0301", "日本", "👩‍👩‍👧", "\u202e", "{}"),
    *("con", "nul.txt", "a:b", "a b", "x" * 255, "é" * 127, "👩" * 63, "memory:", "sqlite:///x", "~", "\ufeff"),
)  # fmt: skip
REFUSED = ("", "\0", "a\0b", "\n", "a\tb", "\x1b[0m", "\x7f", "\x85", "\ud800", "a\udfff", "x" * 256, "é" * 128)
PATIENCE = 60  # seconds, for what has to happen at some time


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a run: names of checks, and for what is absent the reason."""

    passed: tuple[str, ...]
    absent: dict[str, str]


def check_store(make: Make, *, reopen: Make | None = None) -> Report:
    """Runs every check. Raises AssertionError at the first thing that a store promises and this one does not do."""
    passed, absent = [], {}
    for check in CHECKS:
        try:
            missing = check(make, reopen)
        except AssertionError as error:
            error.add_note(f"in {check.__name__}: {check.__doc__}")
            raise
        if missing is None:
            passed.append(check.__name__)
        else:
            absent[check.__name__] = missing
    return Report(tuple(passed), absent)


def record(number: int, body: bytes | None = None) -> Record:
    """A record unlike that of any other number."""
    return Record("message", number, b"body %d" % number if body is None else body, 1)


def stored(first: int, records: Sequence[Record]) -> list[Stored]:
    """Records as they should come back."""
    return [Stored(first + number, each) for number, each in enumerate(records)]


def failure(action: Callable[[], Any]) -> Exception | None:
    """What an action raises, at once or when it is waited for."""
    try:
        pending = action()
        if hasattr(pending, "result"):
            pending.result()
        elif hasattr(pending, "__next__"):
            list(pending)
    except Exception as error:
        return error
    return None


def _itself(pending: Pending) -> Pending:
    """For what is pending already."""
    return pending


def expect(condition: bool, message: str) -> None:
    """An assertion that also holds where Python is told to leave out `assert`."""
    if not condition:
        raise AssertionError(message)


def same(got: object, wanted: object, what: str) -> None:
    """Compares, and shows the beginning of both."""
    expect(got == wanted, f"{what}: {str(got)[:300]} instead of {str(wanted)[:300]}")


# -- what every store does --


def check_a_new_store_is_empty(make: Make, reopen: Make | None = None) -> Absent:
    """Nothing is there before something was written, and asking leaves nothing."""
    store = make()
    same(store.sessions(), [], "sessions of a new store")
    same(store.end("a"), 0, "the end of a session that nobody wrote to")
    same(list(store.read("a")), [], "records of a session that nobody wrote to")
    store.append("a", 0, []).result()
    same(store.sessions(), [], "sessions after nothing was appended to one")
    store.close()
    return None


def check_records_come_back_by_their_places(make: Make, reopen: Make | None = None) -> Absent:
    """Places are dense and begin with 0; a range is what it says, and past the end there is nothing."""
    store, records = make(), [record(number) for number in range(700)]
    for first, last in ((0, 1), (1, 4), (4, 700)):
        store.append("a", first, records[first:last]).result()
        same(store.end("a"), last, "the end after an append")
    whole = stored(0, records)
    for start, stop in ((0, None), (0, 700), (3, 5), (5, 5), (6, 5), (699, None), (700, None), (900, 950), (690, 9999)):
        same(list(store.read("a", start, stop)), whole[start:stop], f"records from {start} to before {stop}")
    store.close()
    return None


def check_bytes_come_back_exactly(make: Make, reopen: Make | None = None) -> Absent:
    """Whatever a record holds: no byte, every byte, what is no UTF-8, no `seq`, and the ends of ranges."""
    bodies = (b"", b"\0", EVERY_BYTE, "\ud800".encode("utf-8", "surrogatepass"), b"'; --", b'{"a":1}', EVERY_BYTE * 400)
    records = [Record("message", number, body, 1) for number, body in enumerate(bodies)]
    records += [Record(kind, None, b"x", 1) for kind in ("k", "it's", "日本", "x" * 100)]
    records += [Record("k", seq, b"x", 2**31 - 1) for seq in (0, 2**31, 2**53 + 1, 2**63 - 1)]
    store = make()
    store.append("a", 0, records).result()
    back = list(store.read("a"))
    same(back, stored(0, records), "what was written")
    for each in back:
        expect(type(each.record.body) is bytes, f"a body came back as {type(each.record.body)}")
        expect(isinstance(each.record, Record), "a record came back as something else")
    store.close()
    return None


def check_a_wrong_place_is_a_conflict(make: Make, reopen: Make | None = None) -> Absent:
    """All or none: where the log does not end directly before `first`, nothing of the append is kept."""
    store = make()
    store.append("a", 0, [record(0), record(1)]).result()
    for session, first in (("a", 0), ("a", 1), ("a", 3), ("a", -1), ("a", 2**40), ("b", 1)):
        for records in ([record(7), record(8)], []):
            error = failure(partial(store.append, session, first, records))
            expect(isinstance(error, ConflictError), f"{len(records)} records at {first} gave {error!r}, no conflict")
    same(list(store.read("a")), stored(0, [record(0), record(1)]), "the log after conflicts")
    same((store.sessions(), store.end("b")), (["a"], 0), "sessions after conflicts")
    store.append("a", 2, [record(2)]).result()
    same(store.end("a"), 3, "the end after a conflict and a good append")
    store.close()
    return None


def check_a_conflict_leaves_its_neighbours_alone(make: Make, reopen: Make | None = None) -> Absent:
    """Appends that a store may write together succeed and fail one by one, and in their order."""
    store = make()
    pending: list[tuple[bool, Pending]] = []
    for number in range(200):
        pending.append((True, store.append(f"s{number % 5}", number // 5, [record(number)])))
        pending.append((False, store.append(f"s{number % 5}", 999, [record(number)])))
    for good, each in pending:
        error = failure(partial(_itself, each))
        expect(error is None if good else isinstance(error, ConflictError), f"an append among conflicts gave {error!r}")
    for name in range(5):
        same(list(store.read(f"s{name}")), stored(0, [record(n) for n in range(name, 200, 5)]), "one of the sessions")
    store.close()
    return None


def check_a_name_is_data(make: Make, reopen: Make | None = None) -> Absent:
    """Quotes, slashes, dots and emoji name sessions of their own, listed in the order of their beginning."""
    store = make()
    for number, name in enumerate(NAMES):
        store.append(name, 0, [record(number)]).result()
    same(store.sessions(), list(NAMES), "the names")
    for number, name in enumerate(NAMES):
        same(list(store.read(name)), stored(0, [record(number)]), f"session {name!r}")
        same(store.end(name), 1, f"the end of session {name!r}")
    store.close()
    return None


def check_a_bad_name_is_refused(make: Make, reopen: Make | None = None) -> Absent:
    """By every operation, with `ConfigurationError`, and without a trace."""
    store = make()
    operations: tuple[Callable[[str], object], ...] = (
        lambda name: store.append(name, 0, [record(0)]),
        store.read,
        store.end,
        store.erase,
        lambda name: store.find(name, seq=0),
    )
    for name in REFUSED:
        for number, operation in enumerate(operations):
            error = failure(partial(operation, name))
            expect(isinstance(error, ConfigurationError), f"the name {name!r:.40} gave {error!r} (operation {number})")
    same(store.sessions(), [], "sessions after bad names")
    store.close()
    return None


def check_records_are_found(make: Make, reopen: Make | None = None) -> Absent:
    """By their `seq`, also by one that is not there, and by their key; keys are data too, and each session has its
    own.
    """
    store = make()
    keys = [f"{name}:{number}" for number, name in enumerate(NAMES)]
    records = [Record("k", number * 3 if number % 2 else None, b"x", 1, key) for number, key in enumerate(keys)]
    store.append("a", 0, records[:9]).result()
    store.append("a", 9, [*records[9:], record(1_000)]).result()
    store.append("b", 0, [record(5), Record("k", None, b"y", 1, keys[1])]).result()
    same([store.find("a", key=key) for key in keys], list(range(len(keys))), "places by their keys")
    wanted = [next((at for at, each in enumerate(records) if (each.seq or 0) >= seq and each.seq), len(records))
              for seq in range(3 * len(keys))]  # fmt: skip  # one thought
    same([store.find("a", seq=seq) for seq in range(3 * len(keys))], wanted, "places by their seqs")
    same((store.find("b", key=keys[1]), store.find("b", seq=0), store.find("b", key=keys[0])), (1, 0, None), "in b")
    same((store.find("c", key="x"), store.find("c", seq=0), store.find("a", seq=1_001)), (None, None, None), "nothing")
    same(list(store.read("a"))[:-1], stored(0, records), "records with keys")
    store.close()
    return None


def check_a_key_is_used_once(make: Make, reopen: Make | None = None) -> Absent:
    """A second record of a session with the same key is a conflict, and nothing of its append is kept."""
    store = make()
    store.append("a", 0, [Record("k", None, b"1", 1, "one"), Record("k", None, b"2", 1, "two")]).result()
    for keys in (("one",), ("three", "two"), ("three", "three")):
        error = failure(partial(store.append, "a", 2, [Record("k", None, b"", 1, key) for key in keys]))
        expect(isinstance(error, ConflictError), f"the keys {keys} gave {error!r}, no conflict")
    same((store.end("a"), store.find("a", key="three")), (2, None), "the log after such conflicts")
    store.append("a", 2, [Record("k", None, b"3", 1, "three")]).result()
    for key in ("", "x" * 301):
        error = failure(partial(store.append, "a", 3, [Record("k", None, b"", 1, key)]))
        expect(isinstance(error, ConfigurationError), f"the key {key!r:.20} gave {error!r}")
    store.close()
    return None


def check_large_bodies(make: Make, reopen: Make | None = None) -> Absent:
    """50 MB in one record, between small ones."""
    large = EVERY_BYTE * (50_000_000 // 256)
    store, records = make(), [record(0), record(1, large), record(2)]
    store.append("a", 0, records).result()
    expect(list(store.read("a")) == stored(0, records), "a record of 50 MB did not come back as it was")
    store.close()
    return None


# -- at once --


def together(work: Sequence[Callable[[], None]]) -> None:
    """Runs each in a thread of its own, and raises what one of them raised."""
    errors: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(each,)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def check_threads_with_sessions_of_their_own(make: Make, reopen: Make | None = None) -> Absent:
    """Each finds its own log as it wrote it."""
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


def retried(store: Store, session: str, bodies: Sequence[bytes]) -> None:
    """Appends at the end, wherever that is by then."""
    while True:
        first = store.end(session)
        try:
            store.append(session, first, [record(first + n, body) for n, body in enumerate(bodies)]).result()
        except ConflictError:
            continue
        return


def check_threads_on_one_session(make: Make, reopen: Make | None = None) -> Absent:
    """Pairs that compete for one log: none is lost, none comes twice, and both halves stay together."""
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
    """A reader sees a beginning of the log, whole appends only, and no less than what is acknowledged."""
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
            expect(store.end("a") >= len(got), "the end lies before what was read")

    together([write, read, read])
    same(store.end("a"), 600, "the end after writing")
    store.close()
    return None


# -- what some stores do --


def check_use_after_close_opens_anew(make: Make, reopen: Make | None = None) -> Absent:
    """A closed store can be used, and one that is durable still has everything."""
    store = make()
    pending = store.append("a", 0, [record(0)])
    store.close()
    same(failure(partial(_itself, pending)), None, "an append before a close")
    store.close()
    end = store.end("a")
    expect(end == 1 or "durable" not in store.capabilities, "a durable store lost a record at its close")
    store.append("a", end, [record(1)]).result()
    same(list(store.read("a", end)), stored(end, [record(1)]), "what was written after a close")
    store.close()
    return None


def check_what_is_durable_survives(make: Make, reopen: Make | None = None) -> Absent:
    """Who opens the place again sees everything."""
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
    same((again.end("a"), again.end("'b/..")), (301, 3), "the ends in a store that was opened again")
    again.close()
    return None


def check_what_is_shared_is_seen_by_others(make: Make, reopen: Make | None = None) -> Absent:
    """Two that are open at once see each other's records, and their conflicts."""
    one = make()
    if "shared" not in one.capabilities:
        return "the store does not claim to be shared"
    if reopen is None:
        return "no `reopen` was given"
    other = reopen()
    for number in range(40):
        writer, reader = (one, other) if number % 2 else (other, one)
        writer.append("a", number, [record(number)]).result()
        same(reader.end("a"), number + 1, "the end that the other one sees")
        error = failure(partial(reader.append, "a", number, [record(number)]))
        expect(isinstance(error, ConflictError), f"writing what the other one wrote gave {error!r}")
    same(list(one.read("a")), list(other.read("a")), "what both see")
    one.close()
    other.close()
    return None


def check_what_is_erased_is_gone(make: Make, reopen: Make | None = None) -> Absent:
    """A session that was erased is new again, and the others are as they were."""
    store = make()
    if "erase" not in store.capabilities:
        return "the store does not claim to erase"
    for name in ("a", "b", "c"):
        store.append(name, 0, [record(number) for number in range(50)]).result()
    for _ in range(2):
        store.erase("b")
        same((store.sessions(), store.end("b"), list(store.read("b"))), (["a", "c"], 0, []), "after erasing")
    same(list(store.read("c")), stored(0, [record(number) for number in range(50)]), "the session beside it")
    store.append("b", 0, [record(7)]).result()
    same(store.sessions(), ["a", "c", "b"], "sessions after one began again")
    same(list(store.read("b")), stored(0, [record(7)]), "a session that began again")
    store.close()
    return None


def check_forks_share_the_past(make: Make, reopen: Make | None = None) -> Absent:
    """A fork is the other session up to there, and each goes on by itself; forks can be forked."""
    store = make()
    if "fork" not in store.capabilities:
        return "the store does not claim to fork"
    first = [Record("message", number, b"first %d" % number, 1, f"key {number}") for number in range(700)]
    second = [record(number, b"second %d" % number) for number in range(600, 900)]
    store.append("a", 0, first).result()
    store.fork("a", "b", 600).result()
    store.append("b", 600, second).result()
    store.fork("b", "c", 650).result()
    store.fork("c", "d", 300).result()
    logs = {"a": first, "b": first[:600] + second, "c": first[:600] + second[:50], "d": first[:300]}
    for name, log in logs.items():
        same((store.end(name), list(store.read(name))), (len(log), stored(0, log)), f"the log of {name}")
        same(list(store.read(name, 290, 620)), stored(290, log[290:620]), f"the middle of {name}")
        same([store.find(name, seq=seq) for seq in (0, 299, 620)], [0, 299, 620 if len(log) > 620 else None], name)
        same(store.find(name, key="key 650"), 650 if name == "a" else None, f"a key that {name} may not know")
        same(store.find(name, key="key 250"), 250, f"a key that {name} shares")
    error = failure(partial(store.append, "b", 900, [Record("k", None, b"", 1, "key 1")]))
    expect(isinstance(error, ConflictError), f"a key of the shared past gave {error!r}")
    store.append("a", 700, second[:1]).result()
    same((store.end("b"), store.end("a")), (900, 701), "ends after a session went on behind its fork")
    same(store.sessions(), ["a", "b", "c", "d"], "sessions with forks")
    store.close()
    return None


def check_forks_that_cannot_be(make: Make, reopen: Make | None = None) -> Absent:
    """Into a session that has begun, of more than there is, of nothing, of a name that is none."""
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
    same((store.sessions(), store.end("a"), store.end("b")), (["a", "b"], 5, 1), "sessions after that")
    store.close()
    return None


def check_erasing_what_forks_share(make: Make, reopen: Make | None = None) -> Absent:
    """It is refused, with the names of the forks, unless they go as well; a fork alone takes only its own."""
    store = make()
    if not {"fork", "erase"} <= store.capabilities:
        return "the store does not claim to fork and to erase"
    log = [record(number) for number in range(30)]
    store.append("a", 0, log).result()
    for session, new in (("a", "b"), ("b", "c"), ("a", "d")):
        store.fork(session, new, 20).result()
        store.append(new, 20, [record(20, new.encode())]).result()
    error = failure(partial(store.erase, "a"))
    expect(isinstance(error, ConflictError) and "'b'" in str(error), f"erasing what forks share gave {error!r}")
    same(list(store.read("a")), stored(0, log), "the session that was not erased")
    store.erase("d")
    same((store.sessions(), list(store.read("a"))), (["a", "b", "c"], stored(0, log)), "after erasing a fork")
    store.erase("b", cascade=True)
    same((store.sessions(), list(store.read("a"))), (["a"], stored(0, log)), "after erasing a fork with its own")
    store.erase("a")
    same(store.sessions(), [], "after erasing everything")
    store.close()
    return None


def check_a_lease_keeps_a_session(make: Make, reopen: Make | None = None) -> Absent:
    """For its owner, who may take it anew and give it back; another one is told who has it. Appends are not refused."""
    store = make()
    if "lease" not in store.capabilities:
        return "the store does not claim to lease"
    for _ in range(2):
        store.lease("a", "one", 600).result()
    error = failure(partial(store.lease, "a", "other", 600))
    expect(isinstance(error, ConflictError) and "'one'" in str(error), f"a lease that another one holds gave {error!r}")
    expect(isinstance(failure(partial(store.lease, "a", "other", 0)), ConflictError), "another one could end a lease")
    store.lease("b", "other", 600).result()
    same((store.sessions(), store.end("a")), ([], 0), "sessions after leases")
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


def check_a_lease_ends_by_itself(make: Make, reopen: Make | None = None) -> Absent:
    """After its seconds another owner may have it; and with the session that is erased."""
    store = make()
    if "lease" not in store.capabilities:
        return "the store does not claim to lease"
    store.lease("a", "one", 0.2).result()
    until = time.monotonic() + PATIENCE
    while (error := failure(partial(store.lease, "a", "other", 600))) is not None:
        expect(isinstance(error, ConflictError), f"waiting for the end of a lease gave {error!r}")
        expect(time.monotonic() < until, f"a lease of 0.2 seconds is held after {PATIENCE}")
        time.sleep(0.02)
    if "erase" in store.capabilities:
        store.erase("a")
        store.lease("a", "one", 600).result()
    store.close()
    return None


CHECKS: tuple[Check, ...] = tuple(
    value for name, value in list(globals().items()) if name.startswith("check_") and value is not check_store
)
