"""How long a message of 10 MB holds the event loop of an async caller, operation by operation. Prints a table.

    python benchmarks/event_loop.py [--megabytes 10] [--kinds json,base64] [--store] [--where] [--limit 0.2]

A task of its own sleeps for five milliseconds again and again; a figure is the longest time between two of its turns,
less these five, beside what the operation took in all. Each kind has a process of its own: a tool's result that is one
line of JSON, many short lines, one line without blanks, base64 or Chinese; a user's text; a call's arguments. With
`--kinds structured` the result is no text but ten megabytes of small JSON values, which is not held to the limit.
`--where` prints where the event loop stood in the longest gap. Exit code 1 if a gap is over the limit in seconds.
"""

import argparse
import asyncio
import base64
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from backscroll import AsyncContextManager

TICK = 0.005
KINDS = ("json", "lines", "solid", "base64", "cjk", "user", "arguments")
BUDGET = 60_000
_SENTENCES = (
    "Please keep the order of the columns in report_17.csv and never round the totals.",
    "The deployment of 12 March failed in eu-west-1, as the log /var/log/deploy/77.log says.",
    "It was a long day, and nobody had time to look at the older tickets.",
)
_SIGNS = "上下文窗口满了需要压缩请总结这个文件的内容并且不要忘记重要事项。\n"

Message = dict[str, Any]
Work = Callable[[], Awaitable[Any]]


