"""The `recall` tool, as Pydantic AI offers tools."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext, Tool
from pydantic_ai.toolsets import FunctionToolset

from backscroll.recall.tool import tool_definition


def recall_toolset(answer: Callable[[RunContext[Any], dict[str, Any]], Awaitable[str]]) -> FunctionToolset[Any]:
    """Return a toolset with the tool.

    Args:
        answer: Answers a call in a run. It gets the model's arguments.
    """

    async def recall(ctx: RunContext[Any], **arguments: Any) -> str:
        return await answer(ctx, arguments)

    definition: Any = tool_definition("anthropic")
    name, description, schema = definition["name"], definition["description"], definition["input_schema"]
    return FunctionToolset([Tool[Any].from_schema(recall, name, description, schema, takes_ctx=True)])
