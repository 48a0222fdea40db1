"""The strategy `shorten`: a message that would take the room of all others is cut by its structure, and what hosts and
programs add to a result for their own use leaves.
"""

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.digest.user_rules import rules_in
from backscroll.compaction.tidying import clipped, tidied, without_codes
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Excerpt
from backscroll.messages.clutter import reminders_of

BY = "shorten"
_KINDS = ("result", "call", "text")
_LEAST = 100  # tokens: a part of fewer is not cut, however many its group has


@dataclass(frozen=True, slots=True)
class ShortenStrategy:
    """Cut the parts of the newest messages that take more than their share, and tidy results. Older messages leave
    whole.

    Args:
        share: Share of the budget that a call and its results may take together; above 0, at most 1. One part takes two
            thirds of that at most.
        among: Share of the budget that the newest messages take together, which are looked at; above 0, at most 1.

    Raises:
        ConfigurationError: A value is out of range.
    """

    share: float = 0.12
    among: float = 0.4
    name: str = BY

    def __post_init__(self) -> None:
        """Check the ranges."""
        for name in ("share", "among"):
            if not 0 < getattr(self, name) <= 1:
                raise ConfigurationError(f"`{name}` must be above 0 and at most 1, not {getattr(self, name)}")

    def __call__(self, window: Window, tokens: int) -> Sequence[Excerpt]:  # noqa: ARG002  each strategy gets it
        """Cut parts of the newest messages that take more than their share, newest first. `tokens` does not matter."""
        most, left = max(1, int(window.budget * self.share)), int(window.budget * self.among)
        edits: list[Excerpt] = []
        newer: set[str] = set()
        for unit in reversed(window.units):
            if left <= 0:
                break
            left -= min(unit.tokens, most)
            if unit.cuttable:
                edits = [*self._of_unit(window, unit, most, newer), *edits]
            newer.update(block for text in _results(unit) for block in reminders_of(text))
        return edits

    def _of_unit(self, window: Window, unit: CandidateGroup, most: int, newer: Set[str]) -> Iterator[Excerpt]:
        found = [each for each in window.parts_of(unit, _KINDS) if _may_cut(unit, each)]
        tidy = [tidied(window, each, BY, newer) for each in found]
        return _cut(window, unit, found, most=most, each=most * 2 // 3, tidy=tidy)


def fit_newest(window: Window, kept: Set[int] = frozenset()) -> list[Excerpt]:
    """Cut the newest call and its results where they would take more than half of the room, so that they leave the
    other half to everything else. The words of its user and of the model stay. Parts that were cut for a larger room
    are cut again. Results that fit stay whole but for codes of a terminal. `kept`: entries that stay word for word.
    """
    if not window.units:
        return []
    unit, most = window.units[-1], window.budget // 2
    if not kept.isdisjoint(unit.seqs) or any(entry.reading.flags.whole for entry in unit.entries):
        return []
    found = [each for each in window.parts_of(unit, ("result", "call")) if not each.is_spared]
    if unit.tokens <= most:
        return [edit for each in found if _may_cut(unit, each) and (edit := without_codes(window, each, BY))]
    tidy = [tidied(window, each, BY) for each in found]
    return list(_cut(window, unit, found, most=most, each=most, tidy=tidy))


def _may_cut(unit: CandidateGroup, candidate: CandidatePart) -> bool:
    """Return whether a part was not cut before, and states no rule of its user."""
    if (candidate.entry.seq, candidate.number) in unit.edits or candidate.is_spared:
        return False
    reading = candidate.entry.reading
    return not (candidate.part.kind == "text" and reading.is_user_turn and rules_in(reading.sure))


def _results(unit: CandidateGroup) -> Iterator[str]:
    return (part.text for entry in unit.entries for part in entry.reading.parts if part.kind == "result")


def _cut(
    window: Window,
    unit: CandidateGroup,
    found: Sequence[CandidatePart],
    *,
    most: int,
    each: int,
    tidy: Sequence[Excerpt | None],
) -> Iterator[Excerpt]:
    """Yield the cuts of one group: its longest parts are cut to one level, of `each` tokens at most. `tidy`: the parts
    without clutter.
    """
    now = [window.tokens(part.count if edit is None else edit.count) for part, edit in zip(found, tidy, strict=True)]
    whole = unit.tokens - sum(window.tokens(part.count) for part in found)
    level = max(_LEAST, min(each, _level(sorted(now, reverse=True), most - whole)))
    for candidate, edit, size in zip(found, tidy, now, strict=True):
        if size > level:
            edit = clipped(window, candidate, edit, level, BY)  # noqa: PLW2901  shorter still
        if edit is not None:
            yield edit


def _level(sizes: Sequence[int], room: int) -> int:
    """Return the size to which the longest of these are cut so that all fit; the sizes are in descending order."""
    small = sum(sizes)
    for number, size in enumerate(sizes, 1):
        small -= size
        behind = sizes[number] if number < len(sizes) else 0
        level = (room - small) // number
        if level >= behind:
            return level
    return room
