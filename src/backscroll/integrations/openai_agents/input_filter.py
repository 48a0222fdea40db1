"""Views for models that cannot be wrapped."""

from collections.abc import Callable
from typing import Any

from agents import Agent, Handoff
from agents.models import get_default_model
from agents.models.interface import ModelTracing
from agents.run_config import CallModelData, ModelInputData

from backscroll.integrations.openai_agents.conversation import starts_run
from backscroll.integrations.openai_agents.lines import Lines
from backscroll.integrations.openai_agents.model import lane_of
from backscroll.integrations.openai_agents.model_request import ModelRequest


class InputFilter:
    """Shows each agent's model a view of its items: `RunConfig(call_model_input_filter=...)`.

    It sees no answers. So usage is not learned from, and a request that the provider rejects as too long is not sent
    again. Each agent of a session has conversations of its own, by its name. Where the model can be wrapped, use
    `ManagedModels.model` or `ManagedModels.provider`.

    Make one with `ManagedModels.input_filter`.

    Args:
        lines: Returns the conversations of an agent, by its name.
    """

    def __init__(self, lines: Callable[[str], Lines]) -> None:
        self.lines = lines
        """The conversations of an agent, by its name."""

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """Return the input with a view as its items.

        Raises:
            BudgetError: The items that must stay do not fit the budget.
            ConfigurationError: The settings let the provider shorten the history as well.
            StoreError: The store failed.
        """
        given, agent = data.model_data, data.agent
        request = _request(given, agent)
        request.check()
        lane = lane_of(agent.model or get_default_model())
        with self.lines(agent.name).use(given.input) as conversation:
            view = await conversation.view_for(request, lane, first=starts_run(given.input))
            conversation.waits = True  # its answer is not seen, so it may have calls
        return ModelInputData(input=view, instructions=given.instructions)


def _request(given: ModelInputData, agent: Agent[Any]) -> ModelRequest:
    """Return what is known of a request: tools of MCP servers and of the run are not."""
    handoffs = [each for each in agent.handoffs if isinstance(each, Handoff)]
    return ModelRequest(
        system_instructions=given.instructions,
        input=given.input,
        model_settings=agent.model_settings,
        tools=agent.tools,
        output_schema=None,
        handoffs=handoffs,
        tracing=ModelTracing.DISABLED,
        previous_response_id=None,
        conversation_id=None,
        prompt=None,
    )
