"""The server: what it answers by itself, and its totals."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backscroll.integrations.proxy.gate import Gate
from backscroll.integrations.proxy.handing_on import HandingOn
from backscroll.integrations.proxy.incoming import Incoming
from backscroll.integrations.proxy.managing import Managing
from backscroll.integrations.proxy.report import LEFT_ALONE, Report, Totals
from backscroll.integrations.proxy.settings import ProxySettings
from backscroll.integrations.proxy.upstream import Upstream
from backscroll.notices import warn


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

    upstream = Upstream(settings)
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
    return Gate(Starlette(routes=routes, lifespan=lifespan), settings.token)
