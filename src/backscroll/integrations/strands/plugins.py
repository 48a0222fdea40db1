"""The plugins: the facade that composes everything, and its two parts as plugins of their own."""

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
    """What the plugins share. One instance may serve several agents: each has a conversation of its own."""

    @abstractmethod
    def _bring(self, attached: Attached) -> None:
        """Adds what the part stands for to what its agent has."""

    def init_agent(self, agent: Any) -> None:
        """Attaches the part. Raises `ConfigurationError` for an agent that cannot have it."""
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
        """The agent's conversation, a `backscroll.AsyncContextManager`, with `explain`, `recall` and all else.

        Raises `ConfigurationError` for an agent that does not have this plugin.
        """
        found = conversation_of(agent)
        if found is None:
            raise ConfigurationError("this agent has no Backscroll plugin")
        return found

    def pin(self, agent: Any, index: int) -> None:
        """Keeps a message in every request, with the call or the results that belong to it. `index`: its place in
        `agent.messages`, also counted from the end. Raises `IndexError`.
        """
        self.conversation(agent).pin_now(agent, index, True)

    def unpin(self, agent: Any, index: int) -> None:
        """Takes a pin back. Raises `IndexError`."""
        self.conversation(agent).pin_now(agent, index, False)

    def usage(self, agent: Any) -> Usage:
        """What is in the window of the agent's newest request, anchored on what the provider reported of it."""
        conversation = self.conversation(agent)
        return conversation.usage(conversation.lane)


class ContextManagerPlugin(_Part):
    """Backscroll for a Strands agent: `Agent(plugins=[ContextManagerPlugin("auto")], context_manager=False)`.

    - `config`: `"auto"` (everything on), `"agentic"` (the model manages its own context besides), or a mapping with
      `strategy`, `compression` and `offloader`. With a strategy the given keys override what is on, without one they
      turn parts on. Each part is `True`, `False` or a mapping of its settings.
    - `options`: of `backscroll.AsyncContextManager`, among them `store` and `session`, with which the conversation
      and its plan survive a restart.

    Raises `ConfigurationError` for names that nobody knows, with the nearest that is known, and for values that can
    never work.
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
    """The compression alone, with the settings of `compression` as arguments and options beside them."""

    name = "backscroll:context-compression"

    def __init__(self, method: str = "truncate", **settings: Any) -> None:
        given, self._options = _sorted_out(settings)
        self._compression = read(Compression, {"method": method, **given}, "compression.")
        super().__init__()

    def _bring(self, attached: Attached) -> None:
        attached.compression = self._compression
        attached.options = {**attached.options, **self._options}


class ContextOffloader(_Part):
    """The offloader alone, with the settings of `offloader` as arguments and options beside them."""

    name = "backscroll:context-offloader"

    def __init__(self, **settings: Any) -> None:
        given, self._options = _sorted_out(settings)
        self._offloading = read(Offloading, given, "offloader.")
        super().__init__()

    def _bring(self, attached: Attached) -> None:
        attached.offloading = self._offloading
        attached.options = {**attached.options, **self._options}


def _sorted_out(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of a part, and the options that stand beside them."""
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


# -- what an agent calls; one agent's events never reach another one's conversation --


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
