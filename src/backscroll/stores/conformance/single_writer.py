"""Checks of what every store does for a single caller."""

from collections.abc import Callable
from functools import partial

from backscroll.errors import ConfigurationError, ConflictError
from backscroll.ports import Pending, Record, Tip
from backscroll.stores.conformance.helpers import (
    EVERY_BYTE,
    NAMES,
    REFUSED,
    Absent,
    Make,
    expect,
    failure,
    itself,
    record,
    same,
    stored,
)


def check_a_new_store_is_empty(make: Make, reopen: Make | None = None) -> Absent:
    """A new store is empty, and reading it creates nothing."""
    store = make()
    same(store.sessions(), [], "sessions of a new store")
    same(store.length("a"), 0, "the end of an unknown session")
    same(list(store.read("a")), [], "records of an unknown session")
    store.append("a", 0, []).result()
    same(store.sessions(), [], "sessions after nothing was appended to one")
    store.close()
    return None


def check_records_come_back_by_their_places(make: Make, reopen: Make | None = None) -> Absent:
    """Positions are dense and start at 0. A range is exact, and past the end there is nothing."""
    store, records = make(), [record(number) for number in range(700)]
    for first, last in ((0, 1), (1, 4), (4, 700)):
        store.append("a", first, records[first:last]).result()
        same(store.length("a"), last, "the end after an append")
    whole = stored(0, records)
    for start, stop in ((0, None), (0, 700), (3, 5), (5, 5), (6, 5), (699, None), (700, None), (900, 950), (690, 9999)):
        same(list(store.read("a", start, stop)), whole[start:stop], f"records from {start} to before {stop}")
    store.close()
    return None


def check_bytes_come_back_exactly(make: Make, reopen: Make | None = None) -> Absent:
    """Any body: empty, every byte, invalid UTF-8, no `seq`, and the limits of integers."""
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
    """An append anywhere but at the log's end is a conflict and stores nothing."""
    store = make()
    store.append("a", 0, [record(0), record(1)]).result()
    for session, first in (("a", 0), ("a", 1), ("a", 3), ("a", -1), ("a", 2**40), ("b", 1)):
        for records in ([record(7), record(8)], []):
            error = failure(partial(store.append, session, first, records))
            expect(isinstance(error, ConflictError), f"{len(records)} records at {first} gave {error!r}, no conflict")
    same(list(store.read("a")), stored(0, [record(0), record(1)]), "the log after conflicts")
    same((store.sessions(), store.length("b")), (["a"], 0), "sessions after conflicts")
    store.append("a", 2, [record(2)]).result()
    same(store.length("a"), 3, "the end after a conflict and a good append")
    store.close()
    return None


def check_the_tip_says_whose_log_it_is(make: Make, reopen: Make | None = None) -> Absent:
    """The tip has the end and the incarnation. An append returns it, and can require it."""
    store = make()
    same(store.tip("a"), Tip(0, None), "the tip of an unknown session")
    known = store.append("a", 0, [record(0)]).result()
    expect(type(known) is str and bool(known), f"an append answered {known!r}, and no incarnation")
    same(store.append("a", 1, [record(1), record(2)]).result(), known, "the incarnation that a second append answers")
    same(store.append("a", 3, [record(3)], incarnation=known).result(), known, "what one answers that asked for it")
    same((store.tip("a"), store.length("a")), (Tip(4, known), 4), "the tip after appends")
    for session, first in (("a", 4), ("a", 0), ("b", 0), ("b", 4)):
        for records in ([record(7)], []):
            error = failure(partial(store.append, session, first, records, incarnation=f"{known} of another"))
            expect(isinstance(error, ConflictError), f"an append to another incarnation gave {error!r}, no conflict")
    same((store.tip("a"), store.tip("b"), store.sessions()), (Tip(4, known), Tip(0, None), ["a"]), "tips after that")
    store.close()
    return None


def check_a_conflict_leaves_its_neighbours_alone(make: Make, reopen: Make | None = None) -> Absent:
    """Appends that a store may write together succeed or fail one by one, in their order."""
    store = make()
    pending: list[tuple[bool, Pending]] = []
    for number in range(200):
        pending.append((True, store.append(f"s{number % 5}", number // 5, [record(number)])))
        pending.append((False, store.append(f"s{number % 5}", 999, [record(number)])))
    for good, each in pending:
        error = failure(partial(itself, each))
        expect(error is None if good else isinstance(error, ConflictError), f"an append among conflicts gave {error!r}")
    for name in range(5):
        same(list(store.read(f"s{name}")), stored(0, [record(n) for n in range(name, 200, 5)]), "one of the sessions")
    store.close()
    return None


def check_a_name_is_data(make: Make, reopen: Make | None = None) -> Absent:
    """Quotes, slashes, dots and emoji name separate sessions, listed in the order of creation."""
    store = make()
    for number, name in enumerate(NAMES):
        store.append(name, 0, [record(number)]).result()
    same(store.sessions(), list(NAMES), "the names")
    for number, name in enumerate(NAMES):
        same(list(store.read(name)), stored(0, [record(number)]), f"session {name!r}")
        same(store.length(name), 1, f"the end of session {name!r}")
    store.close()
    return None


def check_a_bad_name_is_refused(make: Make, reopen: Make | None = None) -> Absent:
    """Every operation refuses a bad name with `ConfigurationError` and stores nothing."""
    store = make()
    operations: tuple[Callable[[str], object], ...] = (
        lambda name: store.append(name, 0, [record(0)]),
        store.read,
        store.length,
        store.tip,
        store.delete,
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
    """By `seq`, also one that is missing, and by key. Keys are data, and separate for each session."""
    store = make()
    keys = [f"{name}:{number}" for number, name in enumerate(NAMES)]
    records = [
        Record(kind="k", seq=number * 3 if number % 2 else None, body=b"x", format=1, key=key)
        for number, key in enumerate(keys)
    ]
    store.append("a", 0, records[:9]).result()
    store.append("a", 9, [*records[9:], record(1_000)]).result()
    store.append("b", 0, [record(5), Record(kind="k", seq=None, body=b"y", format=1, key=keys[1])]).result()
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
    """A second record with the same key is a conflict, and its append stores nothing."""
    store = make()
    store.append(
        "a",
        0,
        [
            Record(kind="k", seq=None, body=b"1", format=1, key="one"),
            Record(kind="k", seq=None, body=b"2", format=1, key="two"),
        ],
    ).result()
    for keys in (("one",), ("three", "two"), ("three", "three")):
        error = failure(
            partial(store.append, "a", 2, [Record(kind="k", seq=None, body=b"", format=1, key=key) for key in keys])
        )
        expect(isinstance(error, ConflictError), f"the keys {keys} gave {error!r}, no conflict")
    same((store.length("a"), store.find("a", key="three")), (2, None), "the log after such conflicts")
    store.append("a", 2, [Record(kind="k", seq=None, body=b"3", format=1, key="three")]).result()
    for key in ("", "x" * 301):
        error = failure(partial(store.append, "a", 3, [Record(kind="k", seq=None, body=b"", format=1, key=key)]))
        expect(isinstance(error, ConfigurationError), f"the key {key!r:.20} gave {error!r}")
    store.close()
    return None


def check_large_bodies(make: Make, reopen: Make | None = None) -> Absent:
    """A body of 50 MB between small ones."""
    large = EVERY_BYTE * (50_000_000 // 256)
    store, records = make(), [record(0), record(1, large), record(2)]
    store.append("a", 0, records).result()
    expect(list(store.read("a")) == stored(0, records), "a record of 50 MB did not come back as it was")
    store.close()
    return None
