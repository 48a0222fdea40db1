"""Load evicted messages, groups and past states from the store."""

from collections.abc import Iterator, Mapping, Sequence

from backscroll.errors import CorruptionError
from backscroll.history.groups import Late, MessageGroup, rebuild_groups
from backscroll.history.history import Entry, History, check_counts
from backscroll.history.log import (
    Checkpoint,
    IdempotencyKeyUsed,
    LaneOpened,
    LogEvent,
    MessageAdded,
    PinChanged,
    PlanRecorded,
    RequestRecorded,
    Rewound,
)
from backscroll.history.log_reader import LogReader
from backscroll.history.plan import newest
from backscroll.messages.parsed_message import ParsedMessage
from backscroll.messages.parts import Message
from backscroll.messages.reader import read_message
from backscroll.ports import Operation, T

CHUNK = 500  # messages loaded at once when many are searched
_AHEAD = 64  # messages searched first for the results of a call


def chunks(seqs: Sequence[T], size: int = CHUNK) -> Iterator[Sequence[T]]:
    """Yield the sequence in slices."""
    return (seqs[start : start + size] for start in range(0, len(seqs), size))


def fetch(history: History, reader: LogReader, seqs: Sequence[int]) -> Operation[list[Entry]]:
    """Return these entries for reading only. Evicted ones are loaded without their groups, and are not kept."""
    missing = history.not_loaded(seqs)
    loaded: dict[int, Entry] = {}
    if missing:
        for event in (yield from reader.load(missing)):
            group, reading = MessageGroup(event.seq, [event.seq]), read_message(event.message)
            with reader.at(event.seq):
                check_counts(event, reading)
            loaded[event.seq] = Entry(
                seq=event.seq, message=event.message, reading=reading, counts=event.counts, group=group, late=event.late
            )
    return [entry for seq in seqs if (entry := history.get(seq) or loaded.get(seq))]


def fetch_messages(history: History, reader: LogReader, seqs: Sequence[int]) -> Operation[list[Message]]:
    """Return these messages as they are stored, which costs half of `fetch`. They are no copies."""
    missing = history.not_loaded(seqs)
    loaded = {event.seq: event.message for event in (yield from reader.load(missing))} if missing else {}
    held = ((seq, history.get(seq)) for seq in seqs)
    return [loaded[seq] if entry is None else entry.message for seq, entry in held]


def load(history: History, reader: LogReader, seqs: Sequence[int]) -> Operation[None]:
    """Load these entries into the history, with their whole groups, because a plan may leave out a part of one."""
    if not (missing := history.not_loaded(seqs)):
        return
    found = yield from reader.load(missing)
    there, more = {event.seq for event in found}, set[int]()
    for event in found:
        if not there.issuperset(event.joins or ()) and history.group_of(event.seq) is None:
            more |= yield from _members(history, reader, event.seq)
    if rest := history.not_loaded(sorted(more - there)):
        found = sorted([*found, *(yield from reader.load(rest))], key=lambda event: event.seq)
    with reader.at(found[0].seq):
        history.load_into(found)


def load_group(history: History, reader: LogReader, seq: int) -> Operation[None]:
    """Load the whole group of an entry of the branch.

    Raises:
        CorruptionError: No group contains the entry.
    """
    if history.get(seq) is not None:
        return
    group = history.group_of(seq)
    members = group.members if group else (yield from _members(history, reader, seq))
    yield from load(history, reader, sorted(members))
    if history.get(seq) is None:
        raise CorruptionError(f"session {reader.session!r}: no group contains message {seq}")


def _members(history: History, reader: LogReader, seq: int) -> Operation[set[int]]:
    """Search from the group's first message on for its members, until each of its calls is answered."""
    (event,) = yield from reader.load([seq])
    first, ahead = min(event.joins or (seq,)), _AHEAD
    while True:
        place = history.branch.position(first)
        seen = yield from reader.load(list(history.branch.between(place, min(place + ahead, len(history.branch)))))
        readings = {each.seq: read_message(each.message) for each in seen}
        late = {each.seq: each.late for each in seen if each.late}
        found = rebuild_groups(readings, {each.seq: _within(each, first) for each in seen}, late)
        group = found[first]
        earliest = min([first, *(low for each in seen if each.seq in group.members for low in each.joins or ())])
        whole = not (_waits(group, readings, late) or group.serving) or place + ahead >= len(history.branch)
        if earliest == first and whole:
            return set(group.members)
        first, ahead = earliest, ahead * 4


