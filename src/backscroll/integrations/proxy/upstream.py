"""The providers' servers: requests go there with the client's own headers, and answers come back as bytes."""

from collections.abc import AsyncIterator
from typing import Self

import httpx

from backscroll.integrations.proxy import headers
from backscroll.integrations.proxy.incoming import Incoming

_TIMEOUT = httpx.Timeout(None, connect=30.0)
"""A model may think for many minutes: only the client knows how long it wants to wait."""
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=60)
"""As many requests at once as the clients send. An agent works for a while between two requests."""


class Upstream:
    """The servers.

    Args:
        anthropic: The address of the one for Anthropic's API.
        openai: The address of the one for all else.
    """

    def __init__(self, anthropic: str, openai: str) -> None:
        self._anthropic, self._openai = httpx.URL(anthropic), httpx.URL(openai)
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, limits=_LIMITS, follow_redirects=False)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def send(
        self, incoming: Incoming, content: bytes | AsyncIterator[bytes], *, is_read: bool = False
    ) -> httpx.Response:
        """Send a request, and return the answer as soon as its headers are there. The caller closes it.

        Args:
            incoming: The client's request.
            content: The body to send.
            is_read: Whether the answer is read here.

        Raises:
            httpx.TransportError: The server cannot be reached.
        """
        length = len(content) if isinstance(content, bytes) else None
        is_own = length is None or content is incoming.body
        sent = headers.of_request(incoming.pairs, length, is_read=is_read, is_own=is_own)
        if length == 0 and "content-length" not in incoming.headers:  # a request without a body has no length either
            sent = [pair for pair in sent if pair[0] != b"content-length"]
        request = httpx.Request(incoming.method, self._url(incoming), headers=sent, content=content or None)
        return await self._client.send(request, stream=True)

    def _url(self, incoming: Incoming) -> httpx.URL:
        base = self._anthropic if _is_anthropic(incoming) else self._openai
        path = base.raw_path.rstrip(b"/") + incoming.scope["path"].encode()
        raw = incoming.scope.get("raw_path")
        if raw is not None and not incoming.scope.get("root_path"):
            path = base.raw_path.rstrip(b"/") + raw
        query = incoming.scope["query_string"]
        return base.copy_with(raw_path=path + (b"?" + query if query else b""))


def _is_anthropic(incoming: Incoming) -> bool:
    """Return whether a request speaks Anthropic's API, by its path or by the headers that only its clients send."""
    return incoming.path.startswith(("/v1/messages", "/messages")) or "anthropic-version" in incoming.headers
