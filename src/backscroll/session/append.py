"""Add messages: check, read, count, commit, apply."""

import json
from collections.abc import Container, Iterator, Sequence
from hashlib import sha256

from backscroll import events
from backscroll.errors import ConfigurationError, ConflictError, MessageError
from backscroll.history.groups import ALONE, GroupPreview
from backscroll.history.history import History
from backscroll.history.log import IdempotencyKeyUsed, LogEvent, MessageAdded, digest_of
from backscroll.messages import Message, ParsedMessage, all_validated, check_shape, numbered, read_message, same_json
from backscroll.messages.shapes import answers_with_value, check_texts, check_value
from backscroll.ports import LONG, Ask, Operation
from backscroll.session.addition import Addition, with_tools
from backscroll.session.state import SessionState
from backscroll.session.store_sync import (
    LOCK,
    catch_up,
    commit,
    fetch,
    load_news,
    too_many_conflicts,
    tries,
    write_checkpoint,
)
from backscroll.tokens.counts import Counts
from backscroll.view.ephemerals import Ephemeral

Read = tuple[Message, ParsedMessage, Counts]
_MOST_EPHEMERALS = 256


def append(
    state: SessionState, messages: Sequence[object], id: str | None = None, *, strict: bool = False
) -> Operation[int]:
    """Add messages in one step and return the last `seq`. A repeated `id` changes nothing and returns the same.

    Args:
        state: The session.
        messages: The messages.
        id: The idempotency key.
        strict: Refuse values that the dialect of their message takes as text only.

    Raises:
        ConfigurationError: `id` is no text.
        MessageError: A message cannot be stored.
        ConflictError: The messages do not fit what other writers stored meanwhile, or `id` was used for others.
    """
    if id is not None and (type(id) is not str or not id):
        raise ConfigurationError(f'`idempotency_key` must be a text such as "order-7", or None, not {id!r:.80}')
    read = yield from read_messages(state, messages, strict=strict)
    paired = any(map(_pairs, read))
    yield LOCK
    yield from catch_up(state, look=False)
    met, looked = state.met, state.journal is None
    with tries(state) as attempts:
        for _ in attempts:
            if id is not None and (known := (yield from _identified(state, id))):
                return (yield from _repeated(state, known, [message for message, _, _ in read]))
            others = bool(state.theirs) or state.met > met
            reason = why_not(read, state.history, state.theirs, outrun=state.met > met) if others else None
            if reason and not looked and state.journal is not None:
                yield from load_news(state, state.journal)  # it may no longer apply
                looked, reason = True, why_not(read, state.history, state.theirs, outrun=state.met > met)
            if reason:
                raise ConflictError(f"these messages do not follow what other writers stored meanwhile: {reason}")
            if strict and paired:
                _check_answers(state.history, read)
            if (yield from _appended(state, read, id, paired)):
                return state.history.next_seq - 1
    raise too_many_conflicts()


def read_messages(state: SessionState, messages: Sequence[object], *, strict: bool = False) -> Operation[list[Read]]:
    """Check, copy, read and measure messages; changes nothing. `strict`: as in `append`."""
    accepted = all_validated(messages, state.config.redact)
    readings = [read_message(message) for message in accepted]
    for at, (message, reading) in enumerate(zip(accepted, readings, strict=True), 1):
        try:
            check_shape(message, reading)
            if strict:
                check_texts(message, reading)
        except MessageError as error:
            raise (numbered(error, at, len(messages)) if len(messages) == len(accepted) else error) from None
    heavy = not state.measured or sum([len(part.text) for reading in readings for part in reading.parts]) > LONG
    counts = yield Ask(state.config.measure, (readings,), heavy)
    state.measured = True
    return list(zip(accepted, readings, counts, strict=True))


def _check_answers(history: History, read: Sequence[Read]) -> None:
    """Check that results are texts where their calls want texts.

    Raises:
        MessageError: One is not.
    """
    for at, (message, reading, _) in enumerate(read):
        if not reading.results or not answers_with_value(message, reading):
            continue
        calls = [part for _, earlier, _ in read[:at] for part in earlier.call_parts]
        waiting = [entry for seq, _ in history.waiting_calls() if (entry := history.get(seq)) is not None]
        calls += [part for entry in waiting for part in entry.reading.call_parts]
        check_value(message, reading, calls)


def _appended(state: SessionState, read: Sequence[Read], id: str | None, paired: bool) -> Operation[bool]:
    first = state.history.next_seq
    joining = state.history.joining() if paired else None
    added = list(additions(read, first, state.config.counted_by(), joining))
    if joining is not None and any(addition.late for addition in added):
        added = yield from with_tools(state.history, state.reader, added)
    happening: list[LogEvent] = [addition.event for addition in added if addition.event is not None]
    if id is not None:
        digested = state.config.redact is not None  # an id may hold what a message must not
        name = digest_of(id) if digested else id
        happening.append(IdempotencyKeyUsed(name, first, first + len(happening) - 1, digested))
    if not (yield from commit(state, happening)):
        return False
    for addition in added:
        add(state, addition)
    if id is not None:
        state.apply(happening[-1])
    if state.journal is not None and state.journal.due:
        yield from write_checkpoint(state)
    return True


