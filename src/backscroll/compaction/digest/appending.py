"""Continue a digest: it begins with the one before, unchanged, so that the provider's cache keeps it.

Each compaction adds the headings and lines of what it folds. Once the allowance is full, or what was written before no
longer holds, the whole is written again, to a part of the allowance that leaves room for the next ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from backscroll.compaction.digest.notes import TurnFacts
from backscroll.compaction.digest.outdated import outdated, without_outdated
from backscroll.compaction.digest.repeated import without_repeated
from backscroll.compaction.digest.tallies import SAID_ONCE
from backscroll.compaction.digest.writer import (
    HEADINGS,
    IN_A_TALK,
    IN_TALK,
    MOST_SQUEEZED,
    WITH_TOOLS,
    Frame,
    Lines,
    choose_lines,
    content,
    fit_headings,
    place,
    taken,
    without_tools,
    write,
)
from backscroll.compaction.options import DigestOptions
from backscroll.history.history import Entry
from backscroll.history.plan import LINES, RANKED, DigestContent, DigestLine
from backscroll.view.rendering import note_texts

LEAST = 0.04  # of its allowance: with less room left it is written again
_FIRST = ("user", "rule", *RANKED)  # what may be pasted may leave


def grow(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    *,
    options: DigestOptions,
    prose: DigestLine | None,
) -> DigestContent:
    """Append these groups to the digest `before`, or write it again.

    Args:
        before: The previous digest.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings.
        options: How it grows. Users' words may take more than its `part`.
        prose: A model's new summary, which replaces turns: with one the digest is written again.
    """
    frame = frame._replace(tokens=cache(frame.tokens))
    left = frame.allowance - _written(before, frame.tokens)
    facts = [TurnFacts(group) for group in groups]
    if before.notes and groups and prose is None and left >= frame.allowance * LEAST:
        rooms = min(left, int(frame.allowance * options.part)), left
        appended = _appended(before, groups, covered, frame, facts=facts, rooms=rooms)
        if appended is not None:
            return appended
    shorter = frame._replace(allowance=int(frame.allowance * options.rewritten))
    written = write(before, groups, covered, shorter, prose, facts=facts)
    if any(note.kind == "rule" for note in written.reserve):
        return write(before, groups, covered, frame, prose, facts=facts)  # rules need all of it
    return written


def _written(digest: DigestContent, tokens: Callable[[str], int]) -> int:
    """Return the tokens of a digest's lines in a summary."""
    return sum(map(tokens, note_texts(digest.notes, digest.begun))) + len(digest.notes)


def _appended(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    *,
    facts: Sequence[TurnFacts],
    rooms: tuple[int, int],
) -> DigestContent | None:
    """Return the digest with these groups appended; None if it has to be written again.

    Args:
        before: The previous digest.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings.
        facts: The lines of these groups.
        rooms: Tokens that are appended, and that may be if users' words need them.
    """
    salience = frame.salience
    if any(salience.stale(note.text, note.first) for note in before.notes if note.kind in LINES):
        return None
    if any(note.kind == "rule" for note in before.reserve):
        return None  # there may be room for it now
    known = [note for note in before.notes if note.kind not in LINES]
    new = without_repeated([note for turn in facts for note in turn.headings], known)
    talk = without_tools([*known, *new], facts)
    facts = [turn for turn in facts if not (talk and turn.by_user)]  # their words are headings
    aside = [note for note in before.reserve if note.kind in LINES]
    lines = Lines(aside, facts, salience)
    said = [(note.first, note.text) for note in before.notes if note.kind in LINES]
    replaced = outdated([*known, *new], frame.kept, [*lines.remarks(), *said] if talk else ())
    if replaced and tuple(without_outdated(before.notes, replaced, SAID_ONCE)) != before.notes:
        return None  # otherwise it is new, or the view shows it next to the digest
    new = list(without_outdated(new, replaced, SAID_ONCE))
    lines.leave_out(replaced)
    headings = _headings(known, new, frame, rooms, talk=talk)
    if headings is None:
        return None
    room = rooms[0] - _written(replace(before, notes=tuple(headings), begun=()), frame.tokens)
    kept, reserve = choose_lines(lines, [*before.notes, *headings], room, frame, since=len(aside))
    waiting = [note for note in before.reserve if note.kind not in LINES][-MOST_SQUEEZED:]
    notes = (*before.notes, *sorted([*headings, *kept], key=place))
    found = content(before, groups, covered, frame, notes=notes, reserve=(*waiting, *reserve))
    return replace(found, begun=(*before.begun, len(before.notes)))


def _headings(
    known: Sequence[DigestLine], new: Sequence[DigestLine], frame: Frame, rooms: tuple[int, int], *, talk: bool
) -> list[DigestLine] | None:
    """Fit new headings into their part of the room, or of the allowance; None if users' words or rules have no room."""
    if talk:
        stages, usual, most = IN_TALK, int(rooms[0] * IN_A_TALK), rooms[1]
    else:
        left = int(frame.allowance * HEADINGS) - taken(known, frame.tokens)
        stages, usual, most = WITH_TOOLS, int(rooms[0] * HEADINGS), min(rooms[1], left)
    for room in (usual, most):
        headings, squeezed = fit_headings(new, room, frame.tokens, stages)
        if not any(note.kind in _FIRST for note in squeezed):
            return headings
    return None
