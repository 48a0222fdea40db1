"""What a step costs above its floor: the work that no implementation can save. Prints a table.

    python benchmarks/step_floor.py [--sessions tools,chat] [--budgets 32000,128000] [--stores memory,sqlite]
        [--length 1000] [--steps 520] [--repeat 5] [--transcripts FOLDER] [--write]

A step appends a message and makes the view for the next request. The floor counts the tokens of the same message,
copies the same view, and with SQLite makes one bare commit of the message's bytes. It copies as a caller would write
it: a function that goes through dicts and lists. The strict floor has the fastest copy that we know.

Between two steps a model would answer. Plans that are prepared in a thread are then ready, so the next step begins when
these threads have ended. Their CPU time is part of the mean. The longest step is given twice: the CPU time of the
calling thread, and the time that the caller waits.

Ours and the floor run in processes of their own, which take turns, so that neither finds in a cache what the other
counted. Each round of the conversation has texts of its own. A ratio is that of two processes of the same turn.

`tools` is the session of `examples/record_session.py`. `chat` is made of conversations of `--transcripts`, a folder of
`*/norm.jsonl` files: those with two messages a step, joined; without it there is no `chat`. `--write` puts the table
into `benchmarks/README.md`.
"""

import argparse
import gc
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from page import put
from peers.measures import Bare
from sessions import chat, fresh, recorded, steps_of

from backscroll import ContextManager
from backscroll.messages import copy_message, read_message
from backscroll.tokens.engines import resolve

Message = dict[str, Any]


class Case(NamedTuple):
    """What is measured."""

    session: str
    budget: int
    store: str


# -- the processes --


def record(asked: dict[str, Any]) -> dict[str, Any]:
    """Write each step: its messages, how much of the view before it keeps, and what follows."""
    before: list[Message] = []
    with ContextManager(mode="facts") as manager, Path(asked["views"]).open("w", encoding="utf-8") as out:
        for step in _filled(asked, manager):
            manager.append(*step)
            view = manager.get_messages_for_request(token_budget=asked["budget"])
            kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(before, view, strict=False)))
            out.write(json.dumps([step, kept, view[kept:]]) + "\n")
            before = view
    return {}


def ours(asked: dict[str, Any]) -> dict[str, Any]:
    """Make the steps; CPU seconds of the whole process, of the calling thread, and the time that the caller waits."""
    store = None if asked["store"] == "memory" else f"sqlite:///{asked['folder']}/agent.db"
    cpu, own, wall = list[float](), list[float](), list[float]()
    with ContextManager(mode="facts", session="bench", store=store) as manager:
        for step in _filled(asked, manager):
            begun, mine, clock = time.process_time(), time.thread_time(), time.perf_counter()
            manager.append(*step)
            manager.get_messages_for_request(token_budget=asked["budget"])
            wall.append(time.perf_counter() - clock)
            own.append(time.thread_time() - mine)
            for thread in [each for each in threading.enumerate() if each.name == "backscroll work"]:
                thread.join()
            cpu.append(time.process_time() - begun)
    found = {"median": statistics.median(cpu), "mean": statistics.mean(cpu)}
    return found | {"own": max(own), "waited": max(wall)}


def floor(asked: dict[str, Any]) -> dict[str, Any]:
    """Do what no step can save."""
    count, bare = resolve("auto").count, Bare(Path(asked["folder"]))
    stored = asked["store"] != "memory"
    count("The vocabulary is loaded.")
    spent: dict[str, list[float]] = {"median": [], "strict": []}
    view: list[Message] = []
    gc.freeze()
    with Path(asked["views"]).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            step, kept, rest = json.loads(line)
            view = [*view[:kept], *rest]
            copies: list[tuple[str, Callable[[Message], Message]]] = [("median", copied), ("strict", copy_message)]
            name, copy = copies[number % 2]  # in turns, because a text is counted faster a second time
            texts = [part.text for message in step for part in read_message(message).parts]
            body = json.dumps(step, ensure_ascii=False).encode()
            begun = time.process_time()
            for text in texts:
                count(text)
            [copy(message) for message in view]
            if stored:
                bare.commit(body)
            spent[name].append(time.process_time() - begun)
    return {name: statistics.median(seconds) for name, seconds in spent.items()} | {
        "mean": statistics.mean(spent["median"])
    }


