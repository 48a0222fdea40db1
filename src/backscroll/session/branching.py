"""Change the branch: rewind, replace, clear, pin, fork, delete. The log keeps all messages except after a deletion."""

from collections.abc import Sequence

from backscroll.history.history import Entry
from backscroll.history.loading import chunks, fetch_messages, load_group, past
from backscroll.history.log import PinChanged, Rewound
from backscroll.messages import Message, all_validated, read_new, same_json
from backscroll.ports import Ask, Operation
from backscroll.session.addition import with_tools
from backscroll.session.append import add, additions
from backscroll.session.past import state_before_next, stored_messages
from backscroll.session.restoring import Kept, Match, match
from backscroll.session.state import SessionState
from backscroll.session.store_sync import (
    commit,
    commit_and_apply,
    enter,
    fetch_one,
    flush_deferred,
    too_many_conflicts,
    tries,
)


def rewind(state: SessionState, to: int) -> Operation[None]:
    """End the branch at `to`; -1 empties it.

    Raises:
        ReferenceNotFoundError: `to` is not on the branch.
    """
    yield from enter(state)
    branch = state.history.branch
    state.check_on_branch(to)
    if to != (branch[-1] if branch else -1):
        yield from commit_and_apply(state, Rewound(to), lambda: state.check_on_branch(to))


def replace(state: SessionState, messages: Sequence[object], kept: Kept | None = None) -> Operation[bool]:
    """Make the branch hold these messages: rewind to the common beginning, then append the rest.

    Args:
        state: The session.
        messages: The new branch.
        kept: Returns what a host keeps of a message, if its copies differ from the stored messages.

    Returns:
        Whether anything changed.
    """
    messages = list(messages)  # the caller may change theirs while this waits
    known = 0 if kept is not None else state.given.in_common(messages)
    accepted = all_validated(messages[known:], state.config.redact)
    history, epoch = state.history, state.history.epoch
    yield from enter(state)
    with tries(state) as attempts:
        for _ in attempts:
            if known and (state.history is not history or state.history.epoch != epoch):
                accepted, known = [*all_validated(messages[:known], state.config.redact), *accepted], 0
            changed = yield from _replace(state, accepted, known, kept)
            if changed is None:
                continue
            if kept is None and len(state.history.branch) == len(messages):
                state.given.note(messages, known)
            return changed
    raise too_many_conflicts()


def _replace(state: SessionState, messages: Sequence[Message], known: int, kept: Kept | None) -> Operation[bool | None]:
    """Try once to make the branch hold these messages behind the first `known` that it has. Returns whether anything
    changed; None if another writer changed it at the same time.
    """
    branch = state.history.branch
    same, given = yield from _in_common(state, messages, known, kept)
    rest = messages[given - known :]
    if same == len(branch) and not rest:
        return False
    readings = list(map(read_new, rest))
    counts = yield Ask(state.config.measure, (readings,), heavy=True)
    back = [Rewound(branch[same - 1] if same else -1)] if same < len(branch) else []
    before = (yield from past(state.history, state.reader, back[0].to)) if back else None
    joining, read = (before or state.history).joining(), list(zip(rest, readings, counts, strict=True))
    added = list(additions(read, state.history.next_seq, state.config.counted_by(), joining))
    added = yield from with_tools(before or state.history, state.reader, added)
    stored = [addition.event for addition in added if addition.event is not None]
    if not (yield from commit(state, [*back, *stored])):
        return None
    if before is not None:
        state.history.rewind_to(before)
        state.follow(back[0])
    for addition in added:
        add(state, addition)
    return True


def _in_common(state: SessionState, messages: Sequence[Message], known: int, kept: Kept | None) -> Operation[Match]:
    """Return how many messages both begin with, counted in either list; `known` of them are before `messages`."""
    if kept is not None:
        return match(messages, (yield from stored_messages(state)), kept)
    same = known
    branch = state.history.branch
    for seqs in chunks(list(branch.between(known, min(len(branch), known + len(messages))))):
        for message in (yield from fetch_messages(state.history, state.reader, seqs)):
            if not same_json(message, messages[same - known]):
                return Match(same, same)
            same += 1
    return Match(same, same)


def clear(state: SessionState) -> Operation[None]:
    """Empty the branch. The log keeps everything, and no `seq` is reused."""
    yield from enter(state)
    yield from commit_and_apply(state, Rewound(-1))
    state.ephemerals.clear()


def pin(state: SessionState, seq: int, pinned: bool) -> Operation[None]:
    """Pin or unpin the message `seq` with its whole tool pair."""
    yield from enter(state)
    state.check_seq(seq)
    if seq in state.history.branch:
        yield from load_group(state.history, state.reader, seq)
    entry: Entry = yield from fetch_one(state, seq)
    if entry.reading.flags.critical and not pinned:
        return  # a critical message always stays protected
    yield from commit_and_apply(state, PinChanged(seq, pinned))


def fork(state: SessionState, new: str, at: int | None) -> Operation[None]:
    """Start a session in the same store with this one's past, up to the message `at`. `None`: all of it."""
    yield from enter(state)
    if at is not None:
        state.check_seq(at)
    yield from flush_deferred(state)
    journal = state.journal
    assert journal is not None
    place = yield from (journal.place_before_next(at) if at is not None else journal.place_at_end())
    pins = [] if at is None else (yield from _pinned_since(state, at))
    if place:
        yield Ask(journal.store.fork, (journal.session, new, place))
        yield from journal.behind(new, place, pins)


def _pinned_since(state: SessionState, at: int) -> Operation[list[PinChanged]]:
    """Return later changes of pins of messages up to `at`, which a rewind to it would keep."""
    pins = {seq: pinned for seq, pinned in state.history.pins.items() if seq <= at}
    if not pins:
        return []
    before = (yield from state_before_next(state, at)).history
    return [PinChanged(seq, now) for seq, now in pins.items() if seq in before.branch and before.pins.get(seq) != now]


def delete(state: SessionState, cascade: bool) -> Operation[None]:
    """Delete the session, in its store and here."""
    yield from enter(state)
    if state.journal is not None:
        yield Ask(state.journal.store.delete, (state.journal.session, cascade), heavy=True)
        state.journal.forget()
        yield from state.journal.release()  # it went with the session: the next session of this name acquires it again
    state.entered = False
    state.ephemerals.clear()
    if state.events is not None:
        state.events.clear()
    state.begin()
