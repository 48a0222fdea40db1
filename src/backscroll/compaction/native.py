"""Native compaction: what a provider is asked to compact, and whether its block is worth using.

A provider's own block may replace the beginning of a conversation without invalidating the reasoning behind it, which
no summary of ours can. It is made in the background, of messages that were sent before, and used by the next
compaction. Sources: "Compaction on demand", "Keep recent turns" and "Compaction in the background" of Anthropic,
"Compaction" and "Preserved reasoning" of OpenAI.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from itertools import accumulate

from backscroll.compaction.candidates import NEAREST
from backscroll.compaction.decision import PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.native_request import NativeOrder, NativeRequest
from backscroll.compaction.options import CachePricing
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.compaction.quotes import first_unquotable
from backscroll.compaction.reasoning import reasoning_tokens
from backscroll.history.history import History
from backscroll.history.log import digest_of
from backscroll.history.plan import GAPS
from backscroll.messages import SYSTEM_ROLES, Message, in_a_row
from backscroll.view.segment import GROUP, Segment
from backscroll.view.view import View

LARGEST = 0.4
"""Of the room: a block and its notes above this share leave too little, and our own digest serves instead."""
WORTH = 0.1  # of the room that a block has to free
GAIN = 0.75
"""Of the way from the threshold to the target: a block of less leaves a view that has to be compacted once more."""
OUTPUT = 5.0  # price of an output token in input tokens, as of both providers' price lists in November 2026
EXPECTED, MOST_EXPECTED = 0.1, 2_000  # tokens of a block that is not made yet: share of what it represents, and at most


def fingerprint(messages: Sequence[Message]) -> str:
    """Return the SHA-256 of messages. Two lists have the same one only if they are equal, key orders apart."""
    text = json.dumps(messages, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# -- what to compact --


def next_order(lane: LaneState, history: History, *, recent: int, least: float, model: str) -> NativeOrder | None:
    """Return the order for the beginning of the view that was just sent; None if there is nothing to compact.

    Args:
        lane: The lane.
        history: Its history.
        recent: Tokens of the kept end, which is shorter only where the beginning would be shorter than `least`.
        least: Tokens of the beginning.
        model: The model to ask.
    """
    view = lane.view
    assert view is not None
    total = view.estimate.upper
    cuts = [(at, left) for at, left in _cuts(view, history) if left >= recent * NEAREST and total - left >= least]
    if not cuts:
        return None
    cut, left = next((each for each in cuts if each[1] >= recent), cuts[-1])
    start = view.segments[cut].start if cut < len(view.segments) else len(view.messages)
    messages = view.aligned_copies()[:start]
    sent = messages if view.is_written else in_a_row(messages)
    return NativeOrder(
        lane=lane.name,
        last=_last_before(view, history, cut),
        plan=lane.plan,
        number=start,
        prefix=fingerprint(view.messages[:start]),
        role=str(view.messages[start - 1]["role"]),
        prompt=lane.prompt,
        request=NativeRequest(sent, model, lane.name, total - left),
    )


def _cuts(view: View, history: History) -> Iterator[tuple[int, int]]:
    """Yield where a view can be cut, as the number of segments before it and the tokens behind it, from its end on.

    The kept end begins with another role than what is before it ends with, and with no system message: otherwise its
    reasoning would not stay valid. It holds nothing but turns, since a digest or notes do not stay where they are.
    """
    limit = first_unquotable(history, (entry for segment in view.segments for entry in segment.entries))
    gap = max((edit.last for edit in view.plan.edits if isinstance(edit, GAPS)), default=-1)
    newest = list(accumulate((_newest(segment) for segment in view.segments), max))
    left, lowest = 0, history.next_seq
    for at in range(len(view.segments), 0, -1):
        behind = view.segments[at] if at < len(view.segments) else None
        if behind is not None:
            if behind.key[1] != GROUP:
                return
            left += behind.estimate.upper + behind.separator_estimate.upper
            lowest = min([lowest, *(entry.seq for entry in behind.entries)])
        before, last = view.segments[at - 1], newest[at - 1]
        if last < 0 or last in history.leading_seqs:
            return
        if last >= min(limit, lowest) or gap >= lowest or not before.messages or before.state[2]:
            continue
        ends = before.messages[-1]["role"] == "user" or _ends_round(before)
        if ends and (behind is None or _may_follow(before, behind)):
            yield at, left


def _newest(segment: Segment) -> int:
    return max((entry.seq for entry in segment.entries), default=-1)


def _ends_round(segment: Segment) -> bool:
    """Return whether a segment ends with the results of its calls, with any role that these have in its dialect."""
    return bool(segment.entries) and bool(segment.entries[-1].reading.results)


def _may_follow(before: Segment, behind: Segment) -> bool:
    if not behind.messages or behind.separator is not None:
        return False
    role = behind.messages[0]["role"]
    return role != before.messages[-1]["role"] and role not in SYSTEM_ROLES


def _last_before(view: View, history: History, cut: int) -> int:
    if cut == len(view.segments):
        return history.branch[-1]
    return history.branch[history.branch.position(view.segments[cut].entries[0].seq) - 1]


# -- whether it is worth it --


def worth_asking(lane: LaneState, order: NativeOrder, prices: CachePricing, threshold: int) -> bool:
    """Return whether `auto` asks for a block: if keeping reasoning is worth more than the call.

    The rule, in tokens at the price of uncached input: the call reads what it compacts from the cache, and writes a
    block of about a tenth of it, at most 2,000 tokens. What it saves is the reasoning behind the cut, which our own
    compaction would take out and the model would have to think again, as output. That reasoning is taken to grow with
    the view, up to its threshold. Output counts as five tokens of input. A view whose provider does not bind reasoning
    loses none, so our digest, which costs nothing, serves.

    Args:
        lane: The lane, with the view that was just sent.
        order: What would be compacted.
        prices: Prices of the provider's cache.
        threshold: Tokens of the request that the block will be used in.
    """
    view = lane.view
    if view is None or not lane.around.binds:
        return False
    behind = [segment for segment in view.segments if segment.entries and segment.entries[0].seq > order.last]
    kept = [
        entry
        for segment in behind
        for entry in segment.entries
        if entry.reading.is_sealed and entry.seq not in segment.bare
    ]
    tokens = sum(segment.estimate.upper for segment in behind)
    growth = max(1.0, (threshold - order.request.tokens) / tokens) if tokens else 1.0
    read = prices.read * order.request.tokens
    written = OUTPUT * min(MOST_EXPECTED, EXPECTED * order.request.tokens)
    return OUTPUT * reasoning_tokens(kept, lane.family) * growth >= read + written


def worth_using(freed: int, block: int, room: int) -> bool:
    """Return whether a block that is ready is used: it is paid already, so only what it frees counts.

    Args:
        freed: Tokens that leave the view, net of the block and its notes.
        block: Tokens of the block and its notes.
        room: Tokens that messages may take.
    """
    return freed >= WORTH * room and block <= LARGEST * room


def with_block(lane: LaneState, now: PolicyInput, make: Callable[[], PlanBuilder]) -> PlanBuilder | None:
    """Return a plan that uses the lane's block; None if there is none, it is not worth it, or something it represents
    changed since it was sent.

    Args:
        lane: The lane, with its view up to date.
        now: What else the decision depends on.
        make: Makes the plan to put it into.
    """
    made, newest, view = lane.native, now.history.newest, lane.view
    if made is None or view is None or not now.native or newest is None or newest.open_calls:
        return None
    whole = [*now.history.newest_seqs, *now.limits.retain]
    if min(whole) <= made.last or fingerprint(view.messages[: made.number]) != made.prefix:
        return None
    builder = make()
    before, prompt = builder.used, None if now.prompt is None else digest_of(now.prompt)
    block = builder.use_native(made, keeps=made.keeps and made.prompt == prompt)
    return builder if worth_using(before - builder.used, block, builder.room) else None
