"""Chat models over the fake providers that bind reasoning, with messages as langchain-anthropic and langchain-openai
write and read them.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIResponses, Reply
from tests.bound_agent import BETAS, BINDING

IDS = "__openai_function_call_ids__"


class _Bound(BaseChatModel):
    """A chat model over a fake provider."""

    provider: Any = None
    script: Callable[[Any], Reply]
    requests: list[Any] = Field(default_factory=list)
    dropped: list[Any] = Field(default_factory=list)
    """What the provider left out of requests."""

    @property
    def _llm_type(self) -> str:
        return "bound"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self.bind(tools=[convert_to_openai_tool(tool)["function"] for tool in tools], **options)

    def _generate(self, messages: list[BaseMessage], *args: Any, tools: Any = (), **options: Any) -> ChatResult:
        self.requests.append(messages)
        answer = self._asked(messages, tools)
        self.dropped += self.provider.transformations
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def _asked(self, messages: list[BaseMessage], tools: Any) -> AIMessage:
        raise NotImplementedError


class BoundClaude(_Bound):
    """langchain-anthropic over a provider that refuses thinking behind an edited prefix."""

    model: str = "claude-opus-5-5"

    def model_post_init(self, context: Any) -> None:
        self.provider = FakeAnthropic(replies=self.script)

    def _asked(self, messages: list[BaseMessage], tools: Any) -> AIMessage:
        request = {"model": self.model, "max_tokens": 1_000, "thinking": BINDING, "betas": BETAS}
        request["system"] = "\n".join(str(each.content) for each in messages if isinstance(each, SystemMessage))
        request["messages"] = claude_wire(messages)
        named = [{"name": each["name"], "input_schema": each["parameters"]} for each in tools]
        response = self.provider.create(**request, **({"tools": named} if named else {}))
        calls = [block for block in response["content"] if block["type"] == "tool_use"]
        usage = response["usage"]
        read, written = usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]
        total = usage["input_tokens"] + read + written
        return AIMessage(
            response["content"],
            tool_calls=[{"id": each["id"], "name": each["name"], "args": each["input"]} for each in calls],
            usage_metadata={
                "input_tokens": total,
                "output_tokens": usage["output_tokens"],
                "total_tokens": total + usage["output_tokens"],
                "input_token_details": {"cache_read": read, "cache_creation": written},
            },
        )


def claude_wire(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as langchain-anthropic sends them: runs of a user's and of results are one message."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, SystemMessage):
            continue
        content: Any = message.content
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
        if isinstance(message, ToolMessage):
            failed = message.status == "error"
            blocks = [
                {"type": "tool_result", "tool_use_id": message.tool_call_id} | {"content": content, "is_error": failed}
            ]
        role = "assistant" if isinstance(message, AIMessage) else "user"
        if found and found[-1]["role"] == role == "user":
            found[-1]["content"] += blocks
        else:
            found.append({"role": role, "content": blocks})
    return found


class BoundGpt(_Bound):
    """langchain-openai over a provider that refuses reasoning behind an edited prefix."""

    model: str = "gpt-6.2-sol"
    old: bool = False
    """Whether answers are in the form that langchain-openai gives them by default."""

    def model_post_init(self, context: Any) -> None:
        self.provider = FakeOpenAIResponses(replies=self.script, on_mismatch="error")

    def _asked(self, messages: list[BaseMessage], tools: Any) -> AIMessage:
        named = [{"type": "function", "name": each["name"], "parameters": each["parameters"]} for each in tools]
        response = self.provider.create(
            model=self.model, input=gpt_wire(messages), **({"tools": named} if named else {})
        )
        blocks: list[Any] = []
        for item in response["output"]:
            if item["type"] == "message":
                blocks += [{"type": "text", "text": part["text"], "id": item["id"]} for part in item["content"]]
            else:
                blocks.append(item)
        calls = [
            {"id": item["call_id"], "name": item["name"], "args": json.loads(item["arguments"])}
            for item in blocks
            if item["type"] == "function_call"
        ]
        return _as_before(blocks, calls) if self.old else AIMessage(blocks, tool_calls=calls, id=response["id"])


def _as_before(blocks: list[Any], calls: list[Any]) -> AIMessage:
    texts = [block for block in blocks if block["type"] == "text"]
    more: dict[str, Any] = {IDS: {each["call_id"]: each["id"] for each in blocks if each["type"] == "function_call"}}
    if thought := next((each for each in blocks if each["type"] == "reasoning"), None):
        more["reasoning"] = thought
    content: list[Any] = [{"type": "text", "text": block["text"]} for block in texts]
    return AIMessage(content, tool_calls=calls, additional_kwargs=more, id=texts[0]["id"] if texts else None)


def gpt_wire(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Messages as langchain-openai sends them to the Responses API."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            found.append({"type": "function_call_output", "call_id": message.tool_call_id, "output": message.content})
        elif isinstance(message, AIMessage):
            found += _items_of(message)
        else:
            role = "user" if isinstance(message, HumanMessage) else "system"
            found.append({"type": "message", "role": role, "content": message.content})
    return found


def _items_of(message: AIMessage) -> list[dict[str, Any]]:
    more = message.additional_kwargs
    found = [more["reasoning"]] if "reasoning" in more else []
    content: Any = message.content
    for block in [{"type": "text", "text": content}] if isinstance(content, str) and content else content:
        if block["type"] != "text":
            found.append(block)
            continue
        known = block.get("id", message.id if str(message.id).startswith("msg_") else None)
        said: dict[str, Any] = {"type": "message", "role": "assistant"}
        said |= {"content": [{"type": "output_text", "text": block["text"], "annotations": []}]}
        found.append(said | ({"id": known} if known else {}))
    written = [item.get("call_id") for item in found]
    for call in message.tool_calls:
        if call["id"] not in written:
            item = {"type": "function_call", "call_id": call["id"], "name": call["name"]}
            item |= {"arguments": json.dumps(call["args"])}
            known = more.get(IDS, {}).get(call["id"])
            found.append(item | ({"id": known} if known else {}))
    return found
