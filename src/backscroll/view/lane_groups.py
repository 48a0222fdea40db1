"""The groups of a history as one lane shows them.

A lane that sent a call without its result keeps the placeholder: what comes later is shown where it came. Other lanes
show the result behind its call.
"""

from collections.abc import Iterable

from backscroll.history.groups import GroupIndex, MessageGroup
from backscroll.history.history import Entry, History
from backscroll.history.plan import Plan


def not_loaded(history: History, plan: Plan, seqs: Iterable[int]) -> list[int]:
    """Return what is not in memory of these entries, and of the groups that the lane shows in pieces."""
    if not plan.waited:
        return history.not_loaded(seqs)
    waited, found = frozenset(plan.waited), dict[int, None]()
    for seq in seqs:
        group = history.group_of(seq)
        if history.get(seq) is None:
            found[seq] = None
        if group is not None and not waited.isdisjoint(group.answered):
            found |= dict.fromkeys(history.not_loaded(group.members))
    return sorted(found)


class LaneGroups:
    """Entries with the groups that hold for a lane. Nearly all are the history's own."""

    def __init__(self, history: History) -> None:
        self.history = history
        self._for: tuple[tuple[int, int], ...] = ()
        self._waited: frozenset[tuple[int, int]] = frozenset()
        self._split: dict[int, tuple[tuple[int, ...], dict[int, Entry]]] = {}
        """By the first `seq` of a group of the history: its members when it was split, and the entries then."""

    def entry(self, seq: int, plan: Plan) -> Entry:
        """Return an entry that is in memory."""
        entry = self.history.entry(seq)
        if not plan.waited:
            return entry
        if plan.waited is not self._for:
            self._for, self._waited = plan.waited, frozenset(plan.waited)
            self._split.clear()
        group = entry.group
        if self._waited.isdisjoint(group.answered):
            return entry
        members, entries = self._split.get(group.first, ((), {}))
        if members != tuple(group.members):
            entries = self._parted(group)
            self._split[group.first] = tuple(group.members), entries
        return entries[seq]

    def _parted(self, group: MessageGroup) -> dict[int, Entry]:
        """Group the messages of a group again, without results of calls that were sent without them."""
        index = GroupIndex(self._waited)
        found: dict[int, Entry] = {}
        for seq in group.members:
            entry = self.history.get(seq)
            if entry is None:
                continue  # a late result that the plan leaves out
            own, merged = index.add(seq, entry.reading, entry.late)
            late = list(entry.late)
            for number, waiting in index.late if entry.reading.results else ():
                if number not in {each[0] for each in entry.late}:
                    call = self.history.entry(waiting.seq).reading.call_parts[waiting.number]
                    late.append((number, call.name or "", False))
            found[seq] = Entry(
                seq=seq, message=entry.message, reading=entry.reading, counts=entry.counts, group=own, late=tuple(late)
            )
            for other in (member for each in merged for member in each.members):
                found[other].group = own
        return found
