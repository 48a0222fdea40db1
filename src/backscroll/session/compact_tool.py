"""The compact tool: its definition, and its answers to a model that asks for a compaction."""

from backscroll.compaction import policy
from backscroll.errors import BackscrollError
from backscroll.messages import accept_text
from backscroll.ports import Operation
from backscroll.recall.tool import in_format
from backscroll.session.request import decide_and_apply
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, refresh_lane
from backscroll.session.system_prompt import ask_prompt

MOST_REASON = 500  # characters of a reason that are kept
_LITTLE = "compacting now would free too little, because nearly everything is recent or protected: go on"
_NO_REASON = "compact needs a reason: say in one sentence what is done and no longer needed word for word"


def compact_definition(format: str) -> dict[str, object]:
    """Return the definition of the `compact` tool in a provider's format: `openai`, `anthropic` or `strands`.

    Raises:
        ConfigurationError: The format is unknown.
    """
    reason = {"type": "string", "description": "What is done and no longer needed word for word, in one sentence"}
    schema: dict[str, object] = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    description = (
        "Free room in your context: shorten and summarize its older part. Use it when a piece of work is done and "
        "its details are no longer needed. Nothing is lost; what is left out can still be read by its reference."
    )
    return in_format(format, "compact", description, schema)


def answer_compact(state: SessionState, lane_name: str, arguments: dict[str, object]) -> Operation[str]:
    """Compact a lane because its model asks, and answer what was done, or why nothing was."""
    reason = arguments.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        return _NO_REASON
    try:
        kept = accept_text(" ".join(reason.split()), "assistant", state.config.redact)[:MOST_REASON]
        return (yield from _compact(state, lane_name, kept))
    except BackscrollError as error:
        return f"nothing was compacted: {error}"


def _compact(state: SessionState, lane_name: str, reason: str) -> Operation[str]:
    prompt = yield from ask_prompt(state)
    yield from enter(state)
    lane = state.lane(lane_name)
    now = (yield from refresh_lane(state, lane, prompt))._replace(reason=reason)
    refusal = policy.for_model(lane, now)[1]
    if refusal:
        return refusal
    changed = yield from decide_and_apply(
        state, lane, now, lambda now: policy.for_model(lane, now._replace(reason=reason))[0]
    )
    done = lane.last_compaction
    if not changed or done is None:
        return _LITTLE
    return (
        f"compacted: your context now takes {done.after_tokens:,} tokens instead of {done.before_tokens:,}. What was "
        "left out can be read by its references."
    )
