"""A chat client that follows a script, made of the framework's own layers, and what it was asked."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from agent_framework import (
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
)

from tests.integrations import world

Script = Callable[[int, list[Message]], list[Content]]


class Overflow(Exception):
    """A refusal as providers word it."""

    def __init__(self) -> None:
        super().__init__("prompt is too long: reduce the length of the messages")


def calls(*called: world.Called) -> list[Content]:
    """An answer that calls tools."""
    return [Content.from_function_call(call.id, call.name, arguments=json.dumps(call.arguments)) for call in called]


def work(step: int, messages: list[Message]) -> list[Content]:
    """The work of `world`."""
    return calls(*world.calls_at(step)) or [Content.from_text(world.text_at(step))]


def chat(step: int, messages: list[Message]) -> list[Content]:
    """Answers of about 120 tokens."""
    return [Content.from_text(f"answer {step}: " + "as you say " * 60)]


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """The client.

    Args:
        script: What the model answers to a request, by the number of the answers before it.
        limit: Refuse requests whose texts have more characters. `None`: none.
        errors: Raised by the next requests, one each; `None` lets one pass.
        middleware: Chat middleware of the client.
    """

    OTEL_PROVIDER_NAME = "scripted"

    def __init__(
        self,
        script: Script = work,
        *,
        limit: int | None = None,
        errors: Sequence[Exception | None] = (),
        middleware: Sequence[Any] = (),
    ) -> None:
        super().__init__(middleware=list(middleware))
        self.model = "small"
        self.script, self.limit, self.errors = script, limit, list(errors)
        self.requests: list[list[Message]] = []
        """Every request, the refused ones too."""
        self.options: list[dict[str, Any]] = []
        self.answered = 0
        self.finish: Any = "stop"
        """Why answers end."""
        self.counts = True
        """Whether answers say how many tokens the request had."""

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        self.requests.append(list(messages))
        self.options.append(dict(options))
        return self._build_response_stream(self._updates(messages)) if stream else self._whole(messages)

    async def _whole(self, messages: Any) -> ChatResponse:
        contents, usage = self._answer(messages)
        return ChatResponse(
            messages=[Message("assistant", contents)], usage_details=usage or None, finish_reason=self.finish
        )

    async def _updates(self, messages: Any) -> Any:
        contents, usage = self._answer(messages)
        names: dict[str, Any] = {"message_id": f"m{self.answered}", "response_id": f"r{self.answered}"}
        for content in contents:
            yield ChatResponseUpdate(role="assistant", contents=[content], **names)
        yield ChatResponseUpdate(contents=[Content.from_usage(usage)] if usage else [], **names)

    def _answer(self, messages: Any) -> Any:
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        size = len(text_of(messages))
        if self.limit is not None and size > self.limit:
            raise Overflow
        contents = self.script(self.answered, list(messages))
        self.answered += 1
        tokens = size // 4 + 300
        return contents, self.counts and {
            "input_token_count": tokens,
            "output_token_count": 9,
            "total_token_count": tokens + 9,
        }


class Recorder(ChatMiddleware):
    """Middleware that notes what the framework would send, and what it has afterwards."""

    def __init__(self) -> None:
        self.given: list[list[Message]] = []
        self.contexts: list[ChatContext] = []

    async def process(self, context: ChatContext, call_next: Any) -> None:
        self.given.append(list(context.messages))
        self.contexts.append(context)
        await call_next()


def text_of(messages: Any) -> str:
    """Every text of some messages."""
    found = []
    for content in (content for message in messages for content in message.contents):
        items = content.items or () if content.type == "function_result" else (content,)
        found += [item.text or item.arguments or "" for item in items]
    return "\n".join(str(text) for text in found)


def as_openai(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages in a dialect that the judge reads, translated without the adapter."""
    found: list[dict[str, Any]] = []
    for message in messages:
        results = [content for content in message.contents if content.type == "function_result"]
        found += [{"role": "tool", "tool_call_id": each.call_id, "content": text_of([Message("tool", [each])])}
                  for each in results]  # fmt: skip  # one list
        rest = [content for content in message.contents if content.type in ("text", "function_call", "data")]
        if rest:
            found.append({"role": message.role, **_said(rest)})
    return found


def _text_of(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _said(contents: Sequence[Content]) -> dict[str, Any]:
    blocks = [
        {"type": "text", "text": content.text}
        if content.type == "text"
        else {"type": "image_url", "image_url": {"url": content.uri}}
        for content in contents
        if content.type != "function_call"
    ]
    called = [
        {"id": each.call_id, "type": "function", "function": {"name": each.name, "arguments": _text_of(each.arguments)}}
        for each in contents
        if each.type == "function_call"
    ]
    return {"content": blocks or None} | ({"tool_calls": called} if called else {})
