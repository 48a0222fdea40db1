"""What the five APIs have in common, for one loop over all of them: their clients, requests, answers and messages."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest

from backscroll.evaluation.fake_providers import (
    FakeAnthropic,
    FakeGemini,
    FakeInteractions,
    FakeOpenAIChat,
    FakeOpenAIResponses,
)
from backscroll.integrations.clients import (
    anthropic_request,
    chat_request,
    gemini_request,
    interactions_request,
    responses_request,
)

Message = dict[str, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNgYGBgAAAABQABXvMqOgAAAABJRU5ErkJggg=="
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}


def as_json(response: Any) -> Message:
    """A response as JSON, whether a client's object or a dict."""
    return response if isinstance(response, dict) else response.model_dump(mode="json", exclude_none=True)


class Anthropic:
    """The Messages API."""

    format, package, model, options = "anthropic", "anthropic", "claude-opus-5-5", {"cache_marks": "auto"}
    fake = FakeAnthropic
    least_read = 0.7
    """Share of the loop's prompts that the provider reads from its cache."""
    too_long = (
        400,
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 9000 tokens > 4500 maximum"},
        },
    )
    wrong = 400, {"type": "error", "error": {"type": "invalid_request_error", "message": "max_tokens: Field required"}}
    streamed_error: ClassVar[Message] = {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": "prompt is too long"},
    }
    tool: ClassVar[Message] = {"name": "read", "description": "Read a file.", "input_schema": SCHEMA}

    def client(self, url: str, *, is_async: bool) -> Any:
        import anthropic

        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(base_url=url, api_key="k", max_retries=0)

    def _arguments(self, view: list[Message], tools: list[Message]) -> Message:
        return {"model": self.model, "max_tokens": 1_000, "tools": tools, **anthropic_request(view)}

    def send(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return client.messages.create(**self._arguments(view, tools))

    def open(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return client.messages.stream(**self._arguments(view, tools))

    def open_raw(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return client.messages.create(stream=True, **self._arguments(view, tools))

    def said(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def shown(self, text: str) -> Message:
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        return {"role": "user", "content": [{"type": "text", "text": text}, {"type": "image", "source": source}]}

    def results(self, results: list[tuple[str, str, str]]) -> list[Message]:
        """One message each, as loops over calls often write it."""
        return [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}
            for call, _, text in results
        ]

    def calls(self, response: Any) -> list[tuple[str, str, Message]]:
        blocks = as_json(response)["content"]
        return [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"]

    def sent(self, body: Message) -> list[Any]:
        """The pieces of a request, in the order of the prompt."""
        return [*body.get("system", ()), *body["messages"]]

    def cached(self, response: Any) -> tuple[int, int]:
        """Tokens read from the cache, and of the whole prompt."""
        usage = as_json(response)["usage"]
        read = usage["cache_read_input_tokens"]
        return read, read + usage["input_tokens"] + usage["cache_creation_input_tokens"]


class Chat:
    """OpenAI's chat completions."""

    format, package, model, options = "openai", "openai", "gpt-5", {}
    fake: Any = FakeOpenAIChat
    least_read = 0.7
    too_long = (
        400,
        {
            "error": {
                "message": "This model's maximum context length is 4500 tokens. However, your messages resulted in 9000"
                " tokens.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "context_length_exceeded",
            }
        },
    )
    wrong = 400, {"error": {"message": "Missing required parameter", "type": "invalid_request_error", "code": None}}
    streamed_error: ClassVar[Message] = {
        "error": {"message": "Your input exceeds the context window of this model", "type": "invalid"}
    }
    tool: ClassVar[Message] = {
        "type": "function",
        "function": {"name": "read", "description": "Read a file.", "parameters": SCHEMA},
    }

    def client(self, url: str, *, is_async: bool) -> Any:
        import openai

        kind = openai.AsyncOpenAI if is_async else openai.OpenAI
        return kind(base_url=f"{url}/v1", api_key="k", max_retries=0)

    def send(self, client: Any, view: list[Message], tools: list[Message], **more: Any) -> Any:
        return client.chat.completions.create(model=self.model, tools=tools, **chat_request(view), **more)

    def open(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return self.send(client, view, tools, stream=True, stream_options={"include_usage": True})

    def said(self, text: str) -> Message:
        return {"role": "user", "content": text}

    def shown(self, text: str) -> Message:
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        return {"role": "user", "content": [{"type": "text", "text": text}, image]}

    def results(self, results: list[tuple[str, str, str]]) -> list[Message]:
        return [{"role": "tool", "tool_call_id": call, "content": text} for call, _, text in results]

    def calls(self, response: Any) -> list[tuple[str, str, Message]]:
        made = as_json(response)["choices"][0]["message"].get("tool_calls") or ()
        return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in made]

    def sent(self, body: Message) -> list[Any]:
        return list(body["messages"])

    def cached(self, response: Any) -> tuple[int, int]:
        usage = as_json(response)["usage"]
        return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]


class Responses(Chat):
    """OpenAI's Responses API."""

    format, model = "responses", "gpt-6.2-sol"
    fake, least_read = FakeOpenAIResponses, 0.7
    tool: ClassVar[Message] = {
        "type": "function",
        "name": "read",
        "description": "Read a file.",
        "parameters": SCHEMA,
        "strict": False,
    }
    too_long = (
        400,
        {
            "error": {
                "message": "Your input exceeds the context window of this model.",
                "type": "invalid_request_error",
                "param": "input",
                "code": "context_length_exceeded",
            }
        },
    )

    def send(self, client: Any, view: list[Message], tools: list[Message], **more: Any) -> Any:
        return client.responses.create(
            model=self.model,
            tools=tools,
            store=False,
            include=["reasoning.encrypted_content"],
            **responses_request(view),
            **more,
        )

    def open(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return self.send(client, view, tools, stream=True)

    def shown(self, text: str) -> Message:
        image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PIXEL}"}
        return {"role": "user", "content": [{"type": "input_text", "text": text}, image]}

    def results(self, results: list[tuple[str, str, str]]) -> list[Message]:
        return [{"type": "function_call_output", "call_id": call, "output": text} for call, _, text in results]

    def calls(self, response: Any) -> list[tuple[str, str, Message]]:
        items = [item for item in as_json(response)["output"] if item["type"] == "function_call"]
        return [(item["call_id"], item["name"], json.loads(item["arguments"])) for item in items]

    def sent(self, body: Message) -> list[Any]:
        return list(body["input"])

    def cached(self, response: Any) -> tuple[int, int]:
        usage = as_json(response)["usage"]
        return usage["input_tokens_details"]["cached_tokens"], usage["input_tokens"]


class CreatingGemini(FakeGemini):
    """The fake, with the name of the others' method."""

    create = FakeGemini.generate_content


class Gemini:
    """Gemini's `generateContent`."""

    format, package, model, options = "gemini", "google.genai", "gemini-3.8-flash", {}
    fake: Any = CreatingGemini
    least_read = 0.15  # it caches nothing below 4,096 tokens, and the budget is 6,000
    too_long = (
        400,
        {
            "error": {
                "code": 400,
                "message": "The input token count (9000) exceeds the maximum number of tokens allowed (4500).",
                "status": "INVALID_ARGUMENT",
            }
        },
    )
    wrong = 400, {"error": {"code": 400, "message": "Invalid JSON payload received.", "status": "INVALID_ARGUMENT"}}
    tool: ClassVar[Message] = {"name": "read", "description": "Read a file.", "parameters_json_schema": SCHEMA}

    def client(self, url: str, *, is_async: bool) -> Any:
        from google import genai

        client = genai.Client(api_key="k", http_options={"base_url": url})
        return client.aio if is_async else client

    def _arguments(self, view: list[Message], tools: list[Message]) -> Message:
        return {"model": self.model, **gemini_request(view, {"tools": [{"function_declarations": tools}]})}

    def send(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return client.models.generate_content(**self._arguments(view, tools))

    def open(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return client.models.generate_content_stream(**self._arguments(view, tools))

    def said(self, text: str) -> Message:
        return {"role": "user", "parts": [{"text": text}]}

    def shown(self, text: str) -> Message:
        return {"role": "user", "parts": [{"text": text}, {"inline_data": {"mime_type": "image/png", "data": PIXEL}}]}

    def results(self, results: list[tuple[str, str, str]]) -> list[Message]:
        parts = [
            {"function_response": {"id": call, "name": name, "response": {"output": text}}}
            for call, name, text in results
        ]
        return [{"role": "user", "parts": parts}]

    def calls(self, response: Any) -> list[tuple[str, str, Message]]:
        parts = as_json(response)["candidates"][0]["content"]["parts"]
        calls = [part["function_call"] for part in parts if "function_call" in part]
        return [(call["id"], call["name"], call["args"]) for call in calls]

    def sent(self, body: Message) -> list[Any]:
        return list(body["contents"])

    def cached(self, response: Any) -> tuple[int, int]:
        usage = as_json(response)["usage_metadata"]
        return usage.get("cached_content_token_count", 0), usage["prompt_token_count"]


class Interactions(Gemini):
    """Gemini's Interactions API, without a history at the server."""

    format = "interactions"
    fake = FakeInteractions
    streamed_error: ClassVar[Message] = {"event_type": "error", "error": Gemini.too_long[1]["error"] | {"code": "400"}}
    tool: ClassVar[Message] = {"type": "function", "name": "read", "description": "Read a file.", "parameters": SCHEMA}

    def send(self, client: Any, view: list[Message], tools: list[Message], **more: Any) -> Any:
        return client.interactions.create(model=self.model, tools=tools, **interactions_request(view), **more)

    def open(self, client: Any, view: list[Message], tools: list[Message]) -> Any:
        return self.send(client, view, tools, stream=True)

    def said(self, text: str) -> Message:
        return {"role": "user", "content": [{"type": "user_input", "content": [{"type": "text", "text": text}]}]}

    def shown(self, text: str) -> Message:
        message = self.said(text)
        message["content"][0]["content"].append({"type": "image", "mime_type": "image/png", "data": PIXEL})
        return message

    def results(self, results: list[tuple[str, str, str]]) -> list[Message]:
        return [
            {"type": "function_result", "call_id": call, "name": name, "result": text} for call, name, text in results
        ]

    def calls(self, response: Any) -> list[tuple[str, str, Message]]:
        steps = [step for step in as_json(response)["steps"] if step["type"] == "function_call"]
        return [(step["id"], step["name"], step["arguments"]) for step in steps]

    def sent(self, body: Message) -> list[Any]:
        return list(body["input"])

    def cached(self, response: Any) -> tuple[int, int]:
        usage = as_json(response)["usage"]
        return usage["total_cached_tokens"], usage["total_input_tokens"]


OF_ALL = (Anthropic(), Chat(), Responses(), Gemini(), Interactions())


def each(apis: Sequence[Any] = OF_ALL, at_length: Sequence[str] = ()) -> Any:
    """Run a test with each API; with those of these formats in `make test-long` only."""
    long = [pytest.mark.long]
    return pytest.mark.parametrize(
        "api", [pytest.param(api, id=api.format, marks=long if api.format in at_length else []) for api in apis]
    )
