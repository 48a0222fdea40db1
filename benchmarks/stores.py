"""What a durable append costs beside a bare SQLite commit of the same bytes, alone and from many sessions at once.

    python benchmarks/stores.py [--folder FOLDER] [--appends 1000] [--sessions 64] [--repeat 5]

One session: each append is waited for. The floor is one row of the same bytes in a file of its own, in the same run and
at the same `synchronous`, by a plain connection in the same thread; both take turns, so that a busy disk slows both.
Many sessions: a thread each, every append is waited for; the floor is one thread that does the same appends one by one.
"""

import argparse
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from pathlib import Path

from backscroll.ports import Record
from backscroll.stores.sqlite import SqliteStore

TURN = 20  # appends before the other one's turn


def bodies(number: int) -> list[bytes]:
    """Sizes of real messages: many short, some of a page or two."""
    chance = random.Random(1)
    return [chance.randbytes(min(int(chance.lognormvariate(6.6, 1.0)), 16_000)) for _ in range(number)]


def bare(path: Path, durability: str) -> sqlite3.Connection:
    """The least that SQLite needs to keep bytes."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma journal_mode = wal")
    connection.execute(f"pragma synchronous = {durability}")
    connection.execute("create table record (at integer primary key, body blob)")
    return connection


def one(folder: Path, durability: str, contents: list[bytes]) -> tuple[list[float], list[float]]:
    """Seconds of each append, ours and the bare ones."""
    store, connection = SqliteStore(folder / "ours.db", durability), bare(folder / "bare.db", durability)
    store.append("warm", 0, [Record("message", 0, b"", 1)]).result()
    ours, floor = [], []
    for begin in range(0, len(contents), TURN):
        for at, body in enumerate(contents[begin : begin + TURN], begin):
            start = time.perf_counter()
            store.append("one", at, [Record("message", at, body, 1)]).result()
            ours.append(time.perf_counter() - start)
        for body in contents[begin : begin + TURN]:
            start = time.perf_counter()
            connection.execute("insert into record (body) values (?)", (body,))
            floor.append(time.perf_counter() - start)
    store.close()
    connection.close()
    return ours, floor


def many(folder: Path, durability: str, sessions: int, contents: list[bytes]) -> float:
    """Appends a second from a thread for each session."""
    store, gate = SqliteStore(folder / "many.db", durability), threading.Barrier(sessions + 1)

    def write(name: str) -> None:
        gate.wait()
        for at, body in enumerate(contents):
            store.append(name, at, [Record("message", at, body, 1)]).result()

    threads = [threading.Thread(target=write, args=(f"session {number}",)) for number in range(sessions)]
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - start
    store.close()
    return sessions * len(contents) / spent


def alone(folder: Path, durability: str, contents: list[bytes]) -> float:
    """Bare commits a second, one after the other."""
    connection = bare(folder / "alone.db", durability)
    start = time.perf_counter()
    for body in contents:
        connection.execute("insert into record (body) values (?)", (body,))
    spent = time.perf_counter() - start
    connection.close()
    return len(contents) / spent


def main() -> None:
    """Prints a table for one session and one for many."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--folder", type=Path, help="where the files are made; must be on the disk to be measured")
    arguments.add_argument("--appends", type=int, default=1_000)
    arguments.add_argument("--sessions", type=int, default=64)
    arguments.add_argument("--repeat", type=int, default=5)
    given = arguments.parse_args()
    contents = bodies(given.appends)
    print(f"{'one session':<22} {'append us':>10} {'bare us':>10} {'ratio':>6} {'p99 us':>10} {'bare p99':>10}")
    for durability in ("full", "normal"):
        ours, floor = [], []
        for _ in range(given.repeat):
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                mine, theirs = one(Path(folder), durability, contents)
            ours += mine
            floor += theirs
        middle, least = statistics.median(ours) * 1e6, statistics.median(floor) * 1e6
        last, lowest = (statistics.quantiles(each, n=100)[98] * 1e6 for each in (ours, floor))
        print(f"{durability:<22} {middle:>10.0f} {least:>10.0f} {middle / least:>6.2f} {last:>10.0f} {lowest:>10.0f}")
    print(f"\n{f'{given.sessions} sessions':<22} {'appends/s':>10} {'bare/s':>10} {'ratio':>6}")
    for durability in ("full", "normal"):
        rates, floors = [], []
        for _ in range(given.repeat):
            with tempfile.TemporaryDirectory(dir=given.folder) as folder:
                rates.append(many(Path(folder), durability, given.sessions, contents[:200]))
                floors.append(alone(Path(folder), durability, contents))
        rate, floor_rate = statistics.median(rates), statistics.median(floors)
        print(f"{durability:<22} {rate:>10,.0f} {floor_rate:>10,.0f} {rate / floor_rate:>6.1f}")


if __name__ == "__main__":
    main()
