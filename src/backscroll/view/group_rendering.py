"""Render a group with its edits as messages: the call first, then its results in order of arrival.

What a provider would refuse is healed here: the history keeps each message as it came.
"""

from collections.abc import Collection, Sequence
from functools import partial
from typing import NamedTuple

from backscroll.history.groups import MessageGroup
from backscroll.history.history import Entry, History
from backscroll.history.plan import Plan
from backscroll.messages import Message, Part, rounds, sendable, without_reasoning
from backscroll.messages.dialects import others_answer, server_ends
from backscroll.messages.heal_rules import HealRule
from backscroll.messages.healing import healed, is_suspect, want_texts
from backscroll.messages.late_results import as_text
from backscroll.messages.rewriter import answer_missing, leave_out
from backscroll.view.rendering import WAITING, Edits, Find, frame, framed, placeholder, rewrite

Sources = tuple[tuple[Entry, ...], ...]


class RenderedGroup(NamedTuple):
    """A group as a view shows it."""

    messages: list[Message]
    sources: Sources | None
    """The entries that each message is made of. `None`: one to one."""
    heals: tuple[tuple[int, HealRule], ...] = ()
    """The entries that were healed, by `seq`, and the rule of each."""
    added: int = 0
    """Bytes of the texts that healing added, but for the usual placeholder."""


def render_group(
    group: MessageGroup,
    entries: Sequence[Entry],
    edits: Edits,
    pending: bool,
    bare: Collection[int],
    *,
    plan: Plan,
    find: Find,
) -> RenderedGroup:
    """Render one group.

    Args:
        group: The group.
        entries: Its messages, in order.
        edits: The plan's edits of the group's parts.
        pending: The group is the newest: what the provider or the user still answers stays open.
        bare: Entries that are shown without their reasoning, by `seq`.
        plan: The plan. Where it does not heal, calls of the newest group stay open, and results that join no group are
            left out, as older versions did.
        find: Returns the message of an earlier result, which an edit may show again.
    """
    heals = plan.heals
    if not (edits or bare or group.orphans or group.open_calls) and (as_it_is := _as_it_is(group, entries, heals)):
        return as_it_is
    suspect = {entry.seq for entry in entries if is_suspect(entry.reading)} if heals else ()
    messages: list[Message] = []
    owners: list[Entry] = []
    notes = _Notes([], [])
    halves = _alone(entries) if heals and not pending and (group.serving or entries[0].reading.serves) else ()
    for entry in entries:
        edited = edits.get(entry.seq)
        message: Message | None = rewrite(entry, edited, find, plan.recall.lead) if edited else entry.message
        if message is not None and entry.seq in group.orphans:
            message = _late(message, entry, group, notes) if heals else leave_out(message, group.orphans[entry.seq])
        if message is not None and entry.seq in bare:
            message = without_reasoning(message)
        if message is None:
            continue
        message = _sendable(message, entry)
        if entry.seq in suspect or (heals and entry.seq in group.orphans):
            message, rules = healed(message, texts=_want_texts(entries), alone=halves or _cut_off(entry))
            notes.rules.extend((entry.seq, rule) for rule in rules)
            if message is None:
                continue
        messages.append(message)
        owners.append(entry)
    for entry, parts in _open_calls(group, entries, pending, heals) if group.open_calls else ():
        _answer(entry, parts, messages, owners.index(entry) + 1, notes if heals else None)
    messages, sources = _arranged(group, entries, messages, owners)
    return RenderedGroup(messages, sources, tuple(dict.fromkeys(notes.rules)), sum(notes.added))


def _as_it_is(group: MessageGroup, entries: Sequence[Entry], heals: bool) -> RenderedGroup | None:
    """Return a group without edits; None if a message of it may need healing. Nearly every group is one."""
    if heals:
        for entry in entries:
            if is_suspect(entry.reading):
                return None
    first = entries[0]
    if len(entries) == 1 and not first.reading.results:
        return RenderedGroup([_sendable(first.message, first)], None)
    return RenderedGroup(*_arranged(group, entries, [_sendable(each.message, each) for each in entries], entries))


