"""A chat model of LangChain that follows a script and has a hard window, and the judge of the requests that it gets."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from langchain_core.exceptions import ContextOverflowError
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from tests.integrations import world

ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def called(step: int, style: str = "") -> AIMessage:
    """What the model answers at a step of the world, as one of the partners writes it."""
    calls = world.calls_at(step)
    if not calls:
        return AIMessage(world.text_at(step))
    listed = [{"id": each.id, "name": each.name, "args": each.arguments} for each in calls]
    if style == "anthropic":  # each call twice
        uses = [{"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments} for each in calls]
        return AIMessage([{"type": "text", "text": f"I look, step {step}."}, *uses], tool_calls=listed)
    if style == "responses":
        items = [
            {"type": "function_call", "id": f"fc_{each.id}", "call_id": each.id, "name": each.name}
            | {"arguments": json.dumps(each.arguments)}
            for each in calls
        ]
        text = {"type": "text", "text": f"I look, step {step}.", "id": f"msg_{step}"}
        return AIMessage([text, *items], tool_calls=listed)
    return AIMessage("", tool_calls=listed)


class Scripted(BaseChatModel):
    """Answers each request by a function of the number of requests that it answered before."""

    script: Callable[[int], AIMessage] = called
    window: int | None = None
    """Tokens, at a quarter of a character each, of the longest request that it accepts."""
    model: str = "scripted"
    usage: bool = True
    failures: list[Exception] = Field(default_factory=list)
    """Raised one by one before it answers."""
    requests: list[Any] = Field(default_factory=list)
    """The messages of each request that was answered: the objects themselves."""
    rejected: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **options)

    def _answer(self, messages: list[BaseMessage], tools: Any = ()) -> AIMessage:
        size = tokens_of(messages, tools)
        if self.failures:
            self.rejected.append(messages)
            raise self.failures.pop(0)
        if self.window is not None and size > self.window:
            self.rejected.append(messages)
            raise ContextOverflowError(f"prompt is too long: {size} tokens > {self.window} maximum")
        answer = self.script(len(self.requests))
        self.requests.append(messages)
        if self.usage:
            answer.usage_metadata = {"input_tokens": size, "output_tokens": 20, "total_tokens": size + 20}
        return answer

    def _generate(self, messages: list[BaseMessage], *args: Any, tools: Any = (), **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, tools))])

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, tools: Any = (), **options: Any) -> ChatResult:
        return self._generate(messages, tools=tools)

    def _stream(
        self, messages: list[BaseMessage], *args: Any, tools: Any = (), **options: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, tools)
        chunks: list[Any] = [
            {"id": call["id"], "name": call["name"], "args": json.dumps(call["args"]), "index": at}
            for at, call in enumerate(answer.tool_calls)
        ]
        for word in str(answer.content).split(" ")[:-1] if not chunks else ():
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"{word} "))
        last = answer.content if chunks else str(answer.content).split(" ")[-1]
        yield ChatGenerationChunk(
            message=AIMessageChunk(content=last, tool_call_chunks=chunks, usage_metadata=answer.usage_metadata)
        )

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, tools: Any = (), **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._stream(messages, tools=tools):
            yield chunk


def tokens_of(messages: Sequence[BaseMessage], tools: Any = ()) -> int:
    """The tokens of a request as this provider counts them."""
    listed = sum(len(json.dumps(each)) // 4 for each in tools)
    return listed + sum(4 + len(json.dumps(wire(message), ensure_ascii=False)) // 4 for message in messages)


def wire(message: BaseMessage) -> dict[str, Any]:
    """A message as it is sent, in OpenAI's dialect or in Anthropic's blocks. It shares no code with the adapter."""
    sent: dict[str, Any] = {"role": ROLES[message.type], "content": message.content}
    if isinstance(message, ToolMessage):
        sent["tool_call_id"] = message.tool_call_id
    if isinstance(message, AIMessage) and message.tool_calls:
        sent["tool_calls"] = [
            {"id": each["id"], "type": "function"}
            | {"function": {"name": each["name"], "arguments": json.dumps(each["args"])}}
            for each in message.tool_calls
        ]
        if isinstance(message.content, list):  # both must name the same calls
            written = [
                block.get("call_id", block.get("id"))
                for block in message.content
                if isinstance(block, dict) and "name" in block
            ]
            assert written in ([], [each["id"] for each in message.tool_calls])
            sent["content"] = [block for block in message.content if "name" not in block]
    return sent


def without_system(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The messages behind the system prompt."""
    return [message for message in messages if message.type != "system"]


def faults(model: Any, history: Sequence[BaseMessage]) -> list[str]:
    """What is wrong with the requests of one conversation, each with the history of its time."""
    seen = []
    for request in model.requests:
        newest = without_system(request)[-1]
        upto = next(at for at, message in enumerate(history) if message is newest or message.id == newest.id)
        seen.append((list(map(wire, without_system(request))), list(map(wire, history[: upto + 1]))))
    return world.faults(seen)


def strangers(model: Scripted, history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Messages of requests that equal one of the history without being that object."""
    own = {id(message) for message in history}
    texts = {json.dumps(wire(message), sort_keys=True) for message in history}
    return [
        message
        for request in model.requests
        for message in without_system(request)
        if id(message) not in own and json.dumps(wire(message), sort_keys=True) in texts
    ]
