"""The strategy `deduplicate`: results that a later result made redundant, and old media, become one-line stubs.

It compares names and arguments only, and so works across tools and frameworks. Redundant are results of the same call
made again, and those whose lines another result about the same path nearly all repeats.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.file_calls import in_order
from backscroll.compaction.sampling import READ
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Edit, PartEdit, reference
from backscroll.messages.back_references import meant_by
from backscroll.messages.echoes import recalls


class _Seen(NamedTuple):
    """A result and its call."""

    candidate: CandidatePart
    call: str
    path: str


@dataclass(frozen=True, slots=True)
class DeduplicateStrategy:
    """Clear results that later ones repeat.

    Args:
        over: Results up to this many tokens stay.
        same: Share of an earlier result's lines that a later one about the same path must contain; above 0, at most 1.

    Raises:
        ConfigurationError: A value is out of range.
    """

    over: int = 60
    same: float = 0.9
    name: str = "deduplicate"

    def __post_init__(self) -> None:
        """Check the ranges."""
        if self.over < 0 or not 0 < self.same <= 1:
            raise ConfigurationError(
                f"`over` must be at least 0 and `same` above 0 and at most 1, not {self.over} and {self.same}"
            )

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """Clear all of them, even if that frees more than `tokens`, because nothing is lost less."""
        media = (window.mask(candidate, self.name) for candidate in window.candidates("media", over=self.over))
        edits: list[Edit] = [edit for edit in media if edit is not None]
        edits += self._echoes(window)
        last_call: dict[str, _Seen] = {}
        last_about: dict[str, list[_Seen]] = {}
        for seen in reversed(list(self._results(window))):
            later = last_call.get(seen.call)
            by = later.candidate.entry.seq if later is not None and _says_enough(later, seen) else None
            if by is None:
                by = next(
                    (
                        other.candidate.entry.seq
                        for other in last_about.get(seen.path, ())
                        if _holds(other, seen, self.same)
                    ),
                    None,
                )
            if by is None:
                last_call.setdefault(seen.call, seen)
                if seen.path:
                    last_about.setdefault(seen.path, []).append(seen)
            elif not seen.candidate.is_fixed and (edit := self._mask(window, seen.candidate, by)) is not None:
                edits.append(edit)
        return edits

    def _echoes(self, window: Window) -> Iterator[PartEdit]:
        """Clear recalled texts that the model has read: the originals have their own references."""
        for unit in window.units:
            if not unit.cuttable or not _recalls(unit):
                continue
            for candidate in window.parts_of(unit, ("result",)):
                called = _name_of(unit, candidate)
                if recalls(called or "") and candidate.count.tokens > self.over:
                    edit = window.mask(candidate, self.name, "recalled before")
                    if edit is not None:
                        yield edit

    def _mask(self, window: Window, candidate: CandidatePart, by: int) -> PartEdit | None:
        if not candidate.unit.cuttable or candidate.count.tokens <= self.over:
            return None
        return window.mask(candidate, self.name, f"superseded by {reference(by)}")

    def _results(self, window: Window) -> Iterator[_Seen]:
        """Yield every result of the view that is still whole and says something itself, in order."""
        for unit in window.units:
            calls = {part.id: part for entry in unit.entries for part in entry.reading.call_parts}
            for candidate in window.parts_of(unit, ("result",)):
                call = calls.get(candidate.part.id)
                whole = (candidate.entry.seq, candidate.number) not in unit.edits
                whole = whole and (call is None or not recalls(call.name or ""))
                whole = whole and meant_by(candidate.part.text) is None  # it refers to no earlier one
                if call is not None and call.name and whole:
                    same, path = in_order(call.text)
                    yield _Seen(candidate, f"{call.name} {same}", path)


def _recalls(unit: CandidateGroup) -> bool:
    return any(recalls(part.name or "") for entry in unit.entries for part in entry.reading.call_parts)


def _name_of(unit: CandidateGroup, candidate: CandidatePart) -> str | None:
    """Return the tool of a result."""
    calls = (part for entry in unit.entries for part in entry.reading.call_parts)
    return next((part.name for part in calls if part.id == candidate.part.id), None)


def _says_enough(later: _Seen, earlier: _Seen) -> bool:
    """Return whether an equal call's later result can replace the earlier: `unchanged`, or an error, cannot."""
    return 2 * len(later.candidate.part.text) >= len(earlier.candidate.part.text)


def _holds(later: _Seen, earlier: _Seen, share: float) -> bool:
    """Return whether the later result has this share of the earlier one's lines. If one is too long to be read whole,
    it must contain the earlier one literally.
    """
    old, new = earlier.candidate.part.text, later.candidate.part.text
    if max(len(old), len(new)) > READ:
        return bool(old.strip()) and old in new
    lines = {line.strip() for line in old.splitlines()} - {""}
    held = lines & {line.strip() for line in new.splitlines()}
    return bool(lines) and len(held) >= share * len(lines)
