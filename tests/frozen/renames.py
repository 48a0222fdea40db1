"""Words that events and states of messages were renamed to since the hashes were written, with their former names.

The hashes are those from before the renames: a session must give the same but for these words.
"""

from typing import Any

FORMERLY = {
    "context:rules_evicted": "context:rules_left_out",
    "context:edit_rejected": "context:edit_refused",
    "context:provider_window_unavailable": "context:provider_ignored",
    "context:usage_rejected": "context:usage_ignored",
    "deduplicate": "supersede",
    "excerpt": "clip",
    "clear": "mask",
    "cache savings": "mask batch",
    "manual": "asked",
    "cache_savings": "batch",
    "large_result": "arrival",
    "cache_expired": "cold cache",
    "excerpted": "clipped",
    "cleared": "masked",
    "digested": "folded",
    "left out": "out",
}
"""By the word of today. Names of events, strategies, triggers and states; whole texts, never a part of one."""
SENTENCES = {
    "tokens outside the messages": "what stands outside of the messages",
    "messages kept by `protect`": "messages kept by protected_first and protected_last",
    "lower `first` or `last` of `protect`": "lower `protected_first` or `protected_last`",
}
"""The same for parts of the sentences in events."""


def formerly(value: Any) -> Any:
    """A JSON value with the former names."""
    if isinstance(value, dict):
        return {formerly(key): formerly(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [formerly(each) for each in value]
    if not isinstance(value, str):
        return value
    for now, before in SENTENCES.items():
        value = value.replace(now, before)
    return FORMERLY.get(value, value)