def text_of(kind: str, size: int) -> str:
    """A text of so many bytes in UTF-8."""
    rng = random.Random(7)
    if kind == "json":
        return json.dumps(rows_of(size))[:size]
    if kind == "lines":
        lines = [f"{n} src/app/mod_{n % 977}.py:{n % 311}: call to handle_{n % 53}() ok" for n in range(size // 40)]
        return "\n".join(lines)[:size]
    if kind == "solid":
        return ("abcdefghij_KLMNOP.42/" * (size // 21 + 1))[:size]
    if kind == "base64":
        return base64.b64encode(rng.randbytes(size)).decode()[:size]
    if kind == "cjk":
        return "".join(rng.choices(_SIGNS, k=size // 3))
    return " ".join(rng.choices(_SENTENCES, k=size // 70))[:size]


def rows_of(size: int) -> list[Message]:
    """A value of so many bytes as JSON."""
    rng = random.Random(7)
    rows: list[Message] = []
    length = 0
    while length < size:
        number = len(rows)
        row = {"id": rng.randrange(10**9), "name": f"item_{number}", "path": f"/srv/data/{number}.parquet"}
        rows.append({**row, "tags": ["alpha", "beta"], "note": "the order was shipped late"})
        length += 135
    return rows


def messages_of(kind: str, size: int) -> tuple[list[Message], list[Message]]:
    """How a conversation begins, and the messages that come with the large one."""
    call = {"id": "c1", "type": "function", "function": {"name": "fetch", "arguments": '{"url": "https://x.org/all"}'}}
    head = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "Fetch everything, then say what item_17 is."},
    ]
    asked: Message = {"role": "assistant", "content": None, "tool_calls": [call]}
    answered: Message = {"role": "tool", "tool_call_id": "c1", "content": "done"}
    if kind == "user":
        return head, [{"role": "user", "content": text_of(kind, size)}, asked, answered]
    if kind == "arguments":
        written = json.dumps({"path": "/srv/all.txt", "content": text_of("lines", size)})
        call["function"] = {"name": "write_file", "arguments": written}
        return head, [asked, answered]
    if kind == "structured":
        shown = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"rows": rows_of(size)}}], "status": "success"}}
        used = {"toolUse": {"toolUseId": "c1", "name": "fetch", "input": {"url": "https://x.org/all"}}}
        return [{"role": "user", "content": [{"text": "Fetch everything."}]}], [
            {"role": "assistant", "content": [used]},
            {"role": "user", "content": [shown]},
        ]
    return [*head, asked], [{**answered, "content": text_of(kind, size)}]


class Ticker:
    """Takes turns on the event loop, and remembers the longest time between two of them."""

    def __init__(self, where: bool) -> None:
        self.longest, self.last, self.stack = 0.0, 0.0, ""
        self._loop = threading.get_ident()
        self._ended = threading.Event()
        self._seen: list[tuple[float, str]] = []
        if where:
            threading.Thread(target=self._watch, daemon=True).start()

    async def run(self) -> None:
        """Until it is cancelled."""
        self.last = time.perf_counter()
        while True:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            if now - self.last - TICK > self.longest:
                self.longest = now - self.last - TICK
                seen = [stack for at, stack in self._seen if self.last < at < now]
                self.stack = max(set(seen), key=seen.count) if seen else ""
            self._seen.clear()
            self.last = now

    def _watch(self) -> None:
        while not self._ended.wait(0.01):
            frame = sys._current_frames().get(self._loop)
            if frame is not None and time.perf_counter() - self.last > 4 * TICK:
                self._seen.append((time.perf_counter(), "".join(traceback.format_stack(frame)[-7:])))

    def end(self) -> None:
        """No more watching."""
        self._ended.set()


class Steps:
    """Runs operations one after the other, and notes of each the longest gap and what it took."""

    def __init__(self, where: bool) -> None:
        self.found: list[dict[str, Any]] = []
        self._where = where

    async def run(self, name: str, work: Work) -> Any:
        """One operation; what it answered."""
        ticker = Ticker(self._where)
        task = asyncio.get_running_loop().create_task(ticker.run())
        await asyncio.sleep(4 * TICK)
        ticker.longest, ticker.stack = 0.0, ""
        start = time.perf_counter()
        answer = await work()
        took = time.perf_counter() - start
        await asyncio.sleep(4 * TICK)
        ticker.end()
        task.cancel()
        self.found.append({"name": name, "gap": ticker.longest, "took": took, "stack": ticker.stack})
        return answer


async def run(kind: str, size: int, store: bool, where: bool) -> list[dict[str, Any]]:
    """All operations on a session that holds such a message."""
    steps = Steps(where)
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite:///{Path(folder) / 'agent.db'}" if store else None

        def manager(session: str) -> AsyncContextManager:
            kept: dict[str, Any] = {"store": address, "session": session} if address else {}
            return AsyncContextManager(budget=BUDGET, **kept)

        head, large = messages_of(kind, size)
        mine = manager("one")
        await mine.append(*head)
        await steps.run("append", lambda: mine.append(*large))
        await steps.run("first request", mine.get_messages_for_request)
        await went_on(mine, steps)
        await looked_at(mine, steps, len(head) + len(large) - 1, size)
        if store:
            await resumed(mine, manager("one"), steps)
        other = manager("three")
        await steps.run("set_messages", lambda: other.set_messages([*head, *large]))
        await steps.run("set_messages again", lambda: other.set_messages([*head, *large]))
        await steps.run("set_messages other", lambda: other.set_messages([*head[:-1], {**head[-1], "x": 1}, *large]))
    return steps.found


async def went_on(mine: AsyncContextManager, steps: Steps) -> None:
    """Some turns with results of ordinary size; then the large message is compacted."""
    for number in range(4):
        used = {"id": f"d{number}", "type": "function", "function": {"name": "look", "arguments": f'{{"n": {number}}}'}}
        shown = f"item_{number} in /srv/data is fine\n" * 600

        async def turn(used: Message = used, shown: str = shown) -> None:
            await mine.append(
                {"role": "assistant", "content": "Looking at the next item now.", "tool_calls": [used]},
                {"role": "tool", "tool_call_id": used["id"], "content": shown},
                {"role": "user", "content": "And the next one?"},
            )
            await mine.get_messages_for_request()

        await steps.run(f"turn {number + 1}", turn)


async def looked_at(mine: AsyncContextManager, steps: Steps, seq: int, size: int) -> None:
    """Everything that reads a session; `seq`: the large message."""
    await steps.run("get_messages", mine.get_messages)
    await steps.run("explain", mine.explain)
    await steps.run("window_report", mine.window_report)
    await steps.run("compact", mine.compact)
    await steps.run("undo_compaction", mine.undo_compaction)
    await steps.run("request after undo", mine.get_messages_for_request)
    await steps.run("recall ref", lambda: mine.recall(seq))
    await steps.run("recall part", lambda: mine.recall(f"{seq}.0", offset=size // 4))
    await steps.run("recall all of it", lambda: mine.recall(seq, limit=size))
    await steps.run("recall range", lambda: mine.recall("1-5"))
    await steps.run("recall lines", lambda: mine.recall(seq, lines=(2, 40)))
    await steps.run("recall query", lambda: mine.recall(query="item_17"))
    await steps.run("recall query again", lambda: mine.recall(query="handle_17 parquet"))
    await steps.run("recall pattern", lambda: mine.recall(pattern=r"item_17\b"))
    await steps.run("recall no match", lambda: mine.recall(pattern=r"zzz+yy\d"))
    await steps.run("view(at)", lambda: mine.view(seq))
    asked = await steps.run("list_requests", mine.list_requests)
    await steps.run("sent", lambda: mine.get_request(asked[0].at))
    await steps.run("pin", lambda: mine.pin(0))
    await steps.run("rewind", lambda: mine.rewind(seq + 2))
    await steps.run("request after rewind", mine.get_messages_for_request)


async def resumed(mine: AsyncContextManager, again: AsyncContextManager, steps: Steps) -> None:
    """What comes from the store."""
    child = await steps.run("fork", lambda: mine.fork("two"))
    await steps.run("fork request", child.get_messages_for_request)
    await steps.run("aclose", mine.aclose)
    await steps.run("resume", again.get_messages_for_request)
    await steps.run("resume history", again.get_messages)
    await steps.run("resume query", lambda: again.recall(query="item_17"))


def main() -> int:
    """Measures and prints; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--store", action="store_true", help="keep the session in an SQLite file")
    parser.add_argument("--where", action="store_true", help="print where the event loop stood")
    parser.add_argument("--limit", type=float, default=0.2, help="seconds")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        size = int(options.megabytes * 1_000_000)
        json.dump(asyncio.run(run(options.one, size, options.store, options.where)), sys.stdout)
        return 0
    tables = {}
    for kind in options.kinds.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", kind]
        tables[kind] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    print(f"{'gap ms (took ms)':22}" + "".join(f"{kind:>16}" for kind in tables))
    for rows in zip(*tables.values(), strict=True):
        cells = [f"{row['gap'] * 1_000:.0f} ({row['took'] * 1_000:,.0f})" for row in rows]
        print(f"{rows[0]['name']:22}" + "".join(f"{cell:>16}" for cell in cells))
    long = [(kind, row) for kind, rows in tables.items() for row in rows if row["gap"] > options.limit / 4]
    for kind, row in long if options.where else ():
        print(f"--- {kind}, {row['name']}: {row['gap'] * 1_000:.0f} ms\n{row['stack']}")
    worst = max(row["gap"] for rows in tables.values() for row in rows)
    print(f"longest: {worst * 1_000:.0f} ms")
    return 1 if worst > options.limit else 0


if __name__ == "__main__":
    sys.exit(main())
