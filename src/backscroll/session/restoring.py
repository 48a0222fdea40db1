"""Recognize a conversation that a host hands in again, as a list or message by message.

A host keeps its own transcript and restores it into a session that has continued from its store. The transcript may
lack some roles and keys, or its end. So both sides are compared by what the host keeps of a message, which only an
adapter can know, and stored messages stay.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from backscroll.messages import Message, read_message, same_json
from backscroll.ports import Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, fetch

Kept = Callable[[Message], Message | None]
"""What a host keeps of a message in its transcript. `None`: it leaves the message out."""

_LOOKED_THROUGH = 64  # messages loaded at once while searching from the newest


class Match(NamedTuple):
    """How much of two lists is the same conversation."""

    held: int
    """Stored messages that stay, from the first on."""
    given: int
    """Given messages that these correspond to, from the first on; the rest is new."""


def match(given: Sequence[Message], held: Sequence[Message], kept: Kept) -> Match:
    """Find the given messages among the stored ones, in order.

    Stored messages that the transcript lacks are skipped, except a user's: if a whole turn is missing, the conversation
    was rewound to before it. A transcript that ends within the last turn was written before a crash. Results that the
    host never keeps stay with the call before them.
    """
    copies = [(number, copy) for number, message in enumerate(given) if (copy := kept(message)) is not None]
    found = stays = 0
    for number, message in enumerate(held):
        copy = kept(message)
        if copy is None:
            stays += found > 0 and stays == number and bool(read_message(message).results)
            continue
        if found < len(copies) and same_json(copies[found][1], copy):
            found, stays = found + 1, number + 1
        elif read_message(message).is_user_turn:
            break
    else:
        if found == len(copies):
            return Match(len(held), len(given))
    return Match(stays, copies[found - 1][0] + 1 if found else 0)


def following(
    state: SessionState, start: int, message: Message, kept: Callable[[Message], Message]
) -> Operation[int | None]:
    """Return the index after a message if it is the next one of the branch from index `start` on, else None. Messages
    of systems and hooks may be missing in between, because a host need not keep them.
    """
    copy = kept(message)
    yield from enter(state)
    branch = state.history.branch
    for index, seq in enumerate(branch.between(start, len(branch)), start):
        (entry,) = yield from fetch(state, [seq])
        if same_json(kept(entry.message), copy):
            return index + 1
        if not (entry.reading.is_system or entry.reading.flags.injected):
            return None
    return None


def newest(state: SessionState, wanted: Callable[[Message], bool]) -> Operation[int | None]:
    """Return the `seq` of the newest message of the branch that is wanted; None without one."""
    yield from enter(state)
    branch, stop = state.history.branch, len(state.history.branch)
    while stop > 0:
        start = max(0, stop - _LOOKED_THROUGH)
        for entry in reversed((yield from fetch(state, list(branch.between(start, stop))))):
            if wanted(entry.message):
                return entry.seq
        stop = start
    return None
