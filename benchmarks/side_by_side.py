"""Backscroll beside its peers, each measurement in a process of its own, all of them taking turns. Prints tables.

    python benchmarks/side_by_side.py [--lengths 1000,10000,100000,1000000] [--peers-to 100000] [--budget 32000]
        [--repeat 3] [--measures steps,cost,keeping] [--only ours,langchain-trim] [--patience 20] [--write]
        [--steps 520] [--tokens 120000] [--budgets 32000,128000] [--place build/bench]

Needs the peers of `benchmarks/peers.in` installed beside Backscroll; `make bench` does that. What is measured, and what
came of it, is told in `benchmarks/README.md`; `--write` writes its tables and pictures anew. All results are kept in
`results.json` there. A peer that needs more than its `--patience` (seconds) for three steps is given up at longer
histories.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from peers.base import Keeper, Peer
from peers.catalog import KEEPERS, PEERS, keeper, peer, versions
from sessions import recorded

HERE = Path(__file__).resolve().parent
MILLION = 1_000_000
"""From this length on once, and only on disk: nobody holds as much in memory."""
FILLED = 10_000
"""From this length on a session on disk is filled once and gone on with, as after a restart."""
FASTER = 3
"""Steps that are made even where patience is over."""

Row = dict[str, Any]


def ask(measure: str, known: str, timeout: float, **asked: Any) -> Row | None:
    """One measurement, in a new process; None where it took too long."""
    request = json.dumps({"measure": measure, "peer": known, **asked})
    command = [sys.executable, "-W", "ignore", "-m", "peers.measures", request]
    environment = {**os.environ, "PYTHONPATH": str(HERE), "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{measure} of {known} failed:\n{done.stderr[-2_000:]}")
    found: Row = json.loads(done.stdout.splitlines()[-1])
    return {"measure": measure, "peer": known, **asked, **found}


class Bench:
    """What is asked for, and what was found so far."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.place: Path = given.place
        self.rows: list[Row] = []
        self.lengths = [int(length) for length in given.lengths.split(",")]
        self.only = set(given.only.split(",")) if given.only else {*PEERS, *KEEPERS}
        self.given_up: set[str] = set()
        self.begun = time.monotonic()

    def say(self, text: str) -> None:
        """Progress, with the time since the beginning."""
        print(f"{time.monotonic() - self.begun:6.0f} s  {text}", file=sys.stderr, flush=True)

    def take(self, row: Row | None, known: str, what: str) -> Row | None:
        """Keeps a row; gives up on who took too long."""
        if row is None:
            self.given_up.add(f"{what} {known}")
            self.say(f"{what:<7} {known:<18} given up")
            return None
        self.rows.append(row)
        return row

    def turns(self, known: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Length, repeat and who: everybody has a turn before anybody has a second one."""
        for length in self.lengths:
            for repeat in range(self.given.repeat if length < MILLION else 1):
                for one in known:
                    ours = one.startswith("ours")
                    if one in self.only and length <= (self.longest(one) if ours else self.given.peers_to):
                        yield length, repeat, one

    def longest(self, known: str) -> int:
        """The longest history that one of ours is measured at."""
        return MILLION - 1 if known == "ours" else max(self.lengths)

    def common(self, length: int, folder: Path, repeat: int = 0) -> Row:
        """What every measurement is told."""
        return {
            "length": length,
            "repeat": repeat,
            "budget": self.given.budget,
            "steps": self.given.steps,
            "patience": self.given.patience,
            "folder": str(folder),
            "session": str(self.place / "session.jsonl"),
        }

    def steps(self) -> None:
        """A message and a view, at growing histories."""
        for length, repeat, known in self.turns(list(PEERS)):
            if f"steps {known}" in self.given_up:
                continue
            filled = known == "ours-sqlite" and length >= FILLED
            folder = self.filled("ours-full", length) if filled else emptied(self.place / "folder")
            common = self.common(length, folder, repeat)
            row = self.take(ask("steps", known, self.limit(length), filled=filled, **common), known, "steps")
            if row is not None:
                self.say(f"steps   {known:<18} {length:>9,} {row['cpu'] * 1e6:>12,.0f} us CPU, {row['steps']} steps")
                if row["cpu"] * FASTER > self.given.patience:
                    self.given_up.add(f"steps {known}")

    def limit(self, length: int) -> float:
        """Seconds that a measurement may take in all."""
        return float(self.given.patience * 10 + length / 200)

    def filled(self, known: str, length: int) -> Path:
        """A folder with that many messages, made once. What survives no power cut is faster to fill, and the same."""
        folder = self.place / f"{known}-{length}"
        if not (folder / "filled").exists():
            self.say(f"filling {known:<18} {length:>9,}")
            emptied(folder)
            faster = known.replace("ours-full", "ours-normal")
            if ask("fill", faster, self.limit(length) * 2, **self.common(length, folder)) is None:
                self.given_up.add(f"keeping {known}")
            (folder / "filled").touch()
        return folder

    def keeping(self) -> None:
        """Appending to what is on disk, and coming back to it."""
        for length, repeat, known in self.turns(list(KEEPERS)):
            if f"keeping {known}" in self.given_up:
                continue
            folder = self.filled(known, length)
            common = self.common(length, folder, repeat)
            for what in ("resume", "append"):
                row = self.take(ask(what, known, self.limit(length), **common), known, "keeping")
                if row is not None:
                    self.say(f"{what:<7} {known:<18} {length:>9,} {row['wall'] * 1e6:>12,.0f} us")
                    if what == "append" and row["wall"] * FASTER > self.given.patience:
                        self.given_up.add(f"keeping {known}")

    def cost(self) -> None:
        """A whole session at two budgets. Nothing in it is a matter of chance, so once is enough."""
        for budget in map(int, self.given.budgets.split(",")):
            for known in PEERS:
                if known in self.only and known != "ours-sqlite":  # what is sent does not depend on the store
                    asked = self.common(0, emptied(self.place / "folder")) | {
                        "budget": budget,
                        "session": str(self.place / "long.jsonl"),
                    }
                    row = self.take(ask("cost", known, 3_600, **asked), known, "cost")
                    if row is not None:
                        self.say(f"cost    {known:<18} {budget:>9,} {row['cost']:>12.2f} Mtok")


def case(row: Row) -> tuple[Any, ...]:
    """What was measured: a new run takes the place of an old one."""
    return row["measure"], row["peer"], row["length"], row["budget"]


def emptied(folder: Path) -> Path:
    """The folder, with nothing in it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def machine(rows: Sequence[Row]) -> Row:
    """What it ran on."""
    seen = {row["peer"] for row in rows}
    classes: list[type[Peer] | type[Keeper]]
    classes = [*(peer(one) for one in PEERS if one in seen), *(keeper(one) for one in KEEPERS if one in seen)]
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "versions": versions(classes),
    }


