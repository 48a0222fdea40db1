"""Recognising a conversation that a host hands in once more, as a list or message by message.

A host keeps a transcript of its own and restores it into a session that has gone on from its store. The transcript is
the poorer copy: some roles and keys are missing in it, or its end is. So both sides are compared by what the host keeps
of a message, which only an adapter can know, and what is held already stays.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from backscroll.messages import Message, read_message, same_json
from backscroll.ports import Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, fetch

Kept = Callable[[Message], Message | None]
"""What a host keeps of a message in its transcript; None where it leaves the message out."""

_LOOKED_THROUGH = 64  # messages that are loaded at once while the newest are looked through


class Match(NamedTuple):
    """How much of two lists is the same conversation."""

    held: int
    """Messages that are held and stay, from the first on."""
    given: int
    """Messages of the given list that these stand for, from the first on; the rest is new."""


def match(given: Sequence[Message], held: Sequence[Message], kept: Kept) -> Match:
    """Finds the given messages among the held ones, in order.

    Held messages that the transcript lacks are passed over, but no user's: where a whole turn is missing, the
    conversation was taken back to before it. A transcript that ends within the last turn was written before a crash.
    """
    copies = [(number, copy) for number, message in enumerate(given) if (copy := kept(message)) is not None]
    found = stays = 0
    for number, message in enumerate(held):
        copy = kept(message)
        if copy is None:
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
    """Looks whether a message is the next one of the branch, from the index `start` on. Returns the index behind it;
    None if it is not. Messages of systems and hooks may be missing in between: a host need not keep them.
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
    """The `seq` of the newest message of the branch that is wanted; None without one."""
    yield from enter(state)
    branch, stop = state.history.branch, len(state.history.branch)
    while stop > 0:
        start = max(0, stop - _LOOKED_THROUGH)
        for entry in reversed((yield from fetch(state, list(branch.between(start, stop))))):
            if wanted(entry.message):
                return entry.seq
        stop = start
    return None
