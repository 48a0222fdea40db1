"""Notice an agent without tool calls, whose host sends outputs of tools as messages of a user."""

from collections.abc import Iterator
from itertools import pairwise

from backscroll import events
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.ports import Notification

TURNS = 5  # messages in a row that follow an answer without calls
LENGTH = 1_000  # characters of such a message on average
TYPED = 0.25  # of these characters that look typed: of outputs of tools hardly any do


def long_user_messages(lane: str, builder: PlanBuilder) -> Iterator[Notification]:
    """Report, at the first compaction of a lane, that messages of the user are as long as outputs of tools."""
    if builder.before.plan.edits:
        return
    readings = [(entry.seq, entry.reading) for segment in builder.before.segments for entry in segment.entries]
    if any(reading.calls or reading.outcomes or reading.flags.typed for _, reading in readings):
        return
    answered = pairwise(readings)
    found = [each for before, each in answered if before[1].role == "assistant" and each[1].is_user_turn][-TURNS:]
    total = sum(len(part.text) for _, reading in found for part in reading.parts if part.kind == "text")
    sure = sum(len(reading.sure) for _, reading in found)
    if len(found) == TURNS and total >= TURNS * LENGTH and sure < total * TYPED:
        payload = {"lane": lane, "seq": found[-1][0], "messages": TURNS, "characters": total // TURNS}
        yield events.LONG_USER_MESSAGES, payload
