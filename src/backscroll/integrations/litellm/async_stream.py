"""A streamed answer for callers with an event loop."""

from collections.abc import AsyncIterator, Callable
from typing import Any


class AsyncStream:
    """LiteLLM's stream, of which `begin` reads the first chunk.

    Args:
        stream: LiteLLM's own; its other attributes are this one's as well.
        ended: Called once, with the last chunk that holds usage, or None.
    """

    def __init__(self, stream: Any, ended: Callable[[Any], None]) -> None:
        self._stream, self._ended = stream, ended
        self._chunks: AsyncIterator[Any] = aiter(stream)
        self._first: Any = None
        self._counted: Any = None

    async def begin(self) -> "AsyncStream":
        """Read the first chunk. Raises what LiteLLM raises before it: nothing was handed on yet."""
        self._first = await anext(self._chunks, None)
        return self

    def __aiter__(self) -> "AsyncStream":
        return self

    async def __anext__(self) -> Any:
        chunk, self._first = self._first, None
        if chunk is None:
            try:
                chunk = await anext(self._chunks)
            except StopAsyncIteration:
                self._ended(self._counted)
                raise
        if getattr(chunk, "usage", None) is not None:
            self._counted = chunk
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
