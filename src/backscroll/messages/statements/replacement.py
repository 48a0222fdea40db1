"""Find which statements newer ones replace: same subject, other value."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from backscroll.messages.statements.reading import ORDER, PREFERENCE, Statement, sentences_of, statements_in
from backscroll.messages.statements.values import same_value


class Remark(NamedTuple):
    """A text that may state facts."""

    seq: int
    text: str
    by_user: bool
    """The user wrote it. What an assistant says can be replaced, and replaces nothing."""
    speaker: str = ""
    """The name of the user who wrote it. What one user states never replaces what another one did."""


Sentence = tuple[int, str]
"""A sentence, with the `seq` of its message."""


def replaced_by(remarks: Iterable[Remark]) -> dict[Sentence, int]:
    """Return which sentences no longer hold.

    Args:
        remarks: Texts in any order; `seq` orders them.

    Returns:
        The `seq` of the message that gives the value that holds now, by the sentence that it replaces.
    """
    by_speaker: dict[str, list[Remark]] = {}
    for remark in sorted(set(remarks)):
        by_speaker.setdefault(remark.speaker, []).append(remark)
    of_one = [one for one in by_speaker if any(remark.by_user for remark in by_speaker[one])]
    if len(of_one) == 1:  # then an assistant speaks of this one
        return _replaced(sorted(remark for each in by_speaker.values() for remark in each))
    return {sentence: seq for each in by_speaker.values() for sentence, seq in _replaced(each).items()}


def _replaced(remarks: Iterable[Remark]) -> dict[Sentence, int]:
    stated: dict[frozenset[str], list[tuple[int, Statement]]] = {}
    read: list[tuple[Sentence, Statement]] = []
    for remark in remarks:
        if not statements_in(remark.text, by_user=remark.by_user):
            continue
        for sentence in sentences_of(remark.text):
            for statement in statements_in(sentence, by_user=remark.by_user):
                read.append(((remark.seq, sentence), statement))
                if remark.by_user:
                    stated.setdefault(statement.subject, []).append((remark.seq, statement))
    found = ((sentence, _newest(sentence[0], old, _on_subject(old, stated))) for sentence, old in read)
    return {sentence: seq for sentence, seq in found if seq is not None}


def _on_subject(
    old: Statement, stated: Mapping[frozenset[str], list[tuple[int, Statement]]]
) -> Iterable[tuple[int, Statement]]:
    """Return the statements on a statement's subject: on a favorite drink also "no longer prefers tea, but coffee"."""
    found = stated.get(old.subject, [])
    if "favorite" not in old.subject:
        return found
    was = old.value.kinds[0][1]
    named = [
        each
        for word in sorted(old.subject)
        for each in stated.get(frozenset({word, PREFERENCE}), ())
        if same_value(each[1].old, was)
    ]
    return sorted([*found, *named], key=_place) if named else found


def _place(each: tuple[int, Statement]) -> int:
    return each[0]


def _newest(seq: int, old: Statement, stated: Iterable[tuple[int, Statement]]) -> int | None:
    """Return the newest statement about the same thing if it gives another value."""
    later = [(at, new) for at, new in stated if at > seq]
    for at, new in reversed(later):
        verdict = _replaces(new, old)
        if verdict is not None:
            return at if verdict else None
    return None


def _replaces(new: Statement, old: Statement) -> bool | None:
    """Return whether a newer statement replaces an older one of the same subject; None if they cannot be compared."""
    if (old.rule and not new.corrects) or (new.one_of_several and not new.corrects):
        return None
    if ORDER in old.subject and not same_value(new.old, old.value.kinds[0][1]):
        return None  # two orders of one kind may both hold, unless the newer one names the older one
    one, other = dict(new.value.kinds), dict(old.value.kinds)
    common = one.keys() & other.keys()
    if not common or (one.keys() != other.keys() and not new.corrects):
        return None
    if PREFERENCE in old.subject and not _alike(new, one, other):
        return None
    return any(not same_value(one[kind], other[kind]) for kind in common)


def _alike(new: Statement, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Return whether two preferences are of the same kind of thing: green tea and mint tea."""
    was = " ".join(other.values())
    return same_value(new.old, was) or " ".join(one.values()).split()[-1] == was.split()[-1]
