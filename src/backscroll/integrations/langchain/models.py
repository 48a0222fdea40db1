"""Name, window and usage of a chat model, and what its provider must not do with Backscroll."""

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableBinding

from backscroll.errors import ConfigurationError
from backscroll.manager.base import MAIN
from backscroll.messages.counted import Counted

_OUTPUT = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_OF_SERVERS = (
    "server_tool_use", "server_tool_call", "mcp_tool_use", "web_search_call", "file_search_call",
    "code_interpreter_call", "mcp_call", "compaction",
)  # fmt: skip  # one list
"""Blocks of answers whose usage adds up several passes."""
WINDOW_EXCEEDED = "model_context_window_exceeded"
"""Why Anthropic ends an answer that no longer fits the window."""


def unbound(model: Any) -> tuple[Any, dict[str, Any]]:
    """Return a chat model without the arguments that are bound to it, and these."""
    bound: dict[str, Any] = {}
    while isinstance(model, RunnableBinding):
        bound = {**model.kwargs, **bound}
        model = model.bound
    return model, bound


def lane_of(model: Any) -> str:
    """Return the provider's and the model's name; `main` if the model has none."""
    read = getattr(model, "_get_ls_params", None)
    params: Mapping[str, Any] = {} if read is None else read()
    names = [params.get("ls_provider"), params.get("ls_model_name")]
    return "/".join(name for name in names if isinstance(name, str) and name) or MAIN


def input_budget(model: Any, settings: Mapping[str, Any]) -> int | None:
    """Return the tokens that a request may hold: the window in the model's profile minus its output limit, at most
    half of it; `None` if the profile names no window.
    """
    profile = getattr(model, "profile", None)
    window = profile.get("max_input_tokens") if isinstance(profile, Mapping) else None
    if type(window) is not int or window <= 0:
        return None
    given = [settings.get(name) for name in _OUTPUT] + [getattr(model, name, None) for name in _OUTPUT]
    output = next((found for found in given if type(found) is int and found > 0), 0)
    return window - min(output, window // 2)


def check_model(model: Any, settings: Mapping[str, Any]) -> None:
    """Refuse a model whose provider keeps or compacts the conversation.

    Raises:
        ConfigurationError: Names the model's option and what to write instead.
    """
    more = getattr(model, "model_kwargs", None)
    given = {**(more if isinstance(more, Mapping) else {}), **settings}
    if getattr(model, "use_previous_response_id", False) or given.get("previous_response_id"):
        raise ConfigurationError(
            "the provider keeps this conversation and adds all of it to each request, so that no view can shorten it: "
            "omit `use_previous_response_id` and `previous_response_id`"
        )
    if given.get("conversation"):
        raise ConfigurationError(
            "the provider keeps this conversation and adds all of it to each request, so that no view can shorten it: "
            "omit `conversation`"
        )
    for name in ("context_management", "compaction"):
        if isinstance(given.get(name) or getattr(model, name, None), dict | list):
            raise ConfigurationError(
                f"`{name}` of the model has the provider edit the messages that Backscroll manages, so that neither "
                f"knows what the other left out: omit `{name}`"
            )
    if "auto" in (given.get("truncation"), getattr(model, "truncation", None)):
        raise ConfigurationError(
            "`truncation='auto'` has the provider leave out messages from the middle without a word: omit it, and "
            "Backscroll keeps the request within the window"
        )


def counted_in(answer: AIMessage) -> Counted | None:
    """Return what the provider counted for an answer; `None` if it does not say, or if the figures add up several
    passes.
    """
    usage = answer.usage_metadata
    if not usage or not usage.get("input_tokens"):
        return None
    if isinstance(answer.content, list) and any(_is_of_server(block) for block in answer.content):
        return None
    details: Mapping[str, Any] = usage.get("input_token_details") or {}
    read = details.get("cache_read") or 0
    written = sum(
        found
        for name in ("cache_creation", "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens")
        if type(found := details.get(name)) is int
    )
    total = usage["input_tokens"]  # includes both
    if read + written > total:
        read = written = 0
    return Counted(total - read - written, read, written, usage.get("output_tokens") or 0)


def _is_of_server(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _OF_SERVERS
