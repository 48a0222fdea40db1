"""The facts behind a chronicle, from which each compaction writes the state and the files."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

FactKind = Literal[
    "request", "report", "question", "task", "plan", "commit", "head", "check", "file", "background", "failure",
    "refuted",
]  # fmt: skip  # one list


class Fact(NamedTuple):
    """One fact about the folded entries. A newer one of the same kind and key replaces it."""

    kind: FactKind
    """`request`: the user's newest words, answered if a `report` is newer; `question`: what the newest report asks;
    `task`: one of a to-do list; `plan`: a plan as written; `commit`: the newest one of a folder; `head`: the
    commit that `git log` showed as the newest of a folder, with `times` if another one made it since another one was
    seen; `check`: the last run of tests, a build and the like; `file`: a file that was changed or read; `background`:
    what still runs; `failure`: a deed that failed and was not repeated with success; `refuted`: what the agent found to
    be wrong.
    """
    seq: int
    """The newest entry that it is from."""
    key: str = ""
    """The path, the command, the id: what makes it the same fact."""
    text: str = ""
    """What it says: the words, the command, the subject, the task, how a file was changed."""
    outcome: str = ""
    """How it ended, or the status of a task. Of a file: empty if its changes are there, `restored` if they were taken
    back, `stashed`, or `clean` if git shows none.
    """
    failed: bool = False
    times: int = 0
    """Changes of a file."""
    names: tuple[str, ...] = ()
    """What is defined in the file now, as far as changes say."""
    gone: tuple[str, ...] = ()
    """What changes removed from it."""
    marks: tuple[str, ...] = ()
    """A mark for each change since the last commit: by it a change that takes it back is found."""
    written: str = ""
    """Key lines that the entry `seq` wrote to the file; empty if it wrote none."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """What the state and the files behind a chronicle are written from: bounded facts about the folded entries."""

    facts: tuple[Fact, ...] = ()
    """In the order of their entries; of one kind and key only one."""
    root: str = ""
    """The folder to which paths in the chronicle are relative, with a slash at its end; empty: to none."""
    last: int = -1
    """The newest folded entry; -1 if none is."""


def joined_ledgers(one: Ledger | None, other: Ledger | None) -> Ledger | None:
    """Return the facts of both, of which the second are newer."""
    if one is None or other is None:
        return one or other
    newer = {(fact.kind, fact.key) for fact in other.facts}
    kept = [fact for fact in one.facts if (fact.kind, fact.key) not in newer]
    return Ledger((*kept, *other.facts), one.root or other.root, max(one.last, other.last))


def ledger_until(ledger: Ledger | None, last: int) -> Ledger | None:
    """Return the facts without those of entries after `last`."""
    if ledger is None or ledger.last <= last:
        return ledger
    return replace(ledger, facts=tuple([fact for fact in ledger.facts if fact.seq <= last]), last=last)
