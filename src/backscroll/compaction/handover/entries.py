"""Write the entry of a turn, with all that is worth saying: `levels.py` shortens it to the room that it has."""

from collections.abc import Iterable, Iterator

from backscroll.compaction.handover.beginnings import FAILED, GOES_ON, NOTHING
from backscroll.compaction.handover.checks import NOT_RUN
from backscroll.compaction.handover.deed_lines import edits_line, line_of, looked_line
from backscroll.compaction.handover.paths import leaf
from backscroll.compaction.handover.seen import seen
from backscroll.compaction.handover.turns import Done, Said, Step, Turn
from backscroll.compaction.handover.user_lines import user_lines
from backscroll.compaction.handover.wrote import wrote
from backscroll.history.plan import DigestLine, NoteKind
from backscroll.messages.deeds import Deed
from backscroll.messages.prose import short

_REPORT, _SAID = 6_000, 2_500  # characters of what the agent said, at the first level


def entry_of(turn: Turn, root: str) -> list[DigestLine]:
    """Return the lines of a turn, its first one for all of it.

    Args:
        turn: The turn.
        root: The folder to which paths are relative.
    """
    if turn.asked is None:
        lines = [DigestLine(turn.first, turn.last, "turn", GOES_ON)]
    else:
        lines = list(user_lines(turn.asked, turn.last))
    return [*lines, *_together(_Steps(turn, root).lines())]


def _together(lines: Iterable[DigestLine]) -> Iterator[DigestLine]:
    """Yield lines, of searches in a row that found nothing as one line."""
    before: DigestLine | None = None
    for line in lines:
        if before is not None and _is_nothing(before) and _is_nothing(line):
            before = before._replace(last=line.last, text=f"{before.text}; {line.text.removeprefix(NOTHING)}")
            continue
        if before is not None:
            yield before
        before = line
    if before is not None:
        yield before


def _is_nothing(line: DigestLine) -> bool:
    return line.kind == "seen" and line.text.startswith(NOTHING)


class _Steps:
    """The steps of a turn, as lines."""

    def __init__(self, turn: Turn, root: str) -> None:
        self._steps, self._root = turn.steps, root
        done = [step for step in turn.steps if isinstance(step, Done)]
        self._last_read = {step.deed.path: step for step in done if step.deed.kind == "read"}
        self._edited = {step.deed.path: step.seq for step in done if step.deed.kind == "edit" and not step.deed.failed}
        self._last_check = max((step.seq for step in done if step.deed.kind == "check"), default=-1)
        self._edits: list[Done] = []
        self._written: set[str] = set()
        self._last = turn.last
        self._read: list[str] = []

    def lines(self) -> Iterator[DigestLine]:
        """Yield them in order; changes of files in a row are one line, files only looked at come last."""
        for step in self._steps:
            if isinstance(step, Done) and step.deed.kind == "edit" and not step.deed.failed:
                self._edits.append(step)
            elif line := self._line(step):
                yield from self._changed()
                if line.kind == "report":
                    yield from self._counted(line.first)
                yield line
        yield from self._changed()
        yield from self._counted(self._last)

    def _counted(self, seq: int) -> Iterator[DigestLine]:
        if counted := looked_line(self._read, self._root):
            yield _did(seq, seq, counted)
            self._read = []

    def _line(self, step: Step) -> DigestLine | None:
        if isinstance(step, DigestLine):
            return step
        if isinstance(step, Said):
            kind: NoteKind = "report" if step.closing else "said"
            room = _REPORT if step.closing else _SAID
            text = step.text if len(step.text) > room else short(step.text, room)  # its level shortens a longer one
            return DigestLine(step.seq, step.seq, kind, text)
        deed = step.deed
        if deed.kind in ("read", "search"):
            return self._seen(step)
        if deed.kind == "edit":
            repaired = self._edited.get(deed.path, -1) > step.seq
            return None if repaired else _did(step.seq, step.last, self._failed(deed))
        if deed.kind == "check" and deed.failed and NOT_RUN.search(deed.outcome) and step.seq < self._last_check:
            return None  # it was called again in another way
        text = line_of(deed, self._root)
        return _did(step.seq, step.last, text) if text else None

    def _seen(self, step: Done) -> DigestLine | None:
        """Return what a look-up showed, a file at its last reading; else a file is only named."""
        deed = step.deed
        stale = deed.kind == "read" and self._last_read[deed.path] is not step
        text = "" if stale else seen(deed, self._root)
        if text:
            return DigestLine(step.seq, step.last, "seen", text)
        if deed.path and not stale and not deed.failed:
            self._read.append(deed.path)
        return None

    def _failed(self, deed: Deed) -> str:
        return f"{FAILED}change of {leaf(deed.path, self._root)}: {deed.outcome}"

    def _changed(self) -> Iterator[DigestLine]:
        if not self._edits:
            return
        yield _did(self._edits[0].seq, self._edits[-1].last, edits_line([s.deed for s in self._edits], self._root))
        for step in self._edits:
            text = wrote(step.deed, self._root)
            if text and text not in self._written:
                self._written.add(text)
                yield _did(step.seq, step.last, text)
        self._edits = []


def _did(first: int, last: int, text: str) -> DigestLine:
    return DigestLine(first, last, "did", text)
