"""The compact tool: its definition, and its answers to a model that asks for a compaction."""

from collections.abc import Callable

from backscroll.compaction.result import CompactionResult
from backscroll.errors import BackscrollError
from backscroll.messages import Redact, accept_text
from backscroll.messages.tools import definition
from backscroll.ports import Operation

MOST_REASON = 500  # characters of a reason that are kept
_LITTLE = "compacting now would free too little, because nearly everything is recent or protected: go on"
_NO_REASON = "compact needs a reason: say in one sentence what is done and no longer needed word for word"


def compact_definition(format: str) -> dict[str, object]:
    """Return the definition of the `compact` tool in a provider's format, by a name that `messages.tools.definition`
    knows.

    Raises:
        ConfigurationError: The format is unknown.
    """
    reason = {"type": "string", "description": "What is done and no longer needed word for word, in one sentence"}
    schema: dict[str, object] = {"type": "object", "properties": {"reason": reason}, "required": ["reason"]}
    description = (
        "Free room in your context: shorten and summarize its older part. Use it when a piece of work is done and "
        "its details are no longer needed. Nothing is lost; what is left out can still be read by its reference."
    )
    return definition(format, "compact", description, schema)


def answer_compact(
    make: Callable[[str], Operation[CompactionResult | str]], redact: Redact | None, arguments: dict[str, object]
) -> Operation[str]:
    """Answer a model that asks for a compaction: with what was done, or why nothing was.

    Args:
        make: Compacts for a reason; returns what was done, or why it has to wait.
        redact: Applied to the reason before anything else.
        arguments: What the model passed.
    """
    reason = arguments.get("reason")
    if not isinstance(reason, str) or not reason.strip():
        return _NO_REASON
    try:
        kept = accept_text(" ".join(reason.split()), "assistant", redact)[:MOST_REASON]
        done = yield from make(kept)
    except BackscrollError as error:
        return f"nothing was compacted: {error}"
    if isinstance(done, str):
        return done or _LITTLE
    return (
        f"compacted: your context now takes {done.after_tokens:,} tokens instead of {done.before_tokens:,}. What was "
        "left out can be read by its references."
    )
