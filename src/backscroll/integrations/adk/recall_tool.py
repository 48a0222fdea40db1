"""The tool that reads what views left out, of the agent that calls it."""

from collections.abc import Awaitable, Callable
from typing import Any

from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from backscroll.recall.tool import tool_definition


class RecallTool(BaseTool):
    """The tool `recall`.

    Args:
        answer: Answers a call. It gets the context of the call and the model's arguments.
    """

    def __init__(self, answer: Callable[[ToolContext, dict[str, Any]], Awaitable[str]]) -> None:
        definition: Any = tool_definition("gemini")
        super().__init__(name=definition["name"], description=definition["description"])
        self._schema = definition["parametersJsonSchema"]
        self._answer = answer

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(
            name=self.name, description=self.description, parameters_json_schema=self._schema
        )

    async def run_async(self, *, args: dict[str, Any], tool_context: ToolContext) -> str:
        """Return what was left out."""
        return await self._answer(tool_context, args)
