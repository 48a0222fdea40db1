"""A provider of OpenAI's chat protocol on loopback, whose model follows the script of `world`."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integrations.world import calls_at, text_at

TOO_LONG = (
    "This model's maximum context length is {limit} tokens. However, your messages resulted in {asked} tokens. Please "
    "reduce the length of the messages."
)


class Provider(ThreadingHTTPServer):
    """Answers as the script says, one script for each model name.

    Requests of more than `limit` tokens, four characters each, are refused; so are all while `refusing` counts down.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.limit, self.refusing, self.broken = 1_000_000, 0, 0
        self.sized = True
        """Whether a refusal names sizes."""
        self.accepted: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """The bodies of accepted requests by model."""
        self.refused: list[dict[str, Any]] = []
        self.steps: Counter[str] = Counter()
        self.raw: Any = None
        """A function that answers instead: body -> (status, answer)."""

    def requests(self, model: str) -> list[list[dict[str, Any]]]:
        """The messages of the accepted requests of a model."""
        return [body["messages"] for body in self.accepted[model]]

    def answer(self, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and body of an answer."""
        if self.raw is not None:
            return self.raw(body)
        tokens = len(json.dumps([body["messages"], body.get("tools")])) // 4
        if self.broken:
            self.broken -= 1
            return 401, {"error": {"message": "no such key", "code": "invalid_api_key"}}
        if tokens > self.limit or self.refusing:
            self.refusing = max(0, self.refusing - 1)
            self.refused.append(body)
            said = TOO_LONG.format(limit=self.limit, asked=tokens) if self.sized else "context_length_exceeded"
            return 400, {"error": {"message": said, "code": "context_length_exceeded"}}
        self.accepted[body["model"]].append(body)
        self.steps[body["model"]] += 1
        return 200, self.said(body["model"], self.steps[body["model"]] - 1, tokens)

    def said(self, model: str, step: int, tokens: int) -> dict[str, Any]:
        calls = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
            }
            for call in calls_at(step)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": None if calls else text_at(step)}
        message |= {"tool_calls": calls} if calls else {}
        usage: dict[str, Any] = {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}
        usage["prompt_tokens_details"] = {"cached_tokens": tokens // 2}
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
        return {
            "id": f"r{step}", "object": "chat.completion", "created": 1, "model": model, "choices": [choice],
            "usage": usage,
        }  # fmt: skip  # one thought


class Handler(BaseHTTPRequestHandler):
    server: Any

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, answer = self.server.answer(body)
        streamed = status == 200 and body.get("stream")
        data = b"".join(events(answer, body)) if streamed else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        pass


def events(answer: dict[str, Any], body: dict[str, Any]) -> Iterator[bytes]:
    """A response as chunks of a stream."""
    message = answer["choices"][0]["message"]
    calls = [{"index": at, **call} for at, call in enumerate(message.get("tool_calls", ()))]
    deltas = [{"role": "assistant"}, {"tool_calls": calls} if calls else {"content": message["content"]}]
    head = {"id": answer["id"], "object": "chat.completion.chunk", "created": 1, "model": answer["model"]}
    for delta in deltas:
        yield event({**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    finish = answer["choices"][0]["finish_reason"]
    yield event({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if (body.get("stream_options") or {}).get("include_usage"):
        yield event({**head, "choices": [], "usage": answer["usage"]})
    yield b"data: [DONE]\n\n"


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


@contextmanager
def providing() -> Iterator[Provider]:
    """A provider, as long as it lasts."""
    server = Provider()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
