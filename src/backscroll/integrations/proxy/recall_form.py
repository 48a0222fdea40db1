"""The recall tool in one API: `RecallForm`. What the model said with it, and what the client sees of that."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from backscroll.recall.tool import tool_definition

Item = dict[str, Any]
Says = Callable[[Item], object]
NAME = "recall"
"""The name of the tool. A client that has one of this name is offered none of ours."""


class Call(NamedTuple):
    """A call of our tool."""

    id: str
    arguments: Any
    """A mapping, or the text of a JSON object."""


class Round(NamedTuple):
    """An answer of the model with calls of our tool."""

    said: Sequence[Item]
    """All that the model said."""
    answers: Sequence[Item]
    """The results of our tool alone."""


class Turn(NamedTuple):
    """What the provider saw and the client did not, in one turn of the model."""

    rounds: tuple[Round, ...] = ()
    """Answers with calls of our tool alone. The client sees what else they say in front of the turn's last answer."""
    last: Round | None = None
    """The turn's last answer, where it calls tools of the client as well as ours."""


class RecallForm(ABC):
    """The recall tool in one API."""

    format: str
    """As in `tool_definition`."""
    is_of_items: bool = False
    """Whether an answer of the model is several items in a row."""

    def definition(self) -> Item:
        """Return the definition of the tool."""
        return dict(tool_definition(self.format))

    @abstractmethod
    def said(self, response: Any) -> list[Item]:
        """Return what a response says, as items of the next request; none if it is no response."""

    @abstractmethod
    def calls(self, said: Iterable[Item]) -> list[Call]:
        """Return the calls of our tool."""

    @abstractmethod
    def calls_others(self, said: Iterable[Item]) -> bool:
        """Return whether other tools are called as well."""

    @abstractmethod
    def answers(self, answered: Sequence[tuple[Call, str]]) -> list[Item]:
        """Return the results of calls."""

    @abstractmethod
    def merged(self, responses: Sequence[Any]) -> Any:
        """Return one response that says what all of these say, without our tool.

        Its prompt is that of the last one, which is what the next request will be as long as; its answer has the tokens
        of all.
        """

    @abstractmethod
    def parted(self, read: Iterable[Item], calls: Collection[str]) -> tuple[list[Item], list[Item]]:
        """Return the results of these calls of our tool, as `answers` does, and what the client said with them.

        Args:
            read: What the model read behind its calls.
            calls: Their ids.
        """

    @abstractmethod
    def restored(self, behind: Sequence[Item], turn: Turn, says: Says) -> list[Item]:
        """Return the items of a client from a turn of the model on, with what it did not see.

        Args:
            behind: The client's items, from the turn on. None: the turn did not end, and the client asks again.
            turn: The turn.
            says: Returns what an item says, without marks.
        """


def left_of(seen: Sequence[Any], shown: Iterable[Any], key: Callable[[Any], object]) -> int:
    """Return how many of a client's parts are those of earlier rounds. A part that the client dropped is skipped."""
    at = 0
    for part in shown:
        if at < len(seen) and key(seen[at]) == key(part):
            at += 1
    return at


def parted_by(key: str, read: Iterable[Item], calls: Collection[str]) -> tuple[list[Item], list[Item]]:
    """Return the items that name one of these calls there, and all others."""
    found: tuple[list[Item], list[Item]] = [], []
    for item in read:
        found[item.get(key) not in calls].append(item)
    return found
