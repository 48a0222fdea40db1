"""What a step costs through each framework's adapter, by the length of the history. Prints a table.

    python benchmarks/frameworks.py [--only strands,langchain] [--lengths 1000,40000] [--budget 32000] [--steps 200]
        [--repeat 3] [--write]

A history in the framework's own messages is loaded with the first request, which has a column of its own. Then steps of
one run follow: the assistant's call and the tool's result are added as the framework adds them, and the adapter's own
hook gets the framework's own request object, makes the view and the request, and hears the usage in the answer. What
the framework does itself is not in these figures: copies of its state, validation, calls of the model.

The step is the median of CPU, with that of threads that it started. Both lengths lie in one process and take turns at
each step, with the same messages in texts of their own, so that a ratio is one of the same minute. "A run begins" is
the request behind a new message of the user: all of the history is then compared, because it may have been edited.
"The framework's own" is the CPU between two model calls of a real agent without Backscroll, in which a substitute shows
the newest messages. A framework that needs an environment of its own is looked for where `make test-extras` puts it.

The conversation is that of `step_floor.py`, with one call an answer. `--write` puts the rows into the
table of `benchmarks/README.md`.
"""

import argparse
import asyncio
import gc
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from adapters.base import Adapter, Clock, Message
from adapters.catalog import ADAPTERS, adapter
from page import put_rows
from sessions import fresh, recorded

from backscroll import ContextManager

WARM = 20
"""Steps that are not measured, after the first request."""
RUNS = 5
"""Runs that begin after the steps."""
OWN = 12
"""Steps of the framework by itself."""
MISSING = 3
"""What a process returns whose framework is not installed."""
ENVIRONMENTS = Path(__file__).resolve().parent.parent / "build" / "environments"
Lengths = list[dict[str, Any]]
"""What was found at each length."""
Found = dict[str, Any]
"""The name of an adapter in `name`, and its `lengths`."""


# -- the conversation --


def simple(messages: Sequence[Message]) -> list[Message]:
    """Return a conversation in which each assistant's message is a text or one call."""
    found, waiting = list[Message](), ""
    for message in messages:
        calls = message.get("tool_calls")
        if calls:
            waiting = calls[0]["id"]
            found.append({**message, "content": "", "tool_calls": calls[:1]})
        elif message["role"] != "tool" or message["tool_call_id"] == waiting:
            found.append(message)
    return found


def histories(messages: Sequence[Message], lengths: Sequence[int]) -> list[list[Message]]:
    """Return a history of each length. All end at the same place of the conversation, and share no text."""
    whole = list(itertools.islice(fresh(messages), max(lengths)))
    while whole[-1]["role"] != "assistant" or whole[-1].get("tool_calls"):
        whole.pop()  # a turn that the assistant has ended
    asked = [at for at, each in enumerate(whole) if each["role"] == "user"]
    starts = [next(at for at in asked if at >= len(whole) - length) for length in lengths]
    return [[marked(each, f"history {n}") for each in whole[start:]] for n, start in enumerate(starts)]


def rounds(messages: Sequence[Message], mark: str) -> Iterator[list[Message]]:
    """Yield a call with its result, over and over, with texts and ids of its own."""
    calls = [(one, other) for one, other in itertools.pairwise(messages) if one.get("tool_calls")]
    for number, pair in enumerate(itertools.cycle(calls)):
        yield [marked(each, f"{mark}, step {number}") for each in pair]


def marked(message: Message, mark: str) -> Message:
    """Return a copy whose text and whose call are found nowhere else."""
    found: Message = json.loads(json.dumps(message))
    for call in found.get("tool_calls") or ():
        call["id"] = f"{call['id']} {mark}"
    if "tool_call_id" in found:
        found["tool_call_id"] = f"{found['tool_call_id']} {mark}"
    if found["content"]:
        found["content"] = f"{found['content']}\n({mark})"
    return found


# -- the process --


class Line:
    """One adapter behind a history of one length."""

    def __init__(self, made: Adapter, history: list[Message], turns: Iterator[list[Message]], mark: str) -> None:
        self.adapter, self.history, self.turns, self.mark = made, history, turns, mark
        self.clock = Clock()
        self.first = 0.0
        self.steps: list[float] = []
        self.runs: list[float] = []

    async def load(self) -> None:
        """Make the first request."""
        self.adapter.add([self.adapter.native(each) for each in self.history])
        self.first = await self._run(0)

    async def step(self) -> None:
        """Make one step."""
        self.adapter.add([self.adapter.native(each) for each in next(self.turns)])
        await self.adapter.step(self.clock)
        self.steps.append(self.clock.spent)

    async def run(self, number: int) -> None:
        """Begin another run, and make a step in it."""
        self.runs.append(await self._run(number))
        await self.step()

    async def _run(self, number: int) -> float:
        answer = {"role": "assistant", "content": f"Done ({self.mark}, run {number})."}
        asked = {"role": "user", "content": f"Go on ({self.mark}, run {number})."}
        both = [answer, asked] if number else [asked]
        self.adapter.add([self.adapter.native(each) for each in both])
        await self.adapter.begin()
        await self.adapter.step(self.clock)
        return self.clock.spent


