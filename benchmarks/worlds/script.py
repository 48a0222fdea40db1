"""What a session consists of: what is said, and the actions of the reference lists. No package of a world is needed."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

SHORT = 3
"""A value of fewer characters (a count, a state) is found everywhere by chance: an agent is never asked to know it."""


_NUMBER = re.compile(r"-?[1-9]\d{0,11}(?:\.\d{1,4})?")


class Said(NamedTuple):
    """A message without calls."""

    role: str
    text: str
    task: int | None = None
    """Number of the task that it is about."""


class Action(NamedTuple):
    """A call of a reference list."""

    task: int
    """Number of its task in the session, from 0."""
    name: str
    arguments: Mapping[str, Any]
    words: str
    """What the user said of this task last."""
    shared: frozenset[int] = frozenset()
    """Further tasks that its result is for."""


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
    calculated: frozenset[str] = frozenset()
    """Names of arguments whose values are made by the agent: amounts, texts."""
    described: str = ""
    """The descriptions of the tools, which every request has: values that they name need no memory."""


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
    """Whether a text has a value as a whole, not within a longer word or number. JSON may have escaped it; a number may
    be written as people do: 10,000 for 10000.0.
    """
    return any(form in text and _whole(form).search(text) for form in _forms(value))


@lru_cache(10_000)
def _forms(value: str) -> frozenset[str]:
    found = {value, json.dumps(value, ensure_ascii=False)[1:-1]}
    if _NUMBER.fullmatch(value):
        number = float(value)
        found |= {f"{number:,}", f"{number:.2f}"}
        if number.is_integer():
            found |= {f"{number:.0f}", f"{number:,.0f}", f"{number:.1f}"}
    return frozenset(found)


@lru_cache(10_000)
def _whole(form: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?<!\d\.){re.escape(form)}(?!\w)(?!\.\d)")


def wanted(action: Action, session: Session) -> list[tuple[str, str]]:
    """Return the values that an action may have to know, each once with the name of its argument."""
    found = [(name, value) for name, value in leaves(action.arguments) if name not in session.calculated]
    return [
        (name, value)
        for name, value in dict.fromkeys(found)
        if len(value) >= SHORT and not holds(session.described, value)
    ]
