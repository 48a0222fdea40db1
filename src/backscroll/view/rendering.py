"""Render a group with its edits as messages: the same input gives the same messages.

This module also holds the wording of everything synthetic in a view. Synthetic text exists in views only, never in the
history.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from backscroll.history.groups import MessageGroup
from backscroll.history.history import Entry
from backscroll.history.plan import LINES, Clear, DigestLine, Excerpt, Gap, Native, Plan, reference, untold
from backscroll.messages import Message, Part, rounds, sendable, without_reasoning
from backscroll.messages.parts import Path
from backscroll.messages.rewriter import (
    answer_missing,
    clip_arguments,
    clip_text,
    leave_out,
    mask_arguments,
    replace,
)
from backscroll.tokens.usage import Count, Counts
from backscroll.view.escaping import escaped, flush_left

Edits = Mapping[int, Sequence[Excerpt | Clear]]
Sources = tuple[tuple[Entry, ...], ...]
ELSEWHERE_LINE = "<summary>The conversation goes on here.</summary>"
BEGUN_LINE = "<summary>The conversation began before this.</summary>"
NO_RESULT_LINE = "<summary>No result was recorded for the call above.</summary>"
LINES_OF_VIEWS = (ELSEWHERE_LINE, BEGUN_LINE, NO_RESULT_LINE)
"""The lines that any view may need."""
_WHO = {"user": "user", "pasted": "user", "rule": "rule of the user", "prose": "in short"}
_LONG_PATH = re.compile(r"(?<![\w.…])(?:/[\w.@+-]+){3,}")
_BY_CODE = ("turns: ", "reminder: ")
"""How a turn's line may begin if code wrote it; `escaping.quoted` keeps messages from imitating these."""
_RUN, _SHORT = 3, 200  # users' words in a row that share a reference, at least; characters of each, at most
_LISTED_RANGES = 8  # a summary that lists more ranges would itself need compaction


def clipped(
    part: Part, head: int, tail: int, ref: str, between: Sequence[tuple[int, int]] = (), *, structure: str = ""
) -> str:
    """Return the text of an excerpted part, with its reference. `structure`: what it is cut as."""
    if part.form in ("arguments", "mapping"):
        return clip_arguments(part.text, head, tail, ref)
    if not structure:
        return clip_text(part.text, head, tail, ref, between)
    from backscroll.messages.structure import JSON, LINE_KINDS, cut_json, cut_lines  # noqa: PLC0415  many views cut none

    if structure == JSON and (found := cut_json(part.text, head, tail, between, ref)) is not None:
        return found
    if structure in LINE_KINDS:
        return cut_lines(part.text, head, tail, between, ref, kind=structure)
    return clip_text(part.text, head, tail, ref, between)


def masked(part: Part, note: str, ref: str) -> str:
    """Return the stub that replaces a cleared part, with its reference."""
    line = f"{note}, recall {ref}"
    return mask_arguments(line) if part.form in ("arguments", "mapping") else f"[{line}]"


def edited_text(part: Part, edit: Excerpt | Clear) -> str:
    """Return a part's text after an edit."""
    ref = reference(edit.seq, part=edit.part)
    return (
        clipped(part, edit.head, edit.tail, ref, edit.between, structure=edit.structure)
        if isinstance(edit, Excerpt)
        else masked(part, edit.note, ref)
    )


def rewrite(entry: Entry, edits: Sequence[Excerpt | Clear]) -> Message:
    """Return the entry's message with these edits applied; untouched values are shared."""
    parts = entry.reading.parts
    return replace(entry.message, entry.reading, {edit.part: edited_text(parts[edit.part], edit) for edit in edits})


def edited_counts(
    entry: Entry, edits: Sequence[Excerpt | Clear], orphans: Iterable[Path], *, bare: bool = False
) -> Counts:
    """Return the counts of the entry's parts as the view shows them. `bare`: without its reasoning."""
    counts = list(entry.counts)
    for number in entry.reading.reasoning if bare else ():
        counts[number] = Count(0)
    for edit in edits:
        counts[edit.part] = edit.count
    gone = frozenset(orphans)
    if gone:
        for number, part in enumerate(entry.reading.parts):
            if () in gone or part.path[:2] in gone:
                counts[number] = Count(0)
    return tuple(counts)


