"""Whether a line has to separate two messages of a view that were not consecutive in the history."""

from collections.abc import Sequence

from backscroll.history.history import History
from backscroll.history.plan import Gap, Plan
from backscroll.history.ranges import covers
from backscroll.messages import SYSTEM_ROLES
from backscroll.messages.dialects import ROLES, dialect_of
from backscroll.messages.rewriter import must_alternate
from backscroll.view import rendering
from backscroll.view.segment import SUMMARY, Key, Segment


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


def between(
    segments: Sequence[Segment], previous: Segment, segment: Segment, gap: Gap | None, *, history: History, plan: Plan
) -> str | None:
    """Return the text between two segments of one role; None if they were consecutive in the history as well, or one is
    a hand-over, which says what is left out.

    Args:
        segments: All segments before the second.
        previous: The last of them that has a role.
        segment: The second.
        gap: The gap between the two.
        history: The history.
        plan: The view's plan.
    """
    refused = plan.heals and must_alternate(previous.messages[-1], segment.messages[0])
    if plan.digest.ledger is not None and SUMMARY in (previous.key[1], segment.key[1]):
        return rendering.ELSEWHERE_LINE if refused or _follows_system(segments, segment) else None
    if apart := gap or (list(plan.gaps())[-1] if previous.key[1] == SUMMARY else None):
        return rendering.gap_line(apart)
    if previous.group and previous.group.open_calls and (plan.heals or not previous.state[2]):
        return rendering.ELSEWHERE_LINE if plan.heals else rendering.NO_RESULT_LINE
    if refused:
        return rendering.ELSEWHERE_LINE
    if not previous.entries or not segment.entries:
        return None
    if previous.messages[-1]["role"] == "system":
        return rendering.ELSEWHERE_LINE  # behind the line that precedes a system message
    low, high = sorted((previous.entries[-1].seq, segment.entries[0].seq))
    return None if only_system(history, plan, low, high) else rendering.ELSEWHERE_LINE


def _follows_system(segments: Sequence[Segment], segment: Segment) -> bool:
    """Return whether a segment directly follows a system message, which only the model may answer. Source: as in
    `cut_off_at`.
    """
    nearest = next(each for each in reversed(segments) if each.messages)
    return nearest.messages[-1]["role"] == "system" and not dialect_of(segment.messages[0]).system_apart


def role_of_handover(segments: Sequence[Segment], key: Key) -> str:
    """Return the role of a hand-over: the user's, so that the model goes on from it, and the model's between two
    messages of the user. A request cannot begin with the model's, and reasoning must begin the
    model's newest turn.

    Args:
        segments: All others of its view, in any order.
        key: Its place.
    """
    spoken = [
        (segment.key, roles)
        for segment in segments
        if (
            roles := [
                ROLES.get(each["role"], each["role"]) for each in segment.messages if each["role"] not in SYSTEM_ROLES
            ]
        )
    ]
    before = max((each for each in spoken if each[0] < key), default=None)
    after = min((each for each in spoken if each[0] > key), default=None)
    between_users = before is not None and before[1][-1] == "user" and after is not None and after[1][0] == "user"
    return "assistant" if between_users else "user"
