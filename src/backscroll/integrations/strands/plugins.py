"""The plugins: the facade with everything, and its two parts as plugins of their own."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from strands.hooks import (
    AfterInvocationEvent,
    AfterModelCallEvent,
    AgentInitializedEvent,
    BeforeInvocationEvent,
    MessageAddedEvent,
)
from strands.middleware import InvokeModelStage
from strands.plugins import Plugin
from strands.types.exceptions import ContextWindowOverflowException

from backscroll.errors import ConfigurationError
from backscroll.integrations.settings import read
from backscroll.integrations.strands import tools
from backscroll.integrations.strands.conversation import Conversation
from backscroll.integrations.strands.registration import Attached, attached_to, begin, check_model, conversation_of
from backscroll.integrations.strands.settings import AUTO, Compression, Offloading, check_options, read_config
from backscroll.tokens.usage import Usage


class _Part(Plugin):
    """What the plugins share. One instance may serve several agents: each has its own conversation."""

    @abstractmethod
    def _bring(self, attached: Attached) -> None:
        """Add the part's settings to what is attached to the agent."""

    def init_agent(self, agent: Any) -> None:
        """Attach the part. Raises `ConfigurationError` for an agent that cannot have it."""
        check_model(agent)
        attached = attached_to(agent)
        first = attached == Attached()
        self._bring(attached)
        if first:
            agent.add_hook(_initialized, AgentInitializedEvent)
            agent.add_hook(_invoked, BeforeInvocationEvent)
            agent.add_hook(_added, MessageAddedEvent)
            agent.add_hook(_answered, AfterModelCallEvent)
            agent.add_hook(_ended, AfterInvocationEvent)
            agent.add_middleware(InvokeModelStage.Input, _view)

    def conversation(self, agent: Any) -> Conversation:
        """Return the agent's conversation, a `backscroll.AsyncContextManager`.

        Args:
            agent: The agent.

        Raises:
            ConfigurationError: The agent does not have this plugin.
        """
        found = conversation_of(agent)
        if found is None:
            raise ConfigurationError("this agent has no Backscroll plugin: create it with Agent(plugins=[...])")
        return found

    def pin(self, agent: Any, index: int) -> None:
        """Keep a message in every request, with the call or the results that belong to it.

        Args:
            agent: The agent.
            index: Index in `agent.messages`; negative indexes count from the end.

        Raises:
            IndexError: There is no such message.
        """
        self.conversation(agent).pin_now(agent, index, True)

    def unpin(self, agent: Any, index: int) -> None:
        """Remove a pin.

        Args:
            agent: The agent.
            index: Index in `agent.messages`; negative indexes count from the end.

        Raises:
            IndexError: There is no such message.
        """
        self.conversation(agent).pin_now(agent, index, False)

    def usage(self, agent: Any) -> Usage:
        """Return the usage of the agent's newest request, calibrated by what the provider reported."""
        conversation = self.conversation(agent)
        return conversation.usage(conversation.lane)


class ContextManagerPlugin(_Part):
    """Backscroll for a Strands agent: `Agent(plugins=[ContextManagerPlugin("auto")], context_manager=False)`.

    Args:
        config: `"auto"` (everything on), `"agentic"` (the model also manages its own context), or a mapping with
            `strategy`, `compression` and `offloader`. With a strategy the given keys override the defaults, without one
            only the given parts are on. Each part is `True`, `False` or a mapping of its settings.
        options: Options of `backscroll.AsyncContextManager`. With `store` and `session` the conversation and its plan
            survive a restart.

    Raises:
        ConfigurationError: A name is unknown, or a value can never work.
    """

    name = "backscroll:context-manager"

    def __init__(self, config: str | Mapping[str, Any] = AUTO, **options: Any) -> None:
        self._parts = read_config(config)
        check_options(options)
        self._options = options
        super().__init__()

    def _bring(self, attached: Attached) -> None:
        attached.composed = self._parts
        attached.options = {**attached.options, **self._options}


class ContextCompression(_Part):
    """The compression alone.

    Args:
        method: `"truncate"` or `"summarize"`.
        settings: Settings of `compression`, and options of `backscroll.AsyncContextManager`.

    Raises:
        ConfigurationError: A name is unknown, or a value can never work.
    """

    name = "backscroll:context-compression"

    def __init__(self, method: str = "truncate", **settings: Any) -> None:
        given, self._options = _sorted_out(settings)
        self._compression = read(Compression, {"method": method, **given}, "compression.")
        super().__init__()

    def _bring(self, attached: Attached) -> None:
        attached.compression = self._compression
        attached.options = {**attached.options, **self._options}


class ContextOffloader(_Part):
    """The offloader alone.

    Args:
        settings: Settings of `offloader`, and options of `backscroll.AsyncContextManager`.

    Raises:
        ConfigurationError: A name is unknown, or a value can never work.
    """

    name = "backscroll:context-offloader"

    def __init__(self, **settings: Any) -> None:
        given, self._options = _sorted_out(settings)
        self._offloading = read(Offloading, given, "offloader.")
        super().__init__()

    def _bring(self, attached: Attached) -> None:
        attached.offloading = self._offloading
        attached.options = {**attached.options, **self._options}


def _sorted_out(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Separate the settings of a part from options of the manager."""
    options = {name: value for name, value in settings.items() if _is_option(name)}
    return {name: value for name, value in settings.items() if name not in options}, options


def _is_option(name: str) -> bool:
    try:
        check_options({name: None})
    except ConfigurationError:
        return False
    return True


def _tools_for(attached: Attached) -> list[Any]:
    parts = attached.parts
    found: list[Any] = [tools.retrieve_offloaded_content]
    found += [tools.pin_message] if parts.compression is not None else []
    found += [tools.summarize_context, tools.truncate_context, tools.pin_context] if parts.agentic else []
    return found


# -- callbacks of an agent; each event reaches only its own agent's conversation --


def _initialized(event: AgentInitializedEvent) -> None:
    agent = event.agent
    attached = attached_to(agent)
    conversation = begin(agent, attached)
    known = agent.tool_registry.registry
    agent.tool_registry.process_tools([found for found in _tools_for(attached) if found.tool_name not in known])
    if "store" in attached.options and agent._session_manager is None:
        conversation.restore(agent)


async def _invoked(event: BeforeInvocationEvent) -> None:
    conversation = conversation_of(event.agent)
    if conversation is not None:
        conversation.begins()


async def _added(event: MessageAddedEvent) -> None:
    conversation = conversation_of(event.agent)
    if conversation is not None:
        await conversation.arrived(event.agent)


async def _view(context: Any) -> Any:
    conversation = conversation_of(context.agent)
    return context if conversation is None else await conversation.view_for(context)


async def _answered(event: AfterModelCallEvent) -> None:
    conversation = conversation_of(event.agent)
    if conversation is None:
        return
    if isinstance(event.exception, ContextWindowOverflowException):
        if attached_to(event.agent).parts.compression is not None:
            conversation.refused(event)
    else:
        conversation.heard(event)


async def _ended(event: AfterInvocationEvent) -> None:
    conversation = conversation_of(event.agent)
    if conversation is not None:
        await conversation.ended(event.agent, failed=event.result is None)
