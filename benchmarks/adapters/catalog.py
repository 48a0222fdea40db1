"""Which adapters are measured, in the order of the table. A framework is imported when it is asked for."""

from importlib import import_module

from adapters.base import Adapter

ADAPTERS = {
    "strands": "adapters.strands:Strands",
    "langchain": "adapters.langchain:Middleware",
    "langgraph": "adapters.langchain:Graph",
    "openai-agents": "adapters.openai_agents:OpenAIAgents",
    "pydantic-ai": "adapters.pydantic_ai:PydanticAI",
    "agent-framework": "adapters.agent_framework:AgentFramework",
    "adk": "adapters.adk:GoogleADK",
    "litellm": "adapters.litellm:LiteLLM",
    "clients": "adapters.clients:Clients",
}
"""Another adapter is one more line here, and one more file."""


def adapter(known: str) -> type[Adapter]:
    """Return the class that calls one adapter.

    Raises:
        ImportError: Its framework is not installed.
    """
    module, _, name = ADAPTERS[known].partition(":")
    found: type[Adapter] = getattr(import_module(module), name)
    return found
