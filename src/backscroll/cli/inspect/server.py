"""Access control and responses of the server: the page, its parts and its data. Nothing leaves this machine.

Every address begins with a token that is new for each run. Requests without it, or with a host name other than this
machine's own, are rejected. The page may load nothing from elsewhere and runs only its own scripts.
"""

import secrets
from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from backscroll.cli.inspect.data import StoreInspector, packed
from backscroll.errors import BackscrollError

HOSTS = ("127.0.0.1", "localhost")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Sent with every response. Neither inline scripts nor inline styles run."""
_SECONDS = 0.4  # time limit of one response while replaying a long session
SCRIPTS = (
    "words.js", "dom.js", "data.js", "charts.js", "timeline.js", "sessions.js", "requests.js", "bill.js", "request.js",
    "diff.js", "search.js", "page.js",
)  # fmt: skip  # in the order in which the page loads them
_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}


def page_file(name: str) -> str:
    """Return a file of the page."""
    return resources.files("backscroll.cli.inspect").joinpath("page", name).read_text(encoding="utf-8")


def new_token() -> str:
    """Return a new token of 32 random characters."""
    return secrets.token_urlsafe(24)


def application(inspected: StoreInspector, token: str, port: int) -> ASGIApp:
    """Return the server application for one token and one port."""

    def known(request: Request) -> Any:
        try:
            return inspected.session(request.query_params["session"])
        except KeyError:
            raise HTTPException(404, "there is no such session") from None

    routes = [
        _file("/", "page.html"),
        *(_file(f"/{name}", name) for name in ("page.css", *SCRIPTS)),
        _data("/sessions", lambda _: {"title": inspected.title, "sessions": inspected.sessions()}),
        _data("/overview", lambda _: inspected.overview(_SECONDS)),
        _data("/requests", lambda asked: known(asked).requests(_number(asked, "start", 0))),
        _data("/steps", lambda asked: known(asked).steps(_number(asked, "known", 0), _SECONDS)),
        _data("/request", lambda asked: known(asked).request(_number(asked, "at"), _number(asked, "before", None))),
        _data(
            "/left_out",
            lambda asked: known(asked).left_out(*(_number(asked, name) for name in ("at", "first", "last"))),
        ),
        _data(
            "/search",
            lambda asked: known(asked).search(asked.query_params.get("query", ""), _number(asked, "offset", 0)),
        ),
    ]
    return _Gate(Starlette(routes=routes), token, port)


def _file(path: str, name: str) -> Route:
    """Return a route that answers with a file of the page."""
    kind = f"{_KINDS[name.rpartition('.')[2]]}; charset=utf-8"
    return Route(path, lambda _: Response(page_file(name), media_type=kind))


def _data(path: str, make: Callable[[Request], Any]) -> Route:
    """Return a route that answers with JSON, or with the reason of an error."""

    def answer(request: Request) -> Response:
        try:
            found, status = make(request), 200
        except BackscrollError as error:
            found, status = {"error": str(error)}, 409
        except HTTPException as error:
            found, status = {"error": error.detail}, error.status_code
        return Response(packed(found), status, media_type="application/json")

    return Route(f"/data{path}", answer)


def _number(request: Request, name: str, otherwise: Any = ...) -> Any:
    given = request.query_params.get(name)
    if given is None and otherwise is not ...:
        return otherwise
    if given is None or not given.isascii() or not given.isdecimal() or len(given) > 15:
        raise HTTPException(400, f"`{name}` must be a number, not {given!r}")
    return int(given)


class _Gate:
    """Rejects requests without the token or with another host name, and sends the headers with every response."""

    def __init__(self, inner: ASGIApp, token: str, port: int) -> None:
        self._inner, self._token = inner, token.encode("ascii")
        self._hosts = {f"{host}:{port}".encode("ascii") for host in HOSTS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = [(name.encode("ascii"), value.encode("ascii")) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        refused = self._refused(scope)
        if refused is not None:
            await Response(refused[1], refused[0], media_type="text/plain")(scope, receive, guarded)
            return
        _, _, path = scope["path"].lstrip("/").partition("/")
        await self._inner({**scope, "path": f"/{path}", "raw_path": None}, receive, guarded)

    def _refused(self, scope: Scope) -> tuple[int, str] | None:
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 421, "this server answers only for 127.0.0.1"
        given, slash, _ = scope["path"].lstrip("/").partition("/")
        if not slash or not secrets.compare_digest(given.encode("utf-8", "surrogatepass"), self._token):
            return 403, "open the whole address that `backscroll inspect` printed"
        if scope["method"] not in ("GET", "HEAD"):
            return 405, "only GET and HEAD are allowed"
        return None
