"""The options of the middleware and of the plain graph's context."""

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel

from backscroll.errors import ConfigurationError
from backscroll.integrations.langchain.summaries import SummaryFromModel

_REFUSED = {
    "cache_marks": "partners of LangChain set their own marks: use `AnthropicPromptCachingMiddleware`",
    "native": "LangChain's chat models have no call for a provider's compaction: omit it",
}


def read_options(agent: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of the manager, a chat model as `summarizer` as the function that calls it.

    Options that make no sense here are refused; the manager checks all others.

    Raises:
        ConfigurationError: Names the option and the reason.
    """
    if not isinstance(agent, str):
        raise ConfigurationError(f"`agent` must be a text, such as the agent's name, not {agent!r:.80}")
    for name, reason in _REFUSED.items():
        if options.get(name) is not None:
            raise ConfigurationError(f"`{name}` has no effect in LangChain: {reason}")
    summarizer = options.get("summarizer")
    if isinstance(summarizer, BaseChatModel):
        return {**options, "summarizer": SummaryFromModel(summarizer)}
    return dict(options)