async def measured(asked: dict[str, Any]) -> Found:
    """Measure one adapter at all lengths; CPU seconds."""
    conversation = json.loads(Path(asked["session"]).read_text("utf-8"))
    [system, *messages] = simple(conversation)
    with ContextManager() as other:
        other.warm()
    lines = list[Line]()
    for number, history in enumerate(histories(messages, asked["lengths"])):
        made = adapter(asked["adapter"])(asked["budget"], system["content"])
        lines.append(Line(made, history, rounds(messages, f"line {number}"), f"line {number}"))
        await lines[-1].load()
    for at in range(WARM + asked["steps"]):
        if at == WARM:
            gc.collect()
            gc.freeze()  # a large old heap would be walked by every full collection, whoever caused it
        for line in lines:
            await line.step()
    for line, number in itertools.product(lines, range(1, RUNS + 1)):
        await line.run(number)
    found = [await _found(line, asked["steps"]) for line in lines]
    for line in lines:
        await line.adapter.close()
    return {"name": lines[0].adapter.name, "lengths": found}


async def _found(line: Line, steps: int) -> dict[str, Any]:
    natives = [line.adapter.native(each) for each in line.history]
    alone = await line.adapter.alone([*natives, line.adapter.native({"role": "user", "content": "Go on."})], OWN)
    spent = line.steps[WARM : WARM + steps]
    return {
        "first": line.first,
        "median": statistics.median(spent),
        "mean": statistics.mean(spent),
        "run": statistics.median(line.runs),
        "alone": statistics.median(alone) if alone else None,
    }


# -- the table --


def run(asked: dict[str, Any]) -> Found | None:
    """Run a process and return what it found; `None` if the framework is not installed.

    A framework that needs an environment of its own is looked for where `make test-extras` puts it.
    """
    for python in (Path(sys.executable), ENVIRONMENTS / asked["adapter"] / "bin" / "python"):
        if not python.exists():
            continue
        command = [str(python), "-W", "ignore", __file__, "--process", json.dumps(asked)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            found: Found = json.loads(done.stdout)
            return found
        if done.returncode != MISSING:
            raise SystemExit(f"{asked['adapter']} failed:\n{done.stderr[-2_000:]}")
    return None


def row(found: Sequence[Found]) -> str:
    """Write a row of the table from all turns of an adapter."""
    cells, turns = [found[0]["name"]], [each["lengths"] for each in found]
    for of in ("median", "first", "run", "alone"):
        cells += [_time([turn[at][of] for turn in turns]) for at in range(len(turns[0]))]
        if of == "median":
            cells += [_ratio(turns, "median"), _ratio(turns, "mean")]
    return f"| {' | '.join(cells)} |"


def _ratio(turns: Sequence[Lengths], of: str) -> str:
    ratios = [turn[-1][of] / turn[0][of] for turn in turns]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _time(seconds: Sequence[float | None]) -> str:
    known = [each for each in seconds if each is not None]
    if not known:
        return "-"
    found = statistics.median(known)
    return f"{found:.1f} s" if found >= 1 else f"{found * 1e3:.1f} ms" if found >= 0.01 else f"{found * 1e3:.2f} ms"


def head(lengths: Sequence[int]) -> str:
    """Write the head of the table."""
    columns = ["adapter"]
    for of in ("a step", "first request", "a run begins", "the framework's own"):
        columns += [f"{of}, {length:,}" for length in lengths]
        columns += ["ratio", "ratio of the means"] if of == "a step" else []
    return f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"


def measure(given: argparse.Namespace, session: Path) -> str:
    """Measure all adapters in turns, and return the table."""
    common = {"session": str(session), "lengths": given.lengths, "budget": given.budget, "steps": given.steps}
    turns: dict[str, list[Found]] = {known: [] for known in given.only}
    for _, known in itertools.product(range(given.repeat), given.only):
        if known not in turns:
            continue
        found = run(common | {"adapter": known})
        if found is None:
            print(f"Skipped: {known}, which is not installed", file=sys.stderr)
            del turns[known]
        else:
            turns[known].append(found)
            print(row(turns[known]), file=sys.stderr, flush=True)
    return "\n".join([head(given.lengths), *map(row, turns.values())])


def main() -> None:
    """Measure what was asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", type=lambda text: text.split(","), default=list(ADAPTERS))
    arguments.add_argument("--lengths", type=lambda text: [*map(int, text.split(","))], default=[1_000, 40_000])
    arguments.add_argument("--budget", type=int, default=32_000)
    arguments.add_argument("--steps", type=int, default=200)
    arguments.add_argument("--repeat", type=int, default=3)
    arguments.add_argument("--write", action="store_true")
    arguments.add_argument("--process", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.process:
        asked = json.loads(given.process)
        try:
            adapter(asked["adapter"])
        except ImportError:
            raise SystemExit(MISSING) from None
        print(json.dumps(asyncio.run(measured(asked))))
        return
    with tempfile.TemporaryDirectory() as name:
        session = Path(name) / "session.json"
        session.write_text(json.dumps(recorded(Path(name) / "recorded.jsonl")), "utf-8")
        table = measure(given, session)
    print(table)
    if given.write:
        put_rows("adapters", table)


if __name__ == "__main__":
    main()
