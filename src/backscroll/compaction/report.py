"""What a lane reports of a compaction: figures, rejected edits, and how to make a request fit."""

from collections import Counter
from collections.abc import Iterator

from backscroll import events
from backscroll.compaction.in_place import Kind, shown_in_place
from backscroll.compaction.media_limits import BY as MEDIA_LIMIT
from backscroll.compaction.plan_builder import LAST_CUT, PlanBuilder
from backscroll.compaction.reasoning import reasoning_tokens
from backscroll.compaction.result import CompactionResult, Trigger
from backscroll.errors import BudgetError
from backscroll.history.log import Overflowed
from backscroll.history.plan import Clear, Excerpt, Plan, Restate
from backscroll.history.ranges import covers
from backscroll.ports import Notification
from backscroll.view.segment import EPHEMERAL
from backscroll.view.view import View


def result_of(lane: str, builder: PlanBuilder, used: int, after: int, trigger: Trigger) -> CompactionResult:
    """Compare a plan with the previous view, of `used` and `after` tokens."""
    before, view, targets = builder.before, builder.view, builder.targets
    shown = {segment.key for segment in view.segments}
    removed = sum(len(one.messages) for one in before.segments if one.group and one.key not in shown)
    shortened = sum(1 for edit in view.plan.edits if isinstance(edit, Excerpt | Clear))
    return CompactionResult(
        lane=lane,
        before_tokens=used,
        after_tokens=after,
        before_messages=len(before.messages),
        after_messages=len(view.messages),
        messages_dropped=removed,
        parts_shortened=shortened,
        target_tokens=targets.target,
        budget=targets.total,
        trigger=trigger,
        reasoning_tokens=reasoning_tokens(builder.lost_reasoning(), builder.around.family),
    )


def refusals(lane: str, builder: PlanBuilder) -> list[Notification]:
    """Report edits that a strategy made of protected parts."""
    return [(events.EDIT_REJECTED, {"lane": lane, "strategy": edit.by, "edit": repr(edit)}) for edit in builder.refused]


def rules_left_out(lane: str, builder: PlanBuilder) -> list[Notification]:
    """Report users' rules that the new view no longer shows."""
    lost = _rules_aside(builder.view.plan) - _rules_aside(builder.before.plan)
    return [(events.RULES_EVICTED, {"lane": lane, "rules": len(lost)})] if lost else []


def in_place_left_out(lane: str, builder: PlanBuilder) -> Iterator[Notification]:
    """Report system messages, and messages that bring tools, that the new view no longer shows."""
    shown, before = _shown(builder.view), _shown(builder.before)
    lost = {seq: kind for seq, kind in before.items() if seq not in shown}
    named: tuple[tuple[Kind, str], ...] = ("system", events.SYSTEM_EVICTED), ("tools", events.TOOLS_EVICTED)
    for kind, name in named:
        if seqs := sorted(seq for seq in lost if lost[seq] == kind):
            yield name, {"lane": lane, "messages": len(seqs), "seqs": seqs}


def attachments_left_out(lane: str, builder: PlanBuilder) -> Iterator[Notification]:
    """Report users' attachments that the new view no longer shows because nothing else was left to cut, or that the
    model will never see because no request may hold them.
    """
    known = {(edit.seq, edit.part) for edit in builder.before.plan.edits if isinstance(edit, Clear)}
    for edit in builder.view.plan.edits:
        if not isinstance(edit, Clear) or (edit.seq, edit.part) in known:
            continue
        unseen = edit.by == MEDIA_LIMIT and edit.seq > builder.history.last_assistant
        if edit.by != LAST_CUT and not unseen:
            continue
        reading = builder.history.entry(edit.seq).reading
        media = reading.parts[edit.part].media
        if media is not None and reading.is_user_turn:
            yield events.ATTACHMENT_LEFT_OUT, {"lane": lane, "seq": edit.seq, "kind": media.kind}


