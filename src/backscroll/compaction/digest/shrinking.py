"""Shrink a digest that is written already: where the rest of a view needs its room."""

from collections.abc import Callable
from dataclasses import replace

from backscroll.compaction.digest.squeezing import squeeze_rules
from backscroll.compaction.digest.user_rules import rules_of
from backscroll.history.plan import DigestContent, DigestLine
from backscroll.view.rendering import note_text

_ORDER = ("line", "error", "turn", "prose", "pasted", "user")
"""The order in which kinds give way when a digest shrinks."""


def shrink(
    digest: DigestContent, allowance: int, tokens: Callable[[str], int], *, rules_too: bool = False
) -> DigestContent:
    """Fit a digest into `allowance` tokens: lines go first, then turns, then users' words except their rules; oldest
    first. With `rules_too` rules go last.

    Removed lines are kept aside for the next digest. If a user's words go with their rules, these rules are listed as
    well, so that reports can name each rule that is left out.
    """
    sizes = [tokens(note_text(note)) + 1 for note in digest.notes]
    excess = sum(sizes) - allowance
    gone: dict[int, list[DigestLine]] = {}
    for kind in _ORDER:
        for number, note in enumerate(digest.notes):
            if excess > 0 and note.kind == kind:
                gone[number] = rules_of(note) if kind == "user" else []
                excess -= sizes[number] - sum(tokens(note_text(rule)) + 1 for rule in gone[number])
    kept = [left for number, note in enumerate(digest.notes) for left in gone.get(number, [note])]
    reserve = [note for number, note in enumerate(digest.notes) if number in gone]
    if rules_too and excess > 0:
        before, kept = kept, squeeze_rules(kept, excess, tokens)
        reserve += [rule for rule in before if rule not in kept]
    return replace(digest, notes=tuple(kept), reserve=(*digest.reserve, *reserve))
