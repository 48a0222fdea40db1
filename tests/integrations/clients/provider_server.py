"""The fake providers behind HTTP on loopback, as their clients reach them: JSON, streams of events, and errors."""

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from backscroll.evaluation.fake_providers import FakeProviderError
from tests.integrations.clients.event_streams import STREAMS

_GEMINI = re.compile(r"/v1(?:beta)?/models/([^:]+):(generateContent|streamGenerateContent)")
_PATHS = {
    "/v1/messages": "anthropic",
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/interactions": "interactions",  # of google-genai 3; before, it was another version of the API
    "/v1beta/interactions": "interactions",
}
_NOT_OF_FAKES = ("stream", "stream_options", "generationConfig")


class ProviderServer(ThreadingHTTPServer):
    """One provider. `bodies` holds what was asked, `refusals` what the provider refused without being asked to."""

    daemon_threads = True

    def __init__(self, create: Callable[..., dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.create = create
        self.bodies: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.responses: list[dict[str, Any]] = []
        self.faults: deque[tuple[int, Any]] = deque()
        """Answers to the next requests: a status with a body, or 200 with the bytes of a stream."""
        self.url = f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, headers: Any, body: dict[str, Any]) -> tuple[int, str, bytes]:
        """Return status, type and bytes of the answer to a request."""
        self.bodies.append(body)
        if self.faults:
            status, given = self.faults.popleft()
            kind = "text/event-stream" if isinstance(given, bytes) else "application/json"
            return status, kind, given if isinstance(given, bytes) else json.dumps(given).encode()
        api, asked, is_streamed = _read(path, headers, body)
        try:
            response = self.create(**asked)
        except FakeProviderError as refused:
            self.refusals.append(refused.message)
            return refused.status_code, "application/json", json.dumps(refused.body).encode()
        self.responses.append(response)
        if is_streamed:
            return 200, "text/event-stream", b"".join(STREAMS[api](response, body))
        return 200, "application/json", json.dumps(response).encode()


def _read(path: str, headers: Any, body: dict[str, Any]) -> tuple[str, dict[str, Any], bool]:
    """Return the API of a request, the arguments for its fake, and whether the answer is streamed."""
    path = path.partition("?")[0]
    if found := _GEMINI.fullmatch(path):
        system = body.get("systemInstruction")
        asked = {"contents": body["contents"], "tools": body.get("tools"), "system_instruction": system}
        return "gemini", asked | {"model": found[1]}, found[2].startswith("stream")
    asked = {key: value for key, value in body.items() if key not in _NOT_OF_FAKES}
    if betas := headers.get("anthropic-beta"):
        asked["betas"] = betas.split(",")
    return _PATHS[path], asked, bool(body.get("stream"))


class Handler(BaseHTTPRequestHandler):
    server: ProviderServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, kind, data = self.server.answer(self.path, self.headers, body)
        self.send_response(status)
        for name, value in (("content-type", kind), ("content-length", str(len(data))), ("x-should-retry", "false")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(create: Callable[..., dict[str, Any]]) -> Iterator[ProviderServer]:
    """The server of a provider, as long as it lasts."""
    server = ProviderServer(create)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
