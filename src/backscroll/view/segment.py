"""A piece of a view: what belongs together in it, with its place."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from backscroll.history.groups import MessageGroup
from backscroll.history.history import Entry
from backscroll.history.plan import Gap, PartEdit, Plan
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.parts import Message
from backscroll.tokens.request_media import NO_MEDIA, RequestMedia
from backscroll.tokens.usage import NOTHING, Estimate

Key = tuple[int, int, int]
State = tuple[tuple[int, ...], int, bool]
PROMPT: Key = (-1, -1, 0)
GROUP, SUMMARY, EPHEMERAL = 0, 1, 2
"""The middle of a key: a group precedes the summary, which precedes ephemeral messages."""
BLOCK, NOTES = -2, -1
"""The end of a summary's key, if it is a provider's native block, or our notes on that. Both precede the digest."""
NATIVE = (BLOCK, NOTES)
"""Ends of keys that no other segment has."""


@dataclass(slots=True, eq=False)
class Segment:
    """What belongs together in a view: a group, the summary, the system prompt or an ephemeral message."""

    key: Key
    messages: list[Message]
    estimate: Estimate
    entries: tuple[Entry, ...] = ()
    group: MessageGroup | None = None
    edits: tuple[PartEdit, ...] = ()
    state: State = ((), 0, False)
    """Members by `seq`, open calls, and whether it was rendered as pending: a change means that it must be rendered
    again. The number of members is not enough, because after a rewind other messages may replace them.
    """
    gap: Gap | None = None
    """The gap directly before it."""
    separator: Message | None = None
    separator_text: str = ""
    separator_estimate: Estimate = NOTHING
    speaker: str | None = None
    """The role in which it ends, by its separator if it is a system message. `None`: it has no other role."""
    start: int = 0
    """Index, in `View.messages`, of the role separator or of the first message."""
    sources: tuple[tuple[Entry, ...], ...] | None = None
    """The entries that each message is made of. `None`: one to one."""
    bare: tuple[int, ...] = ()
    """Entries that are shown without their reasoning, by `seq`."""
    media: RequestMedia = NO_MEDIA
    """Sums of its media, if the lane has limits of them."""
    text: str | None = None
    """The text, if Backscroll added it."""
    heals: tuple[tuple[int, HealRule], ...] = ()
    """Which of its entries are healed, by `seq`, and the rule of each."""

    def own_user_lines(self) -> Iterator[int]:
        """Yield the indexes, in `View.messages`, of its messages that Backscroll wrote in the user's role."""
        behind = self.start
        if self.separator is not None:
            behind += 1
            if self.separator["role"] == "user":
                yield self.start
        if self.text is not None and self.messages[0]["role"] == "user":
            yield behind

    def again(self, group: MessageGroup) -> "Segment":
        """Return the segment of an unchanged group for another view, where its place is not known yet."""
        return Segment(
            key=self.key,
            messages=self.messages,
            estimate=self.estimate,
            entries=self.entries,
            group=group,
            edits=self.edits,
            state=self.state,
            separator=self.separator,
            separator_text=self.separator_text,
            separator_estimate=self.separator_estimate,
            sources=self.sources,
            bare=self.bare,
            media=self.media,
            heals=self.heals,
        )  # by hand: dataclasses.replace takes five times as long, and this runs for every segment


def healed_in(segments: Iterable[Segment]) -> dict[int, list[HealRule]]:
    """Return the entries of a view that are healed, by `seq`, and the rules of each."""
    found: dict[int, list[HealRule]] = {}
    for segment in segments:
        for seq, rule in segment.heals:
            found.setdefault(seq, []).append(rule)
    return found


def settled(segments: Sequence[Segment], plan: Plan) -> int:
    """Return how many messages of a view come before those that were added since its plan was made."""
    last = plan.last
    if not plan.number or last is None:
        return 0
    old = (segment for segment in reversed(segments) if segment.entries and segment.entries[0].seq <= last)
    newest = next(old, None)
    return 0 if newest is None else newest.start + (newest.separator is not None) + len(newest.messages)
