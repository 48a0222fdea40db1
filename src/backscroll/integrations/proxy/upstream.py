"""The providers' servers: requests go there with the client's own headers, and answers come back as bytes."""

from collections.abc import AsyncIterator
from typing import Self

import httpx

from backscroll.integrations.proxy import headers
from backscroll.integrations.proxy.destinations import Destinations
from backscroll.integrations.proxy.incoming import Incoming
from backscroll.integrations.proxy.paths import Provider
from backscroll.integrations.proxy.refusal import RefusedHereError
from backscroll.integrations.proxy.settings import ProxySettings

_TIMEOUT = httpx.Timeout(None, connect=30.0)
"""A model may think for many minutes: only the client knows how long it wants to wait."""
_LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=60)
"""As many requests at once as the clients send. An agent works for a while between two requests."""


class Upstream:
    """The servers.

    Args:
        settings: Their addresses, and which requests may go there.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._addresses = {
            Provider.ANTHROPIC: httpx.URL(settings.anthropic),
            Provider.OPENAI: httpx.URL(settings.openai),
        }
        self._destinations = Destinations(settings)
        self._client = httpx.AsyncClient(timeout=_TIMEOUT, limits=_LIMITS, follow_redirects=False)

    async def __aenter__(self) -> Self:
        await self._client.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    def address_of(self, incoming: Incoming) -> httpx.URL:
        """Return where a request goes.

        Raises:
            RefusedHereError: Nowhere: the reason says why.
        """
        if incoming.address is None:
            incoming.address = self._address_of(incoming)
        return incoming.address

    def _address_of(self, incoming: Incoming) -> httpx.URL:
        scope = incoming.scope
        path, raw = scope["path"].encode(), scope.get("raw_path")
        if raw is not None and not scope.get("root_path"):
            path = raw
        target = path + (b"?" + scope["query_string"] if scope["query_string"] else b"")
        base = self._addresses[self._destinations.provider_of(incoming.path, target, incoming.pairs)]
        try:
            return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + target)
        except httpx.InvalidURL as error:
            raise RefusedHereError(400, f"the request has an address that cannot be used: {error}") from error

    async def send(
        self, incoming: Incoming, content: bytes | AsyncIterator[bytes], *, is_read: bool = False
    ) -> httpx.Response:
        """Send a request, and return the answer as soon as its headers are there. The caller closes it.

        Args:
            incoming: The client's request.
            content: The body to send.
            is_read: Whether the answer is read here.

        Raises:
            RefusedHereError: It goes nowhere.
            httpx.TransportError: The server cannot be reached.
        """
        length = len(content) if isinstance(content, bytes) else None
        is_own = length is None or content is incoming.body
        sent = headers.of_request(incoming.pairs, length, is_read=is_read, is_own=is_own)
        if length == 0 and "content-length" not in incoming.headers:  # a request without a body has no length either
            sent = [pair for pair in sent if pair[0] != b"content-length"]
        request = httpx.Request(incoming.method, self.address_of(incoming), headers=sent, content=content or None)
        return await self._client.send(request, stream=True)
