"""Agents that know nothing of Backscroll: they send their whole history with each request, by the real clients."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses, Reply, reply
from tests.long_run import usually

LINES = "".join(f"line {number}: nothing of note happened here\n" for number in range(24))
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
Message = dict[str, Any]
ANTHROPIC_IS_TOO_LONG = (
    400,
    {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}},
)
OPENAI_IS_TOO_LONG = (
    400,
    {"error": {"message": "Your input exceeds the context window", "code": "context_length_exceeded"}},
)


def scripted() -> Callable[[Any], Reply]:
    """A model that thinks and reads files, three at once in each fourth answer."""
    answered = 0

    def answer(_: Any) -> Reply:
        nonlocal answered
        answered += 1
        if answered % 5 == 0:
            return reply(f"Answer {answered}.", thinking="Enough." if answered % 2 else ())
        paths = [f"file{answered}-{number}" for number in range(3 if answered % 4 == 0 else 1)]
        return reply(thinking="Read on.", calls=[("read", {"path": path}) for path in paths])

    return answer


class Agent:
    """The loop.

    Args:
        url: Where requests go.
        is_streamed: Whether answers are streamed.
        system: The system prompt.
    """

    def __init__(self, url: str, *, is_streamed: bool = False, system: str = "You read files.") -> None:
        self.client = self.connect(url)
        self.is_streamed, self.system = is_streamed, system
        self.history: list[Message] = []
        self.calls: list[tuple[str, str]] = []
        """Calls that wait for their results: id and path."""
        self.between: list[Message] = []
        """Sent behind what the user or the tools say."""
        self.asked = 0

    def run(self, requests: int) -> None:
        """Make so many requests."""
        for _ in range(requests):
            self.asked += 1
            if self.calls:
                self.history += self.results([(call, f"{path}\n{LINES}") for call, path in self.calls])
            else:
                self.history.append(self.said(f"Question {self.asked}. {LINES[:600]}"))
            self.history += self.between
            answer = self.ask()
            self.calls = self.answered(answer)

    def close(self) -> None:
        """Close the client's connections."""
        self.client.close()

    def said(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def connect(self, url: str) -> Any:
        raise NotImplementedError

    def ask(self) -> Any:
        raise NotImplementedError

    def answered(self, answer: Message) -> list[tuple[str, str]]:
        raise NotImplementedError

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        raise NotImplementedError


class AnthropicAgent(Agent):
    """Of the Messages API. It marks its system prompt and its newest message, as Claude Code does."""

    format, model, fake, path = "anthropic", "claude-opus-5-5", FakeAnthropic, "/v1/messages"
    tools = ({"name": "read", "description": "Read a file.", "input_schema": SCHEMA},)

    def connect(self, url: str) -> Any:
        import anthropic

        return anthropic.Anthropic(base_url=url, api_key="secret-key", max_retries=0)

    def said(self, text: str) -> Message:
        return {"role": "user", "content": [{"type": "text", "text": text}]}

    def request(self) -> Message:
        mark = {"cache_control": {"type": "ephemeral"}}
        newest = self.history[-1]
        *blocks, last = newest["content"]
        marked = {**newest, "content": [*blocks, {**last, **mark}]}
        return {
            "model": self.model,
            "max_tokens": 1_000,
            "system": [{"type": "text", "text": self.system, **mark}],
            "messages": [*self.history[:-1], marked],
            "tools": list(self.tools),
            "metadata": {"user_id": "user_1_account__session_0b9d2a4e-6f3c-4a58-9c1e-2f4d7a8b9c0d"},
        }

    def ask(self) -> Message:
        if not self.is_streamed:
            return self.client.messages.create(**self.request()).model_dump(mode="json", exclude_none=True)
        with self.client.messages.stream(**self.request()) as stream:
            return stream.get_final_message().model_dump(mode="json", exclude_none=True)

    def answered(self, answer: Message) -> list[tuple[str, str]]:
        self.history.append({"role": "assistant", "content": answer["content"]})
        return [(block["id"], block["input"]["path"]) for block in answer["content"] if block["type"] == "tool_use"]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
        return [{"role": "user", "content": blocks}]


class ChatAgent(Agent):
    """Of OpenAI's chat completions."""

    format, model, path = "chat", "gpt-5", "/v1/chat/completions"
    fake: Any = FakeOpenAIChat
    tools: tuple[Any, ...] = (
        {"type": "function", "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA}},
    )

    def connect(self, url: str) -> Any:
        import openai

        return openai.OpenAI(base_url=f"{url}/v1", api_key="secret-key", max_retries=0)

    def request(self) -> Message:
        messages = [{"role": "system", "content": self.system}, *self.history]
        return {"model": self.model, "messages": messages, "tools": list(self.tools)}

    def ask(self) -> Message:
        if not self.is_streamed:
            return self.client.chat.completions.create(**self.request()).model_dump(mode="json", exclude_none=True)
        more = {"stream_options": {"include_usage": True}}
        with self.client.chat.completions.stream(**self.request(), **more) as stream:
            return stream.get_final_completion().model_dump(mode="json", exclude_none=True)

    def answered(self, answer: Message) -> list[tuple[str, str]]:
        said = answer["choices"][0]["message"]
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {name: call["function"][name] for name in ("name", "arguments")},
            }
            for call in said.get("tool_calls") or ()
        ]
        self.history.append(
            {"role": "assistant", "content": said.get("content"), **({"tool_calls": calls} if calls else {})}
        )
        return [(call["id"], json.loads(call["function"]["arguments"])["path"]) for call in calls]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, text in results]


class ResponsesAgent(ChatAgent):
    """Of OpenAI's Responses API."""

    format, model, fake, path = "responses", "gpt-6.2-sol", FakeOpenAIResponses, "/v1/responses"
    tools = (
        {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA, "strict": False},
    )

    def request(self) -> Message:
        return {
            "model": self.model,
            "input": [{"role": "developer", "content": self.system}, *self.history],
            "tools": list(self.tools),
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }

    def ask(self) -> Message:
        if not self.is_streamed:
            return self.client.responses.create(**self.request()).model_dump(mode="json", exclude_none=True)
        *_, last = self.client.responses.create(**self.request(), stream=True)
        return last.response.model_dump(mode="json", exclude_none=True)

    def answered(self, answer: Message) -> list[tuple[str, str]]:
        self.history += answer["output"]
        calls = [item for item in answer["output"] if item["type"] == "function_call"]
        return [(item["call_id"], json.loads(item["arguments"])["path"]) for item in calls]

    def results(self, results: list[tuple[str, str]]) -> list[Message]:
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]


AGENTS = (AnthropicAgent, ChatAgent, ResponsesAgent)
mostly_anthropic = pytest.mark.parametrize("kind", usually(AGENTS, 1), ids=lambda kind: kind.format)
"""The others are for the long run: what is tested is the same for all."""
