"""The server: who may use it, what it answers by itself, and its totals."""

import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backscroll.integrations.proxy.handing_on import HandingOn
from backscroll.integrations.proxy.incoming import Incoming
from backscroll.integrations.proxy.managing import Managing
from backscroll.integrations.proxy.report import LEFT_ALONE, Report, Totals
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.integrations.proxy.upstream import Upstream
from backscroll.notices import warn

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
_TOKEN = b"x-backscroll-token"


def make_app(
    settings: ProxySettings, *, log: Callable[[Report], object] = lambda _: None, totals: Totals | None = None
) -> ASGIApp:
    """Return the proxy as an ASGI application.

    Args:
        settings: Where requests go, and how they are managed.
        log: Called with each request when its answer has ended.
        totals: Where the requests are added up. `None`: in an object of its own.

    Raises:
        ConfigurationError: A setting can never work.
    """
    managing, summed = Managing(settings), Totals() if totals is None else totals

    def ended(report: Report) -> None:
        summed.add(report)
        if report.budget is not None:
            report.client_note = summed.clients.budget_note(report.client, report.model, report.budget)
        if report.what == LEFT_ALONE and (warning := summed.clients.warning(report.client, report.why)):
            warn(warning)
        log(report)

    upstream = Upstream(settings.anthropic, settings.openai)
    handing_on = HandingOn(settings, managing, upstream, ended)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with upstream:
            await managing.warm()
            yield
        await managing.close()

    async def hand_on(scope: Scope, receive: Receive, send: Send) -> None:
        await handing_on(Incoming(scope, receive, settings.client_timeout), send)

    def status(_: Request) -> Response:
        return JSONResponse(summed.as_json())

    routes = [Route("/backscroll/status", status), Mount("/", hand_on)]
    return _Gate(Starlette(routes=routes, lifespan=lifespan), settings.token)


class _Gate:
    """Lets in who bears the token; without one, programs of this machine, and no page in a browser.

    Args:
        inner: The application.
        token: The token. `None`: there is none.
    """

    def __init__(self, inner: ASGIApp, token: str | None) -> None:
        self._inner = inner
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = dict(scope["headers"])
        scope, is_let_in = self._let_in(scope, headers)
        refused: Response | None = None
        if not is_let_in:
            refused = PlainTextResponse(
                "this proxy is not for you: send its token, from the machine that it runs on", 403
            )
        elif headers.get(b"upgrade", b"").lower() == b"websocket":
            refused = PlainTextResponse("no WebSocket here: send the request by HTTP", 426)
        await (refused or self._inner)(scope, receive, send)

    def _let_in(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[Scope, bool]:
        """Return whether a request is let in, and its scope without the token."""
        if self._token is None:
            named = (headers.get(b"host", b""), headers.get(b"origin", b"http://localhost").partition(b"//")[2])
            return scope, all(_host(name) in _LOOPBACK for name in named)
        if secrets.compare_digest(headers.get(_TOKEN, b""), self._token):
            return scope, True
        first, _, rest = scope["path"].encode().lstrip(b"/").partition(b"/")
        if not secrets.compare_digest(first, self._token):
            return scope, False
        raw = scope.get("raw_path")
        left = {
            "path": f"/{rest.decode()}",
            "raw_path": None if raw is None else b"/" + raw.lstrip(b"/").partition(b"/")[2],
        }
        return {**scope, **left}, True


def _host(name: bytes) -> str | None:
    try:
        return urlsplit(f"//{name.decode('latin-1')}").hostname
    except ValueError:
        return None
