"""Prompts of a chat for an engine, and which of their tokens a cache of the prompt before holds. Measures nothing."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from peers.base import Message, calls_of, plain

from backscroll.evaluation.run import Weigher

BOS = 2
"""The token that begins each prompt of Gemma."""
ANSWER = "<start_of_turn>model\n"
_ROLES = {"assistant": "model"}
_APART = 12
"""Messages of the user from where one session begins to where the next one does."""


def written(message: Message) -> str:
    """Return a message as the model reads it: a turn with its text, and a line for each call."""
    calls = [f"call {known}: {name}({arguments})" for known, name, arguments in calls_of(message)]
    known = [f"result of {message['tool_call_id']}:"] if message["role"] == "tool" else []
    text = plain(message.get("content"))
    body = "\n".join([*known, *([text] if text else []), *calls])
    return f"<start_of_turn>{_ROLES.get(message['role'], message['role'])}\n{body}<end_of_turn>\n"


def prompt_of(view: Sequence[Message], tokens: Callable[[str], list[int]]) -> list[int]:
    """Return the prompt of a view, up to where the model answers.

    The tokens of a turn do not depend on its neighbours, because its marks are tokens of their own.
    """
    return [BOS, *(token for message in view for token in tokens(written(message))), *tokens(ANSWER)]


def shared(before: Sequence[Any], after: Sequence[Any]) -> int:
    """Return how many items two sequences begin with alike."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(after)))


class Forecast:
    """What of each view a cache holds: the messages at its beginning that are those of the view before, and the part of
    the next one that begins as it did.

    It knows nothing of the engine: the share of the view's tokens, as Backscroll counts them, is taken of the prompt's
    tokens as the engine counts them.
    """

    def __init__(self, weigher: Weigher) -> None:
        self._weigher = weigher
        self._before: list[Message] = []

    def share(self, view: list[Message]) -> float:
        """Return the share (0 to 1) of the next view."""
        weights = [self._weigher(message) for message in view]
        before, self._before = self._before, view
        same = shared(before, view)
        kept = float(sum(weights[:same]))
        if same < min(len(before), len(view)):
            then, now = written(before[same]), written(view[same])
            kept += weights[same] * shared(then, now) / len(now)
        return kept / sum(weights) if weights else 0.0


class Request(NamedTuple):
    """One request."""

    tokens: int
    """Of its prompt, as the engine counts them."""
    cached: int
    """Of them, those that the engine had in its cache."""
    common: int
    """Those at its beginning that the prompt before has as well."""
    forecast: float
    """Those that were forecast to be in the cache."""
    inspector: float | None
    """The same by Backscroll's inspector."""
    seconds: float
    cpu: float


class Total(NamedTuple):
    """A session."""

    requests: int
    tokens: int
    cached: int
    evaluated: int
    seconds: float
    cpu: float
    forecast: float
    """Tokens."""
    off: float
    """Forecast less what the engine had, in percent of all tokens of the prompts."""
    inspector_off: float | None
    largest_off: float
    """The largest such difference of one request, whichever its sign, in percent of its tokens."""
    not_reused: int
    """Tokens that a prompt shares with the one before, and that the engine evaluated all the same."""

    @property
    def share(self) -> float:
        """Percent of the tokens that were in the cache."""
        return 100 * self.cached / self.tokens


def total(requests: Sequence[Request]) -> Total:
    """Add up the requests of a session. The first one is in it: nobody's cache held anything."""
    tokens, cached = sum(one.tokens for one in requests), sum(one.cached for one in requests)
    forecast = sum(one.forecast for one in requests)
    inspected = [one.inspector for one in requests if one.inspector is not None]
    off = [100 * abs(one.forecast - one.cached) / one.tokens for one in requests]
    return Total(
        len(requests),
        tokens,
        cached,
        tokens - cached,
        sum(one.seconds for one in requests),
        sum(one.cpu for one in requests),
        forecast,
        100 * (forecast - cached) / tokens,
        100 * (sum(inspected) - cached) / tokens if len(inspected) == len(requests) else None,
        max(off),
        sum(max(0, min(one.common, one.tokens - 1) - one.cached) for one in requests),
    )


def pages(messages: Sequence[Message], longest: int) -> Iterator[Message]:
    """Yield messages with each result cut to whole lines of at most so many characters, as a tool with pages does."""
    for message in messages:
        text = plain(message.get("content"))
        if message["role"] != "tool" or len(text) <= longest:
            yield message
            continue
        head = text[:longest].rpartition("\n")[0] or text[:longest]
        left = text[len(head) :].count("\n")
        yield {**message, "content": f"{head}\n[{left} more lines]"}


def sessions(messages: Sequence[Message], number: int, requests: int) -> Iterator[list[Message]]:
    """Yield parts of a long conversation, each with its system prompt and so many requests, beginning with a user."""
    system = [message for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    begins = [at for at, message in enumerate(rest) if message["role"] == "user"]
    for part in range(number):
        begin = begins[_APART * part % len(begins)]
        answers = [at for at in range(begin, len(rest)) if rest[at]["role"] == "assistant"][:requests]
        yield [*system, *rest[begin : answers[-1] + 1]]


def median_and_range(figures: Sequence[float], form: str) -> str:
    """Return the middle of some figures, with the smallest and the largest where there are several."""
    middle = format(statistics.median(figures), form)
    if len(figures) < 2:
        return middle
    return f"{middle} ({format(min(figures), form)} to {format(max(figures), form)})"