def copied(value: Any) -> Any:
    """Copy a message as a caller would write it."""
    if isinstance(value, dict):
        return {name: copied(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [copied(inner) for inner in value]
    return value


def _filled(asked: dict[str, Any], manager: ContextManager) -> Iterator[list[Message]]:
    """Append a history, and yield the steps that follow."""
    steps = steps_of(fresh(json.loads(Path(asked["session"]).read_text("utf-8"))))
    length = 0
    while length < asked["length"]:
        step = next(steps)
        manager.append(*step)
        length += len(step)
    manager.get_messages_for_request(token_budget=asked["budget"])
    gc.collect()
    gc.freeze()  # a large old heap would be walked by every full collection, whoever caused it
    yield from itertools.islice(steps, asked["steps"])


PROCESSES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"record": record, "ours": ours, "floor": floor}


# -- the table --


def run(process: str, asked: dict[str, Any]) -> dict[str, Any]:
    """Run one process and return what it found."""
    command = [sys.executable, "-W", "ignore", __file__, "--process", process, json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{process} failed:\n{done.stderr[-2_000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def spread(ratios: Sequence[float]) -> str:
    """Write the median with the smallest and the largest."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def row(case: Case, turns: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> str:
    """Write a row of the table from all turns of a case."""
    cells = [case.session, f"{case.budget:,}", case.store]
    cells += [f"{statistics.median(turn[1]['median'] for turn in turns) * 1e6:.0f} µs"]
    cells += [spread([mine["median"] / least["median"] for mine, least in turns])]
    cells += [spread([mine["median"] / least["strict"] for mine, least in turns])]
    cells += [spread([mine["mean"] / least["mean"] for mine, least in turns])]
    longest = [statistics.median(turn[0][name] for turn in turns) for name in ("own", "waited")]
    cells += [f"{seconds * 1e3:.1f} ms" for seconds in longest]
    return f"| {' | '.join(cells)} |"


COLUMNS = (
    "session",
    "budget",
    "store",
    "floor",
    "median / floor",
    "median / strict",
    "mean / floor",
    "longest (CPU)",
    "longest",
)
HEAD = f"| {' | '.join(COLUMNS)} |\n|{' --- |' * len(COLUMNS)}"


def measure(given: argparse.Namespace, sessions: dict[str, Path], place: Path) -> str:
    """Measure all cases and return the table."""
    lines = [HEAD]
    for session, budget in itertools.product(sessions, given.budgets):
        views = place / f"{session}-{budget}.jsonl"
        common = {"session": str(sessions[session]), "budget": budget, "views": str(views)}
        common |= {"length": given.length, "steps": given.steps}
        run("record", common)
        for store in given.stores:
            turns = []
            for _ in range(given.repeat):
                with tempfile.TemporaryDirectory(dir=place) as folder:
                    asked = common | {"store": store, "folder": folder}
                    turns.append((run("ours", asked), run("floor", asked)))
            lines.append(row(Case(session, budget, store), turns))
            print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure what was asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sessions", type=lambda text: text.split(","), default=["tools", "chat"])
    arguments.add_argument("--budgets", type=lambda text: [*map(int, text.split(","))], default=[32_000, 128_000])
    arguments.add_argument("--stores", type=lambda text: text.split(","), default=["memory", "sqlite"])
    arguments.add_argument("--length", type=int, default=1_000)
    arguments.add_argument("--steps", type=int, default=520)
    arguments.add_argument("--repeat", type=int, default=5)
    arguments.add_argument("--transcripts", type=Path)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--process", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.process:
        print(json.dumps(PROCESSES[given.process[0]](json.loads(given.process[1]))))
        return
    with tempfile.TemporaryDirectory() as name:
        place, sessions = Path(name), dict[str, Path]()
        found: dict[str, Callable[[], list[Message]]] = {"tools": lambda: recorded(place / "recorded.jsonl")}
        if given.transcripts is not None:
            found["chat"] = lambda: chat(given.transcripts)
        for session in given.sessions:
            if session in found:
                sessions[session] = place / f"{session}.json"
                sessions[session].write_text(json.dumps(found[session]()), "utf-8")
            else:
                print(f"Skipped: {session}, which needs --transcripts", file=sys.stderr)
        table = measure(given, sessions, place)
    print(table)
    if given.write:
        put("floors", table)


if __name__ == "__main__":
    main()
