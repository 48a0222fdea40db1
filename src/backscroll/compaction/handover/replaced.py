"""Leave out of a chronicle what its user replaced by a newer statement."""

from collections.abc import Iterable, Mapping, Sequence

from backscroll.compaction.digest.outdated import GAP, outdated
from backscroll.history.history import Entry
from backscroll.history.plan import DigestLine
from backscroll.messages.statements import Sentence, sentences_of

_TOOLS = ("did", "seen")
_SPOKEN = ("report", "said", "asked")


def without_replaced(
    notes: Sequence[DigestLine], new: Sequence[Sequence[DigestLine]], kept: Iterable[Sequence[Entry]]
) -> tuple[list[DigestLine], list[list[DigestLine]]]:
    """Return the lines of a chronicle and of new entries without sentences that no longer hold. Where tools were
    called, only users' words are compared: the agent's reports state what it did.

    Args:
        notes: The lines so far.
        new: The new entries.
        kept: The groups that the view shows behind it.
    """
    every = [*notes, *(line for entry in new for line in entry)]
    talk = not any(line.kind in _TOOLS for line in every)
    spoken = [(line.first, line.text) for line in every if line.kind in _SPOKEN] if talk else []
    replaced = outdated([line for line in every if line.kind == "user"], kept, spoken)
    if not replaced:
        return list(notes), [list(entry) for entry in new]
    return _valid(notes, replaced), [_valid(entry, replaced) for entry in new]


def _valid(lines: Iterable[DigestLine], replaced: Mapping[Sentence, int]) -> list[DigestLine]:
    seqs = {seq for seq, _ in replaced}  # few: other lines need not be split
    return [
        kept
        for line in lines
        if (kept := _still(line, replaced) if line.first in seqs else line) is not None
    ]  # fmt: skip  # one thought


def _still(line: DigestLine, replaced: Mapping[Sentence, int]) -> DigestLine | None:
    """Return a line without replaced sentences; None if nothing of it is left. An entry keeps its first line."""
    if line.kind not in ("user", *_SPOKEN):
        return line
    sentences = sentences_of(line.text)
    left = [one for one in sentences if (line.first, one) not in replaced]
    if len(left) == len(sentences):
        return line
    if line.kind != "user" and not left:
        return None
    return line._replace(text=" ".join([*left, GAP] if left[-1:] != [GAP] else left))
