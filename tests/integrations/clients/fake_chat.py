"""A fake of OpenAI's chat completions for tests: it refuses what the API refuses, and bills a cache of prefixes."""

import itertools
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.fake_providers.chain import as_text, canonical, count_bytes
from backscroll.evaluation.fake_providers.errors import FakeProviderError, openai_error
from backscroll.evaluation.fake_providers.prompt_cache import PromptCache, Unit
from backscroll.evaluation.fake_providers.script import Call, Replies, Script, Text

_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "refusal", "tool_calls", "audio"},
    "tool": {"role", "content", "tool_call_id"},
}
"""Every field of a message, by its role. Source: `ChatCompletionMessageParam` of openai 3.54."""
_PARTS = {"text", "image_url", "input_audio", "file", "refusal"}


class FakeChat:
    """The API. `requests` holds what was sent."""

    def __init__(self, *, replies: Script = None, window: int = 400_000) -> None:
        self.cache, self.requests, self.window = PromptCache(), [], window
        self._replies, self._numbers = Replies(replies), itertools.count(1)

    def create(self, **raw: Any) -> dict[str, Any]:
        """Answer a request, or raise `FakeProviderError`."""
        self.requests.append(raw)
        for error in (*_fields(raw["messages"]), *_pairs(raw["messages"]), *_options(raw)):
            raise error
        parts = [*(raw.get("tools") or ()), *raw["messages"]]
        units = [Unit(as_text(canonical(part)), count_bytes(as_text(part))) for part in parts]
        prompt = sum(unit.tokens for unit in units)
        if prompt > self.window:
            raise openai_error(
                f"This model's maximum context length is {self.window} tokens. However, your messages resulted in"
                f" {prompt} tokens. Please reduce the length of the messages.",
                code="context_length_exceeded",
                param="messages",
            )
        answer = self._replies.next(raw)
        message = self._message([part for part in answer.parts if isinstance(part, Text | Call)])
        billed = self.cache.bill_prefix(str(raw.get("prompt_cache_key")), units, 1024)
        reason = "tool_calls" if "tool_calls" in message else "stop"
        return {
            "id": f"chatcmpl-{next(self._numbers)}",
            "object": "chat.completion",
            "created": 1,
            "model": raw["model"],
            "choices": [{"index": 0, "finish_reason": reason, "logprobs": None, "message": message}],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": 20,
                "total_tokens": prompt + 20,
                "prompt_tokens_details": {"cached_tokens": billed.read},
            },
        }

    def _message(self, parts: list[Text | Call]) -> dict[str, Any]:
        text = "".join(part.text for part in parts if isinstance(part, Text))
        calls = [
            {
                "id": f"call_{next(self._numbers)}",
                "type": "function",
                "function": {"name": part.name, "arguments": as_text(dict(part.arguments))},
            }
            for part in parts
            if isinstance(part, Call)
        ]
        message = {"role": "assistant", "content": text or None, "refusal": None, "annotations": []}
        return message | ({"tool_calls": calls} if calls else {})


def _fields(messages: list[dict[str, Any]]) -> Iterator[FakeProviderError]:
    for at, message in enumerate(messages):
        role = message.get("role")
        if role not in _FIELDS:
            yield openai_error(f"Invalid value: '{role}'. Supported values are: {sorted(_FIELDS)}.", param="messages")
            return
        for key in message.keys() - _FIELDS[role]:
            yield openai_error(f"Unknown parameter: 'messages[{at}].{key}'.", code="unknown_parameter")
        content = message.get("content")
        if content is None and not (role == "assistant" and message.get("tool_calls")):
            yield openai_error(f"Invalid value for 'content': expected a string, got null. (messages[{at}])")
        for part in content if isinstance(content, list) else ():
            if part.get("type") not in _PARTS or (role == "tool" and part["type"] != "text"):
                yield openai_error(f"Invalid value: '{part.get('type')}' (messages[{at}].content)")


def _pairs(messages: list[dict[str, Any]]) -> Iterator[FakeProviderError]:
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                yield openai_error(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with"
                    " 'tool_calls'."
                )
                return
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            break
        waiting = [call["id"] for call in message.get("tool_calls") or ()]
    if waiting:
        yield openai_error(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
            f" 'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(waiting)}"
        )


def _options(raw: dict[str, Any]) -> Iterator[FakeProviderError]:
    if raw.get("tools") == []:
        yield openai_error("Invalid 'tools': empty array. Expected an array with minimum length 1.", param="tools")
    for at, tool in enumerate(raw.get("tools") or ()):
        if tool.get("type") != "function" or not tool.get("function", {}).get("name"):
            yield openai_error(f"Missing required parameter: 'tools[{at}].function.name'.", param="tools")
