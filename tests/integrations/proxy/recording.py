"""A provider that keeps what it gets byte for byte, and answers what a test says."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

FIRST = b'event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7}}}\n\n'
"""How a stream of Anthropic begins."""


class Got(NamedTuple):
    """A request as it arrived."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header; `None` if it is not there."""
        return next((value for key, value in self.headers if key.lower() == name), None)


class Answer(NamedTuple):
    """What is answered: pieces are sent one by one."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    pieces: tuple[Any, ...] = (b"{}",)
    """Bytes, or a function that is called between the pieces around it. It returns whether to go on."""
    has_length: bool = True


def message(tokens: int = 9, stop_reason: str = "end_turn") -> bytes:
    """A message of Anthropic without a word in it."""
    usage = {"input_tokens": tokens, "output_tokens": 1}
    said = {"type": "message", "role": "assistant", "content": [], "stop_reason": stop_reason, "usage": usage}
    return json.dumps(said).encode()


def counted(got: Got) -> Answer:
    """An answer that counts a token for each four bytes."""
    return Answer(pieces=(message(len(got.body) // 4),))


def stream(*pieces: Any) -> Answer:
    """A stream of events."""
    return Answer(200, (("content-type", "text/event-stream"),), pieces, has_length=False)


class Recording(ThreadingHTTPServer):
    """The server. `got` holds the requests; `answers` what is answered to the next ones."""

    daemon_threads = True
    request_queue_size = 2_000

    def __init__(self, usual: Callable[[Got], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.got: list[Got] = []
        self.answers: deque[Answer] = deque()
        self.usual = usual
        self.broken: list[BaseException] = []
        """What ended answers before their time: a client that left."""
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        """Nothing: tests look at what was answered."""


class _Handler(BaseHTTPRequestHandler):
    server: Any
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self._body()
        got = Got(self.command, self.path, list(self.headers.items()), body)
        self.server.got.append(got)
        answer = self.server.answers.popleft() if self.server.answers else self.server.usual(got)
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if answer.has_length:
            self.send_header("content-length", str(sum(map(len, answer.pieces))))
        else:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command == "HEAD":
            return
        try:
            for piece in answer.pieces:
                if callable(piece):
                    if not piece():
                        return
                else:
                    self.wfile.write(piece)
                    self.wfile.flush()
        except OSError as error:
            self.server.broken.append(error)

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            chunks = []
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _answer

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def recording(usual: Callable[[Got], Answer] = counted) -> Iterator[Recording]:
    """The server, as long as it lasts."""
    server = Recording(usual)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def waits_for(holds: Callable[[], object]) -> bool:
    """Whether something holds within five seconds."""
    for _ in range(1_000):
        if holds():
            return True
        threading.Event().wait(0.005)
    return False
