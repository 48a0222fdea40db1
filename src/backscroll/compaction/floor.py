"""The messages that every view requires under any plan."""

from backscroll.history.history import Entry, History

_QUOTED = 4_000
"""Characters of a first message from which on it may be quoted, where it takes more than an eighth of the room. A
shorter one is the task, and says it best. A longer one is mostly a template or a file.
"""


def floor_seqs(history: History, *, quoted: bool) -> set[int]:
    """Return the `seq`s that every view requires, in addition to `newest_seqs`.

    Args:
        history: The history.
        quoted: The digest quotes the user's messages. Then the last one is required only if it holds more than text,
            and so is a long first one.
    """
    floor = set(history.leading_seqs)
    first, last = history.first_user, history.last_user
    floor |= {first.seq} if first is not None and not (quoted and _is_long(first) and _is_text(first)) else set()
    floor |= {last.seq} if last is not None and not (quoted and _is_text(last) and last is not first) else set()
    floor |= set() if history.reminder is None else {history.reminder}
    return floor | history.protected


def _is_text(entry: Entry) -> bool:
    return all(part.media is None and part.kind == "text" and not part.attached for part in entry.reading.parts)


def _is_long(entry: Entry) -> bool:
    return sum(len(part.text) for part in entry.reading.parts) > _QUOTED
