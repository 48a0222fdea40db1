"""What a request holds next to its contents: the model's name, the system prompt, tools, the form of the answer."""

import json
from collections.abc import Sequence
from typing import Any

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.base_tool import BaseTool
from google.genai import types

from backscroll.integrations.adk.conversation import ADKConversation
from backscroll.integrations.adk.translation import ADKTranslation
from backscroll.manager.base import MAIN
from backscroll.messages import Message


def lane_of(request: LlmRequest, model: BaseLlm) -> str:
    """Return the name of the model, which names the lane."""
    return request.model or model.model or MAIN


def system_of(request: LlmRequest) -> str | None:
    """Return the system prompt of a request; `None` if it has none."""
    given: Any = request.config.system_instruction
    if given is None or isinstance(given, str):
        return given or None
    held = given if isinstance(given, list) else getattr(given, "parts", None) or [given]
    return "\n\n".join(each if isinstance(each, str) else getattr(each, "text", None) or "" for each in held) or None


def tools_of(request: LlmRequest) -> list[dict[str, Any]] | None:
    """Return the definitions of the tools of a request; `None` if it has none."""
    tools = request.config.tools or ()
    found = [tool.model_dump(mode="json", exclude_none=True) for tool in tools if isinstance(tool, types.Tool)]
    return found or None


def offer(tool: BaseTool, request: LlmRequest, model: BaseLlm) -> None:
    """Add a tool to a request, unless its model can call no function: it answers in a form, or has built-in tools only.

    Args:
        tool: The tool.
        request: The request.
        model: The model that it goes to.
    """
    given = request.config.tools or []
    declares = any(isinstance(each, types.Tool) and each.function_declarations for each in given)
    if tool.name in request.tools_dict or (given and not declares):
        return
    if _schema(request) and not model.capabilities.output_schema_and_tools:
        return
    request.append_tools([tool])


def overhead_of(request: LlmRequest, extra: Sequence[types.Content], conversation: ADKConversation, lane: str) -> int:
    """Return the expected tokens of what belongs to this request only.

    Args:
        request: The request.
        extra: Contents of this request only.
        conversation: The conversation, whose tokenizer counts.
        lane: The lane of the request.
    """
    schema = _schema(request)
    messages: list[Message] = [{"role": "system", "content": schema}] if schema else []
    messages += map(ADKTranslation().to_message, extra)
    return conversation.expected_tokens(messages, lane) if messages else 0


def _schema(request: LlmRequest) -> str:
    """Return the form that the answer must have."""
    shape: Any = request.config.response_schema or request.config.response_json_schema
    if shape is None:
        return ""
    if callable(schema := getattr(shape, "model_json_schema", None)):
        shape = schema()
    return json.dumps(shape, default=str)