def _sendable(message: Message, entry: Entry) -> Message:
    return sendable(message) if entry.reading.role == "assistant" or entry.reading.dumped else message


def state_of(group: MessageGroup, history: History) -> tuple[tuple[int, ...], int, bool]:
    """Return the present state of a group, as in `Segment.state`."""
    newest = history.newest
    pending = (group.open_calls > 0 or group.serving > 0) and newest is not None and group.first == newest.first
    return tuple(group.members), group.open_calls, pending


class _Notes(NamedTuple):
    """What healing did while a group was rendered."""

    rules: list[tuple[int, HealRule]]
    added: list[int]
    """Bytes of the texts that it added."""


def _answer(entry: Entry, parts: list[Part], messages: list[Message], at: int, notes: _Notes | None) -> None:
    """Add results for calls without one behind their message. `notes`: those of healing. `None`: nothing is healed."""
    answer = partial(answer_missing, entry.message, parts, messages[at:])
    if notes is not None:
        notes.rules.append((entry.seq, "open_call"))
        notes.added.extend(_size(text) for part in parts if (text := placeholder(part)) != WAITING)
    messages[at:] = answer() if notes is None else answer(placeholder)


def _arranged(
    group: MessageGroup, entries: Sequence[Entry], messages: list[Message], owners: Sequence[Entry]
) -> tuple[list[Message], Sources | None]:
    """Put results directly behind their calls, and before all other content of their message."""
    same = None if len(owners) == len(entries) else tuple([(entry,) for entry in owners])
    if not (group.orphans or rounds.out_of_place([entry.reading for entry in entries])):
        return messages, same
    arranged, sources = rounds.arranged(messages)
    known = len(owners)  # the rest was made here, for calls without a result
    return arranged, tuple([tuple([owners[at] for at in each if at < known]) for each in sources])


def _late(message: Message, entry: Entry, group: MessageGroup, notes: _Notes) -> Message:
    """Return the message with the results that join no group as text."""
    known = {index: (tool, second) for index, tool, second in entry.late}
    frames = {}
    for index, (call, path) in enumerate(entry.reading.results):
        if path not in group.orphans[entry.seq]:
            continue
        tool, second = known.get(index, ("", False))
        rule: HealRule = "unknown_call" if not tool else "second_result" if second else "late_result"
        notes.rules.append((entry.seq, rule))
        frames[path] = partial(_framed, seq=entry.seq, around=frame(entry.seq, call, tool), notes=notes)
    return as_text(message, frames)


def _framed(text: str, seq: int, around: tuple[str, str], notes: _Notes) -> str:
    """Return a result in its frame, and note what the frame and escaped signs add to it."""
    shown = framed(text, seq, around)
    notes.added.append(max(0, _size(shown) - _size(text)))
    return shown


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _want_texts(entries: Sequence[Entry]) -> bool:
    """Return whether results of the group's calls must be texts."""
    return want_texts(entries[0].reading.parts)


def _alone(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the calls and results of server tools whose other half is in no message of the group."""
    if not any(entry.reading.serves or entry.reading.served for entry in entries):
        return ()
    return server_ends([entry.message for entry in entries])


def _cut_off(entry: Entry) -> tuple[str, ...]:
    """Return the results of server tools in a message whose call no message of the view has."""
    return entry.reading.served if entry.group.first == entry.seq else ()


def _open_calls(
    group: MessageGroup, entries: Sequence[Entry], pending: bool, heals: bool
) -> list[tuple[Entry, list[Part]]]:
    """Return the calls to which the view adds a placeholder, by message."""
    if pending and not heals:
        return []
    found = []
    for entry in entries:
        parts = [
            part
            for number, part in enumerate(entry.reading.call_parts)
            if (entry.seq, number) not in group.answered and not (pending and others_answer(entry.message, part))
        ]
        if parts:
            found.append((entry, parts))
    return found
