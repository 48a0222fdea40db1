"""LangChain's messages to stored ones and back.

The library's own conversion is not used: it loses the status of results, artifacts and usage, and rewrites images.
"""

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from backscroll.errors import MessageError
from backscroll.integrations.langchain.blocks import to_stored
from backscroll.integrations.translation import Translation
from backscroll.messages import Message
from backscroll.messages.dialects.response_items import is_envelope

_FROM_HOST = {"metadata": {"source": "host"}}
"""Of system messages within the history, which the prompt of an agent does not replace."""
_APART = {"calls": "apart"}
"""Keeps a message whose blocks are all items of the Responses API from being read as an envelope of items."""
_OPENAI_IDS = "__openai_function_call_ids__"
"""Where langchain-openai keeps the item ids of calls outside the content."""
_WITH_IDS = ("text", "output_text", "refusal", "function_call", "custom_tool_call")


class LangChainTranslation(Translation[BaseMessage]):
    """Reads LangChain's messages as stored ones, with content as it is and OpenAI's `tool_calls`."""

    def to_message(self, native: BaseMessage) -> Message:
        """Return the message to store."""
        if isinstance(native, AIMessage):
            return _of_model(native)
        content = _stored_content(native.content)
        if isinstance(native, ToolMessage):
            failed = {"status": "error"} if native.status == "error" else {}
            return {"role": "tool", "tool_call_id": native.tool_call_id, "content": content, **failed}
        if isinstance(native, FunctionMessage):
            return {"role": "function", "name": native.name, "content": content}
        if isinstance(native, SystemMessage):
            return {"role": "system", "content": content, **_FROM_HOST}
        role = native.role if isinstance(native, ChatMessage) else "user"
        return {"role": role if role in ("system", "developer", "assistant") else "user", "content": content}

    def to_native(self, message: Message, natives: Sequence[BaseMessage]) -> BaseMessage:
        """Return a copy of the first message that is represented, with what the view changed; or a new message."""
        like = next((each for each in natives if self.to_message(each)["role"] == message["role"]), None)
        if like is None:
            held = _restored(message["content"], natives[0], natives) if natives else message["content"]
            return _new({**message, "content": held})
        left = _restored(message["content"], like, natives)
        if not isinstance(like, AIMessage):
            return like.model_copy(update={"content": left})
        return like.model_copy(update={"content": left, **_rest_of_model(like, message, left)})


# -- messages of a model --


def _of_model(native: AIMessage) -> Message:
    """Return the stored form of a model's message, with what partners keep outside of its content."""
    content: Any = _stored_content(native.content)
    if hidden := _hidden(native):
        texts = [{"type": "text", "text": content}] if isinstance(content, str) and content else content
        content = [*hidden, *(texts or [])]
    message: Message = {"role": "assistant", "content": content}
    if calls := [_call(each["id"], each["name"], _json(each["args"])) for each in native.tool_calls]:
        message["tool_calls"] = calls
    unread = [each for each in native.invalid_tool_calls if each.get("id") and each.get("name")]
    if unread:  # providers are sent these too, and `create_agent` answers them
        calls = [*calls, *(_call(each["id"], each["name"], each.get("args") or "") for each in unread)]
        message["tool_calls"] = calls
    if calls and is_envelope(message):
        message["content"] = [*content, _APART]
    if isinstance(thought := native.additional_kwargs.get("reasoning_content"), str):
        message["reasoning_content"] = thought
    return message


def _hidden(native: AIMessage) -> list[dict[str, Any]]:
    """Return the items of the Responses API that langchain-openai keeps outside of the content by default."""
    found = (
        [{"type": "reasoning", **held}] if isinstance(held := native.additional_kwargs.get("reasoning"), dict) else []
    )
    outputs = native.additional_kwargs.get("tool_outputs")
    return [*found, *(outputs if isinstance(outputs, list) else [])]


