"""Names and payloads of the events that a session reports. Payloads are strictly JSON; nothing here emits anything.

The first five names and their keys are those of the Amplifier context contract and of its reference module; hosts that
know them understand Backscroll without more. `tokens` repeats `token_count` because the contract's documents differ.
"""

from backscroll.ports import Event

PRE_COMPACT = "context:pre_compact"
POST_COMPACT = "context:post_compact"
COMPACTION = "context:compaction"
INCLUDE = "context:include"
MESSAGE_ADDED = "context:message_added:debug"
LATE_RESULT = "context:late_result"
UNANSWERED_CALL = "context:unanswered_call"
ORPHAN_RESULT = "context:orphan_result"
EPHEMERAL_EXPIRED = "context:ephemeral_expired"
EPHEMERAL_KEPT = "context:ephemeral_kept"
PLAN_CHANGED = "context:plan_changed"
USAGE_IGNORED = "context:usage_ignored"
PROMPT_CHANGED = "context:system_prompt_changed"
RULES_LEFT_OUT = "context:rules_left_out"
EDIT_REFUSED = "context:edit_refused"
OVERFLOW = "context:overflow"
STORE_UNAVAILABLE = "context:store_unavailable"
OFFLOAD_FAILED = "context:offload_failed"
PROVIDER_IGNORED = "context:provider_ignored"
SUMMARY_STARTED = "context:summary_started"
SUMMARY_READY = "context:summary_ready"
SUMMARY_FAILED = "context:summary_failed"
TOKENIZER_FALLBACK = "context:tokenizer_fallback"

ALL = (
    PRE_COMPACT,
    POST_COMPACT,
    COMPACTION,
    INCLUDE,
    MESSAGE_ADDED,
    LATE_RESULT,
    UNANSWERED_CALL,
    ORPHAN_RESULT,
    EPHEMERAL_EXPIRED,
    EPHEMERAL_KEPT,
    PLAN_CHANGED,
    USAGE_IGNORED,
    PROMPT_CHANGED,
    RULES_LEFT_OUT,
    EDIT_REFUSED,
    OVERFLOW,
    STORE_UNAVAILABLE,
    OFFLOAD_FAILED,
    PROVIDER_IGNORED,
    SUMMARY_STARTED,
    SUMMARY_READY,
    SUMMARY_FAILED,
    TOKENIZER_FALLBACK,
)
"""Every event that can be reported."""

MOVES_PREFIX = frozenset((COMPACTION, LATE_RESULT, UNANSWERED_CALL, EPHEMERAL_EXPIRED, PLAN_CHANGED, PROMPT_CHANGED))
"""The only events after which a view need not extend the one before it."""


def compacting(name: str, lane: str, messages: int, tokens: int) -> Event:
    """Before and after a compaction: what the view holds."""
    return name, {"lane": lane, "message_count": messages, "token_count": tokens, "tokens": tokens}