def unanswered(group: MessageGroup, entry: Entry) -> list[Part]:
    """Return the calls of this message that have no result."""
    if not group.open_calls:
        return []
    return [part for number, part in enumerate(entry.reading.call_parts) if (entry.seq, number) not in group.answered]


def render_group(
    group: MessageGroup, entries: Sequence[Entry], edits: Edits, pending: bool, bare: Collection[int] = ()
) -> tuple[list[Message], Sources | None]:
    """Render one group: the call first, then its results in order of arrival.

    Args:
        group: The group.
        entries: Its messages, in order.
        edits: The plan's excerpts and clearings.
        pending: The group is the newest, so calls without a result stay open. Elsewhere a synthetic result closes them.
        bare: Entries that are shown without their reasoning, by `seq`.

    Returns:
        The messages, and the entries that each is made of; None if these correspond one to one.
    """
    messages: list[Message] = []
    owners: list[Entry] = []
    open_calls: list[tuple[Message, list[Part]]] = []
    for entry in entries:
        message: Message | None = entry.message
        if entry.seq in edits:
            message = rewrite(entry, edits[entry.seq])
        if message is not None and entry.seq in group.orphans:
            message = leave_out(message, group.orphans[entry.seq])
        if message is not None and entry.seq in bare:
            message = without_reasoning(message)
        if message is None:
            continue
        messages.append(sendable(message) if entry.reading.role == "assistant" or "parts" in message else message)
        owners.append(entry)
        if group.open_calls and not pending and (calls := unanswered(group, entry)):
            open_calls.append((entry.message, calls))
    for call, parts in open_calls:
        at = next(n for n, entry in enumerate(entries) if entry.message is call) + 1
        messages[at:] = answer_missing(call, parts, messages[at:])
    if len(entries) == 1 and not entries[0].reading.results:
        return messages, None  # nearly every group without calls
    if not any(entry.reading.results for entry in entries) or not rounds.out_of_place([e.reading for e in entries]):
        return messages, None
    found, sources = rounds.arranged(messages)
    known = len(owners)  # the rest was made here, for calls without a result
    return found, tuple([tuple([owners[at] for at in each if at < known]) for each in sources])


def summary_text(plan: Plan, ranges: Sequence[tuple[int, int]] | None = None) -> str:
    """Write the one synthetic message of a compacted view: how to recall what was left out, and the plan's digest.

    It begins with what stays the same, and what changes with every compaction is at its end: so a summary that only
    appends to the one before keeps the provider's prompt cache.

    Args:
        plan: The plan, with its digest.
        ranges: Ranges that the digest gives no reference to. `None`: all of them.
    """
    ranges = untold(plan) if ranges is None else ranges
    lines = [
        "<summary>\nEarlier messages are compacted here to fit the token budget. Nothing is lost: "
        "recall a reference to read it word for word, or search for what it was about."
    ]
    lines += note_texts(plan.digest.notes, plan.digest.begun)
    if len(ranges) > _LISTED_RANGES:
        ranges = [(ranges[0][0], ranges[-1][1])]
    if ranges:
        lines.append(f"Left out: {', '.join(reference(first, last) for first, last in ranges)}.")
    return "\n".join([*lines, "</summary>"])


def native_text(plan: Plan) -> str:
    """Write the notes next to a provider's native block: how to recall what it represents, and what users said."""
    assert plan.native is not None
    ranges = [(edit.first, edit.last) for edit in plan.edits if isinstance(edit, Native)]
    if len(ranges) > _LISTED_RANGES:
        ranges = [(ranges[0][0], ranges[-1][1])]
    lines = [
        f"<summary>\nThe compaction at the beginning represents {', '.join(reference(*each) for each in ranges)}. "
        "Nothing is lost: recall a reference to read it word for word, or search for what it was about."
    ]
    if plan.native.quotes or plan.native.notes:
        lines.append("What was said there and still holds, word for word:")
    lines += [note_text(note) for note in sorted((*plan.native.quotes, *plan.native.notes), key=_first)]
    return "\n".join([*lines, "</summary>"])


