"""A request of the SDK to a model: what goes with the items, and what is refused."""

import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from agents import AgentOutputSchemaBase, FunctionTool, Handoff, ModelResponse, ModelSettings, Tool
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.models.interface import Model, ModelTracing
from openai.types.responses.response_prompt_param import ResponsePromptParam

from backscroll.errors import ConfigurationError
from backscroll.integrations.item_runs import Item


class ModelRequest(NamedTuple):
    """The arguments of `Model.get_response` and `Model.stream_response`."""

    system_instructions: str | None
    input: str | list[TResponseInputItem]
    model_settings: ModelSettings
    tools: list[Tool]
    output_schema: AgentOutputSchemaBase | None
    handoffs: list[Handoff[Any, Any]]
    tracing: ModelTracing
    previous_response_id: str | None
    conversation_id: str | None
    prompt: ResponsePromptParam | None

    @property
    def items(self) -> Sequence[Item]:
        """The items; a text is the message of a user."""
        return [{"role": "user", "content": self.input}] if isinstance(self.input, str) else self.input

    @property
    def is_kept_by_provider(self) -> bool:
        """Whether the provider keeps the history, so that the items are only what is new."""
        return self.previous_response_id is not None or self.conversation_id is not None

    def definitions(self) -> list[dict[str, Any]]:
        """Return what a provider puts before all items: the tools, the handoffs, and the format of the answer.

        Providers bind reasoning to these, so a change of any must be noticed.
        """
        return [*map(_tool, self.tools), *map(_handoff, self.handoffs), *_format(self.output_schema)]

    def check(self) -> None:
        """Raise `ConfigurationError` if the provider would shorten the history as well."""
        settings = self.model_settings
        if settings.truncation == "auto":
            raise ConfigurationError(
                "ModelSettings(truncation='auto') lets the provider drop items of the view without a trace, while "
                "Backscroll makes each request fit: leave `truncation` out"
            )
        if settings.context_management or "context_management" in {
            **(settings.extra_args or {}),
            **(settings.extra_body if isinstance(settings.extra_body, dict) else {}),
        }:
            raise ConfigurationError(
                "`context_management` lets the provider compact the history as well, into an item that only it can "
                "read: leave it out of the ModelSettings"
            )

    async def send(self, model: Model, view: list[Item] | None = None) -> ModelResponse:
        """Send a view instead of the items; `None`: the request as it is."""
        given = self if view is None else self._replace(input=view)
        return await model.get_response(
            *given[:7],
            previous_response_id=self.previous_response_id,
            conversation_id=self.conversation_id,
            prompt=self.prompt,
        )

    def stream(self, model: Model, view: list[Item] | None = None) -> AsyncIterator[TResponseStreamEvent]:
        """Do the same, and return the events of the answer."""
        given = self if view is None else self._replace(input=view)
        return model.stream_response(
            *given[:7],
            previous_response_id=self.previous_response_id,
            conversation_id=self.conversation_id,
            prompt=self.prompt,
        )


def _tool(tool: Tool) -> dict[str, Any]:
    if isinstance(tool, FunctionTool):
        return {
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.params_json_schema,
            "strict": tool.strict_json_schema,
            "defer_loading": tool.defer_loading,
        }
    return {"type": tool.name, **dict(_settings(tool))}


def _settings(tool: Any) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a hosted tool that are JSON; the others are functions and objects of the program."""
    for field in fields(tool) if is_dataclass(tool) else ():
        value = getattr(tool, field.name)
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            continue
        yield field.name, value


def _handoff(handoff: Handoff[Any, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "name": handoff.tool_name,
        "description": handoff.tool_description,
        "parameters": handoff.input_json_schema,
        "strict": handoff.strict_json_schema,
    }


def _format(schema: AgentOutputSchemaBase | None) -> list[dict[str, Any]]:
    if schema is None or schema.is_plain_text():
        return []
    return [{"type": "json_schema", "name": "final_output", "schema": schema.json_schema()}]
