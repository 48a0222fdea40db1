"""A model's server on loopback for tests: it speaks HTTP, notes what it was asked, and answers as a test wants."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def chat(text: str, **more: Any) -> dict[str, Any]:
    """A chat completion, as OpenAI's protocol has it."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    usage = {"prompt_tokens": 1_200, "completion_tokens": 40, "total_tokens": 1_240}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "small-1",
        "choices": [choice],
        "usage": usage,
    } | more


def message(text: str) -> dict[str, Any]:
    """An answer, as Anthropic's protocol has it."""
    usage = {"input_tokens": 200, "output_tokens": 40, "cache_read_input_tokens": 1_000}
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": text}], "usage": usage,
    }  # fmt: skip  # one thought


class Server(ThreadingHTTPServer):
    """Answers each request with the next of its answers, the last one for ever: (status, headers, body)."""

    daemon_threads = True

    def __init__(self, *answers: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers, self.requests = list(answers), []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.requests.append((self.path, body))
        answers = self.server.answers
        status, headers, answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if status is None:  # never answers
            threading.Event().wait(5)
            return
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(*answers: Any) -> Iterator[Server]:
    """A server that answers so, as long as it lasts."""
    server = Server(*answers)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
