"""What a request holds outside the messages: its lane, its budget, its tools and its system prompt."""

import json
from collections.abc import Mapping, Sequence
from operator import is_
from typing import Any

from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool

from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.langchain.conversation import LangChainConversation
from backscroll.integrations.langchain.models import check_model, input_budget, lane_of
from backscroll.integrations.langchain.translation import LangChainTranslation

_TRANSLATION = LangChainTranslation()


class RequestReader:
    """Reads the requests of one adapter. Definitions of tools are made once, as long as the tools stay the same.

    Args:
        has_budget: Whether the options give a budget, which goes before the model's own window.
    """

    def __init__(self, *, has_budget: bool) -> None:
        self._has_budget = has_budget
        self._newest: tuple[list[Any], list[dict[str, Any]]] = ([], [])
        """Tools and formats of the newest request, and their definitions."""

    def read(
        self,
        conversation: LangChainConversation,
        model: Any,
        settings: Mapping[str, Any],
        *,
        tools: Sequence[Any] = (),
        system: str | None = None,
        added: Sequence[BaseMessage] = (),
    ) -> ModelCall:
        """Return what is known of a request.

        Args:
            conversation: The conversation.
            model: The chat model.
            settings: What the model is called with.
            tools: Tools, their definitions, and formats of the answer.
            system: The text of the system prompt.
            added: Messages that only this request has.

        Raises:
            ConfigurationError: The model's provider keeps or compacts the conversation.
        """
        check_model(model, settings)
        lane = lane_of(model)
        return ModelCall(
            budget=None if self._has_budget else input_budget(model, settings),
            lane=lane,
            overhead_tokens=conversation.expected_tokens(list(map(_TRANSLATION.to_message, added)), lane)
            if added
            else 0,
            tools=self._definitions(tools) or None,
            system=system or None,
        )

    def _definitions(self, tools: Sequence[Any]) -> list[dict[str, Any]]:
        known, found = self._newest
        if len(known) != len(tools) or not all(map(is_, known, tools)):
            found = [definition for tool in tools for definition in _definitions(tool)]
            self._newest = list(tools), found
        return found


def _definitions(tool: Any) -> list[dict[str, Any]]:
    """Return the definitions of a tool, or of the format of an answer."""
    if isinstance(tool, ToolStrategy):
        return [_of_schema(spec) for spec in tool.schema_specs]
    if isinstance(tool, ProviderStrategy):
        return [_of_schema(tool.schema_spec)]
    if isinstance(tool, AutoStrategy):
        return _definitions(ToolStrategy(tool.schema))
    if isinstance(tool, Mapping):
        plain: dict[str, Any] = json.loads(json.dumps(tool, default=str))
        return [plain]
    found = convert_to_openai_tool(tool)
    deferred = isinstance(tool, BaseTool) and (tool.extras or {}).get("defer_loading")
    return [{**found, "defer_loading": True} if deferred else found]


def _of_schema(spec: Any) -> dict[str, Any]:
    return {"name": spec.name, "description": spec.description, "parameters": spec.json_schema}