def _identified(state: SessionState, id: str) -> Operation[IdempotencyKeyUsed | None]:
    if (digest := digest_of(id)) in state.ids or state.journal is None:
        return state.ids.get(digest)
    return (yield from state.journal.identified(id))


def _repeated(state: SessionState, known: IdempotencyKeyUsed, messages: list[Message]) -> Operation[int]:
    entries = yield from fetch(state, range(known.first, known.last + 1))
    stored = [entry.message for entry in entries]
    if not same_json(stored, [message for message in messages if not passing(read_message(message))]):
        name = "this id" if state.config.redact is not None else f"id {known.id!r}"
        raise ConflictError(f"{name} was used before, for other messages ({known.first}-{known.last}): use a new key")
    return known.last


def add(state: SessionState, addition: Addition) -> None:
    """Apply one addition whose event is stored."""
    reading, message, counts, event, _ = addition
    if event is None:
        after = state.history.branch[-1] if state.history.branch else -1
        digest = sha256(json.dumps(message).encode()).hexdigest()
        state.ephemerals.append(
            Ephemeral(
                after=after,
                number=state.ephemeral_number,
                message=message,
                reading=reading,
                counts=counts,
                digest=digest,
            )
        )
        state.ephemeral_number += 1
        del state.ephemerals[:-_MOST_EPHEMERALS]
        return
    if reading.flags.ephemeral:  # one half of a tool pair cannot be left out without breaking the other
        state.pending_notifications.append((events.EPHEMERAL_KEPT, {"seq": event.seq}))
    entry = state.history.append(event, reading)
    state.follow(event)
    if event.late and (unknown := [str(reading.results[index][0]) for index, tool, _ in event.late if not tool]):
        payload = {"seq": entry.seq, "ids": unknown, "open": [call.record for call in state.history.waiting()]}
        state.pending_notifications.append((events.ORPHAN_RESULT, payload))
    if state.listened_to:
        length = sum([len(part.text) for part in reading.parts])
        added = {"role": reading.role, "content_length": length, "total_messages": len(state.history.branch)}
        state.pending_notifications.append((events.MESSAGE_ADDED, added))


def passing(reading: ParsedMessage) -> bool:
    """Return whether a message is shown and never stored. Half of a tool pair is always stored."""
    return reading.flags.ephemeral and not reading.calls and not reading.results


def _pairs(read: Read) -> bool:
    """Return whether a message holds half of a pair of call and result."""
    reading = read[1]
    return bool(reading.calls or reading.results or reading.serves or reading.served)


def additions(read: Sequence[Read], next_seq: int, counted_by: str, joining: GroupPreview | None) -> Iterator[Addition]:
    """Yield the effects of adding these messages, in order; the first stored one gets `next_seq`.

    `joining` predicts which groups they join; it may be None if none of them has calls or results.
    """
    for message, reading, counts in read:
        if passing(reading):
            yield Addition(reading, message, counts, None)
        else:
            joins, late = ALONE if joining is None else joining.of(next_seq, reading)
            yield Addition(
                reading=reading,
                message=message,
                counts=counts,
                event=MessageAdded(seq=next_seq, message=message, counts=counts, counted_by=counted_by, joins=joins),
                late=late,
            )
            next_seq += 1


def why_not(read: Sequence[Read], history: History, theirs: Container[int], *, outrun: bool) -> str | None:
    """Return why these messages cannot follow what is stored; None if they can.

    Args:
        read: The messages.
        history: The history, up to date.
        theirs: `seq`s that other writers stored while this writer was open. Older messages belong to all writers.
        outrun: Another writer stored messages, or rewound, while these messages were being prepared.
    """
    stored = [reading for _, reading, _ in read if not passing(reading)]
    calls = {call for reading in stored for call in reading.calls}
    answers = [answer for reading in stored for answer, _ in reading.results]
    answered = [answer for answer in answers if not any(answer.may_mean(call) for call in calls)]
    newest, last = history.newest, history.last
    if stored and newest is not None and newest.open_calls and newest.first in theirs:
        waiting = history.waiting(newest)
        if not any(answer.may_mean(call) for answer in answered for call in waiting):
            names = [call.record for call in waiting]
            return (
                f"the calls {names} of another writer wait for their results: append again when these are there; if "
                "that writer is gone, append the results, or rewind to before the calls"
            )
    if not stored or not outrun:
        return None
    open_calls = set(history.waiting()) if answered else set()
    if gone := [name for name in answered if not any(name.may_mean(call) for call in open_calls)]:
        return f"the calls {gone} were answered by another writer, or taken back"
    if last is None or last.seq not in theirs or last.reading.role != "assistant" or last.reading.calls:
        return None
    return "another writer answered already" if stored[0].role == "assistant" else None
