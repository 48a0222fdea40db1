"""Events that wait until it is sure that a stream was accepted: a request can be sent again until then."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from agents.items import TResponseStreamEvent
from agents.usage import Usage, _response_usage_to_usage  # only the SDK knows which of these are sums

EARLY = frozenset(("response.created", "response.queued", "response.in_progress"))
"""Events that hold nothing of an answer yet."""
FAILED = frozenset(("error", "response.error", "response.failed"))
"""Events after which the SDK raises an error."""


class Opening:
    """The beginning of a stream. Read its `events`, then hand on what `held` has if an error is not answered.

    Args:
        stream: The events of a model.
    """

    def __init__(self, stream: AsyncIterator[TResponseStreamEvent]) -> None:
        self._stream = stream
        self.held: list[TResponseStreamEvent] = []
        """Events that were not handed on yet."""
        self.is_open: bool = False
        """Whether events were handed on."""

    async def events(self) -> AsyncGenerator[TResponseStreamEvent, None]:
        """Yield the events, the first ones only when an answer begins."""
        async with AsyncExitStack() as stack:
            if callable(close := getattr(self._stream, "aclose", None)):
                stack.push_async_callback(close)
            async for event in self._stream:
                if not self.is_open and event.type in EARLY | FAILED:
                    self.held.append(event)
                    continue
                for waiting in self.released():
                    yield waiting
                yield event
        for waiting in self.released():
            yield waiting

    def released(self) -> list[TResponseStreamEvent]:
        """Return what was held, once: it is handed on now."""
        found, self.held, self.is_open = self.held, [], True
        return found


def answer_in(event: TResponseStreamEvent) -> tuple[list[Any], Usage | None]:
    """Return the items of an answer that an event completes, and its usage."""
    if event.type == "response.output_item.done":
        return [event.item], None
    if event.type == "response.completed":
        usage = event.response.usage
        return list(event.response.output), None if usage is None else _response_usage_to_usage(usage)
    return [], None
