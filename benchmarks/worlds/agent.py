"""A scripted agent: it makes each call of a script if its view shows every value that the call needs."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from peers.base import calls_of, plain

from worlds.script import Action, Session, holds, wanted

Message = dict[str, Any]
Dump = Callable[[Any], str]
SHAPES: Mapping[str, Dump] = {
    "line": lambda value: json.dumps(value, ensure_ascii=False, default=str),
    "printed": lambda value: json.dumps(value, ensure_ascii=False, indent=2, default=str),
}
"""How tools write results: JSON in one line, or printed with one value a line."""
RECALLS = ("none", "words", "call")
"""Whether an agent may recall, and what it asks with."""


class Memory(Protocol):
    """Who keeps the session and makes its views."""

    def add(self, message: Message) -> None:
        """Keep a message."""

    def view(self) -> list[Message]:
        """Return the view of the next request."""

    def fits(self) -> bool:
        """Whether the newest view is within the budget."""

    def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        """Return a call of its own recall tool for a query: name, arguments and answer. None: it ships no such tool."""


class Needs(NamedTuple):
    """What the run with everything available showed."""

    values: list[list[tuple[str, str]]]
    """Of each action: the values that it needs, which were said or read of its task before."""
    outcomes: list[Any]
    """Of each task: its part of the state at the end."""


class Missed(NamedTuple):
    """An action that was not made."""

    task: int
    action: str
    values: list[tuple[str, str]]
    """Names and values that were not there."""


class Run(NamedTuple):
    """What became of a session."""

    done: list[bool]
    """Of each task: whether the state is as it should be."""
    fits: list[bool]
    """Of each task: whether the views before all its actions were within the budget."""
    missed: list[Missed]
    actions: int
    recalls: int
    helped: int
    """Recalls that brought what was missing of an argument."""


def texts(messages: Sequence[Message]) -> str:
    """Return all that messages show: contents, and arguments of calls."""
    return "\n".join(
        text
        for message in messages
        for text in (plain(message.get("content")), *(_readable(written) for _, _, written in calls_of(message)))
    )


@lru_cache(10_000)
def _readable(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except ValueError:
        return arguments


def needs(session: Session, dump: Dump) -> Needs:
    """Make every action. What was neither said nor read of its task before is the reference list's own: free."""
    world, values = session.world(), list[list[tuple[str, str]]]()
    known = [""] * session.tasks
    for step in session.steps:
        if isinstance(step, Action):
            values.append([pair for pair in wanted(step, session) if holds(known[step.task], pair[1])])
            read = f"\n{_written(step)}\n{_result(world, step, dump)}"
            for task in {step.task, *step.shared}:
                known[task] += read
        elif step.task is not None:
            known[step.task] += f"\n{step.text}"
    return Needs(values, [world.outcome(task) for task in range(session.tasks)])


def run(session: Session, known: Needs, memory: Memory, dump: Dump, recall: str) -> Run:
    """Hold the session. Before each action the agent looks at its view. If it may recall, it does so once for each
    argument of which something is missing, and looks again. It leaves out an action for which a value is still missing.

    Args:
        session: What is said and done.
        known: What `needs` found.
        memory: Keeps the session.
        dump: Writes results.
        recall: One of `RECALLS`: `none`; `words`, with the user's words and the name of the argument; `call`, with the
            values of the call that the view does show as well.
    """
    world, agent, number = session.world(), _Agent(memory, recall), 0
    for step in session.steps:
        if not isinstance(step, Action):
            memory.add({"role": step.role, "content": step.text})
            continue
        if agent.knows(step, known.values[number]):
            agent.call(step.name, _written(step), _result(world, step, dump))
        number += 1
    done = [world.outcome(task) == outcome for task, outcome in enumerate(known.outcomes)]
    fits = [task not in agent.over for task in range(session.tasks)]
    return Run(done, fits, agent.missed, number, agent.recalls, agent.helped)


class _Agent:
    def __init__(self, memory: Memory, recall: str) -> None:
        self._memory, self._recall, self._calls = memory, recall, 0
        self.missed: list[Missed] = []
        self.over: set[int] = set()
        self.recalls = self.helped = 0

    def knows(self, action: Action, needed: list[tuple[str, str]]) -> bool:
        missing, asked = self._missing(needed), set[str]()
        while self._recall != "none" and (name := next((one for one, _ in missing if one not in asked), None)):
            asked.add(name)
            found = self._memory.recall(self._query(action, name, set(needed).difference(missing)))
            if found is None:
                break
            tool, arguments, answer = found
            self.call(tool, json.dumps(arguments, ensure_ascii=False), answer)
            missing = self._missing(needed)
            self.recalls += 1
            self.helped += all(one != name for one, _ in missing)
        if not self._memory.fits():
            self.over.add(action.task)
        if missing:
            self.missed.append(Missed(action.task, action.name, missing))
        return not missing

    def _query(self, action: Action, name: str, shown: set[tuple[str, str]]) -> str:
        known = sorted({value for _, value in shown}) if self._recall == "call" else []
        return " ".join([action.words, *known, name])

    def call(self, name: str, arguments: str, answer: str) -> None:
        self._calls += 1
        known = f"call_{self._calls}"
        call = {"id": known, "type": "function", "function": {"name": name, "arguments": arguments}}
        self._memory.add({"role": "assistant", "content": "", "tool_calls": [call]})
        self._memory.add({"role": "tool", "tool_call_id": known, "content": answer})

    def _missing(self, needed: list[tuple[str, str]]) -> list[tuple[str, str]]:
        shown = texts(self._memory.view())  # of every step: some peers compact only where a view is asked for
        return [pair for pair in needed if not holds(shown, pair[1])]


def _written(action: Action) -> str:
    return json.dumps(action.arguments, ensure_ascii=False)


def _result(world: Any, action: Action, dump: Dump) -> str:
    found = world.call(action)
    return found if isinstance(found, str) else dump(found)
