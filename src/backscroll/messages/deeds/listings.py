"""Whether a result shows what a look-up found, rather than confirm that something was done."""

import re

from backscroll.messages.deeds.outcomes import as_object
from backscroll.messages.deeds.texts import bounded
from backscroll.messages.structure.outline import outline

_LINES = (
    8  # lines of prose above which a result is a page: a confirmation has one to three, a report of a run up to six
)
_MEMBERS = 3  # members of an object from which it is a record: a confirmation has an id and a status
_READ = 8_000
_CONFIRMS = re.compile(
    r"\W{0,10}(?:\w+ ){0,6}(?:success\w*|created|updated|deleted|removed|added|sent|saved|booked|cancell?ed|scheduled|"
    r"done|completed|submitted|applied|approved|started|stopped|enabled|disabled|changed|confirmed|posted|published|"
    r"deployed|queued|accepted|registered|imported|exported|installed|finished|executed)\b",
    re.IGNORECASE,
)
_CONFIRMING = frozenset("success ok status state message error result done accepted queued".split())
"""Members by which an object confirms a call or refuses it."""


def is_listing(text: str) -> bool:
    """Return whether a result is a list, a record of several fields, a table, matches, or a page of text."""
    text = bounded(text, _READ // 2).strip()
    if not text or _CONFIRMS.match(text[:200]):
        return False
    if text.startswith("["):
        return True
    if (record := as_object(text)) is not None:
        return len(record) >= _MEMBERS and not _CONFIRMING.intersection(record)
    lines = [line for line in text.split("\n") if line.strip()]
    return text.startswith("{") or outline(lines) is not None or len(lines) > _LINES
