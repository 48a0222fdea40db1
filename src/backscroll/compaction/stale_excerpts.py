"""Take out of excerpts and previews what an edit removed since they were made.

An excerpt shows what was true when it was chosen. Where an edit later removed a line from the file, the excerpt would
show the old line next to the new one. The lines leave with the next compaction, which changes the view anyway.
"""

from collections.abc import Iterator

from backscroll.compaction.candidates import CandidatePart, Window
from backscroll.compaction.digest.line_selection import stretches
from backscroll.compaction.digest.terms import bare, spans
from backscroll.compaction.sampling import READ
from backscroll.history.plan import Excerpt


def without_stale_lines(window: Window) -> list[Excerpt]:
    """Return the edits that replace excerpts with stale lines, in groups that may be cut."""
    if not window.salience.removes:
        return []
    found = (
        _renewed(window, candidate)
        for unit in window.units
        if unit.edits and not (unit.floor or unit.unseen)
        for candidate in window.parts_of(unit, ("result",))
    )
    return [edit for edit in found if edit is not None]


def _renewed(window: Window, candidate: CandidatePart) -> Excerpt | None:
    """Return an excerpt without its stale lines; None if it has none, or nothing but them."""
    seq, text = candidate.entry.seq, candidate.part.text
    edit = candidate.unit.edits.get((seq, candidate.number))
    if not isinstance(edit, Excerpt) or len(text) > READ:
        return None
    shown = list(_shown(text, edit))
    kept = [each for each in shown if not window.salience.stale(bare(text[slice(*each)]), seq)]
    if not kept or len(kept) == len(shown):
        return None
    return window.cut(candidate, 0, 0, stretches(kept), edit.by, anyway=True)


def _shown(text: str, edit: Excerpt) -> Iterator[tuple[int, int]]:
    """Yield the lines that an excerpt shows, or what it shows of them."""
    tail = (len(text) - edit.tail, len(text)) if edit.tail else ()
    for start, end in ((0, edit.head), *edit.between, *((tail,) if tail else ())):
        if end > start:
            yield from spans(text, start, end)
