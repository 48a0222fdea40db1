"""What the server of `backscroll mcp` costs over many sessions.

    python benchmarks/mcp_server.py [--sessions 1000] [--messages 20] [--transcripts FOLDER] [--folder FOLDER]

Logs of Claude Code are made up, of pieces of Python's own library, or copied from a folder. They are imported once, and
then again by a process that knows nothing: the bytes that it reads of them are counted. Then a new process starts as
the command does, and is asked at once.

All times are processor time. That of a search is of the thread that answers it; what the import, the index and the
vocabulary take in their own threads is not in it, and is shown by itself.
"""

import argparse
import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from mcp.client import Client
from search import QUERIES, library, sources

from backscroll.cli.mcp.log_files import log_files
from backscroll.cli.mcp.log_import import LogImport
from backscroll.integrations.mcp import Archive, make_server
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.ports import Store
from backscroll.stores.addresses import open_store
from backscroll.stores.options import StorageOptions
from backscroll.stores.wrappers import layered

PLACES = ("sqlite", "encrypted", "jsonl")
KEY = bytes(range(32))


def written(folder: Path, sessions: int, messages: int) -> None:
    """Write logs of so many messages."""
    text = library()
    for session in range(sessions):
        lines = []
        for each in sources(text, messages, session):
            role = ("user", "assistant")[each.seq % 2]
            message = {"role": role, "content": [{"type": "text", "text": each.text}], "id": f"m{each.seq}"}
            line = {"type": role, "message": message, "cwd": "/work", "timestamp": "2026-02-03T04:05:06Z"}
            lines.append(json.dumps({**line, "uuid": f"{session}-{each.seq}", "sessionId": f"s{session}"}) + "\n")
        path = folder / f"p{session % 30}" / f"s{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(lines), "utf-8")


def store_of(kind: str, place: Path) -> Store:
    """A store of a kind: the same at each opening."""
    store = open_store(f"jsonl:///{place}/lines" if kind == "jsonl" else place / f"{kind}.db")
    found = layered(store, StorageOptions(encryption_key=KEY)) if kind == "encrypted" else store
    assert found is not None
    return found


def imported(kind: str, place: Path, logs: Path) -> dict[str, float]:
    """Import as a process that knows nothing does."""
    store = store_of(kind, place)
    feed = LogImport(store, lambda: log_files([("", str(logs))]))
    index, begin = StoreIndex(store), time.process_time()
    for _ in feed(index):
        pass
    for name in index.behind():
        index.catch_up(name)
    taken = time.process_time() - begin
    store.close()
    return {"seconds": taken, "megabytes": feed.bytes_read / 1e6, "sessions": len(index.sessions())}


class MeasuredThreads(ThreadPoolExecutor):
    """The threads in which a server answers; it notes the processor time of each call of a tool."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[float] = []

    def submit(self, call: Callable[..., Any], /, *arguments: Any, **named: Any) -> "Future[Any]":
        """Run what `asyncio.to_thread` asks for."""
        tool = isinstance(call, partial) and getattr(call.args[0], "__name__", "") == "answer"
        return super().submit(partial(self._measured, call) if tool else call, *arguments, **named)

    def _measured(self, call: Callable[[], Any]) -> Any:
        begin = time.thread_time()
        try:
            return call()
        finally:
            self.taken.append(time.thread_time() - begin)


async def searched(archive: Archive) -> tuple[list[float], list[float], str]:
    """Seconds of the searches until all is there, of those after, and what the first says of how far it is."""
    threads = MeasuredThreads()
    answers: list[str] = []
    asyncio.get_running_loop().set_default_executor(threads)
    async with Client(make_server(archive)) as client:
        while not answers or "under way" in answers[-1]:
            said: Any = (await client.call_tool("search", {"query": QUERIES[0]})).content[0]
            answers.append(said.text)
        first, threads.taken = threads.taken, []
        for query in QUERIES[1:] * 3:
            await client.call_tool("search", {"query": query})
    head = answers[0].partition("\n")[0]
    return first, threads.taken, next((each for each in head.split(". ") if "under way" in each), "complete")


def asked(kind: str, place: Path, logs: Path) -> dict[str, object]:
    """Start as the command does, and search at once and then again."""
    store = store_of(kind, place)
    feed = LogImport(store, lambda: log_files([("", str(logs))]))
    begin = time.perf_counter()
    first, later, says = asyncio.run(searched(Archive(store, feed=feed)))
    found = {"first": first[0], "slowest": max(first), "later": statistics.median(later), "says": says}
    store.close()
    return found | {"process": time.process_time(), "wall": time.perf_counter() - begin}


def in_process(kind: str, place: Path, logs: Path, what: str) -> dict[str, float]:
    """What a new process measures."""
    command = [sys.executable, __file__, "--child", what, kind, str(place), str(logs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    """Print a line for each store."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sessions", type=int, default=1_000)
    arguments.add_argument("--messages", type=int, default=20)
    arguments.add_argument("--stores", nargs="*", default=list(PLACES), choices=PLACES)
    arguments.add_argument("--transcripts", type=Path, help="a folder of logs; they are copied")
    arguments.add_argument("--folder", type=Path, help="where the stores are made")
    arguments.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.child:
        what, kind, place, logs = given.child
        print(json.dumps({"import": imported, "ask": asked}[what](kind, Path(place), Path(logs))))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        place, logs = Path(folder), Path(folder) / "logs"
        if given.transcripts:
            shutil.copytree(given.transcripts, logs)
        else:
            written(logs, given.sessions, given.messages)
        print(f"{'store':<10} {'sessions':>8} {'MB read':>8} {'import':>8} {'MB again':>8} {'again':>8} "
              f"{'process':>8} {'first':>8} {'slowest':>8} {'later':>8}  (s of CPU)")  # fmt: skip
        for kind in given.stores:
            first, again = (in_process(kind, place, logs, "import") for _ in range(2))
            found = in_process(kind, place, logs, "ask")
            times = [found[name] for name in ("process", "first", "slowest", "later")]
            print(f"{kind:<10} {first['sessions']:>8,} {first['megabytes']:>8.1f} {first['seconds']:>8.2f} "
                  f"{again['megabytes']:>8.1f} {again['seconds']:>8.2f} {' '.join(f'{each:>8.3f}' for each in times)}"
                  f"  {found['says']}")  # fmt: skip


if __name__ == "__main__":
    main()
