"""Leave out of a digest what the user replaced by a newer statement."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from backscroll.compaction.digest.terms import specific_words
from backscroll.compaction.digest.user_rules import rules_in
from backscroll.history.history import Entry
from backscroll.history.plan import LINES, DigestLine
from backscroll.messages.statements import Remark, Sentence, is_order, replaced_by, sentences_of, statements_in

GAP = "[...]"


def outdated(
    headings: Iterable[DigestLine], kept: Iterable[Sequence[Entry]], lines: Iterable[tuple[int, str]] = ()
) -> Mapping[Sentence, int]:
    """Return the sentences that the user replaced.

    Args:
        headings: Users' words and turns of the digest.
        kept: The groups that the view shows next to it.
        lines: More texts that may repeat what was replaced, each with the `seq` of its message.
    """
    said = [note for note in headings if note.kind in ("user", "turn")]
    remarks = [Remark(note.first, note.text, note.kind == "user", note.by) for note in said]
    shown = [entry for group in kept for entry in group if entry.reading.is_user_turn]
    remarks += [Remark(entry.seq, entry.reading.sure, True, entry.reading.speaker) for entry in shown]
    return replaced_by([*remarks, *(Remark(seq, text, False) for seq, text in lines)])


def without_outdated(notes: Iterable[DigestLine], replaced: Mapping[Sentence, int], said: str) -> Iterator[DigestLine]:
    """Yield notes without the sentences that no longer hold. A turn that repeats one is written as `said`."""
    seqs = {seq for seq, _ in replaced}  # few: other notes need not be split
    for note in notes:
        if note.first not in seqs or note.kind not in ("user", "turn", *LINES):
            yield note
            continue
        sentences = sentences_of(note.text)
        left = [one for one in sentences if (note.first, one) not in replaced]
        if len(left) == len(sentences):
            yield note
        elif note.kind == "turn":
            yield note._replace(text=said)
        elif note.kind == "user" and left:
            yield note._replace(text=" ".join([*left, GAP] if left[-1] != GAP else left))


def is_talk(note: DigestLine) -> bool:
    """Return whether a user's words state nothing that code recognizes: no fact, no rule, no name or number."""
    return not (statements_in(note.text) or rules_in(note.text) or specific_words(note.text))


def states_fact(note: DigestLine) -> bool:
    """Return whether what looks like a rule states a fact, as "don't forget, my bus leaves at 8:15" does."""
    return any(not is_order(statement) for statement in statements_in(note.text))


def still_contradicting(
    notes: Iterable[DigestLine], replaced: Mapping[Sentence, int], kept: Iterable[Sequence[Entry]]
) -> list[DigestLine]:
    """Return users' words that replace what the view shows word for word: without them it would be taken as current."""
    shown = {entry.seq for group in kept for entry in group}
    newer = {newest for (seq, _), newest in replaced.items() if seq in shown and newest not in shown}
    return [note for note in notes if note.kind == "user" and note.first in newer]
