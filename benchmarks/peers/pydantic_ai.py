"""Pydantic AI: a history processor, and the list of messages written as JSON."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage

from peers.base import Keeper, Message, Peer, assistant, call, calls_of, plain, result


def read(message: Message) -> Any:
    """One message of the framework."""
    text = plain(message.get("content"))
    match message["role"]:
        case "system":
            return ModelRequest([SystemPromptPart(text)])
        case "user":
            return ModelRequest([UserPromptPart(text)])
        case "tool":
            return ModelRequest([ToolReturnPart("tool", text, tool_call_id=message["tool_call_id"])])
    parts: list[Any] = [TextPart(text)] if text else []
    for known, name, arguments in calls_of(message):
        parts.append(ToolCallPart(name, arguments, tool_call_id=known))
    return ModelResponse(parts)


def written(message: Any) -> list[Message]:
    """Its OpenAI messages."""
    if isinstance(message, ModelResponse):
        text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
        calls: list[Any] = [part for part in message.parts if isinstance(part, ToolCallPart)]
        return [assistant(text, [call(one.tool_call_id, one.tool_name, one.args) for one in calls])]
    found: list[Message] = []
    for part in message.parts:
        if isinstance(part, ToolReturnPart):
            found.append(result(part.tool_call_id, str(part.content)))
        else:
            found.append({"role": "system" if isinstance(part, SystemPromptPart) else "user", "content": part.content})
    return found


def _size(message: Any) -> int:
    return sum(len(str(getattr(part, "content", "") or getattr(part, "args", ""))) for part in message.parts) // 4


class Processor(Peer):
    """A function of the user's over the list; what it returns is what the run goes on with."""

    name = "Pydantic AI, history processor"
    package = "pydantic-ai-slim"
    about = "ProcessHistory: the newest messages of 4 characters a token, from an answer's own call on"
    keeps, where = "its view", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        self.budget = budget
        self.capability = ProcessHistory(self._newest)
        self.model = TestModel()
        self.context: Any = RunContext(deps=None, model=self.model, usage=RunUsage())

    async def _newest(self, messages: list[Any]) -> list[Any]:
        used, first = _size(messages[0]), len(messages)
        while first > 1 and used + _size(messages[first - 1]) <= self.budget:
            first -= 1
            used += _size(messages[first])
        while first < len(messages) and any(isinstance(part, ToolReturnPart) for part in messages[first].parts):
            first += 1
        return messages[:1] + messages[first:]

    def read(self, message: Message) -> Any:
        return read(message)

    async def add(self, native: Any) -> None:
        self.context.messages.append(native)

    async def view(self) -> Sequence[Any]:
        asked = ModelRequestContext(
            model=self.model,
            messages=list(self.context.messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return (await self.capability.before_model_request(self.context, asked)).messages

    def written(self, view: Sequence[Any]) -> list[Message]:
        return [one for message in view for one in written(message)]


class Json(Keeper):
    """The whole list written anew for each message, as the documentation stores it."""

    name = "Pydantic AI, messages as JSON"
    package = "pydantic-ai-slim"
    about = "ModelMessagesTypeAdapter.dump_json of all messages into a file, without fsync"
    synced = False

    def __init__(self, folder: Path) -> None:
        self.file = folder / "messages.json"
        self.messages: list[Any] = []

    def read(self, message: Message) -> Any:
        return read(message)

    async def append(self, native: Any) -> None:
        self.messages.append(native)
        self.file.write_bytes(ModelMessagesTypeAdapter.dump_json(self.messages))

    async def preload(self, natives: Sequence[Any]) -> None:
        self.messages.extend(natives)
        self.file.write_bytes(ModelMessagesTypeAdapter.dump_json(self.messages))

    async def resume(self, budget: int) -> int:
        self.messages = ModelMessagesTypeAdapter.validate_json(self.file.read_bytes())
        return len(self.messages)
