"""The strategy `supersede`: results that a later result made redundant, and old media, become one-line stubs.

Tools are told apart by nothing but their names and arguments, so that this works across tools and frameworks: the same
call made again, or another result about the same path that holds nearly all of an earlier one's lines.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.sampling import READ
from backscroll.errors import ConfigurationError
from backscroll.history.plan import Clear, Edit, reference
from backscroll.messages.echoes import RECALL_TOOLS

PATHS = ("file_path", "path", "filepath", "file", "filename", "target_file", "notebook_path", "uri", "url")
"""Names of arguments that say what a call is about, the likeliest first."""


class _Seen(NamedTuple):
    """A result and what it answers."""

    candidate: CandidatePart
    call: str
    path: str


@dataclass(frozen=True, slots=True)
class DeduplicateStrategy:
    """`over`: results up to this many tokens are left alone. `same`: share of an earlier result's lines that a later
    one about the same path has to hold; above 0, at most 1.
    """

    over: int = 60
    same: float = 0.9
    name: str = "deduplicate"

    def __post_init__(self) -> None:
        """Checks the ranges."""
        if self.over < 0 or not 0 < self.same <= 1:
            raise ConfigurationError(f"supersede needs over >= 0 and 0 < same <= 1, not {self.over} and {self.same}")

    def __call__(self, window: Window, tokens: int) -> Sequence[Edit]:
        """All of them, also where that wins more than asked for: they are the least loss there is."""
        edits: list[Edit] = [
            edit
            for candidate in window.candidates("media", over=self.over)
            if (edit := window.mask(candidate, self.name)) is not None
        ]
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
            elif (edit := self._mask(window, seen.candidate, by)) is not None:
                edits.append(edit)
        return edits

    def _echoes(self, window: Window) -> Iterator[Clear]:
        """What recall brought back and the model has read: the original stands under its own reference."""
        for unit in window.units:
            if not unit.cuttable or not _recalls(unit):
                continue
            for candidate in window.parts_of(unit, ("result",)):
                called = _name_of(unit, candidate)
                if called in RECALL_TOOLS and candidate.count.tokens > self.over:
                    edit = window.mask(candidate, self.name, "recalled before")
                    if edit is not None:
                        yield edit

    def _mask(self, window: Window, candidate: CandidatePart, by: int) -> Clear | None:
        if not candidate.unit.cuttable or candidate.count.tokens <= self.over:
            return None
        return window.mask(candidate, self.name, f"superseded by {reference(by)}")

    def _results(self, window: Window) -> Iterator[_Seen]:
        """Every result in the view that is still whole, in order."""
        for unit in window.units:
            calls = {part.id: part for entry in unit.entries for part in entry.reading.call_parts}
            for candidate in window.parts_of(unit, ("result",)):
                call = calls.get(candidate.part.id)
                whole = (candidate.entry.seq, candidate.number) not in unit.edits
                whole = whole and (call is None or call.name not in RECALL_TOOLS)
                if call is not None and call.name and whole:
                    same, path = _about(call.text)
                    yield _Seen(candidate, f"{call.name} {same}", path)


def _recalls(unit: CandidateGroup) -> bool:
    return any(part.name in RECALL_TOOLS for entry in unit.entries for part in entry.reading.call_parts)


def _name_of(unit: CandidateGroup, candidate: CandidatePart) -> str | None:
    """The tool whose result it is."""
    calls = (part for entry in unit.entries for part in entry.reading.call_parts)
    return next((part.name for part in calls if part.id == candidate.part.id), None)


def _says_enough(later: _Seen, earlier: _Seen) -> bool:
    """Whether an equal call's later result can stand for the earlier: `unchanged`, or an error, cannot."""
    return 2 * len(later.candidate.part.text) >= len(earlier.candidate.part.text)


def _holds(later: _Seen, earlier: _Seen, share: float) -> bool:
    """Whether the later result has this share of the earlier one's lines: if not, both tell something. Where one of
    them is too long to be read whole, all of the earlier one has to stand in the later one as it is.
    """
    old, new = earlier.candidate.part.text, later.candidate.part.text
    if max(len(old), len(new)) > READ:
        return bool(old.strip()) and old in new
    lines = {line.strip() for line in old.splitlines()} - {""}
    held = lines & {line.strip() for line in new.splitlines()}
    return bool(lines) and len(held) >= share * len(lines)


def _about(arguments: str) -> tuple[str, str]:
    """Arguments in one order, and the path that they name; as they are where they are too long to be read whole."""
    if len(arguments) > READ:
        return arguments, ""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments, ""
    if type(value) is not dict:
        return arguments, ""
    path = next((value[name] for name in PATHS if type(value.get(name)) is str), "")
    return json.dumps(value, sort_keys=True), path
