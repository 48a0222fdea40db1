"""Agents of Pydantic AI with a scripted model, and their requests in a dialect that our judge reads."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelContextWindowExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.tokens.engines import resolve
from tests.integrations import world

Reply = ModelResponse | Exception
_COUNT = lru_cache(maxsize=None)(resolve("auto").count)  # the same texts come again with every request
Script = Callable[[int, list[ModelMessage]], Reply]


class Scripted(FunctionModel):
    """A model that follows a script, keeps what it was sent, and refuses what is longer than its window.

    Args:
        script: Returns the reply to an accepted request, by its number.
        window: Tokens of its window that Pydantic AI knows; half of it is for the answer. `None`: unknown.
        limit: Tokens of a request above which it refuses. `None`: half of the window.
        name: Its name.
        system: Its provider. Of `function`, Pydantic AI guesses the usage; so it does of all streams.
    """

    def __init__(
        self,
        script: Script | None = None,
        *,
        window: int | None = 2 * world.BUDGET,
        limit: int | None = None,
        name: str = "m",
        system: str = "scripted",
    ) -> None:
        profile: Any = {"context_window": window} if window else {}
        super().__init__(self._answer, stream_function=self._stream, model_name=name, profile=profile)
        self.script = script or by_world
        self._system = system
        self.requests: list[list[ModelMessage]] = []
        self.spoken: list[list[dict[str, Any]]] = []
        """The same in the judge's dialect, as they were then."""
        self.parameters: list[ModelRequestParameters] = []
        self.limit = limit or (window or 0) // 2
        self.answered = self.refused = 0

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tokens = tokens_of(messages, info)
        if self.limit and tokens > self.limit:
            self.refused += 1
            raise too_long(tokens, self.limit)
        self.requests.append(messages)
        self.spoken.append(spoken(messages))
        self.parameters.append(info.model_request_parameters)
        reply = self.script(self.answered, messages)
        if isinstance(reply, Exception):
            raise reply
        self.answered += 1
        reply.usage = RequestUsage(input_tokens=tokens, output_tokens=20)
        return reply

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        response = await self._answer(messages, info)
        for number, part in enumerate(response.parts):
            if isinstance(part, TextPart):
                for word in part.content.split(" "):
                    yield f"{word} "
            elif isinstance(part, ToolCallPart):
                yield {number: DeltaToolCall(part.tool_name, part.args_as_json_str(), tool_call_id=part.tool_call_id)}


def too_long(tokens: int, limit: int) -> ModelContextWindowExceededError:
    """What Pydantic AI raises for a request that its provider rejected as too long."""
    return ModelContextWindowExceededError("m", f"prompt is too long: {tokens} tokens > {limit} maximum")


def tokens_of(messages: Sequence[ModelMessage], info: AgentInfo) -> int:
    """The tokens of a request."""
    parameters = info.model_request_parameters
    tools = [json.dumps(tool.parameters_json_schema) + str(tool.description) for tool in parameters.tool_defs.values()]
    found = spoken(messages)
    calls = [call["function"] for each in found for call in each.get("tool_calls", ())]
    texts = [*(each["content"] or "" for each in found), *(call["name"] + call["arguments"] for call in calls)]
    return 4 * len(found) + sum(map(_COUNT, [info.instructions or "", *tools, *texts]))


def called(*calls: world.Called, text: str = "") -> ModelResponse:
    """A reply that calls tools."""
    parts = [ToolCallPart(call.name, call.arguments, call.id) for call in calls]
    return ModelResponse(parts=[*([TextPart(text)] if text else ()), *parts])


def said(text: str) -> ModelResponse:
    """A reply in words."""
    return ModelResponse(parts=[TextPart(text)])


def by_world(step: int, messages: list[ModelMessage]) -> ModelResponse:
    """Follow the script that all frameworks share."""
    calls = world.calls_at(step)
    return called(*calls) if calls else said(world.text_at(step))


def agent_of(model: Scripted, context: Backscroll[Any] | None = None, **options: Any) -> Agent[Any, Any]:
    """An agent with the tool `order`."""
    options = {"instructions": world.SYSTEM, "name": "shop", **options}
    capabilities = [context or Backscroll(), *options.pop("capabilities", ())]
    return Agent(model, tools=[world.order], capabilities=capabilities, **options)


def spoken(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Messages in the dialect of OpenAI, part by part."""
    return [each for message in messages for each in _spoken(message)]


def _spoken(message: ModelMessage) -> list[dict[str, Any]]:
    if isinstance(message, ModelRequest):
        return [_request_part(part) for part in message.parts]
    calls = [
        {"id": part.tool_call_id, "type": "function", "function": function_of(part)}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    text = "".join(part.content for part in message.parts if isinstance(part, TextPart))
    return [{"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})]


def function_of(part: ToolCallPart) -> dict[str, Any]:
    return {"name": part.tool_name, "arguments": json.dumps(part.args_as_dict())}


def _request_part(part: Any) -> dict[str, Any]:
    if part.part_kind == "tool-return":
        return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response_str()}
    if part.part_kind == "system-prompt":
        return {"role": "system", "content": part.content}
    content = part.content if isinstance(part.content, str) else [str(item) for item in part.content]
    return {"role": "user", "content": content if isinstance(content, str) else "\n".join(content)}


async def turns(agent: Agent[Any, Any], number: int, *, begin: int = 0, history: Any = None, **options: Any) -> Any:
    """Run turns of the shared script, each with the messages of the one before. Returns the last result."""
    result = None
    for turn in range(begin, begin + number):
        result = await agent.run(world.asked(turn), message_history=history, **options)
        history = result.all_messages()
    return result


def kept(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """A copy of messages, to compare them with later."""
    return deepcopy(list(messages))
