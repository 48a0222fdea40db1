"""System messages of a view: which the prompt replaces, and what comes before one whose neighbors are left out.

Anthropic takes a system message only after a turn of the user, and last or before a turn of the assistant. A
user's line keeps it so behind the digest. Source: "Mid-conversation system messages" (Claude Platform Docs).
"""

from collections.abc import Sequence

from backscroll.history.history import Entry
from backscroll.history.plan import Gap, Plan
from backscroll.messages.contents import is_content
from backscroll.view.segment import SUMMARY, Segment


def cut_off_at(segments: Sequence[Segment], segment: Segment, plan: Plan) -> tuple[Gap, Segment] | None:
    """Return the gap before a system message, and the assistant's segment that it follows only because of that gap;
    None if it needs no line. Contents of Gemini need none, because system messages are moved out of them.

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
            needed = previous.speaker == "assistant" and previous.key[2] >= 0 and not is_content(previous.messages[-1])
            return (gap, previous) if gap is not None and needed else None
        gap = gap or previous.gap
    return None


def replaced_by_prompt(entry: Entry) -> bool:
    """Return whether the text of a system prompt factory replaces an entry: a stored system message that no hook
    injected and that its host did not mark by `source: host`. Developer messages stay, because they hold files and
    rules of their own.
    """
    flags = entry.reading.flags
    return entry.reading.role == "system" and not (flags.injected or flags.from_host)