def reports_of(done: CompactionResult, builder: PlanBuilder) -> Iterator[Notification]:
    """Report a compaction."""
    plan = builder.view.plan
    yield events.compacting(events.PRE_COMPACT, done.lane, done.before_messages, done.before_tokens)
    expired = sum(1 for segment in builder.before.segments if segment.key[1] == EPHEMERAL) - len(builder.fresh)
    if expired:
        yield events.EPHEMERAL_EXPIRED, {"lane": done.lane, "messages": expired}
    if lost := builder.lost_reasoning():
        yield (
            events.REASONING_REMOVED,
            {
                "lane": done.lane,
                "plan": plan.number,
                "trigger": done.trigger,
                "messages": len(lost),
                "tokens": done.reasoning_tokens,
            },
        )
    yield (
        events.COMPACTION,
        {
            "lane": done.lane,
            "plan": plan.number,
            "trigger": done.trigger,
            "before_tokens": done.before_tokens,
            "after_tokens": done.after_tokens,
            "before_messages": done.before_messages,
            "after_messages": done.after_messages,
            "messages_removed": done.messages_dropped,
            "messages_truncated": done.parts_shortened,
            "user_messages_stubbed": 0,
            "system_messages_preserved": _system_messages(builder),
            "strategy_level": _level(plan),
            "strategies": dict(Counter(edit.by for edit in plan.edits)),
            "budget": done.budget,
            "target_tokens": done.target_tokens,
            **({"reason": plan.reason} if plan.reason is not None and done.trigger == "model" else {}),
        },
    )
    yield events.compacting(events.POST_COMPACT, done.lane, done.after_messages, done.after_tokens)


def _system_messages(builder: PlanBuilder) -> int:
    """Return how many system messages stay."""
    history, shown = builder.history, _shown(builder.view)
    return history.leading + sum(shown[seq] == "system" for seq in shown.keys() - history.leading_seqs)


def _shown(view: View) -> dict[int, Kind]:
    return shown_in_place(view.segments, view.plan)


def too_large(builder: PlanBuilder, needed: int, overhead: int, refused: Overflowed | None) -> BudgetError:
    """Return the error that required messages do not fit, with their sizes and the options to change."""
    history = builder.history
    leading = set(history.leading_seqs)
    sums: Counter[str] = Counter()
    for segment in builder.view.segments:
        if segment.group is None:
            kind = "system prompt and notices"
        elif not history.protected.isdisjoint(segment.group.members):
            kind = "pinned or critical messages"
        elif segment.group.first in leading:
            kind = "leading system messages"
        else:
            kind = "first and last user message and the newest group, cut as far as may be"
        sums[kind] += segment.estimate.upper
    parts = "; ".join(f"{name} {tokens:,}" for name, tokens in sums.most_common())
    why = f", since the provider refused a request of {refused.tokens:,} tokens" if refused else ""
    return BudgetError(
        f"what must stay needs {needed:,} tokens, the budget is {builder.targets.total:,}{why} "
        f"({parts}; outside the messages {overhead:,}): "
        "raise `token_budget` or `budget`, unpin messages, or shorten the system prompt"
    )


def too_large_as_measured(measured: int, budget: int) -> BudgetError:
    """Return the error that the smallest view exceeds a hard budget in the caller's own measure."""
    return BudgetError(
        f"what must stay measures {measured:,} by the caller's measure, the budget is {budget:,}: "
        "raise `token_budget`, unpin messages, or shorten the system prompt"
    )


def _rules_aside(plan: Plan) -> set[str]:
    """Return the rules of left-out messages that the digest keeps aside and shows nowhere."""
    gaps = list(plan.gaps())
    aside = {note.text for note in plan.digest.reserve if note.kind == "rule" and covers(gaps, note.first)}
    shown = "\n".join(note.text for note in plan.digest.notes if note.kind != "turn") if aside else ""
    return {rule for rule in aside if rule not in shown}


def _level(plan: Plan) -> int:
    """Return how harsh the plan is: 1 (parts cut), 2 (parts cleared) or 3 (messages left out)."""
    return max(
        (1 if isinstance(edit, Excerpt | Restate) else 2 if isinstance(edit, Clear) else 3 for edit in plan.edits),
        default=0,
    )
