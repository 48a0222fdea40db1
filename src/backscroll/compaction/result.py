"""What a compaction did: the figures that its caller gets and that events report."""

from dataclasses import dataclass
from typing import Literal

Trigger = Literal[
    "threshold",
    "messages",
    "cache_savings",
    "large_result",
    "back_reference",
    "cache_expired",
    "manual",
    "model",
    "retained",
    "prefix_changed",
    "media_limit",
]
"""Why a lane is compacted: too many tokens (`threshold`) or `messages`; old results are worth a batch; a new result is
too large to be shown whole; a new result refers to an earlier one that is left out (`back_reference`); the provider's
cache has expired; the caller requests it (`manual`), or the model (`model`); this request must show a message that the
plan leaves out (`retained`); something before a model's reasoning changed, such as the system prompt, which invalidates
the reasoning (`prefix_changed`); the view holds more media than its provider accepts (`media_limit`).
"""


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """What a compaction did. Figures in tokens are upper estimates of the whole request."""

    lane: str
    before_tokens: int
    after_tokens: int
    before_messages: int
    after_messages: int
    messages_dropped: int
    """Messages of the previous view that are left out now."""
    parts_shortened: int
    """Parts that are excerpted or cleared."""
    target_tokens: int
    budget: int
    trigger: Trigger
    reasoning_tokens: int = 0
    """Reasoning that left the view, as expected: its provider binds it to what was edited before it."""
