"""CPU of one compaction at growing budgets, beside counting the same view once. Prints a table.

    python benchmarks/compaction.py [--transcripts FOLDER] [--budgets 16000,32000,128000] [--compactions 12]

The two triggers are measured apart: `full` compacts a view that has reached its threshold (lines are chosen for the
summary and for results that are cut), `batch` masks old results for their price. Counting every text of the view once
with the same engine makes the ratio hold on any machine. Messages come from the same place as those of `sessions.py`.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions import endless, source

from backscroll import ContextManager
from backscroll.messages import read_message
from backscroll.tokens.engines import resolve

Times = tuple[list[float], list[float]]
"""Milliseconds of each compaction, and of counting the view before it."""


def run(messages: list[dict[str, Any]], budget: int, wanted: int, batches: bool) -> Times:
    """Feeds a session until `wanted` compactions were made, the first one left out: it warms caches."""
    heard: list[str] = []
    manager = ContextManager(
        mode="facts", clear_at_least_tokens=20_000 if batches else None, on_event=lambda name, _: heard.append(name)
    )
    stream, count = endless(messages), resolve("auto").count
    spent: list[float] = []
    floors: list[float] = []
    view: list[dict[str, Any]] = []
    while len(spent) <= wanted:
        heard.clear()
        start = time.process_time()
        after = manager.get_messages_for_request(token_budget=budget)
        took = time.process_time() - start
        if "context:compaction" in heard:
            spent.append(took * 1_000)
            floors.append(counting(view, count))
        view = after
        for _ in range(2):
            manager.append(next(stream))
    return spent[1:], floors[1:]


def counting(view: list[dict[str, Any]], count: Callable[[str], int]) -> float:
    """Milliseconds to count every text of a view."""
    texts = [part.text for message in view for part in read_message(message).parts if part.text]
    start = time.process_time()
    for text in texts:
        count(text)
    return (time.process_time() - start) * 1_000


def main() -> None:
    """Measures and prints."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--transcripts", type=Path, help="folder of OpenAI chat transcripts (JSON lines)")
    arguments.add_argument("--budgets", default="16000,32000,128000")
    arguments.add_argument("--compactions", type=int, default=12)
    options = arguments.parse_args()
    messages = source(options.transcripts)
    print(f"{'budget':>9} {'trigger':>8} {'median ms':>10} {'worst ms':>9} {'counting ms':>12} {'ratio':>6}")
    for budget in map(int, options.budgets.split(",")):
        for batches in (False, True):
            if batches and budget < 60_000:
                continue  # a view that small is compacted before a batch has gathered
            gc.collect()
            spent, floors = run(messages, budget, options.compactions, batches)
            median, floor = statistics.median(spent), statistics.median(floors)
            name = "batch" if batches else "full"
            print(f"{budget:>9,} {name:>8} {median:>10.1f} {max(spent):>9.1f} {floor:>12.1f} {median / floor:>6.2f}")


if __name__ == "__main__":
    main()
