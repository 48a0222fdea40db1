"""A scripted agent: it makes each call of a script if its view shows every value that the call needs."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from worlds.script import Action, Session, holds, wanted

Message = dict[str, Any]
Dump = Callable[[Any], str]
SHAPES: Mapping[str, Dump] = {
    "line": lambda value: json.dumps(value, ensure_ascii=False, default=str),
    "printed": lambda value: json.dumps(value, ensure_ascii=False, indent=2, default=str),
}
"""How tools write results: JSON in one line, or printed with one value a line."""


class Memory(Protocol):
    """Who keeps the session and makes its views."""

    def add(self, message: Message) -> None:
        """Keep a message."""

    def view(self) -> list[Message]:
        """Return the view of the next request."""

    def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        """Return a call of its own recall tool for a query: name, arguments and answer. None: it ships no such tool."""


class Needs(NamedTuple):
    """What the run with everything available showed."""

    values: list[list[tuple[str, str]]]
    """Of each action: the values that it needs, which were said or read before it."""
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
    missed: list[Missed]
    actions: int
    recalls: int
    helped: int
    """Recalls after which the action was made."""


def texts(messages: Sequence[Message]) -> str:
    """Return all that messages show: contents, and arguments of calls."""
    found: list[str] = []
    for message in messages:
        content = message.get("content")
        found += [content] if isinstance(content, str) else [block.get("text", "") for block in content or ()]
        found += [_readable(call["function"]["arguments"]) for call in message.get("tool_calls") or ()]
    return "\n".join(found)


def _readable(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except ValueError:
        return arguments


def needs(session: Session, dump: Dump) -> Needs:
    """Make every action. A value that was neither said nor read before an action is the reference list's own: free."""
    world, history = session.world(), ""
    values: list[list[tuple[str, str]]] = []
    for step in session.steps:
        if isinstance(step, Action):
            values.append([pair for pair in wanted(step, session.vocabulary) if holds(history, pair[1])])
            history += f"\n{_written(step)}\n{_result(world, step, dump)}"
        else:
            history += f"\n{step.text}"
    return Needs(values, [world.outcome(task) for task in range(session.tasks)])


def run(session: Session, known: Needs, memory: Memory, dump: Dump, recalls: bool) -> Run:
    """Hold the session. Before each action the agent looks at its view; with `recalls`, it may recall once and look
    again. It leaves out an action for which a value is still missing.
    """
    world, agent, number = session.world(), _Agent(memory, recalls), 0
    for step in session.steps:
        if not isinstance(step, Action):
            memory.add({"role": step.role, "content": step.text})
            continue
        if agent.knows(step, known.values[number]):
            agent.call(step.name, _written(step), _result(world, step, dump))
        number += 1
    done = [world.outcome(task) == outcome for task, outcome in enumerate(known.outcomes)]
    return Run(done, agent.missed, number, agent.recalls, agent.helped)


class _Agent:
    def __init__(self, memory: Memory, may_recall: bool) -> None:
        self._memory, self._may_recall, self._calls = memory, may_recall, 0
        self.missed: list[Missed] = []
        self.recalls = self.helped = 0

    def knows(self, action: Action, needed: list[tuple[str, str]]) -> bool:
        missing = self._missing(needed)
        if missing and self._may_recall:
            names = " ".join(dict.fromkeys(name for name, _ in missing))
            found = self._memory.recall(f"{action.words} {names}")
            if found is not None:
                name, arguments, answer = found
                self.call(name, json.dumps(arguments, ensure_ascii=False), answer)
                missing = self._missing(needed)
                self.recalls += 1
                self.helped += not missing
        if missing:
            self.missed.append(Missed(action.task, action.name, missing))
        return not missing

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
