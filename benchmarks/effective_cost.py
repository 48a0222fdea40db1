"""What a session costs with what its views lack: requests at cache prices, and every missing fact fetched again.

    python benchmarks/effective_cost.py [--transcripts FOLDER] [--sets a,b c,d] [--budgets 16000 32000] [--most 24]
        [--only ours,lean] [--json build/effective.jsonl] [--write]

`--transcripts` is a folder of `SOURCE/norm.jsonl`: OpenAI chat, a line a conversation, key `messages`. `--sets` names
the sources of each set, with commas (default: all sources as one set). Without a folder the conversations are sessions
that really ran tools over this tree. Conversations of at most the budget are left out; `--most` takes a sample of those
of each set, by `--seed`. How a request is judged: `effective/judging.py`; how it is priced: `effective/pricing.py`.
`--json` keeps a line of figures for each conversation, budget and contender, and measures only what the file has not
yet; `--write` puts the tables of all its lines into `benchmarks/README.md`, and draws the plot. No model is called.
"""

import argparse
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from effective.contenders import CONTENDERS, OWN, contender
from effective.judging import History, replay
from peers.exact import of_message, tokens
from sessions import recorded

SIZES = (60_000, 120_000, 180_000)
"""Tokens of the sessions that are made where no folder is given."""
PACKAGES = {"strands": "strands", "langchain": "langchain"}
"""What a contender's peers need, by the beginning of its name."""
Row = dict[str, Any]


class Job(NamedTuple):
    """One conversation at one budget."""

    set: str
    name: str
    budget: int
    messages: list[Row]
    contenders: Sequence[str]


def conversations(folder: Path | None, sources: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield names and messages."""
    if folder is None:
        with tempfile.TemporaryDirectory() as place:
            for size in SIZES:
                yield f"session of {size}", recorded(Path(place) / "session.jsonl", size)
        return
    for source in sources or sorted(file.parent.name for file in folder.glob("*/norm.jsonl")):
        for number, line in enumerate((folder / source / "norm.jsonl").read_text("utf-8").splitlines()):
            yield f"{source} {number}", json.loads(line)["messages"]


def jobs(given: argparse.Namespace, there: set[tuple[str, ...]]) -> Iterator[Job]:
    """Yield what is left to do, in an order by chance, so that an early end has a sample of everything."""
    found: list[Job] = []
    for known in given.sets:
        talks = list(conversations(given.transcripts, known.split(",") if known != "all" else ()))
        weights = [sum(map(of_message, messages)) for _, messages in talks]
        for budget in given.budgets:
            larger = [one for one, weight in zip(talks, weights, strict=True) if weight > budget]
            for name, messages in random.Random(given.seed).sample(larger, min(given.most, len(larger))):
                left = [one for one in given.only if (known, name, str(budget), one) not in there]
                if left:
                    found.append(Job(known, name, budget, messages, left))
    random.Random(given.seed).shuffle(found)
    yield from found


def measured(job: Job) -> list[Row]:
    """Return the figures of all contenders in one conversation."""
    warnings.simplefilter("ignore")
    history = History(job.messages, tokens)
    rows = []
    for known in job.contenders:
        with tempfile.TemporaryDirectory() as folder:
            bill = replay(history, contender(known), job.budget, Path(folder))
        rows.append({"set": job.set, "name": job.name, "budget": job.budget, "who": known, **bill.figures()})
    return rows


def kept(file: Path | None) -> list[Row]:
    """Return the figures that a file has."""
    if file is None or not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def available(asked: Sequence[str]) -> list[str]:
    """Return the contenders whose packages are installed; the others are named."""
    found = []
    for known in asked:
        package = PACKAGES.get(known.partition("-")[0])
        if known not in OWN and package and find_spec(package) is None:
            print(f"Skipped: {known}, whose package {package} is not installed.", file=sys.stderr)
        else:
            found.append(known)
    return found


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=Path)
    parser.add_argument("--sets", nargs="+", default=["all"])
    parser.add_argument("--budgets", type=int, nargs="+", default=[16_000, 32_000])
    parser.add_argument("--most", type=int, default=1_000, help="conversations of a set at a budget")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default=",".join(CONTENDERS))
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="a file of JSON lines for the figures")
    parser.add_argument("--write", action="store_true", help="the tables and the plot of benchmarks/README.md")
    given = parser.parse_args()
    given.only = available(given.only.split(","))
    rows = kept(given.json)
    there: set[tuple[str, ...]] = {(row["set"], row["name"], str(row["budget"]), row["who"]) for row in rows}
    with ProcessPoolExecutor(given.jobs) as pool:
        running = [pool.submit(measured, job) for job in jobs(given, there)]
        for number, done in enumerate(as_completed(running), 1):
            rows += done.result()
            print(f"{number} of {len(running)}", file=sys.stderr, flush=True)
            if given.json:
                with given.json.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(row) + "\n" for row in done.result())
    from effective import report

    print(report.show(rows))
    if given.write:
        report.write(rows)


if __name__ == "__main__":
    main()
