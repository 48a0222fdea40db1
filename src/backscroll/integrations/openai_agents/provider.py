"""A provider of managed models for one session."""

import asyncio
from weakref import WeakKeyDictionary

from agents.models.interface import Model, ModelProvider

from backscroll.integrations.openai_agents.lines import Lines
from backscroll.integrations.openai_agents.model import ManagedModel
from backscroll.integrations.openai_agents.recall import RecallTool


class ManagedProvider(ModelProvider):
    """Gives every agent of a run that names its model a managed one: `RunConfig(model_provider=...)`.

    Make one with `ManagedModels.provider`.

    Args:
        provider: Makes the models that answer.
        lines: The conversations of the session.
        recall: The tool `recall`.
    """

    def __init__(self, provider: ModelProvider, lines: Lines, recall: RecallTool) -> None:
        self._provider = provider
        self._recall = recall
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str | None, Model]] = WeakKeyDictionary()
        """By event loop, because some models hold a connection that belongs to one."""
        self.lines = lines
        """The conversations of the session."""

    def get_model(self, model_name: str | None) -> Model:
        """Return the managed model of this name: the same one for a whole run, which asks for it at every step."""
        made = self._made.setdefault(asyncio.get_running_loop(), {})
        if model_name not in made:
            made[model_name] = ManagedModel(self._provider.get_model(model_name), self.lines, self._recall)
        return made[model_name]

    async def aclose(self) -> None:
        """Close the provider that makes the models. Conversations are closed by `ManagedModels.close`."""
        await self._provider.aclose()
