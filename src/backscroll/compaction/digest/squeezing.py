"""Leave out rules where nothing else is left that could: the weakest first."""

from collections.abc import Callable, Sequence

from backscroll.compaction.digest.outdated import states_fact
from backscroll.compaction.digest.user_rules import rules_in, strength
from backscroll.history.plan import RANKED, DigestLine
from backscroll.view.rendering import note_text

OF_RANKED = 0.25  # of headings for system messages that no longer fit the view
BY_USERS = ("rule", "user")


def squeeze_rules(notes: Sequence[DigestLine], excess: int, tokens: Callable[[str], int]) -> list[DigestLine]:
    """Remove rules, and users' words that are nothing but rules: first those that state facts, then the weakest, and
    the oldest of equal ones. System messages go last.
    """
    order = [number for number, note in enumerate(notes) if note.kind in BY_USERS]
    order.sort(key=lambda number: (not states_fact(notes[number]), strength_of(notes[number])))
    order += [number for number, note in enumerate(notes) if note.kind in RANKED]
    gone: set[int] = set()
    for number in order:
        if excess <= 0:
            break
        excess -= tokens(note_text(notes[number])) + 1
        gone.add(number)
    return [note for number, note in enumerate(notes) if number not in gone]


def strength_of(note: DigestLine) -> int:
    """Return the strength of the strongest rule in a user's words."""
    return max(map(strength, rules_in(note.text)), default=0)
