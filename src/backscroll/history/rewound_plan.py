"""A plan after a rewind: without what it says of entries that are no longer on the branch."""

from dataclasses import replace

from backscroll.history.ledger import Ledger, ledger_until
from backscroll.history.plan import (
    GAPS,
    NO_DIGEST,
    Digest,
    DigestContent,
    DigestLine,
    Edit,
    Native,
    Plan,
    place_of_summary,
)
from backscroll.history.ranges import SeqRange, covers, united, up_to


def until(plan: Plan, last: int) -> Plan:
    """Return the plan without its edits of entries after `last`, which a rewind removed from the branch."""
    plan = _native_until(plan, last)
    edits: list[Edit] = []
    for edit in plan.edits:
        if not isinstance(edit, GAPS):
            edits += [edit] if edit.seq <= last else []
        elif edit.first <= last:
            edits.append(replace(edit, last=min(edit.last, last)))
    return replace(
        plan,
        edits=tuple(edits),
        summary_after=place_of_summary(plan, edits),
        digest=_digest_until(plan.digest, last),
        no_reasoning=up_to(plan.no_reasoning, last),
        waited=tuple([call for call in plan.waited if call[0] <= last]),
        left=tuple([each for each in plan.left if each.seq <= last]),
    )


def _digest_until(digest: DigestContent, last: int) -> DigestContent:
    """Return the digest without what it says of entries after `last`."""
    notes, reserve = (
        tuple([kept for note in lines if (kept := _note_until(note, last, digest.ledger)) is not None])
        for lines in (digest.notes, digest.reserve)
    )
    return replace(
        digest,
        notes=notes,
        reserve=reserve,
        removed=tuple([each for each in digest.removed if each[1] <= last]),
        begun=digest.begun if len(notes) == len(digest.notes) else (),
        ledger=ledger_until(digest.ledger, last),
        now=tuple([note for note in digest.now if note.last <= last]),
    )


def _note_until(note: DigestLine, last: int, ledger: Ledger | None) -> DigestLine | None:
    """Return a line that says nothing of later entries. The first line of an entry is of its first message, and only
    covers the others.
    """
    if note.last <= last:
        return note
    begins = ledger is not None and note.kind in ("user", "turn") and note.first <= last
    return note._replace(last=last) if begins else None


def _native_until(plan: Plan, last: int) -> Plan:
    """Return the plan with a native block that a rewind to `last` leaves valid.

    A block that represents later entries as well cannot stay: the view before it comes back, without reasoning. Where
    only the place of the notes is gone, they follow the block, so the reasoning behind them has another beginning.
    """
    native = plan.native
    if native is None or (native.last <= last and (native.after is None or native.after <= last)):
        return plan
    first = next((edit.first for edit in plan.edits if isinstance(edit, Native)), 0)
    if native.last <= last:
        bare = united(plan.no_reasoning, [SeqRange(native.last + 1, last)])
        return replace(plan, native=replace(native, after=None), no_reasoning=bare)
    bare = united(plan.no_reasoning, [SeqRange(first, last)] if first <= last else [])
    gaps = [edit for edit in native.edits if isinstance(edit, Digest)]
    notes, reserve = (
        tuple([note for note in lines if covers(gaps, note.first) and covers(gaps, note.last)])
        for lines in (native.digest.notes, native.digest.reserve)
    )
    begun = native.digest.begun if len(notes) == len(native.digest.notes) else ()
    digest = replace(native.digest, notes=notes, reserve=reserve, begun=begun)
    return replace(plan, edits=native.edits, digest=digest if gaps else NO_DIGEST, no_reasoning=bare, native=None)
