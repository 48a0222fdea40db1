"""Put the question before a short answer: "yes" or "option 1" means nothing without it."""

from collections.abc import Iterable, Sequence

from backscroll.compaction.handover.answers import is_answer, question_of
from backscroll.compaction.handover.turns import Turn
from backscroll.history.ledger import Ledger
from backscroll.history.plan import DigestLine

_BEGINNING = 50  # characters of each line of a question by which a report is found to hold it


def with_questions(
    entries: Sequence[list[DigestLine]], turns: Sequence[Turn], ledger: Ledger
) -> list[list[DigestLine]]:
    """Return entries of these turns, each with the question at its end that the next turn answers. The question of an
    entry that was written before is an entry of one line, behind that.

    Args:
        entries: The entries, one a turn.
        turns: Their turns.
        ledger: The facts before them, with the question that was open.
    """
    question = next(
        (DigestLine(fact.seq, fact.seq, "asked", fact.text) for fact in ledger.facts if fact.kind == "question"), None
    )
    found: list[list[DigestLine]] = []
    for entry, turn in zip(entries, turns, strict=True):
        if turn.asked is not None and question is not None and is_answer(turn.asked.words):
            found = [*found[:-1], [*found[-1], question]] if found else [[question]]
        found.append(entry)
        if (report := turn.report) is not None:
            asked = question_of(report.text)
            question = DigestLine(report.seq, report.seq, "asked", asked) if asked else None
        elif turn.asked is not None:
            question = None
    return found


def without_shown(before: Sequence[DigestLine], entries: Iterable[Sequence[DigestLine]]) -> list[DigestLine]:
    """Return the lines of new entries without questions that the report before them holds."""
    report = next((line.text for line in reversed(before) if line.kind == "report"), "")
    kept: list[DigestLine] = []
    for line in (line for entry in entries for line in entry):
        if line.kind == "report":
            report = line.text
        if line.kind == "asked" and all(part.strip(" …-")[:_BEGINNING] in report for part in line.text.splitlines()):
            continue
        kept.append(line)
    return kept
