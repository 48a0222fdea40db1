"""Names and payloads of the events that a session reports, and the sentences of those that also warn.

Payloads are strictly JSON. The first five names and their keys come from the Amplifier context contract and its
reference module, so hosts that know these need nothing else. `tokens` repeats `token_count` because the contract's
documents differ.
"""

from collections.abc import Mapping
from typing import Any

from backscroll.ports import Notification

PRE_COMPACT = "context:pre_compact"
POST_COMPACT = "context:post_compact"
COMPACTION = "context:compaction"
COMPACTION_WON_LITTLE = "context:compaction_won_little"
INCLUDE = "context:include"
MESSAGE_ADDED = "context:message_added:debug"
LATE_RESULT = "context:late_result"
UNANSWERED_CALL = "context:unanswered_call"
ORPHAN_RESULT = "context:orphan_result"
HEALED = "context:healed"
HISTORY_ODD = "context:history_odd"
ENDS_WITH_ANSWER = "context:ends_with_answer"
LONG_USER_MESSAGES = "context:long_user_messages"
EPHEMERAL_EXPIRED = "context:ephemeral_expired"
EPHEMERAL_KEPT = "context:ephemeral_kept"
PLAN_CHANGED = "context:plan_changed"
USAGE_REJECTED = "context:usage_rejected"
USAGE_CORRECTED = "context:usage_corrected"
OVERHEAD_LARGE = "context:overhead_large"
PROMPT_CHANGED = "context:system_prompt_changed"
TOOLS_CHANGED = "context:tools_changed"
REASONING_REMOVED = "context:reasoning_removed"
REASONING_MISMATCH = "context:reasoning_mismatch"
REASONING_DROPPED = "context:reasoning_dropped"
CACHE_MISSED = "context:cache_missed"
CACHE_MISS_UNEXPECTED = "context:cache_miss_unexpected"
RULES_EVICTED = "context:rules_evicted"
SYSTEM_EVICTED = "context:system_evicted"
TOOLS_EVICTED = "context:tools_evicted"
ATTACHMENT_LEFT_OUT = "context:attachment_left_out"
MEDIA_CLEARED = "context:media_cleared"
MEDIA_OVER_LIMIT = "context:media_over_limit"
EDIT_REJECTED = "context:edit_rejected"
PREPARATION_FAILED = "context:preparation_failed"
OVERFLOW = "context:overflow"
STORE_UNAVAILABLE = "context:store_unavailable"
OFFLOAD_FAILED = "context:offload_failed"
PROVIDER_WINDOW_UNAVAILABLE = "context:provider_window_unavailable"
WINDOW_ASSUMED = "context:window_assumed"
SUMMARY_STARTED = "context:summary_started"
SUMMARY_READY = "context:summary_ready"
SUMMARY_FAILED = "context:summary_failed"
SUMMARY_CLAIMS_STRUCK = "context:summary_claims_struck"
NATIVE_STARTED = "context:native_compaction_started"
NATIVE_READY = "context:native_compaction_ready"
NATIVE_FAILED = "context:native_compaction_failed"
NATIVE_UNAVAILABLE = "context:native_compaction_unavailable"
TOKENIZER_FALLBACK = "context:tokenizer_fallback"

