"""A model with a hard window: plays a script, counts each request exactly, refuses what cannot fit, and judges it."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from amplifier_core import ChatRequest, ChatResponse, ModelInfo, ProviderInfo, ToolCall, Usage
from amplifier_core.llm_errors import ContextLengthError, InvalidRequestError

from backscroll.evaluation.validity import Judge
from backscroll.tokens import engines as tokenizers
from tests.integrations.amplifier.scripts import Step

TOKENIZER = tokenizers.resolve("o200k_base")
PICTURE = 410  # tokens of a picture of 640 x 480, by Anthropic's rule: width x height / 750
KNOWN = {"role", "content", "tool_calls", "tool_call_id", "name", "metadata", "thinking_block"}
"""Keys that Amplifier's loops write. Any other key of a view is a context manager's own bookkeeping."""

Message = dict[str, Any]


@dataclass(repr=False)
class Request:
    """One request as it reached the provider."""

    messages: list[Message]
    """What the context gave, after `Message(**m)`; without what the loop itself put behind it."""
    tokens: int
    limit: int
    problems: list[str] = field(default_factory=list)
    """What a provider would refuse, or what should be there and is not; empty when all is well."""
    extras: frozenset[str] = frozenset()
    """Keys that are nobody's business."""
    first_user: bool = True
    """The user's first message is there word for word."""
    last_user: bool = True

    @property
    def fits(self) -> bool:
        return self.tokens <= self.limit


class Provider:
    """A scripted model. `play` gives it the steps of a turn; `truth` is the history that requests are judged by."""

    def __init__(
        self,
        window: int = 20_000,
        output: int = 4_000,
        *,
        strict: bool = False,
        caching: bool = False,
        same_ids: bool = False,
        escaped: bool = False,
    ) -> None:
        self.window, self.output = window, output
        self.strict, self.caching, self.same_ids, self.escaped = strict, caching, same_ids, escaped
        self.requests: list[Request] = []
        self.truth: list[Message] = []
        self.coordinator: Any = None
        self._steps: list[Step] = []
        self._made = 0
        self._judge = Judge()

    # The contract of a provider

    @property
    def name(self) -> str:
        return "scripted"

    @property
    def limit(self) -> int:
        """Tokens that a request may have beside the room for an answer."""
        return self.window - self.output

    def get_info(self) -> ProviderInfo:
        defaults = {"context_window": self.window, "max_output_tokens": self.output, "model": "scripted-1"}
        return ProviderInfo(id=self.name, display_name="Scripted", capabilities=["tools"], defaults=defaults)

    async def list_models(self) -> list[ModelInfo]:
        model = {"context_window": self.window, "max_output_tokens": self.output}
        return [ModelInfo(id="scripted-1", display_name="Scripted 1", **model)]

    async def complete(self, request: ChatRequest, **options: Any) -> ChatResponse:
        sent = self._judged(request)
        self.requests.append(sent)
        if not sent.fits:
            raise ContextLengthError(
                f"prompt is too long: {sent.tokens} tokens > {sent.limit} maximum", provider=self.name, status_code=413
            )
        if self.strict and sent.problems:
            raise InvalidRequestError("; ".join(sent.problems), provider=self.name, status_code=400)
        step = self._steps.pop(0) if self._steps else Step("There is nothing left to do.")
        response = self._response(step, sent)
        await self._tell(response)
        return response

    def parse_tool_calls(self, response: ChatResponse) -> list[ToolCall]:
        return list(response.tool_calls or ())

    # The script

    def play(self, steps: Iterable[Step]) -> None:
        """The steps of the next turn. What an earlier turn left undone is forgotten."""
        self._steps = list(steps)

    def _response(self, step: Step, sent: Request) -> ChatResponse:
        calls = [ToolCall(id=self._id(), name=use.tool, arguments=dict(use.arguments)) for use in step.uses]
        blocks: list[Message] = []
        if step.thinking:
            blocks.append({"type": "thinking", "thinking": step.thinking, "signature": f"sig{self._made}"})
        if step.text:
            blocks.append({"type": "text", "text": step.text})
        blocks += [{"type": "tool_call", "id": call.id, "name": call.name, "input": call.arguments} for call in calls]
        usage = self._usage(sent, TOKENIZER.count(json.dumps(blocks)))
        return ChatResponse(
            content=blocks, tool_calls=calls or None, usage=usage, finish_reason="tool_use" if calls else "stop"
        )

    def _id(self) -> str:
        self._made += 1
        return "call_0" if self.same_ids else f"call_{self._made}"

    def _usage(self, sent: Request, answer: int) -> Usage:
        """What providers report; with caching, tokens that were read from the cache are not among the input tokens."""
        if not self.caching:
            return Usage(input_tokens=sent.tokens, output_tokens=answer, total_tokens=sent.tokens + answer)
        before = self.requests[-2].messages if len(self.requests) > 1 else []
        read = sum(cost(message, self.escaped) for message in common(before, sent.messages))
        return Usage(
            input_tokens=1,
            output_tokens=answer,
            total_tokens=sent.tokens + answer,
            cache_read_tokens=read,
            cache_write_tokens=sent.tokens - read - 1,
        )

    async def _tell(self, response: ChatResponse) -> None:
        if self.coordinator is None or response.usage is None:
            return
        usage = response.usage.model_dump(exclude_none=True)
        data = {"provider": self.name, "model": "scripted-1", "status": "ok", "usage": usage, "duration_ms": 1}
        await self.coordinator.hooks.emit("llm:response", data)

    # The judge

    def _judged(self, request: ChatRequest) -> Request:
        everything = [plain(message.model_dump()) for message in request.messages]
        appended = (request.metadata or {}).get("appended", 0)  # messages that the loop put behind the view
        view = everything[: len(everything) - appended]
        spec = json.dumps([tool.model_dump(exclude_none=True) for tool in request.tools or ()])
        tokens = sum(cost(message, self.escaped) for message in everything) + TOKENIZER.count(spec)
        users = [message for message in self.truth if message.get("role") == "user" and not injected(message)]
        return Request(
            messages=view,
            tokens=tokens,
            limit=self.limit,
            problems=self._judge.problems(view, self.truth) + list(_disagreeing(view)),
            extras=frozenset(key for message in view for key in message) - KNOWN,
            first_user=not users or any(alike(message, users[0]) for message in view),
            last_user=not users or any(alike(message, users[-1]) for message in view),
        )