def _first(note: DigestLine) -> int:
    return note.first


def note_texts(notes: Iterable[DigestLine], begun: Collection[int] = ()) -> list[str]:
    """Write digest lines as a summary shows them: a long path is written once in full, then by its name.

    Args:
        notes: The lines.
        begun: As in `DigestContent.begun`.
    """
    known: set[str] = set()
    texts: list[str] = []
    notes = list(notes)
    runs = _runs(notes, begun)
    for number, note in enumerate(notes):
        if number in runs:
            texts.append(runs[number])
            continue
        if note.kind != "turn" or "/" not in note.text:
            texts.append(note_text(note))
            continue
        paths = _long_paths(note.text)
        if len(paths) > 1 or not known.isdisjoint(paths):
            shown = tuple([path for path in paths if path in known])
            texts.append(note_text(note, _shortened(note.text, shown)))
        else:
            texts.append(note_text(note))
        known.update(paths)
    return texts


def _runs(notes: Sequence[DigestLine], begun: Collection[int]) -> dict[int, str]:
    """Write runs of short words of users, by the numbers of these notes: the notes of a run share one reference. Where
    users say much in few words, references would take half of the room.
    """
    found: dict[int, str] = {}
    short = [_in_run(note.text) if note.kind == "user" and len(note.text) <= _SHORT else "" for note in notes]
    start = 0
    for end, text in enumerate([*short, ""]):
        if text and end not in begun and notes[end].by == notes[start].by:
            continue
        if end - start >= _RUN:
            found.update(zip(range(start, end), short[start:end], strict=True))
            ref = reference(notes[start].first, notes[end - 1].last)
            found[start] = f"{ref} {_who('user', notes[start].by).rstrip()}\n{short[start]}"
        start = end if text else end + 1
    return found


@lru_cache(maxsize=4_096)  # a digest is written repeatedly while it is fitted
def _in_run(text: str) -> str:
    """Write users' words indented, as lines of a message are; empty unless they are one line."""
    return f"  {escaped(text)}" if len(text.splitlines()) == 1 else ""


@lru_cache(maxsize=2_048)  # a digest's turns are written repeatedly while it is fitted
def _long_paths(text: str) -> tuple[str, ...]:
    return tuple(_LONG_PATH.findall(text))


@lru_cache(maxsize=2_048)
def _shortened(text: str, shown: tuple[str, ...]) -> str:
    """Shorten the long paths that were written before, or earlier in this text, to their names."""
    known = set(shown)

    def short(found: re.Match[str]) -> str:
        path = found[0]
        if path in known:
            return f"…/{path.rpartition('/')[2]}"
        known.add(path)
        return path

    return _LONG_PATH.sub(short, text)


@lru_cache(maxsize=4_096)  # most of a digest is part of the next one as well
def note_text(note: DigestLine, text: str | None = None) -> str:
    """Write one digest line as a summary shows it, with its own text or another.

    A quoted line is indented below its turn, whose reference it shares.
    """
    first, last, kind, own, by = note
    text = own if text is None else text
    text = escaped(text, labels=kind != "turn" or not text.startswith(_BY_CODE))
    text = flush_left(text) if kind == "prose" else text
    if kind in LINES:
        return f"  {text}"
    return f"{reference(first, last)} {_who(kind, by)}{text}"


def _who(kind: str, by: str) -> str:
    """Return the label of a line, with the name of the user whose words they are."""
    name = f" {by}" if by and kind != "prose" else ""
    return f"{_WHO[kind]}{name}: " if kind in _WHO else ""


def gap_line(gap: Gap) -> str:
    """Separate two messages of the same role that were not consecutive in the history."""
    return f"<summary>{reference(gap.first, gap.last)} is left out here.</summary>"
