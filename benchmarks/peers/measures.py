"""The measures, each of one peer in a process of its own. Prints one line of JSON: `python -m peers.measures '{...}'`.

CPU seconds are those of the whole process, threads included, so that a writer in the background counts.
"""

import asyncio
import gc
import json
import re
import sqlite3
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from sessions import endless

from backscroll.evaluation.run import Manager, Step, replay
from backscroll.evaluation.transcript import Transcript
from backscroll.evaluation.validity import Judge
from peers import catalog
from peers.base import Keeper, Message, Peer

PROBLEMS = {
    "broken": re.compile(r"without that call before it|has no result|was never made|arguments of call"),
    "lost": re.compile(r"user message, history|leading system message|begins with no user message"),
}
"""What is wrong with a view: a provider refuses calls without results and results without calls; the task is lost where
the first or the last thing that the user said, or the system prompt, is not there.
"""
FURTHER = 1_000_000
"""A turn that no history gets to: what is added to one that is there already is new."""
CHUNK = 1_000  # messages made at a time, so that the stream itself holds none of them


def resident() -> int:
    """Bytes of memory that the process holds now."""
    fields = Path("/proc/self/statm").read_text("ascii").split()
    return int(fields[1]) * 4_096


def natives(reader: Peer | Keeper, stream: Iterator[Message], number: int) -> Iterator[list[Any]]:
    """The next messages of the stream as the framework has them, in chunks."""
    while number > 0:
        chunk = [reader.read(message) for message in islice(stream, min(CHUNK, number))]
        number -= len(chunk)
        yield chunk


class Bare:
    """A commit of SQLite with nothing around it."""

    def __init__(self, folder: Path, durability: str = "full") -> None:
        self._connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute(f"pragma synchronous = {durability}")
        self._connection.execute("create table if not exists record (at integer primary key, body blob)")

    def commit(self, body: bytes) -> None:
        """One row."""
        self._connection.execute("insert into record (body) values (?)", (body,))


def _turn(asked: dict[str, Any], measure: int) -> int:
    """Where the stream begins for a history that is there already, so that no call is made twice."""
    return FURTHER * (2 * int(asked["repeat"]) + measure)


async def steps(asked: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    """A step is a message and the view for the request after it, at a history of `length` messages."""
    before, folder = resident(), Path(asked["folder"])
    stream = endless(messages, _turn(asked, 1) if asked["filled"] else 0)
    peer = catalog.peer(asked["peer"])(asked["budget"], folder)
    for chunk in natives(peer, stream, 0 if asked["filled"] else asked["length"]):
        await peer.preload(chunk)
    await peer.view()
    gc.collect()
    gc.freeze()  # a large old heap would be walked by every full collection, whoever caused it
    cpu: list[float] = []
    wall: list[float] = []
    while len(cpu) < asked["steps"] and (len(cpu) < 3 or sum(wall) < asked["patience"]):
        message = next(stream)
        native = peer.read(message)
        begun, clock = time.process_time(), time.perf_counter()
        await peer.add(native)
        await peer.view()
        cpu.append(time.process_time() - begun)
        wall.append(time.perf_counter() - clock)
    held = resident()
    peer.close()
    return {
        "steps": len(cpu),
        "cpu": statistics.mean(cpu),
        "wall": statistics.mean(wall),
        "worst": max(wall),
        "usual": statistics.median(cpu),
        "memory": held - before,
    }


async def fill(asked: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    """A folder with a conversation of `length` messages."""
    keeper = catalog.keeper(asked["peer"])(Path(asked["folder"]))
    for chunk in natives(keeper, endless(messages), asked["length"]):
        await keeper.preload(chunk)
    keeper.close()
    return {}


async def resume(asked: dict[str, Any], _: list[Message]) -> dict[str, Any]:
    """A new process gets what the next request needs."""
    kind, before = catalog.keeper(asked["peer"]), resident()
    begun, clock = time.process_time(), time.perf_counter()
    keeper = kind(Path(asked["folder"]))
    shown = await keeper.resume(asked["budget"])
    cpu, wall = time.process_time() - begun, time.perf_counter() - clock
    held = resident()
    keeper.close()
    return {"cpu": cpu, "wall": wall, "shown": shown, "memory": held - before}


async def append(asked: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    """A message kept at the end of a conversation of `length`, beside bare commits that take turns with it."""
    keeper = catalog.keeper(asked["peer"])(Path(asked["folder"]))
    await keeper.resume(asked["budget"])
    bare, stream = Bare(Path(asked["folder"])), endless(messages, _turn(asked, 2))
    ours: list[float] = []
    least: list[float] = []
    while len(ours) < asked["steps"] and (len(ours) < 3 or sum(ours) < asked["patience"]):
        turn = [(keeper.read(message), json.dumps(message, ensure_ascii=False)) for message in islice(stream, 20)]
        for native, _ in turn:
            clock = time.perf_counter()
            await keeper.append(native)
            ours.append(time.perf_counter() - clock)
            if sum(ours) > asked["patience"] and len(ours) > 2:
                break
        for _, body in turn:
            clock = time.perf_counter()
            bare.commit(body.encode())
            least.append(time.perf_counter() - clock)
    keeper.close()
    return {"wall": statistics.median(ours), "bare": statistics.median(least), "steps": len(ours)}


class Driven:
    """A peer as a replay wants it."""

    def __init__(self, peer: Peer, loop: asyncio.AbstractEventLoop) -> None:
        self.peer, self.loop = peer, loop

    def append(self, message: Message) -> None:
        """Kept by the peer."""
        self.loop.run_until_complete(self.peer.add(self.peer.read(message)))

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        """The peer's view, in OpenAI chat."""
        return self.peer.written(self.loop.run_until_complete(self.peer.view()))


def cost(asked: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    """A whole session, a request before each answer: its cost with a prompt cache, and whether it could be sent."""
    folder, loop, counted, judge = Path(asked["folder"]), asyncio.new_event_loop(), Counter[str](), Judge()

    def witness(step: Step, _: Manager) -> None:
        found = "\n".join(judge.problems(step.view or [], messages[: step.before]))
        counted.update(name for name, pattern in PROBLEMS.items() if pattern.search(found))

    outcome = replay(
        Transcript("session", "openai", messages),
        budget=asked["budget"],
        make_manager=lambda budget, _: Driven(catalog.peer(asked["peer"])(budget, folder), loop),
        witness=witness,
    )
    return {
        "requests": outcome.requests,
        "refused": outcome.refused,
        "sent": outcome.tokens_sent,
        "peak": outcome.peak_tokens,
        "prefix": outcome.prefix_kept,
        "cost": outcome.cost,
        "cost_whole": outcome.cost_whole,
        "over": outcome.over_budget,
        **{name: counted[name] for name in PROBLEMS},
    }


def main() -> None:
    """Reads what is asked, prints what was measured."""
    asked = json.loads(sys.argv[1])
    messages = [json.loads(line) for line in Path(asked["session"]).read_text("utf-8").splitlines()]
    measures: dict[str, Any] = {"steps": steps, "fill": fill, "resume": resume, "append": append}
    name = asked["measure"]
    found = cost(asked, messages) if name == "cost" else asyncio.run(measures[name](asked, messages))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
