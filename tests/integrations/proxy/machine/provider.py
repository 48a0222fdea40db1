"""A fake provider that keeps what arrived and what it answered, byte for byte."""

import json
import re
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers import FakeProviderError, Reply, reply
from tests.integrations.clients.event_streams import STREAMS
from tests.integrations.proxy.machine.apis import Api
from tests.integrations.proxy.recording import Answer, Got

NUMBER, LEAVES = "x-number", "x-leaves"
TOO_LONG = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: your input exceeds the context window",
        "code": "context_length_exceeded",
    },
}
_WISH = re.compile(r"<(k\d+k) t(\d)c(\d)>")


def wish(name: str, thoughts: int, calls: int) -> str:
    """Words in a message by which the model answers with so much reasoning and so many calls."""
    return f"<{name} t{thoughts}c{calls}>"


def answer_to(raw: Mapping[str, Any]) -> Reply:
    """The model: it does what the newest message wishes."""
    newest = (raw.get("messages") or raw["input"])[-1]
    *_, (name, thoughts, calls) = _WISH.findall(json.dumps(newest))
    asked = [(f"read{at % 2}", {"path": f"{name}-{at}"}) for at in range(int(calls))]
    return reply(f"Answer to {name}: d\u00e9j\u00e0 vu.", thinking=["Think on."] * int(thoughts), calls=asked)


class Arrived(NamedTuple):
    """A request that arrived, and what was answered."""

    body: bytes
    response: dict[str, Any] | None
    sent: bytes


class Provider:
    """The provider of one API. It works on one request at a time."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.fake = api.fake(replies=answer_to)
        self.arrived: dict[str, list[Arrived]] = {}
        """By the number that the client gave its request."""
        self.refusals: list[str] = []
        self.lost: list[Any] = []
        """Reasoning that was left out."""
        self.too_long = 0
        """How many of the next requests it refuses as too long, although they fit."""
        self.left = threading.Event()
        """Set when a client that leaves has left."""
        self._lock = threading.Lock()

    def __call__(self, got: Got) -> Answer:
        """Answer a request."""
        number, asked = got.header(NUMBER) or "", json.loads(got.body)
        with self._lock:
            if got.path.endswith("/count_tokens"):
                return self._answered(number, got, {"input_tokens": 1})
            if self.too_long:
                self.too_long -= 1
                return Answer(400, pieces=(json.dumps(TOO_LONG).encode(),))
            is_streamed = asked.pop("stream", False)
            try:
                response = self.fake.create(**asked)
            except FakeProviderError as refused:
                self.refusals.append(refused.message)
                self.arrived.setdefault(number, []).append(Arrived(got.body, None, b""))
                return Answer(refused.status_code, pieces=(json.dumps(refused.body).encode(),))
            self.lost += [each for each in getattr(self.fake, "transformations", ()) if "prefix" in each["reason"]]
        if not is_streamed:
            return self._answered(number, got, response)
        pieces: list[Any] = list(STREAMS[self.api.name](response, asked))
        self.arrived.setdefault(number, []).append(Arrived(got.body, response, b"".join(pieces)))
        if got.header(LEAVES):
            pieces.insert(3, lambda: self.left.wait(10))
        return Answer(200, (("content-type", "text/event-stream"),), tuple(pieces), has_length=False)

    def _answered(self, number: str, got: Got, response: dict[str, Any]) -> Answer:
        sent = json.dumps(response, indent=1).encode()
        self.arrived.setdefault(number, []).append(Arrived(got.body, response, sent))
        return Answer(pieces=(sent,))
