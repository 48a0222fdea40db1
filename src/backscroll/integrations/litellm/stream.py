"""A streamed answer for callers without an event loop."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any


class Stream:
    """LiteLLM's stream, of which the first chunk was read already.

    Args:
        stream: LiteLLM's own; its other attributes are this one's as well.
        ended: Called once, with the last chunk that holds usage, or None.

    Raises:
        Exception: What LiteLLM raised before the first chunk.
    """

    def __init__(self, stream: Any, ended: Callable[[Any], None]) -> None:
        self._stream, self._ended = stream, ended
        self._counted: Any = None
        iterator = iter(stream)
        self._chunks: Iterator[Any] = chain([each for each in [next(iterator, None)] if each is not None], iterator)

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Any:
        try:
            chunk = next(self._chunks)
        except StopIteration:
            self._ended(self._counted)
            raise
        if getattr(chunk, "usage", None) is not None:
            self._counted = chunk
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
