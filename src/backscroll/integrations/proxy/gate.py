"""The gate of the proxy: who may use it."""

import re
import secrets
from collections import Counter
from urllib.parse import unquote, unquote_to_bytes

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from backscroll.integrations.proxy.paths import decoded
from backscroll.integrations.proxy.refusal import RefusedHereError

_LOOPBACK = re.compile(rb"(?:localhost|127\.0\.0\.1|\[::1\])(?::[0-9]{1,5})?")
_TOKEN = b"x-backscroll-token"
_OF_THE_GATE = (b"host", b"origin", b"sec-fetch-site")
"""Headers that decide. Of doubled ones, this server and another may read another one."""
_LARGEST_HEAD = 65_536
"""Bytes of a target with all headers, as h11 and httpx limit them: httptools has no limit for headers, and to search a
megabyte of encodings would keep all others waiting for two seconds. Clients send a few thousand.
"""
_UPGRADE = 426
_NOT_FOR_YOU = "this proxy is not for you: send its token, from the machine that it runs on"


class Gate:
    """Lets in who bears the token; without one, programs of this machine. No page in a browser is let in.

    Args:
        inner: The application.
        token: The token. `None`: there is none.
    """

    def __init__(self, inner: ASGIApp, token: str | None) -> None:
        self._inner = inner
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request that is let in, and refuse all others."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        try:
            entered = self._entered({**scope, "headers": [(name.lower(), value) for name, value in scope["headers"]]})
        except RefusedHereError as refused:
            # uvicorn with httptools takes the body of a request with `Upgrade` for the next request
            closing = {"connection": "close"} if refused.status == _UPGRADE else {}
            await PlainTextResponse(str(refused), refused.status, closing)(scope, receive, send)
            return
        await self._inner(entered, receive, send)

    def _entered(self, scope: Scope) -> Scope:
        """Return the scope of a request without the token.

        Raises:
            RefusedHereError: It is not let in.
        """
        headers, counts = dict(scope["headers"]), Counter(name for name, _ in scope["headers"])
        if counts[b"upgrade"]:
            raise RefusedHereError(_UPGRADE, "no WebSocket, no HTTP/2: send the request without `Upgrade`")
        size = len(_target(scope)) + len(scope["query_string"])
        if size + sum(len(name) + len(value) for name, value in scope["headers"]) > _LARGEST_HEAD:
            raise RefusedHereError(431, f"the target and the headers have more than {_LARGEST_HEAD:,} bytes")
        for name in _OF_THE_GATE:
            if counts[name] > 1:
                raise RefusedHereError(400, f"the header `{name.decode()}` is there {counts[name]} times: send one")
        if not _target(scope).startswith(b"/"):
            raise RefusedHereError(400, "the target of the request is no path: this is no forward proxy")
        if _is_of_a_page(headers):
            raise RefusedHereError(
                403, "no page in a browser may use this proxy: `Sec-Fetch-Site` or `Origin` names one"
            )
        if self._token is not None:
            scope = _without_token(scope, self._token)
        elif not _LOOPBACK.fullmatch(headers.get(b"host", b"").lower()):
            raise RefusedHereError(403, _NOT_FOR_YOU)
        return scope


def _target(scope: Scope) -> bytes:
    """Return the path as it came."""
    raw: bytes | None = scope.get("raw_path")
    return scope["path"].encode() if raw is None else raw


def _is_of_a_page(headers: dict[bytes, bytes]) -> bool:
    """Return whether a page of another origin asks. A page of another port of this machine is one too."""
    host, origin, site = headers.get(b"host", b"").lower(), headers.get(b"origin"), headers.get(b"sec-fetch-site")
    if site is not None and site.strip().lower() not in (b"none", b"same-origin"):
        return True
    return origin is not None and (not host or origin.lower() not in (b"http://" + host, b"https://" + host))


def _without_token(scope: Scope, token: bytes) -> Scope:
    """Return the scope without the first part of the path, if that is the token.

    Raises:
        RefusedHereError: The token is not there, or would go on to a provider.
    """
    borne = [value for name, value in scope["headers"] if name == _TOKEN]
    first, _, rest = _target(scope)[1:].partition(b"/")
    is_in_path = secrets.compare_digest(unquote_to_bytes(first), token)
    if is_in_path:
        scope = {**scope, "raw_path": b"/" + rest, "path": f"/{unquote(rest)}"}
    elif not any(secrets.compare_digest(value, token) for value in borne):
        raise RefusedHereError(403, _NOT_FOR_YOU)
    left = [_target(scope), scope["query_string"], *(value for name, value in scope["headers"] if name != _TOKEN)]
    if any(token in (decoded(each) or each) for each in left):
        raise RefusedHereError(400, "the token of the proxy is there once more, and would go on to the provider")
    return scope
