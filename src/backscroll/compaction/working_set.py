"""The working set of a window: the newest versions of what the agent works by, which compactions spare up to a bound.

First come instructions (loaded skills, instruction files, and what a host marks by `metadata.shelf`), then plans and
to-do lists, then files that several calls name, the one that was named last first. They are recognized by the names and
arguments of calls, and so across tools and frameworks. Of each object only the newest version is spared, and of a file
only the lines that no edit removed since. With a hand-over, which says tasks and files, only instructions are spared.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from backscroll.compaction.candidates import CandidateGroup, CandidatePart, Window
from backscroll.compaction.digest.line_selection import stretches
from backscroll.compaction.digest.terms import bare, spans
from backscroll.compaction.file_calls import arguments_of, path_of, written_text
from backscroll.compaction.sampling import READ
from backscroll.history.plan import Excerpt
from backscroll.messages.echoes import recalls
from backscroll.messages.structure import pieces_of

BY = "working set"
"""The reason in edits."""
_INSTRUCTION_FILES = re.compile(
    r"(?:^|[/\\])(?:SKILL\.md|AGENTS\.md|CLAUDE(?:\.local)?\.md|GEMINI\.md|copilot-instructions\.md"
    r"|[^/\\]+\.instructions\.md|\.cursorrules|\.windsurfrules|\.clinerules)$",
    re.IGNORECASE,
)
_SKILL_TOOL = re.compile(r"skill", re.IGNORECASE)
_PLAN_TOOL = re.compile(r"todo|(?:^|_)plan(?:_|$)", re.IGNORECASE)
_LEAST = 60  # tokens: a shorter result is an error, or says that nothing changed
_OF_FILES = 0.15  # of the set that files may take: their salient lines are in the digest as well
_WORKED_ON = 2  # calls that name a file which the agent works on, and not only looked at
_OF_FILE = 0.5  # of that which one file may take, so that there are several

INSTRUCTIONS, PLANS, FILES = range(3)
"""Kinds of objects, the first spared first."""

_Piece = tuple[CandidateGroup, CandidatePart]


@dataclass(slots=True)
class _Object:
    """One thing that the agent works by."""

    kind: int
    pieces: dict[str, _Piece] = field(default_factory=dict)
    """The parts with its newest text: several if a file was read in pieces, by the arguments of the calls."""
    touched: int = 0
    """The `seq` of the newest call that names it."""
    calls: int = 0
    """Calls that name it."""


def spare_working_set(window: Window, room: int, *, files: bool = True) -> list[Excerpt]:
    """Mark the parts that strategies spare, within `room` tokens; 0 marks none.

    Args:
        window: The window.
        room: Tokens of the working set at most.
        files: Spare files as well, not only instructions and plans.

    Returns:
        Edits that take out of spared files what an edit removed since.
    """
    for unit in window.units:
        unit.spared = frozenset()
    edits: list[Excerpt] = []
    of_files = int(room * _OF_FILES) if files else 0
    for found in sorted(_objects(window).values(), key=_order) if room > 0 else ():
        if _is_in_handover(found, window) or (found.kind == FILES and found.calls < _WORKED_ON):
            continue
        limit = min(room, of_files, int(room * _OF_FILE)) if found.kind == FILES else room
        for unit, candidate in reversed(found.pieces.values()):
            edit = _without_stale(window, candidate) if candidate.part.kind == "result" else None
            tokens = window.tokens(candidate.count if edit is None else edit.count)
            if tokens <= limit:
                unit.spared |= {(candidate.entry.seq, candidate.number)}
                limit, room = limit - tokens, room - tokens
                of_files -= tokens if found.kind == FILES else 0
                edits += [edit] if edit is not None else []
    return edits


def _is_in_handover(found: _Object, window: Window) -> bool:
    """Return whether a hand-over says it: the tasks and the files. Readers took an old plan in front of it for a reply
    to the first message.
    """
    return window.digests.handover and found.kind != INSTRUCTIONS


def _order(found: _Object) -> tuple[int, int]:
    return found.kind, -found.touched


def _without_stale(window: Window, candidate: CandidatePart) -> Excerpt | None:
    """Return the edit that takes the stale lines out of a result; None if there are none."""
    salience, seq, text = window.salience, candidate.entry.seq, candidate.part.text
    if not salience.removes or len(text) > READ or (seq, candidate.number) in candidate.unit.edits:
        return None
    if pieces_of(text) is not None:
        return None  # JSON has no stale lines, and must stay valid
    lines = list(spans(text))
    kept = [each for each in lines if not salience.stale(bare(text[slice(*each)]), seq)]
    if len(kept) == len(lines) or not kept:
        return None
    return window.cut(candidate, 0, 0, stretches(kept), BY, anyway=True)


def _objects(window: Window) -> dict[str, _Object]:
    """Return the objects of a window by name."""
    found: dict[str, _Object] = {}
    for unit in window.units:
        for name, candidate in _marked(window, unit):
            known = found.setdefault(name, _Object(INSTRUCTIONS))
            if known.touched < candidate.entry.seq:
                known.pieces.clear()
            known.pieces[str(candidate.number)], known.touched = (unit, candidate), candidate.entry.seq
        results = {each.part.id: each for each in window.parts_of(unit, ("result",)) if each.part.id}
        for entry in unit.entries if results else ():
            for number, part in enumerate(entry.reading.parts) if entry.reading.calls else ():
                if part.kind == "call" and part.name and not recalls(part.name):
                    _take(
                        window,
                        found,
                        window.part(unit, entry, number),
                        None if part.id is None else results.get(part.id),
                    )
    return found


def _marked(window: Window, unit: CandidateGroup) -> Iterator[tuple[str, CandidatePart]]:
    """Yield the parts of messages that a host marked, with the name of the object."""
    if any(entry.reading.flags.shelf for entry in unit.entries):
        for candidate in window.parts_of(unit, ("text", "result")):
            if name := candidate.entry.reading.flags.shelf:
                yield f"shelf {name}", candidate


def _take(window: Window, found: dict[str, _Object], call: CandidatePart, result: CandidatePart | None) -> None:
    """Note what a call says of an object: a new version, or only its name."""
    tool, unit, seq = call.part.name or "", call.unit, call.entry.seq
    arguments = arguments_of(call.part.text)
    path = path_of(arguments)
    if result is not None and window.tokens(result.count) < _LEAST:
        result = None
    if _PLAN_TOOL.search(tool):
        parts = [each for each in (call, result) if each is not None]
        found[f"plan {tool}"] = _Object(PLANS, {each.part.kind: (unit, each) for each in parts}, seq)
    elif _SKILL_TOOL.search(tool):
        if result is not None:
            found[f"skill {call.part.text}"] = _Object(INSTRUCTIONS, {"": (unit, result)}, seq)
    elif path:
        known = found.setdefault(path, _Object(INSTRUCTIONS if _INSTRUCTION_FILES.search(path) else FILES))
        known.touched, known.calls = seq, known.calls + 1
        if written_text(arguments) is not None:
            known.pieces = {"": (unit, call)}
        elif result is not None:
            known.pieces.pop(call.part.text, None)
            known.pieces[call.part.text] = unit, result
