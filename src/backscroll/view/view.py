"""The view of one lane, made from history and plan, and kept up to date message by message.

`View.build` makes a view from a plan and reuses every rendered segment that did not change; `View.advance` adds what
was appended since. Both give the same messages.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from math import ceil
from operator import attrgetter
from typing import Literal

from backscroll.history.groups import MessageGroup
from backscroll.history.history import Entry, History
from backscroll.history.plan import Gap, Native, PartEdit, Plan, untold
from backscroll.history.ranges import covers
from backscroll.messages import SYSTEM_ROLES, Copier, Message, in_a_row, paired, read_message, sendable
from backscroll.messages.dialects import ROLES, dialect_of
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.healing import encodable
from backscroll.messages.rewriter import plain, shape_among
from backscroll.tokens.request_media import NO_MEDIA, RequestMedia, media_of
from backscroll.tokens.usage import MESSAGE_TOKENS, NOTHING, Estimate, estimate_count, estimate_message
from backscroll.view import rendering
from backscroll.view.cache_marks import MarkableMessages, Marking, Place, set_marks
from backscroll.view.context import HandedOut, RenderContext
from backscroll.view.ephemerals import Ephemeral
from backscroll.view.group_rendering import render_group, state_of
from backscroll.view.group_weight import estimate_entries, media_of_entries
from backscroll.view.lane_groups import LaneGroups, not_loaded
from backscroll.view.segment import BLOCK, EPHEMERAL, GROUP, NATIVE, NOTES, PROMPT, SUMMARY, Key, Segment, settled
from backscroll.view.separation import between, cut_off_at, role_of_handover
from backscroll.view.text_weights import weight_in, with_weights
from backscroll.view.tool_pairs import check_group

Change = Literal["late result", "unanswered call"]
_Line = tuple[Message | None, Estimate]


class View:
    """The messages of one lane. Callers get copies only."""

    def __init__(self, history: History, around: RenderContext, plan: Plan, prompt: str | None = None) -> None:
        self.plan: Plan = plan
        self.prompt = prompt
        self.segments: list[Segment] = []
        self.messages: list[Message] = []
        self.estimate: Estimate = NOTHING
        self.media: RequestMedia = NO_MEDIA
        """Sums of the media that are shown, if the lane has limits of them."""
        self.summary_tokens: int = 0
        """Tokens of the summary, by the upper estimate."""
        self.changes: list[tuple[Change, int]] = []
        """What broke the older prefix since this was last cleared, with the `seq` that did it."""
        self.healed: list[tuple[int, HealRule]] = []
        """What was healed since this was last cleared."""
        self._around = around
        self._history = history
        self._lane_groups = LaneGroups(history)
        self._edits = plan.rewritten()
        self._at: dict[int, int] = {}
        self._copier = Copier()
        """Copies `messages`."""
        self._markable = None if around.marking is None else MarkableMessages()
        self._summary_at: int | None = None
        """Index of the summary in `messages`."""
        self._gap: Gap | None = None
        """The gap at the very end, which the next message will show."""
        self._cursor = 0
        self.epoch = -1
        """The history's epoch for which it was built: while both agree, `advance` is enough."""
        self._aside: list[int] = []
        """Entries outside of gaps that are not shown: the prompt replaces them, or the rest of their group is
        left out.
        """
        self._ephemerals = 0
        """The number of the next ephemeral message to show."""

    def __repr__(self) -> str:
        """Return how much it shows in a line."""
        return f"<view: plan {self.plan.number}, {len(self.messages):,} messages, {self.estimate.expected:,} tokens>"

    @classmethod
    def build(
        cls,
        history: History,
        plan: Plan,
        around: RenderContext,
        *,
        prompt: str | None = None,
        ephemerals: Sequence[Ephemeral] = (),
        reuse: "View | None" = None,
    ) -> "View":
        """Build the view of a plan over the whole branch. Its cost grows with the view, not with the history."""
        view = cls(history, around, plan, prompt)
        old = _reusable(reuse, plan)
        keep_prompts = prompt is not None
        segments: list[Segment] = []
        if prompt is not None:
            segments.append(view._synthetic(PROMPT, "system", prompt, None, old))
        gap: Gap | None = None
        for seq, gap_before in history.outside(plan.gaps()):
            entry, gap = view._lane_groups.entry(seq, plan), gap_before or gap
            if entry.group.first != seq or (keep_prompts and entry.reading.yields_to_prompt):
                view._aside.append(seq)
                continue
            segment = view._segment(history, entry, old)
            if segment.messages:
                segment.gap, gap = gap, None
            segments.append(segment)
        at_end = (left for left in plan.gaps() if history.branch and left.last >= history.branch[-1])
        view._gap = next(at_end, gap)
        if plan.native is not None:
            view._add_native(history, segments, old)
        view._add_summary(history, segments, old)
        segments += [view._ephemeral(ephemeral) for ephemeral in ephemerals]
        segments.sort(key=attrgetter("key"))
        for segment in segments:
            view._append(segment)
        view._cursor, view.epoch = len(history.branch), history.epoch
        view._ephemerals = ephemerals[-1].number + 1 if ephemerals else 0
        return view

    def shown(self) -> Iterator[int]:
        """Yield the `seq`s of everything that the view needs, also of the hidden entries outside of gaps."""
        yield from (*self._aside, *self.plan.restated())
        yield from (entry.seq for segment in self.segments for entry in segment.entries)

    def of_native(self) -> list[Segment]:
        """Return the provider's block and the notes on it; empty without one."""
        return [] if self.plan.native is None else [segment for segment in self.segments if segment.key[2] in NATIVE]

    def plan_with_weights(self) -> Plan:
        """Return the plan with the weights of the texts that the view adds. It is the view's plan from now on."""
        added = {text: self._weigh(text) for text in rendering.LINES_OF_VIEWS}
        for segment in self.segments:
            if segment.text is not None:
                added[segment.text] = segment.estimate
            if segment.separator is not None:
                added[segment.separator_text] = segment.separator_estimate
        self.plan = with_weights(self.plan, added, self._around)
        return self.plan

    def newer_not_loaded(self, history: History) -> list[int]:
        """Return the messages appended since the last update that are not in memory."""
        if self._cursor >= history.evicted_length and not self.plan.waited:
            return []
        return not_loaded(history, self.plan, history.branch.between(self._cursor, len(history.branch)))

    def advance(self, history: History, ephemerals: Sequence[Ephemeral] = (), *, reuse: "View | None" = None) -> None:
        """Add what was appended since the last update. `epoch` must equal the history's. `reuse`: a view that shows it
        already.
        """
        self._history = self._lane_groups.history = history
        old = _reusable(reuse, self.plan)
        waiting = deque(found for found in ephemerals if found.number >= self._ephemerals) if ephemerals else deque()
        added = history.since(self._cursor)
        if added:
            self._close_last(history, added[0].seq)
        for entry in added:
            while waiting and waiting[0].after < entry.seq:
                self._take_ephemeral(waiting.popleft())
            self._take(history, entry, old)
        self._cursor += len(added)
        while waiting:
            self._take_ephemeral(waiting.popleft())

    def copies(self) -> list[Message]:
        """Return the messages as they are sent, as copies that share nothing mutable with stored ones.

        Items of the Responses API come in a row, without the message that holds them in the history.
        """
        copies = self.aligned_copies()
        return in_a_row(copies) if self._around.write is None and self._copier.holds_items else copies

    def marked_copies(self, sent_to: int) -> list[Message]:
        """Return the same with marks for the provider's prompt cache, if the lane sets any.

        Args:
            sent_to: Entries with a lower `seq` were in the lane's previous request; 0: none was.
        """
        marking = self._around.marking
        if marking is None:
            return self.copies()
        copies = self._copier.copies(self.markable())
        set_marks(copies, self.mark_places(marking, sent_to), marking.ttls)
        if self._around.write is not None:
            return self._written(copies)
        return in_a_row(copies) if self._copier.holds_items else copies

    def markable(self) -> list[Message]:
        """Return the messages in the form that bears marks, without any."""
        self._markable = self._markable or MarkableMessages()
        self._copier.cut(self._markable.follow(self.messages))
        return self._markable.messages

    def mark_places(self, marking: Marking, sent_to: int) -> list[tuple[Place, bool]]:
        """Return where marks are, each with whether it is behind the system messages or the digest."""
        self.markable()
        assert self._markable is not None
        return self._markable.places(self._summary_at, self._last_sent(sent_to), marking.most)

    def _last_sent(self, sent_to: int) -> int | None:
        """Return the index of the newest message that the previous request had. The cost grows with the newer ones."""
        for segment in reversed(self.segments if sent_to else ()):
            first = segment.start + (segment.separator is not None)
            if segment.entries and segment.entries[0].seq >= sent_to:
                continue
            old = sum(entry.seq < sent_to for entry in segment.entries) if segment.sources is None else 0
            return first + (min(old or len(segment.messages), len(segment.messages))) - 1
        return None

    def aligned_copies(self) -> list[Message]:
        """Return the copies one to one with `messages`, so items of the Responses API within their message."""
        copies = self._copier.copies(self.messages if self._around.marking is None else self.markable())
        return copies if self._around.write is None else self._written(copies)

    @property
    def is_written(self) -> bool:
        """Whether copies are converted to what the caller sends."""
        return self._around.write is not None

    def written(self) -> list[Message]:
        """Return the messages as they are sent. The caller must not change them."""
        return self._written(self.messages)

    def _written(self, messages: list[Message]) -> list[Message]:
        write = self._around.write
        if write is None:
            return messages
        lines = [at for segment in self.segments for at in segment.own_user_lines()]
        return write(HandedOut(messages, settled(self.segments, self.plan), tuple(lines)))

    def _take(self, history: History, entry: Entry, old: dict[Key, Segment]) -> None:
        if self.plan.waited:
            entry = self._lane_groups.entry(entry.seq, self.plan)
        group = entry.group
        if self.prompt is not None and entry.reading.yields_to_prompt:
            self._aside.append(entry.seq)
            return
        at = self._at.get(group.first)
        if at is not None:
            self._again(history, at, "late result", entry.seq)
        elif group.first != entry.seq:
            self._aside.append(entry.seq)
        elif group.first == entry.seq:
            segment = self._segment(history, entry, old)
            if segment.messages:
                segment.gap, self._gap = self._gap, None
            self._append(segment)

    def _take_ephemeral(self, ephemeral: Ephemeral) -> None:
        self._append(self._ephemeral(ephemeral))
        self._ephemerals = ephemeral.number + 1

    def _close_last(self, history: History, seq: int) -> None:
        """Render a call that has left the newest group as no longer pending."""
        for at in range(len(self.segments) - 1, -1, -1):
            if self.segments[at].group is not None and self.segments[at].messages:
                if self.segments[at].state[2]:
                    self._again(history, at, "unanswered call", seq)
                return

    def _again(self, history: History, at: int, why: Change, seq: int) -> None:
        """Render a segment again if its group grew, and record a change of the older prefix."""
        old = self.segments[at]
        if old.group is None:
            return
        entry = self._lane_groups.entry(old.group.members[0], self.plan)
        if old.state == state_of(entry.group, history):
            return
        segment = self._segment(history, entry, {})
        segment.gap = old.gap
        behind = self.segments[at + 1 :]
        if segment.messages == old.messages:
            old.group, old.state, old.entries = segment.group, segment.state, segment.entries
            return
        if behind or segment.messages[: len(old.messages)] != old.messages:
            self.changes.append((why, seq))
        self._cut(at)
        for later in [segment, *behind]:
            self._append(later)

    def _cut(self, at: int) -> None:
        """Remove the segments from `at` on."""
        expected, upper = self.estimate
        for segment in self.segments[at:]:
            expected -= segment.estimate.expected + segment.separator_estimate.expected
            upper -= segment.estimate.upper + segment.separator_estimate.upper
            if segment.media is not NO_MEDIA:
                self.media = self.media.minus(segment.media)
        self.estimate = Estimate(expected, upper)
        del self.messages[self.segments[at].start :]
        self._copier.cut(len(self.messages))
        if self._markable is not None:
            self._copier.cut(self._markable.cut(len(self.messages)))
        del self.segments[at:]

    def _append(self, segment: Segment) -> None:
        separator, weight = segment.separator, segment.separator_estimate = self._role_separator(segment)
        messages = segment.messages
        last = messages[-1] if messages else None
        last = separator if last is not None and last["role"] in SYSTEM_ROLES else last
        segment.speaker = None if last is None else _speaker(last)
        if segment.group is not None:
            self._at[segment.group.first] = len(self.segments)
        self.segments.append(segment)
        segment.start = len(self.messages)
        if separator is not None:
            self.messages.append(separator)
        self.messages += messages
        if segment.media is not NO_MEDIA:
            self.media = self.media.plus(segment.media)
        if segment.key[1] == SUMMARY:
            self._summary_at = len(self.messages) - 1
        (expected, upper), own = self.estimate, segment.estimate
        self.estimate = Estimate(expected + own.expected + weight.expected, upper + own.upper + weight.upper)

    def _role_separator(self, segment: Segment) -> _Line:
        """Make the role separator: one short line between two messages of one role that were not consecutive in the
        history. System messages between them do not count, because providers move these out.
        """
        role = _speaker(segment.messages[0]) if segment.messages else None
        if role == "system" and (found := cut_off_at(self.segments, segment, self.plan)):
            return self._line(segment, "assistant", rendering.gap_line(found[0]), found[1].messages[-1])
        if role not in ("user", "assistant"):
            return None, NOTHING
        gap = segment.gap
        if segment.key[2] in NATIVE:
            return None, NOTHING  # its provider takes it next to any role
        for previous in reversed(self.segments):
            if previous.speaker is not None:
                break
            gap = gap or previous.gap
        else:
            return self._beginning(segment, role, gap)
        if previous.key[2] in NATIVE:
            return None, NOTHING  # what is kept directly follows the block
        text = None
        if previous.speaker == role:
            text = between(self.segments, previous, segment, gap, history=self._history, plan=self.plan)
        return self._line(segment, role, text)

    def _beginning(self, segment: Segment, role: str, gap: Gap | None) -> _Line:
        """Make a user's line before an assistant's message that is the first only because others are left out, and
        where a request must begin with a user's.
        """
        cut_off = role == "assistant" and (gap is not None or segment.key[1] == SUMMARY)
        cut_off = cut_off or (role == "assistant" and dialect_of(segment.messages[0]).begins_with_user)
        return self._line(segment, role, rendering.BEGUN_LINE if cut_off else None)

    def _line(self, segment: Segment, role: str, text: str | None, like: Message | None = None) -> _Line:
        """Make a line in the role opposite to the segment that follows it."""
        if text is None:
            return None, NOTHING
        old = segment.separator
        if old is not None and _speaker(old) != role and segment.separator_text == text:
            return old, segment.separator_estimate
        segment.separator_text = text
        return plain("assistant" if role == "user" else "user", text, like or segment.messages[0]), self._weigh(text)

    def _segment(self, history: History, entry: Entry, old: dict[Key, Segment]) -> Segment:
        """Make the segment of this entry's group."""
        group = entry.group.copy() if entry.group.open_calls or entry.group.serving else entry.group
        key = (group.first, GROUP, 0)
        state = state_of(group, history)
        edits: tuple[PartEdit, ...] = ()
        if not self._edits.keys().isdisjoint(group.members):
            edits = tuple([edit for seq in group.members for edit in self._edits.get(seq, ())])
        reused = old.get(key)
        bare = self._bare_of(history, group) if self.plan.no_reasoning else ()
        if reused is not None and reused.state == state and reused.edits == edits and reused.bare == bare:
            return reused.again(group)
        entries: tuple[Entry, ...] = (entry,)
        if group.members != [entry.seq]:
            entries = tuple([self._lane_groups.entry(seq, self.plan) for seq in group.members])
        own = self._edits if edits else _NONE
        rendered = render_group(group, entries, own, state[2], bare, plan=self.plan, find=history.get)
        messages, sources, heals, added = rendered
        if edits or bare or heals or group.orphans or sources or (group.open_calls and not state[2]):
            check_group(paired([read_message(message) for message in messages]), state[2])
        elif len(entries) > 1 or group.open_calls:
            check_group([entry.reading for entry in entries], state[2])
        estimate = self._estimate(group, entries, own, bare, added) if messages else NOTHING
        limits = self._around.media
        media = NO_MEDIA if limits is None or not messages else media_of_entries(entries, own, limits)
        if heals and reused is None:
            self.healed += heals
        return Segment(
            key=key, messages=messages, estimate=estimate, entries=entries, group=group, edits=edits, state=state,
            sources=sources, bare=bare, media=media, heals=heals,
        )  # fmt: skip  # one thought

    def _bare_of(self, history: History, group: MessageGroup) -> tuple[int, ...]:
        """Return the entries of a group that are shown without their reasoning."""
        ranges = self.plan.no_reasoning
        return tuple([seq for seq in group.members if covers(ranges, seq) and history.entry(seq).reading.is_sealed])

    def _estimate(
        self, group: MessageGroup, entries: Sequence[Entry], edits: rendering.Edits, bare: Sequence[int], added: int
    ) -> Estimate:
        """Estimate a group as it is shown. `added`: bytes of the texts that healing added."""
        heals = self.plan.heals
        estimate = estimate_entries(entries, edits, bare, self._around.family, {} if heals else group.orphans)
        if not (added or group.open_calls):
            return estimate
        expected, upper = estimate.expected + added // 4, estimate.upper + added  # a byte is a token at most
        if group.open_calls:
            # without healing, the line that may follow it is longer than the result that it replaces
            filled = self._weigh(rendering.WAITING if heals else rendering.NO_RESULT_LINE)
            expected, upper = expected + group.open_calls * filled.expected, upper + group.open_calls * filled.upper
        return Estimate(expected, upper)

    def _weigh(self, text: str) -> Estimate:
        """Estimate a synthetic message of this text."""
        if self.plan.text_weights and (known := weight_in(self.plan, text, self._around)) is not None:
            return known
        expected, upper = estimate_count(self._around.count(text), self._around.family)
        return Estimate(MESSAGE_TOKENS + ceil(expected), MESSAGE_TOKENS + ceil(upper))

    def _synthetic(self, key: Key, role: str, text: str, like: Message | None, old: dict[Key, Segment]) -> Segment:
        message = plain(role, encodable(text), like)
        reused = old.get(key)
        if reused is not None and reused.messages == [message]:
            return Segment(key, reused.messages, reused.estimate, text=text)
        return Segment(key, [message], self._weigh(text), text=text)

    def _add_summary(self, history: History, segments: list[Segment], old: dict[Key, Segment]) -> None:
        place = history.branch.position
        gaps = (gap for gap in self.plan.gaps() if not isinstance(gap, Native))
        left_out = sum(place(gap.last + 1) - place(gap.first) for gap in gaps)
        if not left_out:
            return
        after = self.plan.summary_after
        if after is None and history.leading:
            after = history.branch[history.leading - 1]
        handed = self.plan.digest.ledger is not None
        begun = (segment.messages[0] for segment in segments if segment.group and segment.messages)
        like = shape_among(each for each in begun if not handed or each["role"] not in SYSTEM_ROLES)
        ranges = [(first, last) for first, last in untold(self.plan) if place(last + 1) > place(first)]
        text = rendering.summary_text(self.plan, ranges)
        key: Key = (-1 if after is None else after, SUMMARY, 0)
        role = role_of_handover(segments, key) if handed else "assistant"
        summary = self._synthetic(key, role, text, like, old)
        self.summary_tokens = summary.estimate.upper
        segments.append(summary)

    def _add_native(self, history: History, segments: list[Segment], old: dict[Key, Segment]) -> None:
        """Put the provider's block first, and the notes on it where they were first shown."""
        block = self.plan.native
        assert block is not None
        start = history.branch[history.leading - 1] if history.leading else -1
        key = (start, SUMMARY, BLOCK)
        reused = old.get(key)
        if reused is None or reused.messages != [block.message]:
            estimate = estimate_message(read_message(block.message), block.counts, self._around.family)
            segments.append(Segment(key, [block.message], estimate))
        else:
            segments.append(Segment(key, reused.messages, reused.estimate))
        like = next((segment.messages[0] for segment in segments if segment.group and segment.messages), None)
        text = rendering.native_text(self.plan)
        after = start if block.after is None else block.after
        segments.append(self._synthetic((after, SUMMARY, NOTES), "user", text, like, old))

    def _ephemeral(self, ephemeral: Ephemeral) -> Segment:
        key = (ephemeral.after, EPHEMERAL, ephemeral.number)
        weight = estimate_message(ephemeral.reading, ephemeral.counts, self._around.family)
        limits = self._around.media
        media = NO_MEDIA if limits is None else media_of(ephemeral.counts, limits)
        return Segment(key, [sendable(ephemeral.message)], weight, media=media)


def _reusable(view: View | None, plan: Plan) -> dict[Key, Segment]:
    """Return the segments of a view that may be shown under a plan as they are, if nothing in them changed."""
    same = view is not None and view.plan.heals == plan.heals and view.plan.recall == plan.recall
    return {segment.key: segment for segment in view.segments} if view and same else {}


_NONE: rendering.Edits = {}


def _speaker(message: Message) -> str:
    return str(ROLES.get(message["role"], message["role"]))
