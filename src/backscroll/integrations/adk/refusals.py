"""What cannot work together with Backscroll, refused where it is first known."""

from collections.abc import Mapping
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin

from backscroll.errors import ConfigurationError

_UNUSABLE = {
    "cache_marks": "Gemini has no marks; give the app a `ContextCacheConfig`, or the model its own options",
    "native": "the framework's contents have no form for a provider's compaction",
}


def refuse_options(options: Mapping[str, Any]) -> None:
    """Refuse options of a manager that can do nothing here.

    Raises:
        ConfigurationError: One of them was given.
    """
    for name, reason in _UNUSABLE.items():
        if options.get(name) is not None:
            raise ConfigurationError(f"`{name}` cannot be used with Google ADK: {reason}")


def refuse_app(context: InvocationContext) -> None:
    """Refuse an app in which something else leaves out contents.

    Raises:
        ConfigurationError: There is something.
    """
    if context.events_compaction_config is not None:
        raise ConfigurationError(
            "an `EventsCompactionConfig` replaces events by a summary, and Backscroll could not recall them: remove "
            "`events_compaction_config` from the app, since Backscroll compacts"
        )
    if any(isinstance(plugin, ContextFilterPlugin) for plugin in context.plugin_manager.plugins):
        raise ConfigurationError(
            "a `ContextFilterPlugin` removes contents from requests, and Backscroll could not recall them: remove it"
        )


def refuse_chained(request: LlmRequest) -> None:
    """Refuse a request whose history the provider keeps.

    Raises:
        ConfigurationError: It continues an interaction.
    """
    if request.previous_interaction_id is not None:
        raise ConfigurationError(
            "a request with `previous_interaction_id` holds only what is new, since the provider keeps the history: "
            "leave it out, so that the request holds a whole view"
        )
