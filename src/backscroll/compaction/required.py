"""What every view requires, by kind, and the remedy if that takes nearly all of the budget."""

from collections import Counter
from collections.abc import Set
from typing import NamedTuple

from backscroll import events
from backscroll.compaction.candidates import kept_ends
from backscroll.compaction.in_place import Kind, kept_in_place, kind_of
from backscroll.compaction.lane_state import BETTER, LaneState
from backscroll.compaction.plan_builder import PlanBuilder
from backscroll.history.history import History
from backscroll.ports import Notification
from backscroll.view.rendering import note_text
from backscroll.view.segment import GROUP, Segment

_OUTSIDE, _PROMPT, _SYSTEM = "tokens outside the messages", "the system prompt", "leading system messages"
_PINNED, _KEPT = "pinned or critical messages", "messages kept by `protect`"
_USERS, _REMINDER = "the user's first and last message", "the newest reminder"
_RULES, _NEWEST = "rules of the user", "the newest messages"
_IN_PLACE: dict[Kind, str] = {"system": "system messages in the middle", "tools": "messages that bring tools"}
_REMEDIES = {
    _OUTSIDE: "give the model fewer or shorter tool definitions",
    _PROMPT: "shorten the system prompt",
    _SYSTEM: "shorten the system messages",
    _IN_PLACE["system"]: "shorten the system messages in the middle",
    _IN_PLACE["tools"]: "bring in fewer tools at once",
    _PINNED: "unpin messages",
    _KEPT: "lower `first` or `last` of `protect`",
    _USERS: "put long material into a message of its own",
    _REMINDER: "shorten the reminder",
    _RULES: "take rules back",
    _NEWEST: "let tools return less at once",
}
"""Remedies for each kind, apart from a larger budget."""
_STAYS = 0.85  # of the budget: required messages that take more are too much; below `BETTER` they no longer are
_NAMED, _LEAST = 3, 0.05  # kinds that a warning names, and the minimum share of the second and third


class Staying(NamedTuple):
    """Required messages, in tokens of the whole request by the upper estimate."""

    tokens: int
    parts: dict[str, int]
    """Tokens by kind, largest first."""


def staying(builder: PlanBuilder, after: int) -> Staying:
    """Measure the required messages of a plan, whose request takes `after` tokens."""
    overhead, view, history = builder.targets.size - builder.room, builder.view, builder.history
    scale = max(0, after - overhead) / max(1, view.estimate.upper)  # a provider's count differs from the estimate
    sums = Counter({_OUTSIDE: overhead})
    ends = kept_ends(history, builder.around.kept)
    in_place = kept_in_place(view.segments, history, builder.room, builder.around.family)
    for segment in view.segments:
        kind = _kind(segment, history, ends) or _kept_kind(segment, in_place)
        if kind is not None:
            sums[kind] += round(segment.estimate.upper * scale)
    rules = [note_text(note) for note in view.plan.digest.notes if note.kind == "rule"]
    sums[_RULES] = round(sum(builder.window.tokens(builder.around.count(rule)) for rule in rules) * scale)
    parts = {kind: tokens for kind, tokens in sums.most_common() if tokens}
    return Staying(sum(parts.values()), parts)


def _kind(segment: Segment, history: History, ends: tuple[int, int]) -> str | None:
    """Return why a segment is required; None if it may leave."""
    if segment.group is None:
        return _PROMPT if segment.key[1] < GROUP else None
    members = segment.group.members
    users = {entry.seq for entry in (history.first_user, history.last_user) if entry is not None}
    if not history.protected.isdisjoint(members):
        return _PINNED
    if members[0] in history.leading_seqs:
        return _SYSTEM
    if not users.isdisjoint(members):
        return _USERS
    if history.reminder in members:
        return _REMINDER
    if members[0] <= ends[0] or members[-1] >= ends[1]:
        return _KEPT
    return None if history.newest_seqs.isdisjoint(members) else _NEWEST


def _kept_kind(segment: Segment, in_place: Set[int]) -> str | None:
    """Return why a segment keeps its place; None if it need not."""
    kinds = (kind for entry in segment.entries if entry.seq in in_place if (kind := kind_of(entry)))
    return next((_IN_PLACE[kind] for kind in kinds), None)


def won_little(lane: str, stays: Staying, budget: int) -> Notification:
    """Return the event that compactions of a lane free too little, because so much is required."""
    first, *others = list(stays.parts.items())[:_NAMED]
    largest = [first, *(each for each in others if each[1] >= _LEAST * stays.tokens)]
    made_of = ", ".join(f"{kind} {tokens:,}" for kind, tokens in largest)
    remedy = ", or ".join(_REMEDIES[kind] for kind, _ in largest)
    payload = {"lane": lane, "tokens": stays.tokens, "budget": budget, "parts": stays.parts}
    return events.COMPACTION_WON_LITTLE, payload | {"made_of": made_of, "remedy": remedy}


def wins_little(
    lane: LaneState, builder: PlanBuilder, won: int, after: int, enough: float
) -> tuple[bool | None, list[Notification]]:
    """Return whether the compaction freed too little because so much is required, None if that is hard to say. The
    second in a row is reported, and then none before it was better.
    """
    targets, stays = builder.targets, staying(builder, after)
    if stays.tokens < BETTER * targets.size:
        return False, []
    enough = enough * targets.size / max(1, targets.room)  # also if the overhead takes it all
    if stays.tokens < _STAYS * targets.size or won >= enough:
        return None, []
    return True, [won_little(lane.name, stays, targets.size)] if lane.little == 1 else []
