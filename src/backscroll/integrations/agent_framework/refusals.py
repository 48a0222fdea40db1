"""What cannot work together with Backscroll, refused where it is first known."""

from collections.abc import Mapping
from typing import Any

from agent_framework import AgentSession, CompactionProvider, HistoryProvider, SessionContext

from backscroll.errors import ConfigurationError

_UNUSABLE = {
    "cache_marks": "the framework's contents have no place for marks; its clients set them by options of their own",
    "native": "the framework's contents have no form for a provider's compaction",
}
_PROVIDER_SIDE = ("context_management", "compaction", "truncation")
"""Options of a request by which a provider leaves out messages itself."""


def refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse options of a manager that can do nothing here.

    Raises:
        ConfigurationError: One of them was given.
    """
    for name, reason in _UNUSABLE.items():
        if options.get(name) is not None:
            raise ConfigurationError(f"`{name}` cannot be used with Agent Framework: {reason}")


def refuse_agent(agent: Any, own: object) -> None:
    """Refuse an agent whose history another manager changes.

    Args:
        agent: The agent of a run.
        own: The provider that asks: a second one of its class is refused.

    Raises:
        ConfigurationError: Something would edit the history or the view.
    """
    providers = list(getattr(agent, "context_providers", ()))
    if any(isinstance(each, CompactionProvider) for each in providers):
        raise ConfigurationError(
            "a `CompactionProvider` removes messages from the history, and Backscroll could not recall them: remove it "
            "(in a harness: `disable_compaction=True`)"
        )
    if any(type(each) is type(own) and each is not own for each in providers):
        raise ConfigurationError("an agent needs one Backscroll provider: a second one would edit the first one's view")
    for holder in (agent, getattr(agent, "client", None)):
        refuse_strategy(getattr(holder, "compaction_strategy", None))
    persists = getattr(agent, "require_per_service_call_history_persistence", False)
    if persists and any(isinstance(each, HistoryProvider) for each in providers):
        raise ConfigurationError(
            "with `require_per_service_call_history_persistence` the framework adds the history behind all middleware, "
            "so that no view could replace it: leave it off, Backscroll's own `store` keeps each message at once"
        )


def refuse_strategy(strategy: object) -> None:
    """Refuse a `CompactionStrategy`.

    Raises:
        ConfigurationError: There is one.
    """
    if strategy is not None:
        raise ConfigurationError(
            "a `CompactionStrategy` marks messages that the history shares as excluded and would edit the view: remove "
            "`compaction_strategy` from the agent, its client and its runs"
        )


def refuse_kept_elsewhere(agent: Any, session: AgentSession, context: SessionContext) -> None:
    """Refuse a run whose history the model's provider keeps.

    Raises:
        ConfigurationError: Requests would hold only what is new.
    """
    defaults, given = getattr(agent, "default_options", None) or {}, context.options
    store = given.get("store") if given.get("store") is not None else defaults.get("store")
    kept = store if store is not None else getattr(getattr(agent, "client", None), "STORES_BY_DEFAULT", False)
    if kept or session.service_session_id or given.get("conversation_id") or defaults.get("conversation_id"):
        raise ConfigurationError(
            "the model's provider keeps this conversation, so that requests hold only what is new and Backscroll has "
            'nothing to choose from: set `default_options={"store": False}` and no `conversation_id`'
        )


def refuse_provider_side(options: Mapping[str, Any]) -> None:
    """Refuse options of a request by which the provider leaves out messages itself.

    Raises:
        ConfigurationError: One of them is set.
    """
    for name in _PROVIDER_SIDE:
        if options.get(name) not in (None, "disabled"):
            raise ConfigurationError(
                f"with the option `{name}` the provider leaves out messages that the view shows: remove it"
            )
