"""CPU of one step (add a message, get a view) at growing history lengths, beside the physical floor. Prints a table.

    python benchmarks/steps.py [--transcripts FOLDER] [--lengths 1000,10000,100000] [--budget 32000] [--steps 600]

The floor is what nobody can save: counting the new message's texts with the same engine, and copying the view that is
handed out. Both are measured in the same run on the same messages, so the ratio holds on any machine. Messages come
from a folder of transcripts (OpenAI chat JSON lines under the key `messages`), else from `examples/record_session.py`'s
tools; they are repeated with new call ids until the length is reached.
"""

import argparse
import gc
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backscroll.messages import copy_message, read_message
from backscroll.sync import ContextManager
from backscroll.tokenizers import resolve


def source(folder: Path | None) -> list[dict[str, Any]]:
    """One long real conversation."""
    if folder is not None:
        files = sorted(folder.glob("*/norm.jsonl")) or sorted(folder.glob("*.jsonl"))
        lines = (json.loads(line) for file in files for line in file.read_text("utf-8").splitlines())
        return max((line["messages"] for line in lines), key=len)
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "session.jsonl"
        recorder = Path(__file__).parent.parent / "examples" / "record_session.py"
        subprocess.run([sys.executable, str(recorder), str(out)], check=True, stdout=subprocess.DEVNULL)
        return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def endless(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The conversation over and over, with call ids of its own each time."""
    for turn in itertools.count():
        for message in messages:
            again = json.loads(json.dumps(message))
            for call in again.get("tool_calls") or ():
                call["id"] = f"{call['id']}-{turn}"
            if "tool_call_id" in again:
                again["tool_call_id"] = f"{again['tool_call_id']}-{turn}"
            yield again


def run(messages: list[dict[str, Any]], length: int, budget: int, steps: int) -> tuple[float, float, float]:
    """Mean microseconds of a step and of its floor, and of the worst step."""
    manager, stream = ContextManager(), endless(messages)
    count = resolve("auto").count
    for number in range(length):
        manager.add_message(next(stream))
        if number % 40 == 39:
            manager.get_messages_for_request(token_budget=budget)
    gc.collect()
    gc.freeze()  # a large old heap would be walked by every full collection, whoever caused it
    spent, floors, worst = 0.0, 0.0, 0.0
    for _ in range(steps):
        message = next(stream)
        start = time.process_time()
        manager.add_message(message)
        view = manager.get_messages_for_request(token_budget=budget)
        step = time.process_time() - start
        texts = [part.text for part in read_message(message).parts]
        start = time.process_time()
        for text in texts:
            count(text)
        [copy_message(shown) for shown in view]
        floors += time.process_time() - start
        spent, worst = spent + step, max(worst, step)
    gc.unfreeze()
    return spent / steps * 1e6, floors / steps * 1e6, worst * 1e6


def main() -> None:
    """Prints one row for each length, then the spread."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--transcripts", type=Path)
    arguments.add_argument("--lengths", default="1000,10000,100000")
    arguments.add_argument("--budget", type=int, default=32_000)
    arguments.add_argument("--steps", type=int, default=600)
    arguments.add_argument("--repeat", type=int, default=3)
    given = arguments.parse_args()
    messages = source(given.transcripts)
    means = []
    print(f"{'history':>9} {'step us':>9} {'floor us':>9} {'ratio':>6} {'worst us':>9}   (budget {given.budget:,})")
    for length in map(int, given.lengths.split(",")):
        runs = [run(messages, length, given.budget, given.steps) for _ in range(given.repeat)]
        step, floor, worst = (statistics.median(column) for column in zip(*runs, strict=True))
        means.append(step)
        print(f"{length:>9,} {step:>9.0f} {floor:>9.0f} {step / floor:>6.2f} {worst:>9.0f}")
    print(f"largest step over smallest: {max(means) / min(means):.2f}")


if __name__ == "__main__":
    main()
