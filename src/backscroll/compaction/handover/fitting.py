"""Choose the levels of entries, so that they fit their room."""

from collections.abc import Iterable, Sequence
from operator import attrgetter

from backscroll.compaction.digest.user_rules import rules_of, same_rule
from backscroll.compaction.handover.levels import LAST, at_level, left_out, length, size
from backscroll.history.plan import DigestLine

_TASK = 3  # the coarsest level of a task: 2,000 characters typed and 1,100 pasted, which readers of 16,000 tokens need
_HARDLY = 2  # lines of an entry, its first one among them, that are not worth a reference
_first = attrgetter("first")
_AT_ONCE = 60  # messages of a reference: twice as many as a piece of a turn has


def fitted(entries: Sequence[list[DigestLine]], room: int) -> list[list[DigestLine]]:
    """Return entries that take about `room` characters, the newer half a level finer than the older one; what is left
    goes to the newest. Even at the last level they may take more.
    """
    half = len(entries) // 2
    levels: list[int] = []
    for level in range(LAST + 1):
        levels = [min(LAST, level + (number < half and level > 0)) for number in range(len(entries))]
        left = room - sum(map(size, entries, levels, levels_of_words(entries, levels)))
        if left >= 0:
            levels = finer(entries, levels, left)
            break
    return _joined(written(entries, levels, room))


def written(entries: Sequence[list[DigestLine]], levels: Sequence[int], room: int) -> list[list[DigestLine]]:
    """Return entries at these levels. With what is left of `room` characters, the newest lines that a level left out
    come back.
    """
    words = levels_of_words(entries, levels)
    left = room - sum(map(size, entries, levels, words))
    found = [with_rules(*each) for each in zip(entries, levels, words, strict=True)]
    for number in reversed(range(len(found))):
        found[number], left = _with_newest(found[number], left_out(entries[number], levels[number]), left)
    return found


def _with_newest(entry: list[DigestLine], gone: Iterable[DigestLine], room: int) -> tuple[list[DigestLine], int]:
    """Return an entry with the newest lines that its level left out, and the characters that are left. An agent that
    makes a hundred calls and says nothing has few entries: with all of their lines, a view is over its room, and with
    none, empty.
    """
    back = list[DigestLine]()
    for line in gone:
        taken = length(line.text, len(line.text))
        if taken > room:
            break
        room -= taken
        back.append(line)
    return ([entry[0], *sorted([*entry[1:], *back], key=_first)] if back else entry), max(0, room)


def _joined(entries: Sequence[list[DigestLine]]) -> list[list[DigestLine]]:
    """Join pieces of a turn that have hardly a line with the entry above, as long as one can recall it at once."""
    kept: list[list[DigestLine]] = []
    for head, *lines in filter(None, entries):
        above = kept[-1][0] if kept else head
        follows = head.kind == "turn" and len(lines) < _HARDLY and head.first == above.last + 1
        if follows and head.last - above.first < _AT_ONCE:
            kept[-1] = [above._replace(last=head.last), *kept[-1][1:], *lines]
        else:
            kept.append([head, *lines])
    return kept


def levels_of_words(entries: Sequence[Sequence[DigestLine]], levels: Sequence[int]) -> list[int]:
    """Return the levels of what users wrote: of the first and of the newest one it stays fine, because these are the
    task and the current request, and a view need not show their messages.
    """
    asked = [number for number, entry in enumerate(entries) if entry[0].kind == "user"]
    return [min(level, _TASK) if number in (*asked[:1], *asked[-1:]) else level for number, level in enumerate(levels)]


def finer(entries: Sequence[Sequence[DigestLine]], levels: Sequence[int], left: int) -> list[int]:
    """Return levels where `left` characters are given back, a level at a time, the newest entries first."""
    levels, before = list(levels), list[int]()
    while levels != before:
        before = list(levels)
        for number in reversed(range(len(levels))):
            finer_one = max(0, levels[number] - 1)
            more = size(entries[number], finer_one) - size(entries[number], levels[number])
            if more <= left:
                left -= more
                levels[number] = finer_one
    return levels


def with_rules(entry: Sequence[DigestLine], level: int, words: int | None = None) -> list[DigestLine]:
    """Return an entry at a level, with each rule that the user's shortened words no longer hold. `words`: the level of
    what the user wrote.
    """
    kept = at_level(entry, level, words)
    said = [line.text for line in kept if line.kind == "user"]
    rules = [rule for line in entry if line.kind == "user" and line not in kept for rule in rules_of(line)]
    rules += [line for line in kept if line.kind == "rule"]
    if not rules:
        return kept
    missing = {same_rule(rule.text): rule for rule in rules if not any(rule.text in text for text in said)}
    head, *others = kept
    if head.kind == "rule":  # it stays as the head, and is not its own rule once more
        missing.pop(same_rule(head.text), None)
    own = [rule._replace(last=rule.first) for rule in missing.values()]
    return [head, *own, *(line for line in others if line.kind != "rule")]
