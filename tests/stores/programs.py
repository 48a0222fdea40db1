"""Programs that tests run as processes of their own, to be killed, starved or raced: `python -m tests.stores.programs`.

What a record holds follows from its session and place, so that whoever reads it knows what was written.
"""

import hashlib
import itertools
import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backscroll import ConflictError, ContextManager, StoreUnavailableError
from backscroll.ports import Record, Store
from backscroll.stores.addresses import open_store
from backscroll.stores.blobs.folder import FolderBlobs
from backscroll.stores.blobs.offloading import OffloadingStore
from backscroll.stores.sqlite import SqliteStore

CHANGING = "deleted now and then"


def record(session: str, at: int, largest: int = 6_000) -> Record:
    chance = random.Random(f"{session} {at}")
    return Record("message", at, chance.randbytes(chance.randrange(largest)), 1)


def appended(store: Store, session: str, number: int, first: int = 0) -> None:
    store.append(session, first, [record(session, at) for at in range(first, first + number)]).result()


def differs(store: Store, session: str, largest: int = 6_000) -> bool:
    return any(stored.record != record(session, stored.position, largest) for stored in store.read(session))


# -- killed --


def work(address: str, pipe: int) -> None:
    """Appends pairs to four sessions at once until it is killed, telling of each that was acknowledged."""
    store = open_store(address)

    def write(session: str) -> None:
        at = store.length(session)
        while True:
            store.append(session, at, [record(session, at), record(session, at + 1)]).result()
            at += 2
            os.write(pipe, f"{session} {at}\n".encode())

    def change() -> None:
        while True:
            store.delete(CHANGING)
            for at in range(20):
                store.append(CHANGING, at, [record(CHANGING, at)]).result()

    for number in range(3):
        threading.Thread(target=write, args=(f"s{number}",), daemon=True).start()
    change()


def written(address: str) -> Iterator[object]:
    """The same as a program of its own."""
    store = open_store(address)
    store.append("begun", 0, [record("begun", 0)]).result()
    yield "begun"
    work(address, sys.stdout.fileno())


