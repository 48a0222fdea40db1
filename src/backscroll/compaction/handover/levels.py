"""How much room each kind of line has, by level: 0 with all that is worth saying, 7 with what must not be lost.

An entry is written once, at the level that fits the room of its compaction. When room ends, the levels of older entries
rise. The rooms are characters. They come from a prototype that readers examined: in 288 graded answers on sessions
kept aside, its levels kept 91 % of what readers needed at 16,000 tokens, and 78 % at 8,000.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from backscroll.compaction.handover import beginnings as deeds
from backscroll.compaction.handover.beginnings import DOCUMENT, NOTHING, is_for_agents
from backscroll.history.plan import DigestLine
from backscroll.messages.prose import cut, is_task, short, user_words

LAST = 7
_MERGES, _NEWEST_CHECK, _FEW_REMARKS, _FEW_FILES = 2, 3, 5, 5
"""Levels from which changes of files merge, only the newest run of a check stays, only the last remarks of a turn
without a report stay, and of many files only some are named.
"""
_REMARKS = 3
_INDENT = 4  # characters before each line of a text but its first
_FRAME = 8  # characters of a line around its text: mark, indentation, label
_HEADING = 24  # characters of an entry's reference and label

Rooms = tuple[int, int, int, int, int, int, int, int]
_WHOLE: Rooms = (2_500,) * 8  # rules, and other sentences that stay word for word: none is longer
_REMARK: Rooms = (2_500, 1_200, 800, 450, 260, 160, 0, 0)
_ROOMS: dict[str, Rooms] = {
    "user": (4_000, 2_500, 2_100, 2_000, 1_800, 1_500, 900, 400),
    "pasted": (3_000, 2_000, 1_500, 1_100, 900, 600, 350, 150),
    "task": (4_000, 3_000, 2_400, 2_000, 1_500, 1_000, 500, 200),
    "rule": _WHOLE,
    "prose": (*(40_000,) * 6, 6_000, 2_000),
    "system": (1_500, 1_500, 1_200, 1_000, 800, 600, 400, 200),
    "developer": (1_500, 1_500, 1_200, 1_000, 800, 600, 400, 200),
    "asked": (600, 600, 600, 600, 500, 400, 250, 0),
    "report": (6_000, 3_600, 2_500, 1_500, 830, 430, 200, 110),
    "note": (400, 400, 300, 300, 200, 120, 80, 0),
    "turn": (600, 400, 300, 200, 160, 120, 80, 40),
}
_BY_BEGINNING: tuple[tuple[str, Rooms], ...] = (
    (deeds.COMMIT, (200, 200, 200, 200, 200, 200, 160, 140)),
    (deeds.PUSH, (240, 240, 240, 240, 200, 160, 120, 100)),
    (deeds.CHECK, (540, 540, 400, 300, 250, 150, 0, 0)),
    (deeds.PLAN, (2_500, 1_100, 1_100, 600, 300, 150, 72, 0)),
    (deeds.DELEGATED, (1_700, 900, 900, 460, 240, 130, 72, 0)),
    (deeds.ASKED, (1_500, 1_200, 1_200, 1_000, 1_000, 800, 600, 300)),
    (deeds.REFUSED, (560, 560, 560, 560, 500, 400, 300, 150)),
    (deeds.STARTED, (300, 300, 300, 260, 200, 150, 0, 0)),
    (deeds.LOOKED, (120, 120, 80, 80, 0, 0, 0, 0)),
    (deeds.FAILED, (300, 300, 300, 250, 200, 150, 0, 0)),
    (deeds.WROTE, (900, 600, 400, 260, 130, 0, 0, 0)),
    *[(how, (600, 600, 600, 500, 400, 240, 140, 0)) for how in deeds.EDITS],
)
"""Deeds, by how their line begins."""
_RUN: Rooms = (540, 400, 400, 260, 200, 0, 0, 0)
_LASTING: Rooms = (540, 400, 400, 260, 200, 150, 120, 0)
_LASTS = re.compile(
    r"^`[\w.-]+\(|(?<![a-z])(?:create|merge|close|send|add|deploy|publish|release|install|uninstall|update|delete|drop|rm|mv|"
    r"apply|migrate|reset|revert|rebase|tag|book|pay|refund|cancel)(?![a-z])",
    re.IGNORECASE,
)
"""Commands whose effect stays, by their words, and tools that are no shell: no later deed makes them past."""
_NOTHING: Rooms = (300, 200, 110, 0, 0, 0, 0, 0)
_DOCUMENT: Rooms = (1_000, 600, 300, 160, 0, 0, 0, 0)
_FOR_AGENTS: Rooms = (1_000, 950, 700, 500, 350, 200, 0, 0)
_SEEN: Rooms = (820, 330, 180, 0, 0, 0, 0, 0)
_PROSE = ("report", "said", "prose", "pasted", "system", "developer", "asked")
_GAPS = re.compile(r" …(?: …)+")
_ALONE = re.compile(r"(?: …)?\n[ …]*…(?=\n|$)")
"""A line that holds nothing but marks."""
_WITH_LEAD = ("did", "seen", "pasted", "note")
_LEAD = re.compile(
    rf"{deeds.PLAN}|{deeds.DELEGATED}“[^”\n]*”: |{DOCUMENT}[^\n]+?: |[\d,]+ characters, “[^”\n]*”:\n|"
    r"(?:report|result|summary|message|notification)\b[\w ,]*: "
)
"""How our own words begin a line whose rest is prose of a message."""


def rooms_of(line: DigestLine) -> Rooms:
    """Return the characters that a line may take, by level."""
    text = line.text
    if line.kind == "did":
        found = next((rooms for beginning, rooms in _BY_BEGINNING if text.startswith(beginning)), None)
        return found or (_LASTING if _LASTS.search(text.partition("` ->")[0]) else _RUN)
    if line.kind == "seen":
        if not text.startswith(DOCUMENT):
            return _NOTHING if text.startswith(NOTHING) else _SEEN
        return _FOR_AGENTS if is_for_agents(text.partition(": ")[0]) else _DOCUMENT
    if line.kind == "pasted" and is_task(text):
        return _ROOMS["task"]
    if line.kind == "note" and text.startswith("summary of "):
        return _ROOMS["pasted"]
    return _ROOMS.get(line.kind, _REMARK)


def size(entry: Sequence[DigestLine], level: int, words: int | None = None) -> int:
    """Return about how many characters an entry takes at a level, without writing it. `words`: the level of what its
    user wrote.
    """
    return _HEADING + sum(length(line.text, room) for line in entry if (room := _room(line, level, words)))


def length(text: str, room: int) -> int:
    """Return about how many characters a line takes whose text is shortened to `room`: its own lines are indented."""
    return min(len(text), room) + _FRAME + _INDENT * text.count("\n", 0, room)


def _room(line: DigestLine, level: int, words: int | None) -> int:
    return rooms_of(line)[words if words is not None and line.kind in ("user", "pasted") else level]


def at_level(entry: Sequence[DigestLine], level: int, words: int | None = None) -> list[DigestLine]:
    """Return an entry at a level. What is short enough already stays as it is. `words`: as in `size`."""
    kept = [shorter for line in entry if (shorter := _shortened(line, _room(line, level, words))) is not None]
    if level >= _FEW_REMARKS:
        kept = _few_remarks(kept)
    if level >= _NEWEST_CHECK:
        kept = _newest_checks(kept)
    return _merged(kept, name_all=level < _FEW_FILES) if level >= _MERGES else kept


def left_out(entry: Sequence[DigestLine], level: int) -> Iterator[DigestLine]:
    """Yield deeds and look-ups of which a level leaves nothing, the newest first, as the next finer one shows them."""
    for line in reversed(entry):
        rooms = rooms_of(line)[: level + 1]
        if line.kind in ("did", "seen") and rooms[-1] == 0 and (room := next(filter(None, reversed(rooms)), 0)):
            shorter = _shortened(line, room)
            if shorter is not None:
                yield shorter


@lru_cache(maxsize=512)  # entries are fitted several times
def _shortened(line: DigestLine, room: int) -> DigestLine | None:
    text = line.text
    if len(text) <= room:
        return line
    if room == 0:
        return None
    if line.kind == "user":
        return line._replace(text=user_words(text, room))
    if line.kind == "did" and text.startswith(deeds.ASKED):
        question, sign, answer = text.partition(deeds.ANSWER)
        return line._replace(text=f"{cut(question, room // 2)}{sign}{cut(answer, room // 2)}")
    lead = _LEAD.match(text)
    begins = lead[0] if lead is not None and line.kind in _WITH_LEAD else ""
    document = line.kind == "pasted" or (line.kind == "seen" and text.startswith(DOCUMENT))
    if not (begins or line.kind in _PROSE):
        return line._replace(text=cut(text, room))
    rest = short(text[len(begins) :], max(1, room - len(begins)), document=document)
    return line._replace(text=_one_gap(begins + rest))


def _one_gap(text: str) -> str:
    """Return a text that was shortened again with one mark for each gap."""
    return _GAPS.sub(" …", _ALONE.sub(" …", text)).strip()


def _few_remarks(entry: Sequence[DigestLine]) -> list[DigestLine]:
    """Leave out what the agent said next to calls: all if it reported on the turn, else all but its last words."""
    said = [line for line in entry if line.kind == "said"]
    left = [] if any(line.kind == "report" for line in entry) else said[-_REMARKS:]
    return [line for line in entry if line.kind != "said" or line in left]


def _newest_checks(entry: Sequence[DigestLine]) -> list[DigestLine]:
    """Leave out runs of a check that was run again in the same entry."""
    newest = {command: line for line in entry if (command := _check(line))}
    return [line for line in entry if not (command := _check(line)) or newest[command] is line]


def _check(line: DigestLine) -> str:
    is_check = line.kind == "did" and line.text.startswith(deeds.CHECK)
    return line.text.removeprefix(deeds.CHECK).partition("`")[0] if is_check else ""


def _merged(entry: Sequence[DigestLine], *, name_all: bool) -> list[DigestLine]:
    """Merge changes of files that nothing separates any more."""
    kept: list[DigestLine] = []
    for line in entry:
        before = kept[-1] if kept else line
        if before is not line and _is_edit(before) and _is_edit(line):
            kept[-1] = before._replace(last=line.last, text=deeds.merged_edits([before.text, line.text]))
        else:
            kept.append(line)
    if name_all:
        return kept
    few = {line.text: deeds.merged_edits([line.text], name_all=False) for line in kept if _is_edit(line)}
    return [line._replace(text=few.get(line.text, line.text)) for line in kept]


def _is_edit(line: DigestLine) -> bool:
    return line.kind == "did" and line.text.startswith(deeds.EDITS)