ALL = (
    PRE_COMPACT,
    POST_COMPACT,
    COMPACTION,
    COMPACTION_WON_LITTLE,
    INCLUDE,
    MESSAGE_ADDED,
    LATE_RESULT,
    UNANSWERED_CALL,
    ORPHAN_RESULT,
    HEALED,
    HISTORY_ODD,
    ENDS_WITH_ANSWER,
    LONG_USER_MESSAGES,
    EPHEMERAL_EXPIRED,
    EPHEMERAL_KEPT,
    PLAN_CHANGED,
    USAGE_REJECTED,
    USAGE_CORRECTED,
    OVERHEAD_LARGE,
    PROMPT_CHANGED,
    TOOLS_CHANGED,
    REASONING_REMOVED,
    REASONING_MISMATCH,
    REASONING_DROPPED,
    CACHE_MISSED,
    CACHE_MISS_UNEXPECTED,
    RULES_EVICTED,
    SYSTEM_EVICTED,
    TOOLS_EVICTED,
    ATTACHMENT_LEFT_OUT,
    MEDIA_CLEARED,
    MEDIA_OVER_LIMIT,
    EDIT_REJECTED,
    PREPARATION_FAILED,
    OVERFLOW,
    STORE_UNAVAILABLE,
    OFFLOAD_FAILED,
    PROVIDER_WINDOW_UNAVAILABLE,
    WINDOW_ASSUMED,
    SUMMARY_STARTED,
    SUMMARY_READY,
    SUMMARY_FAILED,
    SUMMARY_CLAIMS_STRUCK,
    NATIVE_STARTED,
    NATIVE_READY,
    NATIVE_FAILED,
    NATIVE_UNAVAILABLE,
    TOKENIZER_FALLBACK,
)
"""Every event that can be reported."""

