"""The bytes of an answer, for whose next piece a caller waits as long as it wants."""

import asyncio
from collections.abc import AsyncIterator


class Pieces:
    """Yields the pieces of an answer. A wait that is given up loses nothing: the next one goes on with it.

    Args:
        chunks: The pieces as they arrive.
    """

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._waiting: asyncio.Task[bytes | None] | None = None

    async def beginning(self, most: int, seconds: float | None) -> list[bytes]:
        """Return the first pieces: all of them, or as many as came in time.

        Args:
            most: Bytes after which no more are read.
            seconds: How long to wait for them in all. `None`: until they came.
        """
        found: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(seconds):
                while size < most and (piece := await self._next()) is not None:
                    found.append(piece)
                    size += len(piece)
        except TimeoutError:
            pass
        return found

    async def rest(self) -> AsyncIterator[bytes]:
        """Yield all further pieces."""
        if self._waiting is not None:
            piece = await self._next()
            if piece is None:
                return
            yield piece
        async for piece in self._chunks:
            yield piece

    async def aclose(self) -> None:
        """End a wait that is still under way."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)

    async def _next(self) -> bytes | None:
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._one())
        await asyncio.wait((self._waiting,))
        done, self._waiting = self._waiting, None
        return done.result()

    async def _one(self) -> bytes | None:
        return await anext(self._chunks, None)
