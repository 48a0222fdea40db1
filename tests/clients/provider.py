"""The providers of the three APIs on loopback: the fakes that enforce their rules, answering as the script says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeOpenAIChat,
    FakeOpenAIResponses,
    FakeProviderError,
    Reply,
)
from tests.clients.script import Decided, ScriptedModel, Step
from tests.integrations.clients.event_streams import STREAMS
from tests.integrations.proxy.recording import Answer, Got, recording

ENDS = {"/messages": "anthropic", "/chat/completions": "chat", "/responses": "responses"}
MODELS = ("claude-sonnet-4-5", "gpt-5.4", "gpt-5")
"""What a client sees that asks for the list of models."""


class Asked(NamedTuple):
    """A request for an answer of the model, and what came of it."""

    api: str
    body: dict[str, Any]
    size: int
    """Bytes of its body."""
    step: Step | None
    is_summary: bool
    refusal: str
    """Empty: it was answered."""
    tokens: int
    cached: int
    lost: int = 0
    """Blocks of reasoning that the provider left out, since something before them had changed."""


class ScriptedProvider:
    """All providers. They work on one request at a time, as the fakes have to.

    Attributes:
        model: What answers.
        asked: The requests for an answer.
        others: Method and path of all others.
        failures: Errors of the script, such as a client without a tool that it needs.
    """

    def __init__(self) -> None:
        self.model = ScriptedModel()
        self.asked: list[Asked] = []
        self.others: list[str] = []
        self.failures: list[Exception] = []
        self._fakes: dict[str, Any] = {
            "anthropic": FakeAnthropic(replies=self._reply),
            "chat": FakeOpenAIChat(replies=self._reply),
            "responses": FakeOpenAIResponses(replies=self._reply),
        }
        self._decided = Decided(Reply(), None)
        self._lock = threading.Lock()

    def __call__(self, got: Got) -> Answer:
        """Answer a request."""
        path = got.path.partition("?")[0]
        api = next((each for end, each in ENDS.items() if path.endswith(end)), None)
        if got.method == "POST" and api:
            with self._lock:
                try:
                    return self._answer(api, got)
                except Exception as error:  # the server would close the connection without a word
                    self.failures.append(error)
                    return _json({"error": {"type": "api_error", "message": repr(error)}}, 500)
        self.others.append(f"{got.method} {path}")
        if path.endswith("/count_tokens"):
            return _json({"input_tokens": len(got.body) // 4})
        if path.endswith("/models"):
            listed = [{"id": each, "object": "model", "type": "model", "display_name": each} for each in MODELS]
            return _json({"object": "list", "data": listed, "has_more": False, "models": []})
        return _json({"error": {"type": "not_found_error", "message": f"no such path: {path}"}}, 404)

    def _reply(self, body: Any) -> Reply:
        self._decided = self.model.decide(body)
        return self._decided.answer

    def _answer(self, api: str, got: Got) -> Answer:
        body = json.loads(got.body)
        given = {key: _without_own(value) for key, value in body.items() if key not in ("stream", "stream_options")}
        if betas := got.header("anthropic-beta"):
            given["betas"] = betas.split(",")
        self._decided = Decided(Reply(), None)
        try:
            response = self._fakes[api].create(**given)
        except FakeProviderError as refused:
            self.asked.append(Asked(api, body, len(got.body), None, False, refused.message, 0, 0))
            return _json(refused.body, refused.status_code)
        step = self._decided.step
        if step is not None:
            self.model.answered |= dict.fromkeys(_calls(response), step)
        changed = [each for each in getattr(self._fakes[api], "transformations", ()) if "prefix" in each["reason"]]
        usage = _usage(response["usage"])
        self.asked.append(
            Asked(api, body, len(got.body), step, self._decided.is_summary, "", *usage, lost=len(changed))
        )
        if not body.get("stream"):
            return _json(response)
        pieces = tuple(STREAMS[api](response, body))
        return Answer(200, (("content-type", "text/event-stream"),), pieces, has_length=False)


def _without_own(value: Any) -> Any:
    """Messages without the field that Copilot CLI adds for itself, which not every server ignores."""
    if not isinstance(value, list):
        return value
    own = "__copilotMessageSource"
    return [{key: inner for key, inner in each.items() if key != own} if isinstance(each, dict) else each
            for each in value]  # fmt: skip  # one thought


def _json(value: Any, status: int = 200) -> Answer:
    return Answer(status, pieces=(json.dumps(value).encode(),))


def _calls(response: dict[str, Any]) -> list[str]:
    """The ids of the calls in a response."""
    if "content" in response:
        return [block["id"] for block in response["content"] if block["type"] == "tool_use"]
    if "choices" in response:
        return [call["id"] for call in response["choices"][0]["message"].get("tool_calls") or ()]
    return [item["call_id"] for item in response["output"] if item["type"].endswith("_call")]


def _usage(usage: dict[str, Any]) -> tuple[int, int]:
    """Tokens of the request, and those of them that the cache had."""
    if "cache_read_input_tokens" in usage:
        cached = usage["cache_read_input_tokens"]
        return usage["input_tokens"] + cached + usage["cache_creation_input_tokens"], cached
    if "prompt_tokens" in usage:
        return usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"]
    return usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"]


@contextmanager
def serving(provider: ScriptedProvider) -> Iterator[str]:
    """The address of the provider, as long as it lasts."""
    with recording(provider) as server:
        yield server.url
