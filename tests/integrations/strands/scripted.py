"""A Strands model that follows a script and has a hard window, and the judge of the requests that it gets.

    model = Scripted([call("read", {"path": "a.py"}), "Done."], window=8_000)
    Agent(model=model, tools=[...], plugins=[ContextManagerPlugin("auto")], context_manager=False)("Read a.py")
    assert model.faults == []

It refuses what is longer than its window, as providers do, by o200k tokens of what they would be sent.
"""

import copy
import json
from collections.abc import AsyncIterator, Callable, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from backscroll.tokens.engines import resolve

Request = dict[str, Any]
Step = Any
"""A text, a list of calls made by `call`, or a function from the request to one of these."""
IMAGE_TOKENS = 1_000
_COUNT = lru_cache(maxsize=None)(resolve("auto").count)  # the same texts come again with every request


def call(name: str, input: dict[str, Any], id: str | None = None) -> dict[str, Any]:
    """One tool call of a step; several in a list are parallel ones."""
    return {"name": name, "input": input, "id": id}


class Scripted(Model):
    """Answers with one step after the other; at the end with "ok"."""

    def __init__(
        self,
        steps: Sequence[Step] | Callable[[Request, int], Step] = (),
        *,
        window: int | None = None,
        told: int | None = None,
        name: str = "scripted",
        reports_usage: bool = True,
        stateful: bool = False,
        summary: str = "<summary>\n- they talked\n</summary>",
    ) -> None:
        self.steps = steps if callable(steps) else list(steps)
        self.window = window
        self.config = {"model_id": name, "context_window_limit": told or window}
        self.reports_usage = reports_usage
        self.requests: list[Request] = []
        """Those that were answered."""
        self.refused = 0
        self.faults: list[str] = []
        self.summaries: list[Request] = []
        self.counted = 0
        self._stateful = stateful
        self._summary = summary
        self._ids = count()
        self._at = 0

    @property
    def stateful(self) -> bool:
        return self._stateful

    def update_config(self, **config: Any) -> None:
        self.config.update(config)

    def get_config(self) -> dict[str, Any]:
        return self.config

    async def structured_output(self, output_model: Any, prompt: Any, system_prompt: Any = None, **kwargs: Any) -> Any:
        yield {"output": output_model()}

    async def count_tokens(self, messages: Any, *args: Any, **kwargs: Any) -> int:
        self.counted += 1
        return await super().count_tokens(messages, *args, **kwargs)

    async def stream(  # type: ignore[override]  # its options are not all named here
        self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **kwargs: Any
    ) -> AsyncIterator[dict[str, Any]]:
        request = {"messages": copy.copy(messages), "tools": tool_specs or [], "system": system_prompt or ""}
        tokens = tokens_of(request)
        if self.window is not None and tokens > self.window:
            self.refused += 1
            raise ContextWindowOverflowException(f"prompt is too long: {tokens} tokens > {self.window} maximum")
        if not tool_specs:  # every agent of the tests has tools; a call without any is a side call
            self.summaries.append(request)
            for event in self._told(self._summary, tokens):
                yield event
            return
        self.faults += faults(messages)
        self.requests.append(request)
        step = self._next(request)
        for event in self._told(step, tokens) if isinstance(step, str) else self._called(step, tokens):
            yield event

    def _next(self, request: Request) -> Step:
        step: Step = "ok"
        if callable(self.steps):
            step = self.steps(request, self._at)
        elif self._at < len(self.steps):
            step = self.steps[self._at]
        self._at += 1
        step = step(request) if callable(step) else step
        return [step] if isinstance(step, dict) else step

    def _told(self, text: str, tokens: int) -> Any:
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": {}}}
        yield {"contentBlockDelta": {"delta": {"text": text}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield from self._usage(tokens, _COUNT(text))

    def _called(self, calls: Sequence[dict[str, Any]], tokens: int) -> Any:
        yield {"messageStart": {"role": "assistant"}}
        for made in calls:
            name = {"name": made["name"], "toolUseId": made["id"] or f"call-{next(self._ids)}"}
            yield {"contentBlockStart": {"start": {"toolUse": name}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(made["input"])}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}
        yield from self._usage(tokens, 20)

    def _usage(self, tokens: int, output: int) -> Any:
        if self.reports_usage:
            usage = {"inputTokens": tokens, "outputTokens": output, "totalTokens": tokens + output}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 1}}}


def plain(value: Any) -> Any:
    """JSON, with the length of bytes in their place."""
    if isinstance(value, bytes):
        return f"bytes:{len(value)}"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def sent(messages: Any) -> Any:
    """What a provider would be sent of messages: roles and contents."""
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def tokens_of(request: Request) -> int:
    """o200k tokens of a request; an image counts a thousand."""
    total = _COUNT(request["system"]) if request["system"] else 0
    total += sum(_COUNT(json.dumps(spec, ensure_ascii=False)) for spec in request["tools"])
    for message in request["messages"]:
        total += 4 + sum(_block_tokens(block) for block in message["content"])
    return total


def _block_tokens(block: Any) -> int:
    if "image" in block or "document" in block:
        return IMAGE_TOKENS
    if "toolResult" in block:
        return sum(_block_tokens(inner) for inner in block["toolResult"]["content"])
    if "text" in block:
        return _COUNT(block["text"])
    return _COUNT(json.dumps(plain(block), ensure_ascii=False))


def faults(messages: Any) -> list[str]:
    """What a provider would refuse: roles that do not alternate, a first message of the assistant, broken pairs."""
    found = []
    if not messages or messages[0]["role"] != "user":
        found.append("the first message is not the user's")
    waiting: set[str] = set()
    for at, message in enumerate(messages):
        if at and message["role"] == messages[at - 1]["role"]:
            found.append(f"two {message['role']} messages in a row at {at}")
        if not message["content"]:
            found.append(f"message {at} is empty")
        results = {block["toolResult"]["toolUseId"] for block in message["content"] if "toolResult" in block}
        if results != waiting:
            found.append(f"message {at} answers {sorted(results)} and not {sorted(waiting)}")
        waiting = {block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block}
    return found + (["calls without results at the end"] if waiting else [])