def save(bench: Bench) -> Row:
    """Everything that was found, beside what earlier runs found of anything else. Returns it."""
    results = bench.place / "results.json"
    kept = json.loads(results.read_text("utf-8"))["rows"] if results.exists() else []
    rows = [row for row in kept if case(row) not in set(map(case, bench.rows))] + bench.rows
    found = {**machine(rows), "rows": rows}
    results.write_text(json.dumps(found, indent=1), "utf-8")
    return found


def main() -> None:
    """Measures what was asked for, keeps it, and shows it."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--lengths", default="1000,10000,100000,1000000")
    arguments.add_argument("--peers-to", type=int, default=100_000, help="the longest history of anybody else")
    arguments.add_argument("--budget", type=int, default=32_000)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument(
        "--steps", type=int, default=520, help="twice the recorded session, so that all of it counts"
    )
    arguments.add_argument("--patience", type=float, default=20.0)
    arguments.add_argument("--measures", default="cost,steps,keeping")
    arguments.add_argument("--only", default="", help="names of `peers/catalog.py`, with commas")
    arguments.add_argument(
        "--tokens", type=int, default=120_000, help="of the session that is repeated; for costs twice"
    )
    arguments.add_argument("--budgets", default="32000,128000", help="of whole sessions, for costs")
    arguments.add_argument("--place", type=Path, default=HERE.parent / "build" / "bench", help="for results and files")
    arguments.add_argument("--write", action="store_true", help="the tables and pictures of benchmarks/README.md")
    given = arguments.parse_args()
    bench = Bench(given)
    measures: dict[str, Callable[[], None]] = {"cost": bench.cost, "steps": bench.steps, "keeping": bench.keeping}
    asked: list[str] = given.measures.split(",")
    if unknown := set(asked) - measures.keys():
        arguments.error(f"--measures knows {', '.join(measures)}, and not {', '.join(sorted(unknown))}")
    bench.place.mkdir(parents=True, exist_ok=True)
    recorded(bench.place / "session.jsonl", given.tokens)
    recorded(bench.place / "long.jsonl", 2 * given.tokens)
    for name in asked:
        measures[name]()
        found = save(bench)
    from tables import show, write

    print(show(found))
    if given.write:
        write(found, HERE / "README.md")


if __name__ == "__main__":
    main()
