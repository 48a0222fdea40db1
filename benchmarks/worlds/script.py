"""What a session consists of: what is said, and the actions of the reference lists. No package of a world is needed."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

SHORT = 3
"""A value of fewer characters (a count, a state) is found everywhere by chance: an agent is never asked to know it."""


class Said(NamedTuple):
    """A message without calls."""

    role: str
    text: str


class Action(NamedTuple):
    """A call of a reference list."""

    task: int
    """Number of its task in the session, from 0."""
    name: str
    arguments: Mapping[str, Any]
    words: str
    """What the user said of this task last."""


class World(ABC):
    """A database and its tools, at the beginning of a session."""

    @abstractmethod
    def call(self, action: Action) -> Any:
        """Run the tool. Return its result: a text, or what JSON can write."""

    @abstractmethod
    def outcome(self, task: int) -> Any:
        """Return the part of the state now that the task is about."""


class Session(NamedTuple):
    """What is said and done in one session."""

    tasks: int
    steps: Sequence[Said | Action]
    world: Callable[[], World]
    """Makes the world anew."""
    vocabulary: frozenset[str] = frozenset()
    """Names of arguments whose values need no memory: words of the tools themselves, and what is calculated."""


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values among arguments, each with the name of its argument."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, name)
    elif isinstance(value, str):
        yield name, value
    elif not isinstance(value, bool) and value is not None:
        yield name, json.dumps(value)


def holds(text: str, value: str) -> bool:
    """Whether a text has a value as a whole: not within a longer word or number. JSON may have escaped it."""
    forms = {value, json.dumps(value, ensure_ascii=False)[1:-1]}
    return any(re.search(rf"(?<!\w)(?<!\d\.){re.escape(form)}(?!\w)(?!\.\d)", text) for form in forms)


def wanted(action: Action, vocabulary: frozenset[str]) -> list[tuple[str, str]]:
    """Return the values that an action needs, each once with the name of its argument."""
    found = [(name, value) for name, value in leaves(action.arguments) if name not in vocabulary]
    return [pair for pair in dict.fromkeys(found) if len(pair[1]) >= SHORT]
