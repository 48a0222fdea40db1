"""`recall` as a tool of an Amplifier session: the host's tool interface around `AsyncContextManager.recall_tool`."""

from collections.abc import Awaitable, Callable
from typing import Any


class RecallTool:
    """A tool that returns what a request left out, by the references in it."""

    def __init__(self, definition: dict[str, Any], run: Callable[..., Awaitable[str]]) -> None:
        self.name: str = definition["name"]
        self.description: str = definition["description"]
        self.input_schema: dict[str, Any] = definition["input_schema"]
        self._run = run

    async def execute(self, input: dict[str, Any]) -> Any:
        """Return the host's `ToolResult`. It is a success even if nothing was found: its text says what to do."""
        from amplifier_core import ToolResult  # noqa: PLC0415  # the host brings it

        return ToolResult(success=True, output=await self._run(**input))
