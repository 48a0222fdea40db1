"""Write the texts of a view, and the parts that a plan edits: the same input gives the same texts.

`group_rendering.py` puts the messages of a group together. This module also holds the wording of everything synthetic
in a view. Synthetic text exists in views only, never in the history.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from backscroll.history.history import Entry
from backscroll.history.plan import (
    LINES,
    DigestContent,
    DigestLine,
    Excerpt,
    Gap,
    Native,
    PartEdit,
    Plan,
    Restate,
    reference,
    untold,
)
from backscroll.history.recall_wording import RECALL
from backscroll.messages.healing import encodable, is_complete
from backscroll.messages.parts import CallId, Message, Part, Path
from backscroll.messages.rewriter import NO_RESULT, clip_arguments, clip_text, mask_arguments, replace
from backscroll.messages.same_data import once
from backscroll.tokens.counts import Count, Counts
from backscroll.view.chronicle import digest_lines
from backscroll.view.escaping import escaped, flush_left

Edits = Mapping[int, Sequence[PartEdit]]
"""A plan's edits of parts, by `seq`."""
Find = Callable[[int], Entry | None]
"""Returns an entry by its `seq`; None if it is lost."""
ELSEWHERE_LINE = "<summary>The conversation goes on here.</summary>"
BEGUN_LINE = "<summary>The conversation began before this.</summary>"
NO_RESULT_LINE = "<summary>No result was recorded for the call above.</summary>"
WAITING = f"{NO_RESULT} Still waiting: the result may come later, or the process ended before this was recorded."
"""The placeholder for a result: no later view may change it, and the result may still come."""
CUT_CALL = f"{NO_RESULT} The call was cut off before its arguments were complete, and was not run."
LINES_OF_VIEWS = (ELSEWHERE_LINE, BEGUN_LINE, NO_RESULT_LINE, WAITING)
"""The lines that any view may need."""
_WHO = {
    "user": "user", "pasted": "user", "rule": "rule of the user", "prose": "in short", "system": "system",
    "developer": "developer",
}  # fmt: skip  # one list
_LONG_PATH = re.compile(r"(?<![\w.…])(?:/[\w.@+-]+){3,}")
_BY_CODE = ("turns: ", "reminder: ")
"""How a turn's line may begin if code wrote it; `escaping.quoted` keeps messages from imitating these."""
_END = re.compile(r"<(?=\s*/?\s*result\s*>)", re.IGNORECASE)
_BEGAN = 200  # characters of cut arguments that a placeholder quotes: a path or a command, and not a whole file
_RUN, _SHORT = 3, 200  # users' words in a row that share a reference, at least; characters of each, at most
_LISTED_RANGES = 8  # a summary that lists more ranges would itself need compaction


def clipped(
    part: Part,
    head: int,
    tail: int,
    ref: str,
    between: Sequence[tuple[int, int]] = (),
    *,
    structure: str = "",
    lead: str = RECALL.lead,
) -> str:
    """Return the text of an excerpted part, with its reference.

    Args:
        part: The part.
        head: Characters kept at its start.
        tail: Characters kept at its end.
        ref: Its reference.
        between: Ranges that stay as well.
        structure: What it is cut as. Empty: as text.
        lead: As in `RecallWording`.
    """
    if part.form in ("arguments", "mapping"):
        return clip_arguments(part.text, head, tail, ref, lead)
    if not structure:
        return clip_text(part.text, head, tail, ref, between, lead=lead)
    from backscroll.messages.clutter import TIDY, tidied  # noqa: PLC0415  as the next one
    from backscroll.messages.structure import JSON, LINE_KINDS, cut_json, cut_lines  # noqa: PLC0415  many views cut none

    if structure == JSON and (found := cut_json(part.text, head, tail, between, ref, lead=lead)) is not None:
        return found
    if structure == TIDY:
        return tidied(part.text, between, ref, lead=lead)
    if structure in LINE_KINDS:
        return cut_lines(part.text, head, tail, between, ref, kind=structure, lead=lead)
    return clip_text(part.text, head, tail, ref, between, lead=lead)


def masked(part: Part, note: str, ref: str, lead: str = RECALL.lead) -> str:
    """Return the stub that replaces a cleared part, with its reference. `lead`: as in `RecallWording`."""
    line = f"{note}{lead}{ref}"
    return mask_arguments(line) if part.form in ("arguments", "mapping") else f"[{line}]"


def restated(part: Part, source: Part | None, ref: str, lead: str) -> str:
    """Return the text of a result that refers to an earlier one: with that, or in a line that says it is not shown.

    Args:
        part: The result.
        source: The earlier result. `None`: it is not shown.
        ref: The earlier result's reference.
        lead: As in `RecallWording`.
    """
    if source is None:
        return (
            f"[Unchanged since an earlier result. It is not shown whole{lead}{ref}. Read it again in parts to see it]"
        )
    return f"{part.text}\n\nThat earlier result, {ref}:\n{once(source.text)}"