def killed(address: str, seconds: float, begun: bool) -> dict[str, int]:
    """Ends of the sessions that a process had acknowledged when it was killed: so long after its start or first one."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            work(address, writing)
        finally:
            os._exit(1)
    os.close(writing)
    if begun:
        select.select([reading], [], [])
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        lines = pipe.read().decode().splitlines(keepends=True)
    return {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith("\n")}


def kill(kind: str, folder: str, rounds: str, seed: str) -> Iterator[object]:
    """Kills a writer at `rounds` random moments, and looks at what it left each time."""
    chance, moments, left = random.Random(seed), {}, 0
    told = {"rounds": 0, "acknowledged": 0, "lost": 0, "unreadable": 0, "halves": 0, "problems": 0, "logs": 0}
    for number in range(int(rounds)):
        path = Path(folder) / f"{number // 20}.db"
        if number % 20 == 0:
            moments = {}
        address = f"{kind}:///{path}?durability={('full', 'normal')[number // 20 % 2]}"
        ends = killed(address, chance.choice((0.02, 0.06, 0.15)) * chance.random(), number % 2 == 1)
        told["acknowledged"] += sum(end - moments.get(name, 0) for name, end in ends.items())
        moments |= ends
        left = Path(f"{path}-wal").stat().st_size if Path(f"{path}-wal").exists() else 0
        told["logs"] += left > 0
        told["rounds"] += 1
        store: Any = open_store(address)
        told["problems"] += sum(not problem.harmless for problem in store.verify())
        for name, end in moments.items():
            told["lost"] += max(end - store.length(name), 0)
            told["halves"] += store.length(name) % 2
        told["unreadable"] += sum(differs(store, name) for name in store.sessions())
        moments |= {name: store.length(name) for name in moments}  # written, and killed before it could say so
        store.close()
    yield told


# -- raced --


def pairs(address: str, name: str, count: str) -> Iterator[object]:
    """Appends pairs to one session among others who do the same."""
    store, conflicts = open_store(address), 0
    sys.stdin.readline()
    for number in range(int(count)):
        while True:
            at = store.length("shared")
            time.sleep(0.001)  # the time in which another one may come first
            call, result = (
                Record("message", at + half, f"{what} {name} {number}".encode(), 1)
                for half, what in enumerate(("call", "result"))
            )
            try:
                store.append("shared", at, [call, result]).result()
            except ConflictError:
                conflicts += 1
            else:
                break
    store.close()
    yield conflicts


def tools(address: str, name: str, count: str) -> Iterator[object]:
    """The same as an agent does it: calls and their results, and views in between. Yields how often it was refused."""
    context = ContextManager(session="shared", store=address, tokenizer=len, budget=9_000)
    sys.stdin.readline()
    yield worked(context, name, int(count))
    context.close()


def worked(context: ContextManager, name: str, count: int) -> int:
    """Appends whole tool pairs, and looks now and then; how often that was refused."""
    refused = 0
    for number in range(count):
        mine = f"{name} {number}"
        call = {"id": mine, "type": "function", "function": {"name": "read", "arguments": "{}"}}
        pair = (
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": mine, "content": mine},
        )
        try:
            context.append(*pair, idempotency_key=mine)
            if number % 10 == 9:
                context.get_messages_for_request()
        except ConflictError:
            refused += 1
    return refused


# -- starved --


def starve(address: str) -> Iterator[object]:
    """Runs out of room, and gets some again."""
    store: Any
    store, at = open_store(address), 0
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, hard))
    large = Record("message", None, bytes(500_000), 1)
    together = [store.append(name, 0, [large if name == "5" else record(name, 0, 20)]) for name in "0123456789"]
    yield [type(each.exception()).__name__ for each in together]
    refused = []
    while len(refused) < 5:
        try:
            store.append("a", at, [record("a", at, 60_000), record("a", at + 1, 60_000)]).result()
            at += 2
        except StoreUnavailableError as error:
            refused.append(str(error))
    yield {"written": at, "end": store.length("a"), "differs": differs(store, "a", 60_000), "refused": refused}
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.append("a", at, [record("a", at, 60_000), record("a", at + 1, 60_000)]).result()
    store.append("5", 0, [large]).result()
    yield {"end": store.length("a"), "differs": differs(store, "a", 60_000), "problems": list(store.verify())}
    store.close()
    del store
    again = open_store(address)
    yield {"end": again.length("a"), "sessions": sorted(again.sessions())}
    again.close()


# -- ended, forked --


def end(address: str) -> Iterator[object]:
    """Ends without waiting or closing."""
    store = open_store(address)
    for at in range(200):
        store.append("a", at, [record("a", at)])
    yield "queued"


def fork(address: str) -> Iterator[object]:
    """Forks in the middle of everything; both go on with the same object."""
    store: Any
    store, over = open_store(address), threading.Event()

    def write() -> None:
        at = 0
        while not over.is_set():
            store.append("parent", at, [record("parent", at)]).result()
            at += 1
            over.wait(0.001)  # each child reads all of it

    def read() -> None:
        while not over.is_set():
            list(store.read("parent"))

    threads = [threading.Thread(target=each) for each in (write, read)]
    for thread in threads:
        thread.start()
    statuses: list[int] = []
    warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
    for number in range(10):
        time.sleep(0.02)
        child = os.fork()
        if child == 0:
            good = not differs(store, "parent") and store.length("child") == number
            store.append("child", number, [record("child", number)]).result()
            good = good and store.length("child") == number + 1
            if number % 2:
                store.close()
            os._exit(0 if good else 1) if number % 3 else sys.exit(0 if good else 1)
        statuses.append(os.waitpid(child, 0)[1])
    over.set()
    for thread in threads:
        thread.join()
    yield {"statuses": statuses, "problems": list(store.verify()), "written": store.length("parent") > 0}


# -- offloaded --


class Dying(FolderBlobs):
    """Kills the process when the third blob is put, before its record is written."""

    puts = 0

    def put(self, name: str, data: bytes) -> None:
        super().put(name, data)
        self.puts += 1
        if self.puts == 3:
            os.kill(os.getpid(), signal.SIGKILL)


def mixed(at: int) -> Record:
    return Record("message", at, bytes(10 if at == 1 else 5_000), 1)


def offload_and_die(folder: str) -> Iterator[object]:
    store = OffloadingStore(SqliteStore(f"{folder}/a.db"), Dying(f"{folder}/blobs"), 100)
    for at in range(4):
        store.append("a", at, [mixed(at)]).result()
    yield "alive"


def offload_for_ever(folder: str) -> Iterator[object]:
    """Tells how many records were acknowledged."""
    store = OffloadingStore(SqliteStore(f"{folder}/a.db"), FolderBlobs(f"{folder}/blobs"), 100)
    for at in itertools.count():
        store.append("a", at, [mixed(at)]).result()
        yield at + 1


def offload_and_end(folder: str) -> Iterator[object]:
    """Ends without waiting or closing."""
    store = OffloadingStore(SqliteStore(f"{folder}/a.db"), FolderBlobs(f"{folder}/blobs"), 100)
    for at in range(3):
        store.append("a", at, [mixed(at)])
    yield "queued"


def offload_and_fork() -> Iterator[object]:
    """Forks while a blob is on its way. The child, whose threads are gone, goes on with the same object and session."""
    going, ready = threading.Event(), threading.Event()

    class Slow(FolderBlobs):
        def put(self, name: str, data: bytes) -> None:
            ready.set()
            going.wait(10)
            super().put(name, data)

    with tempfile.TemporaryDirectory() as folder:
        store: Any = OffloadingStore(SqliteStore(f"{folder}/a.db"), Slow(f"{folder}/blobs"), 100)
        pending = store.append("a", 0, [mixed(0)])
        ready.wait(10)
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of every fork beside threads
        child = os.fork()
        if child == 0:
            going.set()
            store.append("a", 0, [mixed(0), mixed(1)]).result(timeout=20)
            store.close()
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        going.set()
        yield [status, type(pending.exception()).__name__, store.length("a")]
        store.close()


# -- a conversation --


def digest(view: list[Any]) -> str:
    return hashlib.sha256(json.dumps(view).encode()).hexdigest()


def converse(address: str, begin: str) -> Iterator[list[Any]]:
    """An agent at work, for as long as it lives. After each round it tells what was acknowledged, and the view."""
    context = ContextManager(session="s", store=address, tokenizer=len, budget=9_000, clear_at_least_tokens=900)
    if begin == "0":
        context.append({"role": "user", "content": "begin"})
    for number in range(int(begin), int(begin) + 400):
        call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": "{}"}}
        last = context.append(
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": f"value_{number} = {number * 7919}\n" * 20},
        )
        view = context.get_messages_for_request()
        yield [last, len(view), digest(view)]


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    for answer in globals()[name](*arguments):
        print(json.dumps(answer), flush=True)
