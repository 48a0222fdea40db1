"""What it costs to index messages, to search them, and to search many sessions at once.

    python benchmarks/search.py [--folder FOLDER] [--messages 10000 100000] [--sessions 2000]

Messages are pieces of Python's own library of the sizes that real messages have: median 740 characters, some of 16,000.
The same are indexed in memory, in memory with no more than 32 MB of it (the rest in a temporary file), and beside an
SQLite store; that one is then asked by objects that know nothing, as after a restart. All times are processor time, so
that a busy machine does not change them much; those of a query are medians.
"""

import argparse
import random
import resource
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from backscroll.history.codec import Codec
from backscroll.history.log import MessageAdded
from backscroll.recall.retrieval import Source
from backscroll.stores.search import Index
from backscroll.stores.search.index import MEMORY, SearchIndex
from backscroll.stores.search.sqlite import SqliteSearch
from backscroll.stores.sqlite import SqliteStore

QUERIES = ("subprocess wait timeout", "getUserId", "os.path.join", "open file error", "the of and to self def return")
CHUNK = 500  # messages that are added at once, as recall does


def library() -> str:
    """Real text to cut messages from."""
    paths = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)


def sources(text: str, number: int, seed: int = 0) -> Iterator[Source]:
    """Messages, half of them with the call that they answer."""
    chance = random.Random(seed)
    for seq in range(number):
        size = min(int(chance.lognormvariate(6.6, 1.0)), 16_000)
        at = chance.randrange(len(text) - size)
        yield Source(seq, 0, f'read_file {{"path": "lib/{seq}.py"}}' if seq % 2 else "", text[at : at + size])


def filled(index: Index, texts: Iterator[Source], number: int) -> float:
    """Seconds that indexing takes."""
    start = time.process_time()
    for begin in range(0, number, CHUNK):
        index.add([next(texts) for _ in range(CHUNK)], begin + CHUNK)
    return time.process_time() - start


def asked(make: Callable[[], Any]) -> list[float]:
    """Milliseconds of each query, asked of what is made for it."""
    found = []
    for query in QUERIES:
        times = []
        for _ in range(5):
            index = make()
            start = time.process_time()
            index.search(query, 400)
            times.append(time.process_time() - start)
        found.append(statistics.median(times) * 1e3)
    return found


def memory() -> float:
    """Megabytes that the process takes now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def stored(folder: str, sessions: int, messages: int, text: str) -> SqliteStore:
    """A store with sessions of these messages, said by a user."""
    store, codec = SqliteStore(Path(folder) / "a.db", "normal"), Codec()
    for session in range(sessions):
        for begin in range(0, messages, CHUNK):
            said = islice(sources(text, messages, session), begin, begin + CHUNK)
            events = [MessageAdded(each.seq, {"role": "user", "content": each.text}, ()) for each in said]
            records = [codec.encode(event, event.seq) for event in events]
            done = store.append(f"s{session}", begin, records)
    done.result()
    return store


Told = tuple[float, float, float, list[float]]
"""Seconds of indexing, megabytes of memory, megabytes on the disk, milliseconds of the queries."""


def in_memory(text: str, number: int, most: int | None) -> Told:
    """An index that lives as long as its object."""
    before, index = memory(), SearchIndex(most)
    spent = filled(index, sources(text, number), number)
    times = asked(lambda: index)
    return spent, memory() - before, 0.0, times


def beside(text: str, number: int, folder: Path | None) -> Told:
    """An index beside a store."""
    before = memory()
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = stored(place, 1, number, text)
        spent = filled(SqliteSearch(store, "s0"), sources(text, number), number)
        times = asked(lambda: SqliteSearch(store, "s0"))
        store.close()
        return spent, memory() - before, kept(store), times


def kept(store: SqliteStore) -> float:
    """Megabytes of all indexes."""
    return sum(path.stat().st_size for path in Path(f"{store.path}-search").iterdir()) / 1e6


def one(text: str, number: int, folder: Path | None) -> None:
    """Prints a line for each way of keeping the index of one session."""
    ways: dict[str, Callable[[], Told]] = {
        "beside SQLite": lambda: beside(text, number, folder),
        "32 MB of memory": lambda: in_memory(text, number, MEMORY),
        "in memory": lambda: in_memory(text, number, None),
    }
    for name, way in ways.items():
        spent, taken, size, times = way()
        shown = " ".join(f"{each:>8.1f}" for each in times)
        print(f"{number:>8} {name:<16} {spent / number * 1e6:>10.0f} {taken:>8.0f} {size:>8.0f} {shown}")


def many(text: str, number: int, folder: Path | None) -> None:
    """Prints what a store with many small sessions takes."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        store = stored(place, number, 30, text)
        start = time.process_time()
        for session in range(number):
            SqliteSearch(store, f"s{session}").add(sources(text, 30, session), 30)
        print(f"\n{number} sessions of 30 messages: {(time.process_time() - start) / number * 1e3:.1f} ms to index one")
        times = []
        for session in range(0, number, max(1, number // 200)):
            start = time.process_time()
            SqliteSearch(store, f"s{session}").search("open file error", 80)
            times.append(time.process_time() - start)
        print(f"{statistics.median(times) * 1e3:.1f} ms for a query in one of them, by an object that knows nothing")
        start = time.process_time()
        store.delete("s7")
        print(f"{time.process_time() - start:.2f} s to delete one, the database and all")
        print(f"{kept(store):.0f} MB in {len(list(Path(f'{store.path}-search').iterdir()))} files")
        store.close()


def main() -> None:
    """Prints a table."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--folder", type=Path, help="where the files are made")
    arguments.add_argument("--messages", type=int, nargs="*", default=[10_000, 100_000])
    arguments.add_argument("--sessions", type=int, default=2_000)
    given = arguments.parse_args()
    text = library()
    queries = " ".join(f"{query[:8]:>8}" for query in QUERIES)
    print(f"{'messages':>8} {'index':<16} {'us/message':>10} {'MB taken':>8} {'MB kept':>8} {queries}  (ms)")
    for number in given.messages:
        one(text, number, given.folder)
    many(text, given.sessions, given.folder)


if __name__ == "__main__":
    main()
