"""Keep the facts of one file: how often it changed, what it defines, and whether its changes are still there."""

import re
import zlib

from backscroll.compaction.handover.beginnings import is_prose
from backscroll.history.ledger import Fact
from backscroll.messages.deeds import Deed
from backscroll.messages.deeds.key_lines import key_lines

_NAMES = 16  # names that a file defines, or lost
_TEST = re.compile(r"(?:^|[/_.-])(?:tests?|spec)s?(?:[/_.-]|$)", re.IGNORECASE)
_LINES = 300  # characters of the key lines of a file: of one edit, because the chronicle may have those of others
_MARKS = 6  # changes since the last commit of which each has a mark: one that is taken back later is rare
_CREATED, _UNKNOWN = "+", "?"
_ASIDE = "~"  # before a mark: the change is in the stash of git
_LENGTH = 6  # of a checksum: of a file's few changes, two that are equal by chance are one in a million
_NO_TEXT = "0" * _LENGTH


def changed(known: Fact, deed: Deed, seq: int) -> Fact:
    """Return the fact of a file once it was created, edited or deleted. It is `restored` if nothing is left of the
    changes since the last commit.
    """
    defined = [name for name in deed.defined if name not in deed.removed]
    lost = [name for name in deed.removed if name not in deed.defined]
    names = [name for name in known.names if name not in (*lost, *defined)] + defined
    gone = [name for name in known.gone if name not in (*lost, *deed.defined)]
    gone += [name for name in lost if name not in known.names]
    how = known.text if known.text == "created" and deed.what == "edited" else deed.what
    marks = _marks(known if known.outcome != "clean" else known._replace(marks=()), deed)
    return Fact(
        kind="file", seq=seq, key=known.key, text=how, outcome=_outcome(marks), times=known.times + 1,
        names=tuple(names[-_NAMES:]), gone=tuple(gone[-_NAMES:]), marks=marks,
        written=_lines(deed),
    )  # fmt: skip  # one thought


def _lines(deed: Deed) -> str:
    """Return the key lines of what an edit wrote to a file of code; of a test, whose values are examples, none."""
    if is_prose(deed.path) or _TEST.search(deed.path):
        return ""
    return "\n".join(key_lines(deed.new_lines, _LINES))


def _marks(known: Fact, deed: Deed) -> tuple[str, ...]:
    """Return the marks of the changes that are left."""
    aside = tuple([mark for mark in known.marks if mark.startswith(_ASIDE)])
    marks = tuple([mark for mark in known.marks if not mark.startswith(_ASIDE)])
    return (*aside, *_changed_marks(marks, deed, is_new=not known.times))


def _changed_marks(marks: tuple[str, ...], deed: Deed, *, is_new: bool) -> tuple[str, ...]:
    if deed.what == "deleted":
        return () if marks[:1] == (_CREATED,) else (_UNKNOWN,)
    if deed.what == "created":
        return (_CREATED,) if is_new or marks[:1] == (_CREATED,) else (_UNKNOWN,)
    old, new = _mark(deed.before), _mark(deed.text)
    if old == new == _NO_TEXT:
        return (*marks[: _MARKS - 1], _UNKNOWN)
    for at in range(len(marks) - 1, -1, -1):
        first, last = marks[at][:_LENGTH], marks[at][_LENGTH:]
        if last == old and (old != _NO_TEXT or first == new):  # it changes what that change wrote
            return (*marks[:at], *([] if first == new else [first + new]), *marks[at + 1 :])
    if len(marks) >= _MARKS:  # the first stays: it says that the file was created
        return (marks[0], *marks[2:], old + new) if marks[0] == _CREATED else (_UNKNOWN, *marks[2:], old + new)
    return (*marks, old + new)


def _mark(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'surrogatepass')):08x}"[:_LENGTH] if text else _NO_TEXT


def _outcome(marks: tuple[str, ...]) -> str:
    if not marks:
        return "restored"
    return "stashed" if all(mark.startswith(_ASIDE) for mark in marks) else ""


def taken_back(fact: Fact, seq: int, *, stashes: bool) -> Fact:
    """Return the fact of a file whose changes since the last commit were taken back, or put into the stash."""
    marks = [mark for mark in fact.marks if mark.startswith(_ASIDE)]
    if stashes:
        marks += [_ASIDE + mark for mark in fact.marks if not mark.startswith(_ASIDE)]
    return fact._replace(seq=seq, marks=tuple(marks), outcome=_outcome(tuple(marks)), written="")


def unstashed(fact: Fact, seq: int) -> Fact:
    """Return the fact of a file once what the stash holds is there again."""
    marks = tuple([mark.removeprefix(_ASIDE) for mark in fact.marks])
    return fact._replace(seq=seq, marks=marks, outcome=_outcome(marks), written="")


def committed(fact: Fact) -> Fact:
    """Return the fact of a file once its changes are committed."""
    aside = tuple([mark for mark in fact.marks if mark.startswith(_ASIDE)])
    return fact._replace(marks=aside, outcome="stashed" if aside else fact.outcome)


def moved(known: Fact, path: str, seq: int) -> Fact:
    """Return the fact of a file once it is at another path."""
    return known._replace(seq=seq, key=path, marks=known.marks or (_UNKNOWN,), outcome="", written="")
