"""A digest that only appends: it begins with the one before, unchanged, so that the provider's cache keeps it.

Each compaction adds the headings and lines of what it folds. Once the allowance is full, or what was written before no
longer holds, the whole is written again, to a part of the allowance that leaves room for the next ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from backscroll.compaction.digest.notes import TurnFacts
from backscroll.compaction.digest.outdated import outdated
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
    without_tools,
    write,
)
from backscroll.history.history import Entry
from backscroll.history.plan import LINES, DigestContent, DigestLine
from backscroll.view.rendering import note_texts

REWRITTEN = 0.65  # of its allowance that a digest takes once it is written again
LEAST = 0.08  # of its allowance: with less room left it is written again
_BY_USERS = ("user", "rule")


def grow(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    *,
    prose: DigestLine | None,
    part: float,
) -> DigestContent:
    """Append these groups to the digest `before`, or write it again.

    Args:
        before: The previous digest.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings.
        prose: A model's new summary, which replaces turns: with one the digest is written again.
        part: Share of the allowance that is appended at most, unless users' words need more.
    """
    frame = frame._replace(tokens=cache(frame.tokens))
    left = frame.allowance - _written(before, frame.tokens)
    if before.notes and groups and prose is None and left >= frame.allowance * LEAST:
        appended = _appended(before, groups, covered, frame, (min(left, int(frame.allowance * part)), left))
        if appended is not None:
            return appended
    written = write(before, groups, covered, frame._replace(allowance=int(frame.allowance * REWRITTEN)), prose)
    if any(note.kind == "rule" for note in written.reserve):
        return write(before, groups, covered, frame, prose)  # rules need all of it
    return written


def _written(digest: DigestContent, tokens: Callable[[str], int]) -> int:
    """Return the tokens of a digest's lines in a summary."""
    return sum(map(tokens, note_texts(digest.notes, digest.begun))) + len(digest.notes)


def _appended(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    rooms: tuple[int, int],
) -> DigestContent | None:
    """Return the digest with these groups appended; None if it has to be written again.

    Args:
        before: The previous digest.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings.
        rooms: Tokens that are appended, and that may be if users' words need them.
    """
    facts = [TurnFacts(group) for group in groups]
    known = [note for note in before.notes if note.kind not in LINES]
    new = [note for turn in facts for note in turn.headings()]
    talk = without_tools([*known, *new], facts)
    facts = [turn for turn in facts if not (talk and turn.by_user)]  # their words are headings
    aside = [note for note in before.reserve if note.kind in LINES]
    lines = Lines(aside, facts, frame.salience)
    said = [(note.first, note.text) for note in before.notes if note.kind in LINES]
    if outdated([*known, *new], frame.kept, [*lines.remarks(), *said] if talk else ()):
        return None
    headings = _headings(new, frame, rooms, talk=talk)
    if headings is None:
        return None
    room = rooms[0] - _written(replace(before, notes=tuple(headings), begun=()), frame.tokens)
    kept, reserve = choose_lines(lines, [*before.notes, *headings], room, frame, since=len(aside))
    waiting = [note for note in before.reserve if note.kind not in LINES][-MOST_SQUEEZED:]
    notes = (*before.notes, *sorted([*headings, *kept], key=place))
    found = content(before, groups, covered, frame, notes=notes, reserve=(*waiting, *reserve))
    return replace(found, begun=(*before.begun, len(before.notes)))


def _headings(
    new: Sequence[DigestLine], frame: Frame, rooms: tuple[int, int], *, talk: bool
) -> list[DigestLine] | None:
    """Fit new headings into their part of the room, or all of it; None if users' words or rules have no room there."""
    stages = IN_TALK if talk else WITH_TOOLS
    share = IN_A_TALK if talk else HEADINGS
    for room in (int(rooms[0] * share), rooms[1]):
        headings, squeezed = fit_headings(new, room, frame.tokens, stages)
        if not any(note.kind in _BY_USERS for note in squeezed):
            return headings
    return None
