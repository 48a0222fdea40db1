"""What a provider says of a request next to its usage: reasoning that it left out, why its prompt cache missed, and
whether the window was too small for the answer.

Sources: the types of the clients anthropic 2.12 (`input_transformations`, `diagnostics`) and openai 3.54
(`input_transformations`, `prompt_cache_diagnostics`), read in November 2026. Types and reasons that these do not list
are read as well, because providers may add some.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from backscroll import events
from backscroll.ports import Notification

_WRAPPERS = ("response", "message")
"""Fields in which events of streams hold a response."""
_PREFIX = frozenset(("prefix_binding_mismatch", "prefix_mismatch"))
"""Reasons that say that something before the reasoning changed. All others are switches of model or account."""
_UNKNOWN = frozenset(("unavailable", "previous_message_not_found", "comparison_response_not_found", "cache_hit"))
"""Kinds of diagnostics that explain no miss."""
_SWITCHES = frozenset(("model_changed",))
_CUT = "model_context_window_exceeded"
SYSTEM, TOOLS, MESSAGES = "system", "tools", "messages"
"""Parts of a request that a lane may have changed on purpose."""
_PARTS = {
    "system_changed": {SYSTEM},
    "tools_changed": {TOOLS},
    "messages_changed": {MESSAGES},
    "input_changed": {SYSTEM, MESSAGES},
}
"""The parts whose change explains a reason."""
_REMEDIES = {
    "system_changed": "send the same system prompt in each request, or set it by `set_system_prompt_factory`",
    "tools_changed": "offer the same tools in the same order, and pass them as `tools`",
    "messages_changed": "send each view unchanged, and append the response unchanged",
    "input_changed": "send each view unchanged, and append the response unchanged",
    "prompt_cache_key_changed": "pass `prompt_cache_key(lane)` with each request",
    "context_compacted": "leave compaction to one side: turn off the provider's own",
}


def was_cut(response: object) -> bool:
    """Return whether the model stopped because prompt and answer filled its window, which is no error of the request.

    Args:
        response: As for `notes_of`. Anthropic and Bedrock say it.
    """
    holders = (response, *(_get(response, name) for name in (*_WRAPPERS, "delta")))
    return any(_get(holder, name) == _CUT for holder in holders for name in ("stop_reason", "stopReason"))


def notes_of(response: object, lane: str, changed: Collection[str]) -> list[Notification]:
    """Return the notifications for what a response says of its request.

    Args:
        response: The response of a client, an event of its stream that holds one, or either as a mapping.
        lane: The lane of the request.
        changed: Which of `system`, `tools` and `messages` differ on purpose from the lane's previous request.
    """
    found: list[Notification] = []
    for holder in (response, *(_get(response, name) for name in _WRAPPERS)):
        if holder is None or isinstance(holder, str):
            continue
        found += _reasoning(_get(holder, "input_transformations"), lane)
        reason = _get(_get(holder, "diagnostics"), "cache_miss_reason")
        found += _cache(_kind(reason), _get(reason, "cache_missed_input_tokens"), lane, changed)
        diagnosed = _get(holder, "prompt_cache_diagnostics")
        found += _cache(_get(diagnosed, "reason"), _get(diagnosed, "cache_missed_tokens"), lane, changed)
    return found


def _reasoning(changes: Any, lane: str) -> Iterable[Notification]:
    """Yield a notification for reasoning whose prefix changed, and one for reasoning that a switch left out."""
    if not isinstance(changes, list | tuple):
        return
    read = [(str(_get(each, "reason")), str(_get(each, "path") or _get(each, "id"))) for each in changes]
    for name, of_prefix in ((events.REASONING_MISMATCH, True), (events.REASONING_DROPPED, False)):
        some = [(reason, path) for reason, path in read if (reason in _PREFIX) is of_prefix]
        if some:
            reasons = Counter(reason for reason, _ in some)
            yield (
                name,
                {"lane": lane, "blocks": len(some), "reasons": dict(sorted(reasons.items())), "first": some[0][1]},
            )


def _cache(reason: Any, tokens: Any, lane: str, changed: Collection[str]) -> Iterable[Notification]:
    if not isinstance(reason, str) or not reason or reason in _UNKNOWN:
        return
    is_expected = reason in _SWITCHES or not _PARTS.get(reason, set()).isdisjoint(changed)
    payload: dict[str, Any] = {"lane": lane, "reason": reason, "tokens": tokens if type(tokens) is int else 0}
    if is_expected:
        yield events.CACHE_MISSED, payload
    else:
        remedy = _REMEDIES.get(reason, "keep this setting the same in each request of the lane")
        yield events.CACHE_MISS_UNEXPECTED, payload | {"remedy": remedy}


def _kind(reason: Any) -> Any:
    """Return the name of a reason, which is a text or an object with a `type`."""
    return reason if isinstance(reason, str) else _get(reason, "type")


def _get(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