def alike(message: Message, original: Message) -> bool:
    """The same words of the same speaker."""
    return (message["role"], message.get("content")) == (original["role"], original.get("content"))


def injected(message: Message) -> bool:
    """Put in by a hook."""
    metadata = message.get("metadata") or {}
    return metadata.get("source") == "hook" or bool(metadata.get("ephemeral"))


def plain(value: Any) -> Any:
    """The same without empty values: the kernel's models write None for every field that is not set."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if item is not None}
    return [plain(item) for item in value] if isinstance(value, list) else value


def common(before: list[Message], after: list[Message]) -> list[Message]:
    """The messages that both begin with."""
    length = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), None)
    return after[: min(len(before), len(after)) if length is None else length]


def _disagreeing(view: list[Message]) -> Any:
    """Calls stand in the content and beside it: both must name the same ones."""
    for at, message in enumerate(view):
        content, beside = message.get("content"), message.get("tool_calls")
        if isinstance(content, list) and beside is not None:
            inside = [block["id"] for block in content if block.get("type") == "tool_call"]
            if inside and inside != [call.get("id") for call in beside]:
                yield f"view[{at}]: calls in the content and beside it are not the same"


# Counting


def cost(message: Message, escaped: bool = False) -> int:
    """Tokens of a message as it goes over the wire: its texts, and the JSON around them. Calls count once.

    With `escaped` the texts, too, are counted as JSON: more than any provider counts.
    """
    return _cost(json.dumps(message, ensure_ascii=False, sort_keys=True, default=str), escaped)


@lru_cache(maxsize=65_536)
def _cost(message: str, escaped: bool) -> int:
    texts: list[str] = []
    pictures: list[None] = []
    frame = json.dumps(_hollow(_wire(json.loads(message)), texts, pictures, escaped), ensure_ascii=False)
    return TOKENIZER.count(frame) + sum(map(TOKENIZER.count, texts)) + PICTURE * len(pictures)


def _wire(message: Message) -> Message:
    """What of a message is sent: bookkeeping stays, and calls go once."""
    sent: Message = {key: message[key] for key in ("role", "content", "tool_call_id") if key in message}
    content = sent.get("content")
    inside = (
        {block.get("id") for block in content if block.get("type") == "tool_call"}
        if isinstance(content, list)
        else set()
    )
    beside = [call for call in message.get("tool_calls") or () if call.get("id") not in inside]
    return {**sent, "tool_calls": beside} if beside else sent


def _hollow(value: Any, texts: list[str], pictures: list[None], escaped: bool) -> Any:
    """The JSON with its texts and pictures taken out."""
    if isinstance(value, dict):
        if value.get("type") == "base64" and "data" in value:
            pictures.append(None)
            return ""
        inner = {key: _hollow(item, texts, pictures, escaped) for key, item in value.items()}
        for key in ("content", "text", "thinking"):
            if isinstance(inner.get(key), str) and not escaped:
                texts.append(inner[key])
                inner[key] = ""
        return inner
    return [_hollow(item, texts, pictures, escaped) for item in value] if isinstance(value, list) else value
