"""What keeps or changes the history as well as Backscroll does, and is refused with the reason."""

from collections.abc import Mapping
from typing import Any

from pydantic_ai.capabilities import AbstractCapability

from backscroll.errors import ConfigurationError
from backscroll.notices import warn

_OPTIONS = {
    "cache_marks": "Pydantic AI's models place the marks of prompt caches themselves: give the setting `cache`",
    "native": "a provider's compaction block is no part of Pydantic AI that a view could add",
}
_KEPT_BY_PROVIDER = ("openai_previous_response_id", "openai_conversation_id")
_CONTEXT_MANAGEMENT = ("anthropic_context_management", "openai_context_management")
_REWRITING = "pydantic_ai_harness.compaction"
_READING = ("ReportContextUsage", "WarnNearLimits")


def check_options(options: Mapping[str, Any]) -> None:
    """Check that no option is given that Pydantic AI decides.

    Raises:
        ConfigurationError: One is given.
    """
    for name, reason in _OPTIONS.items():
        if options.get(name) is not None:
            raise ConfigurationError(f"`{name}` has no effect here: {reason}")


def check_settings(settings: Mapping[str, Any]) -> None:
    """Check that the provider neither keeps nor compacts the history.

    Raises:
        ConfigurationError: It does.
    """
    for name in _KEPT_BY_PROVIDER:
        if settings.get(name):
            raise ConfigurationError(
                f"with the setting `{name}` the provider keeps the history, and requests hold only what is new: "
                "remove the setting, or the capability Backscroll"
            )
    for name in _CONTEXT_MANAGEMENT:
        if settings.get(name):
            raise ConfigurationError(
                f"with the setting `{name}` the provider edits the history, too: remove the setting or the capability "
                "that gives it, or the capability Backscroll"
            )


def check_others(own: type, root: AbstractCapability[Any] | None) -> None:
    """Check the other capabilities of a run; warns of those that edit its history.

    Args:
        own: The class of the capability in a run.
        root: The capabilities of the run.

    Raises:
        ConfigurationError: The run has two of ours, or one that lets OpenAI compact.
    """
    found: list[AbstractCapability[Any]] = []
    if root is not None:
        root.apply(found.append)
    if sum(type(each) is own for each in found) > 1:
        raise ConfigurationError("an agent has one capability Backscroll: remove the other")
    for each in found:
        name, module = type(each).__name__, type(each).__module__
        if name == "OpenAICompaction" and module.startswith("pydantic_ai."):
            raise ConfigurationError(
                "with the capability OpenAICompaction the provider compacts the history: remove it or Backscroll"
            )
        if module.startswith(_REWRITING) and name not in _READING:
            warn(
                f"the capability {name} edits the history of the run for good, so that recall cannot find what it "
                "removes: remove it, because Backscroll compacts"
            )
