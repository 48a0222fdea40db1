"""What is attached to an agent: the parts that its plugins bring, and the conversation built from them.

Several plugins may bring parts; a part of the user's own replaces the composed one of its type. Each agent has its own
attachment, so that one plugin may serve several agents.
"""

import weakref
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from strands.agent.conversation_manager import NullConversationManager, SlidingWindowConversationManager
from strands.vended_plugins.context_offloader import ContextOffloader as StrandsOffloader

from backscroll.compaction.modes import STANDARD
from backscroll.compaction.summarization import LEAST_WINDOW, Summarizer
from backscroll.errors import ConfigurationError
from backscroll.integrations.conversations import claim
from backscroll.integrations.strands.conversation import Conversation
from backscroll.integrations.strands.models import SummaryFromModel, input_budget
from backscroll.integrations.strands.settings import SUMMARIZE, Compression, FacadeConfig, Offloading, core_options
from backscroll.integrations.strands.tool_result_storage import ToolResultArchive
from backscroll.notices import warn

SUMMARY_WINDOW = 32_000  # maximum input tokens of one summarizer call
SUMMARY_SECONDS = 120.0  # maximum wait of a request for a summary; after it the digest is used


@dataclass(slots=True)
class Attached:
    """What an agent's plugins brought."""

    composed: FacadeConfig | None = None
    compression: Compression | None = None
    offloading: Offloading | None = None
    options: dict[str, Any] = field(default_factory=dict)
    conversation: Conversation | None = None

    @property
    def parts(self) -> FacadeConfig:
        """The effective parts: the user's own replace the composed ones."""
        composed = self.composed or FacadeConfig()
        return FacadeConfig(
            self.compression or composed.compression, self.offloading or composed.offloading, composed.agentic
        )


_ATTACHED: WeakKeyDictionary[Any, Attached] = WeakKeyDictionary()


def attached_to(agent: Any) -> Attached:
    """Return what is attached to an agent; empty at first."""
    return _ATTACHED.setdefault(agent, Attached())


def conversation_of(agent: Any) -> Conversation | None:
    """Return the agent's conversation; `None` if nothing of Backscroll is attached to it."""
    attached = _ATTACHED.get(agent)
    return None if attached is None else attached.conversation


def begin(agent: Any, attached: Attached) -> Conversation:
    """Create the agent's conversation. Raises `ConfigurationError` for an agent that cannot have one."""
    parts = attached.parts
    plugins = agent._plugin_registry._plugins  # noqa: SLF001  Strands has no public list of an agent's plugins
    if any(isinstance(found, StrandsOffloader) for found in plugins.values()):
        parts = FacadeConfig(parts.compression, attached.offloading, parts.agentic)
    if agent.context_manager is not None:
        raise ConfigurationError(
            "Agent(context_manager=...) edits agent.messages before Backscroll sees them: pass context_manager=False"
        )
    if parts.compression is not None:
        _displace(agent)
    options = dict(attached.options)
    name = options.get("session") or f"{agent.session_id}.{agent.agent_id}"
    if options.get("store") or options.get("telemetry"):  # otherwise nothing uses the name
        options["session"] = name
    claim(options.get("store"), options.get("session", name), agent)
    chosen = core_options(parts.compression, parts.offloading, options.get("mode", STANDARD.name))
    attached.conversation = Conversation(
        {**chosen, **_summaries(agent, parts.compression), **options},
        _shelf(parts.offloading, name),
        status=parts.agentic,
    )
    return attached.conversation


def check_model(agent: Any) -> None:
    """Raise `ConfigurationError` for a model that keeps the conversation itself."""
    if agent.model.stateful:
        raise ConfigurationError(
            f"{type(agent.model).__name__} keeps the conversation on its server, so there is no context to manage: use "
            "a stateless model"
        )


def _displace(agent: Any) -> None:
    """Replace Strands' own manager, which would edit the messages, and warn once.

    Strands has no public way to remove a hook, and a manager that still receives events would go on editing.
    """
    manager = agent.conversation_manager
    if isinstance(manager, NullConversationManager):
        return
    default = type(manager) is SlidingWindowConversationManager and vars(manager) == vars(type(manager)())
    name = "the default SlidingWindowConversationManager" if default else f"the {type(manager).__name__} given"
    agent.conversation_manager = NullConversationManager()
    callbacks = agent.hooks._registered_callbacks  # noqa: SLF001  there is no public way to remove a hook
    for entries in callbacks.values():
        entries[:] = [entry for entry in entries if getattr(entry.callback, "__self__", None) is not manager]
    warn(
        f"Backscroll manages this agent's context and replaces {name}, which would edit agent.messages: write "
        f"Agent(..., context_manager=False){'' if default else ' without conversation_manager'}"
    )


def _summaries(agent: Any, compression: Compression | None) -> dict[str, Any]:
    if compression is None or compression.method != SUMMARIZE:
        return {}
    known = weakref.ref(agent)

    def model() -> Any:
        found = known()
        return compression.model or (found.aux_model if found is not None else None)

    window = input_budget(model()) or SUMMARY_WINDOW
    return {
        "summarizer": Summarizer(
            SummaryFromModel(model, compression.system_prompt),
            context_tokens=max(LEAST_WINDOW, min(window, SUMMARY_WINDOW)),
            wait_seconds=SUMMARY_SECONDS,
        ),
    }


def _shelf(offloading: Offloading | None, session: str) -> ToolResultArchive | None:
    if offloading is None or offloading.tool_result_storage is None:
        return None
    return ToolResultArchive(offloading.tool_result_storage, offloading.preview, f"backscroll/{session}")
