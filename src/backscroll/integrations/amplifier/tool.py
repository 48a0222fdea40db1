"""`recall` and `compact` as tools of an Amplifier session: the host's tool interface around those of the manager."""

from collections.abc import Awaitable, Callable
from typing import Any


class ModelTool:
    """A tool of the manager for the model of a session."""

    def __init__(self, definition: dict[str, Any], run: Callable[..., Awaitable[str]]) -> None:
        self.name: str = definition["name"]
        self.description: str = definition["description"]
        self.input_schema: dict[str, Any] = definition["input_schema"]
        self._run = run

    async def execute(self, input: dict[str, Any]) -> Any:
        """Return the host's `ToolResult`: a success even if nothing was found, since its text says what to do."""
        from amplifier_core import ToolResult  # noqa: PLC0415  # the host brings it

        return ToolResult(success=True, output=await self._run(**input))