WARNINGS: Mapping[str, str] = {
    COMPACTION_WON_LITTLE: "compactions of lane {lane!r} win too little and follow each other, since {tokens:,} of "
    "{budget:,} tokens must stay ({made_of}): raise `token_budget` or `budget`, or {remedy}",
    ORPHAN_RESULT: "message {seq} is the result of {ids}, which no call of this session has, and views show it as "
    "text: append results with the id of their call (open calls: {open})",
    HISTORY_ODD: "message {seq} cannot be sent as it is ({rule}): {sent}; views of lane {lane!r} heal such messages, "
    "the history keeps them, and `on_event` names each",
    ENDS_WITH_ANSWER: "the request of lane {lane!r} ends with the model's own message {seq}, and {model!r} refuses "
    "that (no prefill): append a message of the user, or the results of its calls, before the request",
    EPHEMERAL_KEPT: "message {seq} is `ephemeral` and half of a tool pair, and was stored, so that the pair stays "
    "whole: mark the other half as well, or neither",
    LONG_USER_MESSAGES: "{messages} messages of the user in a row, up to {seq}, follow answers without tool calls and "
    "have {characters:,} characters on average, as outputs of tools do: mark those of tools by the `kind` "
    "`observation` in their `metadata`, so that they are compacted as results, and one that a person wrote by `typed`",
    USAGE_REJECTED: "the usage reported for lane {lane!r}, {reported}, was ignored, since {reason}: report the usage "
    "of one call, after its request and before the next one",
    USAGE_CORRECTED: "the {reported:,} tokens reported as usage of lane {lane!r} were taken as {taken:,}, since "
    "{reason}: pass the provider's response to `observe_response`, which reads it as it is meant",
    OVERHEAD_LARGE: "by the reported usage, {tokens:,} of the {budget:,} tokens of lane {lane!r} are taken by what its "
    "messages do not explain, such as tool definitions: if it is not that, the reports may be totals of several "
    "requests or count cached tokens twice, so pass the provider's response to `observe_response`; else give "
    "`overhead_tokens`, and `model` so that messages are counted as it counts, or raise the budget",
    REASONING_MISMATCH: "the provider left out or only allowed {blocks:,} blocks of reasoning of lane {lane!r} (the "
    "first is {first}), since something before them changed: send each view unchanged, with the same system prompt and "
    "tools, pass the tools as `tools`, and append responses unchanged",
    CACHE_MISS_UNEXPECTED: "the provider's cache missed {tokens:,} tokens of lane {lane!r} ({reason}), and no change "
    "of the view explains it: {remedy}",
    RULES_EVICTED: "the digest of lane {lane!r} has no room for {rules:,} more of the user's rules: raise the budget, "
    "or pin the messages that state them",
    SYSTEM_EVICTED: "{messages:,} of the system messages in the middle of lane {lane!r} no longer fit their share of "
    "the budget, and the digest shows what they say: raise the budget, shorten them, or pin those that must hold",
    TOOLS_EVICTED: "{messages:,} of the messages that bring tools into lane {lane!r} no longer fit their share of "
    "the budget, and the model may lose these tools: raise the budget, bring in fewer tools at once, or pin them",
    ATTACHMENT_LEFT_OUT: "the {kind} in the user's message {seq} does not fit a request of lane {lane!r} and is left "
    "out: raise the budget, or attach a smaller one",
    MEDIA_OVER_LIMIT: "the {images:,} images of lane {lane!r} and its {bytes:,} bytes of media exceed what its "
    "provider accepts in one request ({limits}), and what is left is protected: unpin messages, or attach fewer or "
    "smaller ones",
    EDIT_REJECTED: "strategy {strategy!r} asked for an edit that lane {lane!r} must not have ({edit}), and the view "
    "does without: correct the strategy",
    PREPARATION_FAILED: "the next compaction of lane {lane!r} could not be prepared in the background ({error}), so "
    "requests plan theirs themselves: correct the strategy or the tokenizer that raised, or pass `plan_ahead=False`",
    OVERFLOW: "the provider refused a request of lane {lane!r}, of {tokens:,} tokens as estimated, as too long: the "
    "next ones are shorter; lower `token_budget` or `budget`, or report usage by `observe_response`",
    STORE_UNAVAILABLE: "the store did not take the plan of lane {lane!r} ({error}): it is used, and stored with the "
    "next change; make the store reachable",
    OFFLOAD_FAILED: "a body of {bytes:,} bytes could not be put into `blob_store` ({error}): it stays in the store; "
    "make that place reachable",
    PROVIDER_WINDOW_UNAVAILABLE: "the provider did not say its window ({reason}): give `token_budget`, or set `budget` "
    "to it",
    WINDOW_ASSUMED: "the window of model {model!r} is not known, and {window:,} tokens are assumed: name it in "
    "`windows` of `BudgetOptions`, or pass `token_budget`",
    SUMMARY_FAILED: "no summary could be had for lane {lane!r} ({reason}): the digest is used instead; look at the "
    "summarizer and its model",
    SUMMARY_CLAIMS_STRUCK: "{struck:,} claims of a summary for lane {lane!r} were struck, since no message that it "
    "covers holds them: look at the summarizer's model and its instructions",
    NATIVE_FAILED: "no native compaction could be had for lane {lane!r} ({reason}): our own digest is used instead; "
    "look at the function of `NativeCompaction`, its model and its limit of output tokens",
    NATIVE_UNAVAILABLE: "model {model!r} of lane {lane!r} is not compacted by its provider; our own digest is used: if "
    "the function of `NativeCompaction` calls another one, name it in `NativeCompaction(model=...)`; else leave out "
    "`native`",
    TOKENIZER_FALLBACK: "tokenizer {tokenizer!r} failed on its {scope} ({reason}): tokens are estimated; install or "
    "correct it, or choose another one by `tokenizer`",
}
"""The warning of each event that also warns, with the payload's keys in braces: what happened, and how to fix it."""

MOVES_PREFIX = frozenset((COMPACTION, LATE_RESULT, UNANSWERED_CALL, EPHEMERAL_EXPIRED, PLAN_CHANGED, PROMPT_CHANGED))
"""The only events after which a view may differ from an extension of the previous one."""


def sentence(name: str, payload: Mapping[str, Any]) -> str:
    """Return the warning of an event."""
    return WARNINGS[name].format_map(payload)


def compacting(name: str, lane: str, messages: int, tokens: int) -> Notification:
    """Return the notification before or after a compaction, with the size of the view."""
    return name, {"lane": lane, "message_count": messages, "token_count": tokens, "tokens": tokens}
