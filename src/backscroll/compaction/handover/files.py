"""Write the files that matter: what was done to them, what they define now, and where their newest version is."""

from collections.abc import Sequence

from backscroll.compaction.handover.paths import in_full, leaf
from backscroll.compaction.handover.repository import is_scratch
from backscroll.history.ledger import Fact, Ledger
from backscroll.history.plan import DigestLine

_NAMES = 6
_CHANGED, _NAMED, _MENTIONS = 8, 1, 6
"""Weight of a changed file, of each mention, and how many of these count: changed files come first."""
_GONE = {"restored": "and its changes were taken back", "stashed": "which is in the stash of git"}
_LAST = "; last written: "  # in the same line: below it, a line seems to be of the entry above
_FRAME = 16  # characters of a mark and a reference


def file_lines(ledger: Ledger, notes: Sequence[DigestLine], room: int) -> list[DigestLine]:
    """Return a line for each file that was changed, and for those that were read and that the chronicle mentions.
    What is left of the room shows what was written last to those that matter most, where the chronicle does not.

    Args:
        ledger: The facts about all that happened.
        notes: The lines of the chronicle.
        room: Characters that they may take, about.
    """
    text = "\n".join(note.text for note in notes)
    ranked: list[tuple[float, Fact]] = []
    newest = max(1, ledger.last)
    for fact in ledger.facts:
        gone = fact.outcome == "restored" and (fact.text in ("created", "deleted") or is_scratch(fact.key))
        if fact.kind == "file" and not gone:
            mentions = min(_MENTIONS, text.count(leaf(fact.key, ledger.root)))
            weight = _CHANGED + 3 * min(fact.times, 4) if fact.times else 0
            if weight or mentions:
                ranked.append((weight + mentions * _NAMED + 2 * fact.seq / newest, fact))
    ranked.sort(key=lambda each: (-each[0], each[1].key))
    kept: list[tuple[Fact, str]] = []
    for _, fact in ranked:
        said = _text(fact, ledger.root)
        if (room := room - len(said) - _FRAME) < 0:
            break
        kept.append((fact, said))
    texts = {fact.key: said for fact, said in kept}
    for fact, said in kept if room > 0 else ():
        shown = all(line in text for line in fact.written.splitlines())
        if fact.written and fact.outcome not in _GONE and not shown and len(fact.written) + len(_LAST) < room:
            room -= len(fact.written) + len(_LAST)
            texts[fact.key] = f"{said}{_LAST}{' ⏎ '.join(fact.written.splitlines())}"
    lines = [DigestLine(fact.seq, fact.seq, "file", texts[fact.key]) for fact, _ in kept]
    return sorted(lines, key=lambda line: line.text)


def _text(fact: Fact, root: str) -> str:
    path = in_full(fact.key, root)
    if not fact.times:
        return f"{path} read"
    done = f"{fact.text} x{fact.times}" if fact.times > 1 else fact.text
    if fact.outcome in ("restored", "stashed"):
        return f"{path} {done}, {_GONE[fact.outcome]}"
    defines = f"; defines {', '.join(fact.names[-_NAMES:])}" if fact.names else ""
    gone = f"; no longer {', '.join(fact.gone[-_NAMES:])}" if fact.gone else ""
    return f"{path} {done}{defines}{gone}"
