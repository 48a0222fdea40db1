"""A client's request as it arrives: its headers, its body, and whether the client is still there."""

import asyncio
from collections.abc import AsyncIterator

import httpx
from starlette.types import Receive, Scope

LARGEST = 64_000_000
"""Bytes of a body that is read as a whole, as it comes and unpacked. Providers accept up to 32 MB; a larger one is
handed on as it comes.
"""


class ClientLeft(Exception):
    """The client closed its connection."""


class StalledError(Exception):
    """A client sends no more of its request, and the request has not ended."""


class Incoming:
    """A request.

    Args:
        scope: Of ASGI.
        receive: Of ASGI.
        timeout: Seconds to wait for the next bytes of its body.
    """

    def __init__(self, scope: Scope, receive: Receive, timeout: float) -> None:
        self._receive, self._timeout = receive, timeout
        self.scope = scope
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.pairs: list[tuple[bytes, bytes]] = list(scope["headers"])
        self.headers: dict[str, str] = {name.decode("latin-1"): value.decode("latin-1") for name, value in self.pairs}
        self.body: bytes | None = None
        """All of the body as it came, once it was read. `None`: it is too large."""
        self.address: httpx.URL | None = None
        """Where it goes. `None`: that is not decided yet."""
        self._is_read = False

    async def read(self) -> tuple[bytes, bool]:
        """Return the body, or as much as is read of one that is too large, and whether that is all of it.

        Raises:
            ClientLeft: The client closed its connection meanwhile.
            StalledError: Nothing more of it comes.
        """
        chunks, size = [], 0
        async for chunk in self.rest():
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST:
                break
        read = b"".join(chunks)
        self.body = read if self._is_read else None
        return read, self._is_read

    async def rest(self) -> AsyncIterator[bytes]:
        """Yield what was not read of the body.

        Raises:
            ClientLeft: The client closed its connection meanwhile.
            StalledError: Nothing more of it comes.
        """
        while not self._is_read:
            try:
                async with asyncio.timeout(self._timeout):
                    message = await self._receive()
            except TimeoutError as error:
                raise StalledError(f"no byte of the request came for {self._timeout:g} seconds") from error
            if message["type"] == "http.disconnect":
                raise ClientLeft
            self._is_read = not message.get("more_body", False)
            if message.get("body"):
                yield message["body"]

    async def has_left(self) -> None:
        """Wait until the client closes its connection. The body must have been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