def _waits(group: MessageGroup, readings: Mapping[int, ParsedMessage], late: Mapping[int, Late]) -> bool:
    """Return whether a call of the group has no result among these messages, not even one that came too late."""
    if not group.open_calls:
        return False
    came = [readings[seq].results[index][0] for seq, found in late.items() for index, _, _ in found]
    calls = [
        call
        for seq in group.members
        for number, call in enumerate(readings[seq].calls)
        if (seq, number) not in group.answered
    ]
    return any(not any(answer.may_mean(call) for answer in came) for call in calls)


def _within(event: MessageAdded, first: int) -> tuple[int, ...]:
    """Return what a message joins within the searched range; one that answers only earlier calls counts as a group of
    its own.
    """
    return tuple(joined for joined in event.joins or () if joined >= first)


# -- the past --


def history_at(reader: LogReader, place: int) -> Operation[History]:
    """Return the history that the records before a position make."""
    checkpoint, events = yield from reader.checkpoint_at(place)
    with reader.at(place):
        return (yield from restored(reader, checkpoint, events))


def restored(reader: LogReader, checkpoint: Checkpoint | None, events: Sequence[LogEvent]) -> Operation[History]:
    """Return the history that a checkpoint and the events after it make."""
    history = History()
    if checkpoint is not None:
        history.restore(checkpoint.history, (yield from reader.load(checkpoint.history.kept)))
    for event in events:
        yield from take(history, reader, event)
    return history


def take(history: History, reader: LogReader, event: LogEvent) -> Operation[None]:
    """Apply an event, and load what it needs."""
    if isinstance(event, Rewound):
        if event.to != -1 and event.to not in history.branch:
            raise CorruptionError(f"it rewinds to message {event.to}, which is not on the branch")
        history.rewind_to((yield from past(history, reader, event.to)))
        return
    if isinstance(event, PinChanged) and event.seq in history.branch:
        yield from load_group(history, reader, event.seq)
    _check(history, event)
    history.apply(event)


def _check(history: History, event: LogEvent) -> None:
    """Check an event's references to messages; raises `CorruptionError`."""
    match event:
        case MessageAdded() if event.seq < history.next_seq:
            raise CorruptionError(f"message {event.seq} was added before")
        case PinChanged() if not 0 <= event.seq < history.next_seq:
            raise CorruptionError(f"it pins message {event.seq}, which does not exist")
        case IdempotencyKeyUsed() if event.last >= history.next_seq:
            raise CorruptionError(f"a key names messages up to {event.last}, and there are {history.next_seq}")
        case RequestRecorded() if event.last >= history.next_seq:
            raise CorruptionError(f"a request ended with message {event.last}, and there are {history.next_seq}")
        case PlanRecorded() | LaneOpened() if (last := newest(event.plan)) >= history.next_seq:
            raise CorruptionError(f"a plan names message {last}, and there are {history.next_seq}")


def past(history: History, reader: LogReader, last: int) -> Operation[History]:
    """Return the history as it was when `last` was added, for `history.rewind_to`. Nothing at or below `last` has
    changed since.

    Raises:
        CorruptionError: The log does not lead back to `last`.
    """
    if history.evicted_to < 0:
        return history.until(last)
    to = history.branch.until(last)
    if history.reaches(last):  # else the log may hold more rewinds before it, each of which would read the log again
        found = history.until(last)
    else:
        found = yield from history_at(reader, (yield from reader.place_behind(to[-1] if to else -1)))
    if found.branch.runs() != to.runs():
        raise CorruptionError(f"session {reader.session!r}: its log does not lead back to message {last}")
    for seq in [seq for seq in history.pins if seq in to]:
        yield from load_group(found, reader, seq)
    return found
