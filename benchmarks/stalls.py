"""The longest stalls by what arrives: megabytes at once, a thousand results at once. Prints a table.

    python benchmarks/stalls.py [--kinds lines,json,...] [--stores memory,sqlite] [--scale 1] [--repeat 5] [--write]

A session of some hundred messages gets one huge addition. Measured are the append, the request after it, the request
after one more plain turn, and a compaction then, in CPU time of the calling thread; and how long the caller waits for
the first two. The floor counts the same texts with the same tokenizer and copies the view that the request returned, as
a caller would write it. It has a process of its own, which takes turns with ours. A ratio is that of two processes of
the same turn.

"Loop" is measured with `AsyncContextManager`: the longest time that the event loop's thread worked between two turns of
another task, in CPU time. What other threads do is not in it.

`--scale` makes every addition so many times as large. `--write` puts the table into `benchmarks/README.md`.
"""

import argparse
import asyncio
import gc
import itertools
import json
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from page import put
from sessions import fresh, recorded, steps_of
from step_floor import copied, spread

from backscroll import AsyncContextManager, ContextManager
from backscroll.messages import read_message
from backscroll.tokens.engines import resolve

Message = dict[str, Any]
_BEFORE = 300  # messages
_TURN = [{"role": "assistant", "content": "That is all of it."}, {"role": "user", "content": "And the next one?"}]


# -- what arrives --