def edited_text(part: Part, edit: PartEdit, find: Find, lead: str = RECALL.lead) -> str:
    """Return a part's text after an edit.

    Args:
        part: The part.
        edit: The edit.
        find: Returns the message of an earlier result.
        lead: As in `RecallWording`.
    """
    if isinstance(edit, Restate):
        entry = find(edit.source) if edit.whole else None
        source = next(iter(entry.reading.parts[edit.source_part :]), None) if entry is not None else None  # or is lost
        return restated(part, source, reference(edit.source, part=edit.source_part), lead)
    ref = reference(edit.seq, part=edit.part)
    if part.kind == "result":
        part = part._replace(text=once(part.text))
    return (
        clipped(part, edit.head, edit.tail, ref, edit.between, structure=edit.structure, lead=lead)
        if isinstance(edit, Excerpt)
        else masked(part, edit.note, ref, lead)
    )


def rewrite(entry: Entry, edits: Sequence[PartEdit], find: Find, lead: str = RECALL.lead) -> Message:
    """Return the entry's message with these edits applied; untouched values are shared.

    `find`, `lead`: as in `edited_text`.
    """
    parts = entry.reading.parts
    texts = {edit.part: edited_text(parts[edit.part], edit, find, lead) for edit in edits}
    return replace(entry.message, entry.reading, texts)


def edited_counts(entry: Entry, edits: Sequence[PartEdit], orphans: Iterable[Path], *, bare: bool = False) -> Counts:
    """Return the counts of the entry's parts as the view shows them. `bare`: without its reasoning."""
    counts = list(entry.counts)
    for number in entry.reading.reasoning if bare else ():
        counts[number] = Count(0)
    for edit in edits:
        counts[edit.part] = edit.count
    gone = frozenset(orphans)  # in plans that do not heal
    if gone:
        for number, part in enumerate(entry.reading.parts):
            if () in gone or part.path[:2] in gone:
                counts[number] = Count(0)
    return tuple(counts)


def summary_text(plan: Plan, ranges: Sequence[tuple[int, int]] | None = None) -> str:
    """Write the one synthetic message of a compacted view: how to recall what was left out, and the plan's digest.

    It begins with what stays the same, and what changes with every compaction is at its end: so a summary that only
    appends to the one before keeps the provider's prompt cache.

    Args:
        plan: The plan, with its digest.
        ranges: Ranges that the digest gives no reference to. `None`: all of them.
    """
    ranges = untold(plan) if ranges is None else ranges
    lines = [f"<summary>\nEarlier messages are compacted here to fit the token budget.{plan.recall.offer}"]
    lines += digest_texts(plan.digest)
    if len(ranges) > _LISTED_RANGES:
        ranges = [(ranges[0][0], ranges[-1][1])]
    if ranges:
        lines.append(f"Left out: {', '.join(reference(first, last) for first, last in ranges)}.")
    return "\n".join([*lines, "</summary>"])


def digest_texts(digest: DigestContent) -> list[str]:
    """Write a digest as a summary shows it: as a chronicle with state and files, or as older versions did."""
    if digest.ledger is None:
        return note_texts(digest.notes, digest.begun)
    return digest_lines(digest.notes, digest.now)


def native_text(plan: Plan) -> str:
    """Write the notes next to a provider's native block: how to recall what it represents, and what users said."""
    assert plan.native is not None
    ranges = [(edit.first, edit.last) for edit in plan.edits if isinstance(edit, Native)]
    if len(ranges) > _LISTED_RANGES:
        ranges = [(ranges[0][0], ranges[-1][1])]
    lines = [
        f"<summary>\nThe compaction at the beginning represents {', '.join(reference(*each) for each in ranges)}."
        f"{plan.recall.offer}"
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


def placeholder(call: Part) -> str:
    """Return the text that replaces the result of a call: what is known of a call that was cut off, else that it is
    waited for.
    """
    if is_complete(call) or not call.text.strip():
        return WAITING
    began = escaped(encodable(call.text[:_BEGAN]))
    return f"{CUT_CALL} They begin: {began}"


def frame(seq: int, call: CallId, tool: str) -> tuple[str, str]:
    """Return the lines before and after the text of a result that is shown where it came.

    Args:
        seq: The message that holds it.
        call: The id of the call that it answers.
        tool: The called tool; empty if the session has no such call.
    """
    name, known_as, ref = tool or call.function or "", call.given, reference(seq)
    if not tool:
        return f"Result of an unknown call {escaped(known_as or name)} {ref}:\n<result>\n", "\n</result>"
    of = f"{escaped(name)} ({escaped(known_as)})" if known_as else escaped(name)
    return f"Later result of {of} {ref}:\n<result>\n", "\n</result>"


def framed(text: str, seq: int, around: tuple[str, str]) -> str:
    """Return the text of a result in its frame, without anything that could be read as ours, except references of its
    own message, which a plan's edits wrote.
    """
    text = _END.sub("&lt;", escaped(encodable(once(text))))
    own = re.sub(rf"\(ref:({seq}\.\d+)\)", r"[ref:\1]", text)
    return f"{around[0]}{own}{around[1]}"


def gap_line(gap: Gap) -> str:
    """Separate two messages of the same role that were not consecutive in the history."""
    return f"<summary>{reference(gap.first, gap.last)} is left out here.</summary>"
