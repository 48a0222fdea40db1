"""Continue a hand-over: the chronicle begins with the one before, unchanged, so that the provider's cache keeps it.

Each compaction appends the entries of what it folds, at the level that fits their part of the room. Once the room of
the chronicle is used up, its older half shrinks. The state and the files behind it are replaced each time.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from backscroll.compaction.digest.repeated import without_repeated
from backscroll.compaction.digest.writer import Frame, content
from backscroll.compaction.handover.entries import entry_of
from backscroll.compaction.handover.facts import noted
from backscroll.compaction.handover.files import file_lines
from backscroll.compaction.handover.fitting import fitted
from backscroll.compaction.handover.levels import size
from backscroll.compaction.handover.questions import with_questions, without_shown
from backscroll.compaction.handover.replaced import without_replaced
from backscroll.compaction.handover.shrinking import MOST_ASIDE, in_order, shrunk
from backscroll.compaction.handover.state import state_lines
from backscroll.compaction.handover.turns import Turn, turns_of
from backscroll.compaction.handover.with_prose import with_prose
from backscroll.compaction.options import DigestOptions
from backscroll.history.history import Entry
from backscroll.history.ledger import Ledger
from backscroll.history.plan import LINES, DigestContent, DigestLine
from backscroll.view.chronicle import chronicle_texts, entries_of, now_texts

_CHRONICLE = 0.78  # of the allowance; the rest is for the state and the files, which readers need to go on
_STATE, _FILES = 0.24, 0.15  # of the allowance at most
_OF_LEFT = 0.35  # of the room that is left, for new entries: with more, the first ones are long and soon shrink
_SHRUNK = 0.8  # of its room that a chronicle takes once it shrank: with more, the cache would break too often
_NEEDED = 0.25  # of its room that new entries need at most: with more, one long report would end all older ones
_LEAST = 0.25  # of its room that is left to older entries, however much is appended
_DECENT = 3  # the level at which new entries still say what readers asked for; below it older entries make room
_CHARACTERS = 3.6  # per token, before anything is counted
_TRIES = 6  # countings of a text that has to fit: each comes about a tenth closer


def grow(
    before: DigestContent,
    groups: Sequence[Sequence[Entry]],
    covered: int,
    frame: Frame,
    *,
    options: DigestOptions,
    prose: DigestLine | None,
) -> DigestContent:
    """Append these groups to the hand-over `before`, and write state and files again.

    Args:
        before: The previous digest. The lines of one without a ledger become lines of the chronicle.
        groups: The groups to fold.
        covered: Tokens of everything that the new digest covers.
        frame: Its surroundings. `kept` behind the folded groups is what the state also knows.
        options: How it grows. Users' words may take more than its `part`.
        prose: A model's new summary, which is the report of the turns that it covers.
    """
    turns = turns_of(groups)
    notes = _known(before)
    known = before.ledger or Ledger(last=max([note.last for note in notes], default=-1))
    ledger = noted(known, turns)
    entries = [entry_of(turn, ledger.root) for turn in turns]
    entries = _without_repeated(with_questions(entries, turns, known), notes)
    notes, entries = without_replaced(notes, entries, frame.kept)
    room = int(frame.allowance * _CHRONICLE)
    if prose is not None:
        joined = with_prose([notes, *entries], prose, room, frame.tokens)
        notes, entries = joined[0], joined[1:]
    chronicle = _Chronicle(notes, room, frame.tokens)
    chronicle.append(entries, int(frame.allowance * options.part), options.rewritten)
    left = frame.allowance - chronicle.tokens
    now = _now(noted(ledger, _following(frame.kept, ledger)), chronicle.notes, left, frame)
    found = content(
        before, groups, covered, frame, notes=tuple(chronicle.notes), reserve=tuple(chronicle.lost)
    )  # fmt: skip  # one thought
    return replace(found, ledger=ledger, now=tuple(now))


def _known(before: DigestContent) -> list[DigestLine]:
    """Return the lines of a chronicle, as they were before it had to make room for the rest of a view, or what an older
    digest said of turns and users; with rules that had no room.
    """
    notes = [note for note in before.notes if before.ledger is not None or note.kind not in LINES]
    aside = [note for note in before.reserve if note.kind == "rule"]
    if before.ledger is not None and len(aside) < len(before.reserve):
        end = max(at for at, note in enumerate(before.reserve, 1) if note.kind != "rule")
        notes, aside = list(before.reserve[:end]), list(before.reserve[end:])
    said = {note.first: note.text for note in notes if note.kind == "user"}
    aside = [note for note in dict.fromkeys(aside) if note not in notes and note.text not in said.get(note.first, "")]
    return in_order([*notes, *aside]) if aside else notes


def _without_repeated(entries: Sequence[list[DigestLine]], known: Sequence[DigestLine]) -> list[list[DigestLine]]:
    """Return entries where lines that a host repeats count as pasted."""
    said = [note for note in known if note.kind in ("user", "pasted")]
    if len(said) + len(entries) < 3:
        return list(entries)
    return entries_of(without_repeated([line for entry in entries for line in entry], said))


def _following(kept: Iterable[Sequence[Entry]], ledger: Ledger) -> list[Turn]:
    """Return what the view shows behind the folded groups; before it, only what the user asked for if nothing else was
    asked since.
    """
    groups = list(kept)
    tail = turns_of(group for group in groups if group[-1].seq > ledger.last)
    if any(fact.kind == "request" for fact in ledger.facts):
        return tail
    before = turns_of(group for group in groups if group[-1].seq <= ledger.last)
    return [*(turn for turn in before if turn.asked is not None), *tail]


class _Chronicle:
    """The lines of a chronicle that has to fit its room, and what they take."""

    def __init__(self, notes: list[DigestLine], room: int, count: Callable[[str], int]) -> None:
        self.notes, self._room, self._count = notes, room, count
        self.lost: list[DigestLine] = []
        self.tokens = 0
        self._per_token = _CHARACTERS
        self._measure()

    def _measure(self) -> None:
        text = "\n".join(chronicle_texts(self.notes))
        self.tokens = self._count(text) + 1 if text else 0
        if self.tokens > 100:
            self._per_token = len(text) / self.tokens

    def append(self, entries: Sequence[list[DigestLine]], part: int, rewritten: float) -> None:
        """Append entries at the level that fits `part` tokens; the older half makes room for them where none is left.

        Args:
            entries: The new entries, with all that is worth saying.
            part: Tokens that they usually take.
            rewritten: Share of the room that a chronicle takes once it shrank.
        """
        decent = int(sum(size(entry, _DECENT) for entry in entries) / self._per_token)
        needed = min(decent, part, int(self._room * _NEEDED))
        if self.notes and self._room - self.tokens < needed:
            goal = max(int(self._room * min(rewritten, _SHRUNK)) - needed, int(self._room * _LEAST))
            self._shrink(min(goal, self.tokens))
        left = self._room - self.tokens
        usual = min(left, max(needed, min(part, int(left * (_OF_LEFT if self.notes else _SHRUNK)))))
        before, characters = self.notes, usual * self._per_token
        for _ in range(_TRIES):
            new = without_shown(before, fitted(entries, int(characters)))
            late = bool(before and new) and new[0].first < max(note.first for note in before)
            self.notes = in_order([*before, *new]) if late else [*before, *new]
            self._measure()
            if self.tokens <= self._room:
                return
            characters *= 0.9 * min(1.0, left / max(1, self.tokens - self._room + left))
        self._shrink(self._room)

    def _shrink(self, room: int) -> None:
        """Shrink to so many tokens."""
        characters = room * self._per_token
        for _ in range(_TRIES):
            if self.tokens <= room:
                return
            found = shrunk(self.notes, int(characters))
            self.notes, self.lost = found.notes, [*self.lost, *found.lost][-MOST_ASIDE:]
            self._measure()
            characters *= 0.9


def _now(ledger: Ledger, notes: Sequence[DigestLine], left: int, frame: Frame) -> list[DigestLine]:
    """Return the state and the files within the tokens that are left."""
    room = min(left, int(frame.allowance * (_STATE + _FILES)))
    characters = room * _CHARACTERS
    shown = frozenset(entry.seq for group in frame.kept for entry in group)
    for _ in range(_TRIES):
        state = state_lines(ledger, notes, int(characters * _STATE / (_STATE + _FILES)), shown)
        files = file_lines(ledger, notes, int(characters) - sum(len(line.text) for line in state))
        now = [*state, *files[: len(files)]]
        if not now or frame.tokens("\n".join(now_texts(now))) + 1 <= room:
            return now
        characters *= 0.8
    return []
