"""Shrink a chronicle: its older half in one step, so that the provider's cache loses it seldom.

Reports shrink to their first sentences, look-ups and remarks go, changes merge by file. Users' words, refusals and
commits go last, the oldest first, and rules only where nothing else is left.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from backscroll.compaction.digest.notes import newest_ranked
from backscroll.compaction.digest.outdated import GAP, is_talk
from backscroll.compaction.digest.squeezing import OF_RANKED, squeeze_rules
from backscroll.compaction.digest.user_rules import rules_of
from backscroll.compaction.handover.fitting import finer, levels_of_words, with_rules, written
from backscroll.compaction.handover.levels import LAST, size
from backscroll.history.plan import DETAILS, DigestContent, DigestLine, NoteKind
from backscroll.view.chronicle import chronicle_texts, digest_lines, entries_of

OLDER = "(older turns; recall shows them)"
MOST_ASIDE = 100  # rules without room that are kept aside
_DOUBT = 0.3  # of a room by which an estimate may exceed it: lines that merge or repeat take less than estimated
_OLDEST, _NEWEST = 0.25, 0.75  # of the entries: with more difference the older half would be gone, with less the newest
_LITTLE = 2  # lines of a piece that no longer needs a reference of its own
_RUN, _FEW = 12, 200  # users' words with one reference; characters of each
_TRIES = 2  # fillings of what an estimate says is left: the second one takes back what the first was over
_SLACK = 0.97  # of a room in characters: what a count of tokens says may differ from line to line


class Shrunk(NamedTuple):
    """A chronicle that shrank, and the rules that found no room."""

    notes: list[DigestLine]
    lost: list[DigestLine]


def shrunk(notes: Sequence[DigestLine], room: int, *, rules_too: bool = True) -> Shrunk:
    """Fit a chronicle into so many characters, if that is possible.

    Args:
        notes: Its lines.
        room: Characters that its text may take.
        rules_too: Rules may go as well.
    """
    entries = entries_of(newest_ranked(notes, int(room * OF_RANKED), lambda line: len(line.text)))
    for level in range(1, LAST + 3):
        levels = [_level(number / len(entries), level) for number in range(len(entries))]
        left = room - sum(map(size, entries, levels, levels_of_words(entries, levels)))
        if left < -room * _DOUBT:
            continue
        excess = 0
        for _ in range(_TRIES):
            lines = _flat(_joined(written(entries, finer(entries, levels, left - excess), room - excess)))
            if (over := _length(lines) - room) <= 0:
                return Shrunk(lines, [])
            excess += over
    words = levels_of_words(entries, [LAST] * len(entries))
    entries = [kept for entry, at in zip(entries, words, strict=True) if (kept := with_rules(entry, LAST, at))]
    entries = _without(entries, room, ("report", "seen", "said", "note", "asked"))
    lines = _flat(_joined(_without(entries, room, DETAILS)))
    if _length(lines) <= room:
        return Shrunk(lines, [])
    lines = _without_words(lines, room)
    if not rules_too or _length(lines) <= room:
        return Shrunk(lines, [])
    kept = squeeze_rules(lines, _length(lines) - room, len)
    return Shrunk(kept, [line for line in lines if line.kind == "rule" and line not in kept][-MOST_ASIDE:])


def in_order(notes: Sequence[DigestLine]) -> list[DigestLine]:
    """Return lines in the order of their messages: some came later, because their message stayed in the view."""
    return sorted(notes, key=lambda note: note.first)


def _flat(entries: Sequence[Sequence[DigestLine]]) -> list[DigestLine]:
    return [line for entry in entries for line in entry]


def _length(notes: Sequence[DigestLine]) -> int:
    return sum(len(text) + 1 for text in chronicle_texts(notes))


def _level(age: float, level: int) -> int:
    """Return the level of an entry by its place among all, 0 for the oldest: the oldest quarter is a level ahead, and
    the newest one behind.
    """
    return min(LAST, max(0, level + (age < _OLDEST) - (age >= _NEWEST)))


def _joined(entries: Sequence[list[DigestLine]]) -> list[list[DigestLine]]:
    """Join pieces of a turn of which little is left, and short words of users in a row, without entries that are empty
    by now.
    """
    kept: list[list[DigestLine]] = []
    for head, *lines in filter(None, entries):
        little = head.kind == "turn" and len(lines) <= _LITTLE
        if kept and (little or _in_run([*kept[-1], head, *lines])):
            before, *others = kept[-1]
            kept[-1] = [before._replace(last=max(before.last, head.last)), *others, *([] if little else [head]), *lines]
        else:
            kept.append([head, *lines])
    return kept


def _in_run(lines: Sequence[DigestLine]) -> bool:
    """Return whether lines are short words of users that can share a reference: each would take as much as they do."""
    return len(lines) <= _RUN and all(line.kind == "user" and len(line.text) <= _FEW for line in lines)


def _without(entries: Sequence[list[DigestLine]], room: int, kinds: Sequence[NoteKind]) -> list[list[DigestLine]]:
    """Leave out lines of these kinds, the oldest first, and join turns of which nothing else is left."""
    excess = _length(_flat(entries)) - room
    kept: list[list[DigestLine]] = []
    for entry in entries:
        if excess <= 0:
            kept.append(entry)
            continue
        left = [line for line in entry if line.kind not in kinds]
        excess -= _length(entry)
        before = kept[-1] if kept else left
        if left and before is not left and [line.kind for line in (*before, *left)] == ["turn", "turn"]:
            kept[-1] = [before[0]._replace(last=left[0].last, text=OLDER)]
        elif left:
            kept.append(left)
            excess += _length(left)
    return kept


def _without_words(notes: Sequence[DigestLine], room: int) -> list[DigestLine]:
    """Leave out users' words but not their rules: those that state nothing first, the task and the newest words last.
    Then a model's summary goes.
    """
    order = [number for number, line in enumerate(notes) if line.kind == "pasted"]
    order += [number for number, line in enumerate(notes) if line.text == GAP]
    said = [number for number, line in enumerate(notes) if line.kind == "user" and line.text != GAP]
    order += [*sorted(said[1:-1], key=lambda number: not is_talk(notes[number])), *said[:1], *said[1:][-1:]]
    order += [number for number, line in enumerate(notes) if line.kind in ("prose", "turn")]
    kept = {number: [line] for number, line in enumerate(notes)}
    lines, at = list(notes), 0
    while at < len(order) and (excess := _length(lines) - room) > 0:
        while at < len(order) and excess > 0:
            line = notes[order[at]]
            rules = [rule._replace(last=rule.first) for rule in rules_of(line)] if line.kind == "user" else []
            kept[order[at]] = rules
            excess -= _length([line]) - _length(rules)
            at += 1
        lines = _flat(_joined(entries_of(_flat([*kept.values()]))))
    return lines


def shrink(
    digest: DigestContent, allowance: int, tokens: Callable[[str], int], *, rules_too: bool = False
) -> DigestContent:
    """Fit a written hand-over into `allowance` tokens: where the rest of a view needs its room. The files and the state
    go first, then the chronicle shrinks. As it was, it is kept aside for the next one, and so are rules without room.
    """
    now = list(digest.now)
    while now and tokens("\n".join(digest_lines(digest.notes, now))) > allowance:
        now = now[: len(now) // 2]
    notes, lost = list(digest.notes), list[DigestLine]()
    room = float(len("\n".join(chronicle_texts(notes))))
    while notes and (taken := tokens("\n".join(chronicle_texts(notes)))) > allowance and room > 1:
        room *= _SLACK * max(0, allowance) / taken
        found = shrunk(notes, int(room), rules_too=rules_too)
        notes, lost = found.notes, [*lost, *found.lost]
    if len(notes) == len(digest.notes) and tuple(notes) == digest.notes:
        return replace(digest, now=tuple(now))
    whole = any(note.kind != "rule" for note in digest.reserve)
    aside = (*digest.reserve, *lost) if whole else (*digest.notes, *digest.reserve, *lost)
    return replace(digest, notes=tuple(notes), now=tuple(now), reserve=aside)