def prose(size: int, seed: int = 1) -> str:
    """Lines of ten words each, out of 20,000, of so many characters."""
    rng = random.Random(seed)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz_", k=rng.randint(4, 12))) for _ in range(20_000)]
    return "\n".join(" ".join(rng.choices(words, k=10)) for _ in range(size // 85))


def log(size: int) -> str:
    """A log that says the same in every line, of so many characters."""
    lines = (
        f"{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02} WARN db_pool: waiting for {n % 3}"
        for n in itertools.count()
    )
    return "\n".join(itertools.islice(lines, size // 38))


def rows(size: int) -> str:
    """One line of JSON of so many characters."""
    return json.dumps([{"id": n, "name": f"n{n}", "value": n * 3} for n in range(size // 43)])


def names(size: int) -> str:
    """Different words, about 27 characters each."""
    return "\n".join(f"name_{n} = value_{n * 7}" for n in range(size // 27))


def result(text: str) -> list[Message]:
    """A call and its result."""
    made = {"id": "big", "type": "function", "function": {"name": "fetch", "arguments": '{"url": "https://x.org"}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "big", "content": text},
    ]


def in_messages(number: int) -> list[Message]:
    """Calls of one message, each answered by a message of 1,000 characters."""
    named = [{"name": "read", "arguments": json.dumps({"path": f"src/part_{n}.py"})} for n in range(number)]
    calls = [{"id": f"big{n}", "type": "function", "function": each} for n, each in enumerate(named)]
    texts = prose(1_000 * number).split("\n")
    each = len(texts) // number
    shown = ["\n".join(texts[n * each : (n + 1) * each]) for n in range(number)]
    answers = [{"role": "tool", "tool_call_id": f"big{n}", "content": text} for n, text in enumerate(shown)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


def in_blocks(number: int) -> list[Message]:
    """The same with one message of Anthropic's blocks for all results."""
    asked, *answers = in_messages(number)
    uses = [
        {"type": "tool_use", "id": call["id"], "name": "read", "input": json.loads(call["function"]["arguments"])}
        for call in asked["tool_calls"]
    ]
    shown = [{"type": "tool_result", "tool_use_id": a["tool_call_id"], "content": a["content"]} for a in answers]
    return [{"role": "assistant", "content": uses}, {"role": "user", "content": shown}]


KINDS: dict[str, tuple[str, int, Callable[[float], list[Message]]]] = {
    "lines": ("10 MB, lines", 32_000, lambda scale: result(prose(int(scale * 10_000_000)))),
    "log": ("10 MB, a repetitive log", 32_000, lambda scale: result(log(int(scale * 10_000_000)))),
    "json": ("10 MB, one line of JSON", 32_000, lambda scale: result(rows(int(scale * 10_000_000)))),
    "names": ("100,000 names", 32_000, lambda scale: result(names(int(scale * 2_700_000)))),
    "user": ("1 MB of a user", 32_000, lambda scale: [{"role": "user", "content": prose(int(scale * 1_000_000))}]),
    "messages": ("1,000 results", 128_000, lambda scale: in_messages(int(scale * 1_000))),
    "blocks": ("1,000 results in one message", 128_000, lambda scale: in_blocks(int(scale * 1_000))),
}
"""By name: what arrives, the budget, and the messages."""


# -- the processes --


def ours(asked: dict[str, Any]) -> dict[str, Any]:
    """Measure each operation: seconds of the calling thread's CPU, and the time waited for the first two."""
    _, budget, made = KINDS[asked["kind"]]
    addition, found = made(asked["scale"]), dict[str, Any]()
    with ContextManager(budget=budget, session="bench", store=_store(asked)) as manager:
        for step in _before(asked):
            manager.append(*step)
            manager.get_messages_for_request()
        _settled()
        begun = time.perf_counter()
        found["append"] = _cpu(lambda: manager.append(*addition))
        found["request"] = _cpu(manager.get_messages_for_request)
        found["waited"] = time.perf_counter() - begun
        view = manager.view()
        manager.append(*_TURN)
        found["next"] = _cpu(manager.get_messages_for_request)
        found["compaction"] = _cpu(manager.compact)
    Path(asked["view"]).write_text(json.dumps(view), "utf-8")
    return found


def loop(asked: dict[str, Any]) -> dict[str, Any]:
    """Measure how long an event loop works at once in the same operations."""
    return {"loop": asyncio.run(_held(asked))}


def floor(asked: dict[str, Any]) -> dict[str, Any]:
    """Do what no append and request can save."""
    addition, count = KINDS[asked["kind"]][2](asked["scale"]), resolve("auto").count
    view = json.loads(Path(asked["view"]).read_text("utf-8"))
    texts = [part.text for message in addition for part in read_message(message).parts]
    count("The vocabulary is loaded.")
    _settled()
    return {"floor": _cpu(lambda: ([count(text) for text in texts], [copied(message) for message in view]))}


async def _held(asked: dict[str, Any]) -> float:
    _, budget, made = KINDS[asked["kind"]]
    addition, longest, ended = made(asked["scale"]), 0.0, False

    async def watch() -> None:
        nonlocal longest
        while not ended:
            begun = time.thread_time()
            await asyncio.sleep(0.0005)
            longest = max(longest, time.thread_time() - begun)

    async with AsyncContextManager(budget=budget, session="bench", store=_store(asked)) as manager:
        for step in _before(asked):
            await manager.append(*step)
            await manager.get_messages_for_request()
        _settled()
        watching = asyncio.ensure_future(watch())
        works: list[Callable[[], Awaitable[Any]]] = [
            lambda: manager.append(*addition),
            manager.get_messages_for_request,
            lambda: manager.append(*_TURN),
            manager.get_messages_for_request,
            manager.compact,
        ]
        for work in works:
            await work()
        ended = True
        await watching
    return longest


def _before(asked: dict[str, Any]) -> list[list[Message]]:
    steps, found = steps_of(fresh(json.loads(Path(asked["session"]).read_text("utf-8")))), list[list[Message]]()
    while sum(map(len, found)) < _BEFORE:
        found.append(next(steps))
    return found


def _store(asked: dict[str, Any]) -> str | None:
    return None if asked["store"] == "memory" else f"sqlite:///{asked['folder']}/agent.db"


def _settled() -> None:
    for thread in [each for each in threading.enumerate() if each.name == "backscroll work"]:
        thread.join()
    gc.collect()
    gc.freeze()


def _cpu(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


PROCESSES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"ours": ours, "loop": loop, "floor": floor}


# -- the table --


def run(process: str, asked: dict[str, Any], place: Path) -> dict[str, Any]:
    """Run one process and return what it found."""
    with tempfile.TemporaryDirectory(dir=place) as folder:
        given = json.dumps(asked | {"folder": folder})
        command = [sys.executable, "-W", "ignore", __file__, "--process", process, given]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{process} failed:\n{done.stderr[-2_000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


COLUMNS = (
    "arrives",
    "budget",
    "store",
    "floor",
    "append",
    "request",
    "both / floor",
    "waited",
    "next",
    "compaction",
    "loop",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"


def row(kind: str, store: str, turns: Sequence[dict[str, Any]]) -> str:
    """Write a row of the table from all turns of a case."""
    name, budget, _ = KINDS[kind]
    cells = {key: f"{statistics.median(turn[key] for turn in turns) * 1e3:.1f} ms" for key in turns[0]}
    cells |= {"arrives": name, "budget": f"{budget:,}", "store": store}
    cells["both / floor"] = spread([(turn["append"] + turn["request"]) / turn["floor"] for turn in turns])
    return f"| {' | '.join(cells[column] for column in COLUMNS)} |"


def measure(given: argparse.Namespace, place: Path) -> str:
    """Measure all cases and return the table."""
    session = place / "session.json"
    session.write_text(json.dumps(recorded(place / "recorded.jsonl")), "utf-8")
    lines = [HEAD]
    for kind, store in itertools.product(given.kinds, given.stores):
        asked = {"kind": kind, "store": store, "scale": given.scale, "session": str(session)}
        asked["view"] = str(place / "view.json")
        turns = []
        for _ in range(given.repeat):
            turns.append({name: found for process in PROCESSES for name, found in run(process, asked, place).items()})
        lines.append(row(kind, store, turns))
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure what was asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--kinds", type=lambda text: text.split(","), default=[*KINDS])
    arguments.add_argument("--stores", type=lambda text: text.split(","), default=["memory", "sqlite"])
    arguments.add_argument("--scale", type=float, default=1.0)
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--process", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.process:
        print(json.dumps(PROCESSES[given.process[0]](json.loads(given.process[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        table = measure(given, Path(name))
    print(table)
    if given.write:
        put("stalls", table)


if __name__ == "__main__":
    main()