def _call(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _json(arguments: Any) -> str:
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise MessageError(f"the arguments of a tool call hold no JSON: {error}") from None


def _rest_of_model(like: AIMessage, message: Message, left: Any) -> dict[str, Any]:
    """Return what changes of a model's message outside of its content."""
    changed: dict[str, Any] = {}
    kept = dict(like.additional_kwargs)
    if "reasoning_content" not in message:
        kept.pop("reasoning_content", None)
    before = _of_model(like)
    if message.get("tool_calls") != before.get("tool_calls"):
        kept.pop("tool_calls", None)  # a copy in the provider's form, which would be sent where the others are gone
        changed |= _calls_of(like, message.get("tool_calls") or [])
    content = message["content"] if isinstance(message["content"], list) else []
    if isinstance(kept.get("tool_outputs"), list):
        kept["tool_outputs"] = [item for item in kept["tool_outputs"] if item in content]
    if _has_reasoning(before["content"]) and not _has_reasoning(content):
        for name in ("reasoning", _OPENAI_IDS):
            kept.pop(name, None)
        if isinstance(left, list):
            changed["content"] = [_without_id(block) for block in left]
        if str(like.id).startswith("msg_"):  # a request that has this id must have the reasoning
            changed["id"] = None
    return {**changed, "additional_kwargs": kept} if kept != like.additional_kwargs else changed


def _calls_of(like: AIMessage, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the calls of a view. One that could not be read is a valid call now if the view replaced its arguments."""
    texts = {call["id"]: call["function"]["arguments"] for call in calls}
    known = [{**each, "args": json.loads(texts[each["id"]])} for each in like.tool_calls if each["id"] in texts]
    unread = [each for each in like.invalid_tool_calls if each.get("id") in texts]
    same = [each for each in unread if texts[each["id"]] == (each.get("args") or "")]
    known += [
        {"type": "tool_call", "id": each["id"], "name": each["name"], "args": json.loads(texts[each["id"]])}
        for each in unread
        if each not in same
    ]
    return {"tool_calls": known, "invalid_tool_calls": same}


def _has_reasoning(content: Any) -> bool:
    return isinstance(content, list) and any(map(_is_reasoning, content))


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "reasoning"


def _without_id(block: Any) -> Any:
    """Return a block without the id under which OpenAI's servers know the reasoning before it."""
    if not isinstance(block, dict) or "id" not in block or block.get("type") not in _WITH_IDS:
        return block
    return {name: value for name, value in block.items() if name != "id"}


# -- content --


def _stored_content(content: Any) -> Any:
    return [to_stored(block) for block in content] if isinstance(content, list) else content


def _restored(content: Any, like: BaseMessage, natives: Sequence[BaseMessage]) -> Any:
    """Return content of a view in the form of `like`, with LangChain's own block in the place of each unchanged one."""
    if not isinstance(content, list):
        return content
    hidden = [item for each in natives if isinstance(each, AIMessage) for item in _hidden(each)]
    own = [block for each in natives if isinstance(each.content, list) for block in each.content]
    stored = [to_stored(block) for block in own]
    shown = [block for block in content if block not in hidden and block != _APART]
    if isinstance(like.content, str) and all(_is_text(block) for block in shown):
        return "".join(block["text"] for block in shown)
    left, after = [], 0
    for block in shown:
        at = next((at for at in range(after, len(own)) if stored[at] == block), None)
        left.append(block if at is None else own[at])
        after = after if at is None else at + 1  # two blocks may be stored alike
    return left


def _is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.keys() == {"type", "text"}


def _new(message: Message) -> BaseMessage:
    """Return a message that only the view has: a summary, or what an adapter's provider needs between two others."""
    content, role = message["content"], message["role"]
    if role == "tool":
        return ToolMessage(content=content, tool_call_id=message["tool_call_id"], status="error")
    if role == "assistant":
        return AIMessage(content=content)
    return SystemMessage(content=content) if role in ("system", "developer") else HumanMessage(content=content)
