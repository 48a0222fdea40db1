"""The finished response of a stream, from its events.

OpenAI's Responses bring the finished response with their last event. What the others send are pieces to put together.
Sources: the types of openai 3.54, anthropic 2.12 and google-genai 3.6.
"""

from typing import Any

from backscroll.errors import MessageError
from backscroll.integrations.clients.anthropic_events import TYPES, AnthropicEvents
from backscroll.integrations.clients.chat_chunks import ChatChunks
from backscroll.integrations.clients.fields import get, has
from backscroll.integrations.clients.gemini_chunks import GeminiChunks
from backscroll.integrations.clients.interaction_events import InteractionEvents
from backscroll.integrations.overflow_errors import is_overflow

_PRELUDE = frozenset(
    (
        "message_start",
        "ping",
        "response.created",
        "response.queued",
        "response.in_progress",
        "interaction.created",
        "interaction.status_update",
    )
)
"""Events that come before the model wrote anything."""
_FAILED = frozenset(("error", "response.failed"))
_FINISHED = frozenset(("response.completed", "response.incomplete"))
"""Last events of OpenAI's Responses, which hold the response."""


class _RejectedInStream(Exception):
    """A stream reported as an event that the request is too long."""


def _kind_of(event: Any) -> Any:
    """Return the type of an event, which Gemini's Interactions give another name."""
    return get(event, "type") or get(event, "event_type")


def is_prelude(event: Any) -> bool:
    """Return whether an event comes before the model wrote anything."""
    return _kind_of(event) in _PRELUDE


def rejection_in(event: Any) -> Exception | None:
    """Return the error in an event by which a provider refuses a request as too long; `None` for all others."""
    if _kind_of(event) not in _FAILED:
        return None
    holder = get(event, "response") or event
    error = get(holder, "error") or holder
    text = f"{get(error, 'code')}: {get(error, 'message')}"
    return _RejectedInStream(text) if is_overflow(text) else None


_Pieces = AnthropicEvents | ChatChunks | GeminiChunks | InteractionEvents


class Collected:
    """Collects a response from the events of its stream."""

    def __init__(self) -> None:
        self._response: Any = None
        self._pieces: _Pieces | None = None
        self._has_ended = False

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = get(event, "type")
        if kind in _FINISHED:
            self._response = get(event, "response")
        elif kind == "chunk":  # of `client.chat.completions.stream`
            self.add(get(event, "chunk"))
        elif (collect := _collector_of(event)) is not None:
            self._pieces = self._pieces or collect()
            self._pieces.add(event)

    def end(self) -> None:
        """Take the end of the stream."""
        self._has_ended = True

    def response(self) -> Any:
        """Return the finished response.

        Raises:
            MessageError: There is none.
        """
        if not self._has_ended:
            raise MessageError("the stream has not ended: iterate over all its events, then read its `response`")
        found = self._response if self._pieces is None else self._pieces.response()
        if found is None:
            raise MessageError("the stream ended without a finished response: send the request again")
        return found


def _collector_of(event: Any) -> type[_Pieces] | None:
    """Return what collects events like this one; `None` for those that add nothing."""
    kind = get(event, "type")
    if kind in TYPES:
        return AnthropicEvents
    if get(event, "event_type") is not None:
        return InteractionEvents
    if get(event, "choices") is not None:
        return ChatChunks
    return GeminiChunks if kind is None and has(event, "candidates") else None
