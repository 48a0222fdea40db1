"""The messages that every view requires under any plan."""

from backscroll.history.history import History


def floor_seqs(history: History) -> set[int]:
    """Return the `seq`s that every view requires, in addition to `newest_seqs`."""
    floor = set(history.leading_seqs)
    floor |= {entry.seq for entry in (history.first_user, history.last_user) if entry is not None}
    floor |= set() if history.reminder is None else {history.reminder}
    return floor | history.protected
