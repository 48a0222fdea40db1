"""What the fake model answers: replies written by the caller, in the terms that all providers share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Text:
    """Text for the user."""

    text: str


@dataclass(frozen=True)
class Thinking:
    """Reasoning, which the provider signs or encrypts."""

    text: str = "Considering."
    redacted: bool = False
    """Whether Anthropic returns it as `redacted_thinking`."""


@dataclass(frozen=True)
class Call:
    """A call of a tool; the provider adds the id."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """One answer of the model: its parts in order."""

    parts: tuple[Text | Thinking | Call, ...] = (Text("Done."),)
    stop_reason: str | None = None
    """What the response gives as the reason to stop; `None`: follows from the parts."""


Script = Iterable[Reply | str] | Callable[[Mapping[str, Any]], Reply | str] | None
"""Replies in order, or a function of the request; `None`: always the default reply."""


def reply(
    text: str = "",
    *,
    thinking: str | Sequence[str] = (),
    redacted: bool = False,
    calls: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> Reply:
    """Return a reply: reasoning, then text, then calls.

    Args:
        text: Empty: no text.
        thinking: One text, or one for each block of reasoning.
        redacted: Whether Anthropic returns the reasoning as `redacted_thinking`.
        calls: Name and arguments of each parallel call.
    """
    texts = [thinking] if isinstance(thinking, str) else thinking
    parts: list[Text | Thinking | Call] = [Thinking(each, redacted) for each in texts]
    if text:
        parts.append(Text(text))
    parts += [Call(name, arguments) for name, arguments in calls]
    return Reply(tuple(parts))


def kept(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with lists of its own, for callers who append to theirs; its messages are shared."""
    return {key: list(value) if isinstance(value, list) else value for key, value in request.items()}


class Replies:
    """The replies of a script, one for each request. After the last one the model answers "Done."."""

    def __init__(self, script: Script = None) -> None:
        self._function = script if callable(script) else None
        self._listed: Iterator[Reply | str] = iter(()) if script is None or callable(script) else iter(script)

    def next(self, request: Mapping[str, Any]) -> Reply:
        """Return the reply to a request."""
        answer = self._function(request) if self._function else next(self._listed, Reply())
        return Reply((Text(answer),)) if isinstance(answer, str) else answer
