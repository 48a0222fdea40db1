"""Which reasoning a view may still show after an edit.

Some providers bind a model's reasoning to everything that was before it when it was made. After an edit they refuse a
request with reasoning behind the edited place (Anthropic), or drop it (OpenAI). Reasoning made later stays valid.
Reasoning that is not bound stays, but for that of OpenAI's earlier turns, which piles up and is needed no more.
Sources: "Preserved thinking" of Anthropic, "Preserved reasoning" and "Reasoning" of OpenAI.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import ceil

from backscroll.history.history import Entry, History
from backscroll.history.plan import Plan
from backscroll.history.ranges import SeqRange, covers, united
from backscroll.messages.dialects import dialect_of
from backscroll.tokens.model_profiles import ModelProfile
from backscroll.tokens.usage import estimate_count
from backscroll.view.segment import Segment
from backscroll.view.view import View


def sealed(view: View) -> Iterator[Entry]:
    """Yield the messages of a view that show sealed reasoning, newest first."""
    for segment in reversed(view.segments):
        for entry in reversed(segment.entries):
            if entry.reading.is_sealed and entry.seq not in segment.bare:
                yield entry


def shows_sealed(view: View, ranges: Sequence[SeqRange]) -> bool:
    """Return whether a view shows sealed reasoning of entries in these ranges."""
    return any(covers(ranges, entry.seq) for entry in sealed(view))


def outlived(history: History, view: View) -> list[SeqRange]:
    """Return where the shown reasoning is that precedes the user's last message, if its provider needs only what was
    made since; nothing if reasoning of other dialects is among it.
    """
    last = history.last_user
    old = [] if last is None else [entry for entry in sealed(view) if entry.seq < last.seq]
    if last is None or not old or not all(dialect_of(entry.message).reasons_in_turn for entry in old):
        return []
    return [SeqRange(old[-1].seq, last.seq - 1)]


def first_changed(before: View, after: View, replaced: int = 0, by: int = 0) -> int | None:
    """Return the first entry of `after` that does not follow what it followed in `before`; None if it extends it.

    Args:
        before: What was sent.
        after: What will be sent.
        replaced: Messages at the beginning of `before` that count as equal to those at the beginning of `after`, since
            a provider's own block replaces them.
        by: How many these are in `after`.
    """
    sent, sends = before.messages, after.messages
    if by:
        sent, sends = sent[replaced:], sends[by:]
    pairs = zip(sent, sends, strict=False)
    at = next((number for number, (one, other) in enumerate(pairs) if one is not other and one != other), None)
    if at is None and len(sends) >= len(sent):
        return None
    at = by + (len(sends) if at is None else at)
    number = max(0, bisect_right(after.segments, at, key=_start) - 1)
    for segment in after.segments[number:]:
        if segment.entries:
            return _entry_at(segment, at)
    return None


def bound_view(before: View | None, plan: Plan, build: Callable[[Plan], View]) -> View:
    """Build the view of a plan without the reasoning that does not follow what it followed in `before`."""
    view = build(plan)
    first = None if before is None else first_changed(before, view)
    if first is None or plan.last is None:
        return view
    behind = [SeqRange(first, plan.last)]
    if not shows_sealed(view, behind):
        return view
    return build(replace(plan, no_reasoning=united(plan.no_reasoning, behind)))


def lost_between(before: View, after: View) -> list[Entry]:
    """Return the messages whose reasoning one view shows and the other does not."""
    left = {entry.seq for entry in sealed(after)}
    return [entry for entry in sealed(before) if entry.seq not in left]


def _start(segment: Segment) -> int:
    return segment.start


def _entry_at(segment: Segment, at: int) -> int:
    """Return the entry of a segment that message `at` of the view is made of; its first one for a separator."""
    number = max(0, at - segment.start - (segment.separator is not None))
    owners = segment.sources or [(entry,) for entry in segment.entries]
    if len(owners) == len(segment.messages) and number < len(owners) and owners[number]:
        return owners[number][0].seq
    return segment.entries[0].seq


def reasoning_tokens(entries: Iterable[Entry], family: ModelProfile) -> int:
    """Return the tokens of the reasoning in these messages, as expected."""
    counts = (entry.counts[number] for entry in entries for number in entry.reading.reasoning)
    return ceil(sum(estimate_count(count, family)[0] for count in counts))
