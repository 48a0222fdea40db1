"""Whether a line has to separate two messages of a view that were not consecutive in the history."""

from collections.abc import Sequence

from backscroll.history.history import History
from backscroll.history.plan import Gap, Plan
from backscroll.history.ranges import covers
from backscroll.messages.dialects import dialect_of
from backscroll.view.segment import SUMMARY, Segment


def ends_with_answer(segments: Sequence[Segment]) -> int:
    """Return the message of the model that a view ends with; -1 if it ends otherwise. A call of a server's tool that
    has no result is no end: its provider goes on.
    """
    for last in reversed(segments):
        if last.messages:
            if last.speaker != "assistant" or not last.entries or (last.group is not None and last.group.serving):
                return -1
            return last.entries[-1].seq
    return -1


def only_system(history: History, plan: Plan, low: int, high: int) -> bool:
    """Return whether only visible system messages lie between two entries."""
    start, stop, gaps = history.branch.position(low) + 1, history.branch.position(high), list(plan.gaps())
    return all(
        not covers(gaps, seq) and history.entry(seq).reading.is_system for seq in history.branch.between(start, stop)
    )


def cut_off_at(segments: Sequence[Segment], segment: Segment, plan: Plan) -> tuple[Gap, Segment] | None:
    """Return the gap before a system message, and the assistant's segment that it follows only because of that gap;
    None if it needs no line. Where a request holds its system messages apart, none does.

    Anthropic takes a system message only after a turn of the user, and last or before a turn of the assistant. Source:
    "Mid-conversation system messages" (Claude Platform Docs).

    Args:
        segments: The segments before it.
        segment: The system message's.
        plan: The view's plan.
    """
    if segment.group is None or segment.messages[0]["role"] != "system":
        return None
    gap = segment.gap
    for previous in reversed(segments):
        if previous.speaker is not None:
            if previous.key[1] == SUMMARY:
                gap = gap or list(plan.gaps())[-1]
            needed = (
                previous.speaker == "assistant"
                and previous.key[2] >= 0
                and not dialect_of(previous.messages[-1]).system_apart
            )
            return (gap, previous) if gap is not None and needed else None
        gap = gap or previous.gap
    return None
