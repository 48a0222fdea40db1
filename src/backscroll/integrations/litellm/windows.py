"""The lane of a model, and the input tokens that a request to it may hold."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import litellm

from backscroll.manager.base import MAIN
from backscroll.tokens.known_models import find_model

_ASKS_A_SERVER = ("ollama", "ollama_chat")
"""Providers whose window `litellm.get_model_info` asks from a server; a request must not wait for that."""


def lane_of(call: Mapping[str, Any]) -> str:
    """Return provider and model, such as `openai/gpt-4o`. A deployment's `base_model` says which model it is."""
    model = _deployment(call).get("base_model") or call.get("model") or MAIN
    return _named(model, call.get("custom_llm_provider"), call.get("api_base") or call.get("base_url"))


def budget_of(call: Mapping[str, Any], lane: str) -> int | None:
    """Return the budget of a request; `None`: Backscroll knows the model, or neither does.

    It is `max_input_tokens`, of the Router's deployment, else of `litellm.get_model_info`, less the output that the
    call asks for, at most half of it.
    """
    limit = _deployment(call).get("max_input_tokens")
    if limit is None and find_model(lane) is None:
        limit = _known_to_litellm(lane)
    if type(limit) is not int or limit <= 0:
        return None
    asked = call.get("max_completion_tokens") or call.get("max_tokens")
    return limit - min(asked if type(asked) is int else 0, limit // 2)


def _deployment(call: Mapping[str, Any]) -> Mapping[str, Any]:
    found = call.get("model_info")
    return found if isinstance(found, Mapping) else {}


@lru_cache(maxsize=256)
def _named(model: str, provider: str | None, address: str | None) -> str:
    try:
        name, found, *_ = litellm.get_llm_provider(model, provider, address)
    except Exception:  # LiteLLM raises it for the request itself
        return model
    return f"{found}/{name}"


def _known_to_litellm(lane: str) -> Any:
    if lane.partition("/")[0] in _ASKS_A_SERVER:
        return None
    try:
        return litellm.get_model_info(lane).get("max_input_tokens")
    except Exception:  # it raises a plain one for an unknown model
        return None
