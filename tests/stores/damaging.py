"""What tests of damage share: what is written, how it is altered, and whether that is noticed."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from backscroll import BackscrollError
from backscroll.stores.jsonl import JsonlStore
from backscroll.stores.jsonl.folder import file_name
from backscroll.stores.sqlite import SqliteStore
from tests.stores.programs import record
from tests.stores.running import ROOT

LARGEST = 2_500

WRITING = """
import os, sys
from backscroll.stores.addresses import open_store
from tests.stores.programs import record
address, session, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
store = open_store(address)
for at in range(first, last):
    store.append(session, at, [record(session, at, 2_500)]).result()
os._exit(0)
"""


def write(address: Any, session: str, first: int, last: int) -> None:
    """Appends one by one in a process that ends in the middle."""
    line = [sys.executable, "-c", WRITING, str(address), session, str(first), str(last)]
    subprocess.run(line, cwd=ROOT, check=True, timeout=60)


class Files(NamedTuple):
    """The files that a store left, by name, with the length of each session."""

    open: Callable[[Path], Any]
    """Opens the store in a folder."""
    parts: dict[str, bytes]
    ends: dict[str, int]

    def lay(self, folder: Path, part: str = "", content: bytes | None = None) -> Any:
        """A store over a copy, one file of which has another content, or with `None` is not there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, held in (self.parts | {part: content} if part else self.parts).items():
            if held is not None:
                (folder / name).write_bytes(held)
        return self.open(folder)


def files_in(folder: Path, opened: Any, ends: dict[str, int]) -> Files:
    """What lies in a folder now, without what SQLite makes again."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}
    return Files(opened, found, ends)


def sqlite_in(folder: Path) -> SqliteStore:
    """The SQLite store in a folder."""
    return SqliteStore(folder / "a.db")


def jsonl_in(folder: Path) -> JsonlStore:
    """The store of JSON Lines in a folder."""
    return JsonlStore(folder, "normal")


def left_by_sqlite(folder: Path) -> Files:
    """Three sessions, half of them in the log of a process that ended, and traces of one that was deleted."""
    store = sqlite_in(folder)
    for session in ("gone", "one", "two"):
        for at in range(30):
            store.append(session, at, [record(session, at, LARGEST)]).result()
    store.delete("gone")
    store.close()
    for session, first, last in (("two", 30, 55), ("three", 0, 5), ("one", 30, 50)):
        write(f"sqlite:///{folder / 'a.db'}", session, first, last)
    found = files_in(folder, sqlite_in, {"one": 50, "two": 55, "three": 5})
    assert sorted(found.parts) == ["a.db", "a.db-commits", "a.db-wal"]
    assert all(found.parts.values())
    return found


def closed_by_sqlite(left: Files, folder: Path) -> Files:
    """The same without a log."""
    store = left.lay(folder)
    store.append("one", 50, [record("one", 50, LARGEST)]).result()
    store.close()
    found = files_in(folder, sqlite_in, left.ends | {"one": 51})
    assert sorted(found.parts) == ["a.db", "a.db-commits"]
    return found


def left_by_jsonl(folder: Path) -> Files:
    """Three sessions, and one that was deleted."""
    store = jsonl_in(folder)
    for session, first, last in (("gone", 0, 3), ("one", 0, 8), ("two", 0, 9), ("three", 0, 5), ("one", 8, 16)):
        for at in range(first, last):
            store.append(session, at, [record(session, at, LARGEST)]).result()
    store.delete("gone")
    store.close()
    found = files_in(folder, jsonl_in, {"one": 16, "two": 9, "three": 5})
    assert sorted(found.parts) == sorted(f"{file_name(name)}{more}" for name in found.ends for more in ("", "-commits"))
    return found


def everything(store: Any, ends: dict[str, int]) -> bool:
    """Whether all is there and as it was. Raises what the store finds."""
    same = store.sessions() == list(ends)
    for session, end in ends.items():
        records = [stored.record for stored in store.read(session)]
        same = same and store.length(session) == end
        same = same and records == [record(session, at, LARGEST) for at in range(end)]
    return same


def noticed(store: Any, ends: dict[str, int]) -> bool:
    """Whether damage is noticed; False where none can be seen. Fails for damage that is not noticed."""
    try:
        same = everything(store, ends)
    except BackscrollError:
        return True
    assert same, "something else was handed out than what was written"
    return False


def flips(content: bytes, number: int, seed: int) -> Any:
    """Contents with one byte altered, and which one."""
    chance = random.Random(seed)
    for _ in range(number):
        place, bit = chance.randrange(len(content)), chance.randrange(1, 256)
        yield content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :], place
