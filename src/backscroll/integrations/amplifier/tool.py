"""`recall` as a tool of an Amplifier session. The host's tool shape around `AsyncContextManager.recall_tool`."""

from collections.abc import Awaitable, Callable
from typing import Any


class RecallTool:
    """Reads what a request left out, by the references that stand in it."""

    def __init__(self, definition: dict[str, Any], run: Callable[..., Awaitable[str]]) -> None:
        self.name: str = definition["name"]
        self.description: str = definition["description"]
        self.input_schema: dict[str, Any] = definition["input_schema"]
        self._run = run

    async def execute(self, input: dict[str, Any]) -> Any:
        """The host's `ToolResult`. It is a success also where nothing was found: the text says what to do instead."""
        from amplifier_core import ToolResult  # noqa: PLC0415  # the host brings it; the module itself needs nothing of it

        return ToolResult(success=True, output=await self._run(**input))
