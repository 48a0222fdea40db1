"""Which earlier results the results of a view refer to, and whether the view still shows these.

Coding agents remember what they gave the model, and answer a call made again with one sentence: the file is unchanged,
see the earlier result (`messages/back_references.py`). That holds for their own history, and not for a view that has
left the earlier result out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple
from zlib import crc32

from backscroll.compaction.file_calls import in_order
from backscroll.history.history import Entry, History
from backscroll.history.plan import LeftResult, PartEdit, Plan, Restate
from backscroll.history.ranges import covers
from backscroll.messages import Part
from backscroll.messages.back_references import mark_of, meant_by
from backscroll.messages.parts import CallId
from backscroll.messages.rewriter import replaceable
from backscroll.view.segment import Segment
from backscroll.view.view import View

Place = tuple[int, int]
"""A part of the history: the `seq` of its message, and its number there."""
MOST_LEFT = 512  # of a plan, about 25 bytes each: two for a file that was read, so that the newest 256 reads are known


class Result(NamedTuple):
    """A result in the history."""

    place: Place
    part: Part
    call: Part
    meant: str | None
    """As `meant_by` returns it."""

    def names(self) -> list[str]:
        """Return what a later result may refer to it by: its call, the tool with the path, and its mark. Of one that
        refers to an earlier result: what it refers to, the likeliest first.
        """
        if self.meant:
            return [f"mark {self.meant}"]
        found: list[str] = []
        arguments, path = in_order(self.call.text)
        if path and self.call.name:
            found += [f"call {self.call.name} {arguments}", f"path {self.call.name} {path}"]
        if self.meant is None and (mark := mark_of(self.part.text)):
            found.append(f"mark {mark}")
        return found


class ShownGroup(NamedTuple):
    """The messages of a group, and how a view edits their parts."""

    entries: Sequence[Entry]
    edits: Mapping[Place, PartEdit]


def shown_groups(segments: Iterable[Segment]) -> list[ShownGroup]:
    """Return the groups of a view."""
    return [
        ShownGroup(segment.entries, {(edit.seq, edit.part): edit for edit in segment.edits})
        for segment in segments
        if segment.entries and segment.messages
    ]


def results_of(entries: Sequence[Entry]) -> Iterator[Result]:
    """Yield the results of a group; of a result in several texts the longest one."""
    if not any(entry.reading.results for entry in entries):
        return
    calls = {part.id: part for entry in entries for part in entry.reading.call_parts}
    for entry in entries:
        longest: dict[CallId | None, int] = {}
        for number, part in enumerate(entry.reading.parts):
            if part.kind == "result" and part.text and part.id in calls:
                known = longest.get(part.id)
                if known is None or len(entry.reading.parts[known].text) < len(part.text):
                    longest[part.id] = number
        for name, number in longest.items():
            part = entry.reading.parts[number]
            yield Result((entry.seq, number), part, calls[name], meant_by(part.text))


def _key(name: str) -> int:
    return crc32(name.encode("utf-8", "surrogatepass"))


class EarlierResults:
    """The results that a view shows and those that its plan leaves out, by what a later one may refer to them by."""

    def __init__(self, plan: Plan, groups: Iterable[ShownGroup]) -> None:
        self._by_key: dict[int, list[Place]] = {}
        for key, seq, part in plan.left:
            self._by_key.setdefault(key, []).append((seq, part))
        for group in groups:
            for result in results_of(group.entries):
                for name in result.names() if result.meant is None else ():
                    self._by_key.setdefault(_key(name), []).append(result.place)

    def meant_by(self, result: Result) -> Place | None:
        """Return the newest earlier result that a result may refer to; None if none is known. Two calls may have the
        same key, so what it returns must be compared.
        """
        for name in result.names():
            earlier = [place for place in self._by_key.get(_key(name), ()) if place < result.place]
            if earlier:
                return max(earlier)
        return None


def whole_results(groups: Iterable[ShownGroup]) -> set[Place]:
    """Return the results that are shown whole, in their place or in that of a later one."""
    found: set[Place] = set()
    for entries, edits in groups:
        for entry in entries:
            for number, part in enumerate(entry.reading.parts):
                edit = edits.get((entry.seq, number))
                if part.kind == "result" and edit is None:
                    found.add((entry.seq, number))
                elif isinstance(edit, Restate) and edit.whole:
                    found.add((edit.source, edit.source_part))
    return found


def open_references(groups: Iterable[ShownGroup], whole: Set[int]) -> Iterator[Result]:
    """Yield the results that refer to an earlier one and are shown as they came, except in messages of `whole`, which
    stay as they are.
    """
    for entries, edits in groups:
        readings = {entry.seq: entry.reading for entry in entries}
        for result in results_of(entries):
            seq = result.place[0]
            stays = result.meant is None or result.place in edits or seq in whole
            if not stays and replaceable(readings[seq], result.part):
                yield result


def _refer(entries: Sequence[Entry]) -> bool:
    """Return whether a result of these messages may refer to an earlier one. Asked at each step, so it is cheap."""
    for entry in entries:
        if entry.reading.results:
            for part in entry.reading.parts:
                if part.kind == "result" and meant_by(part.text) is not None:
                    return True
    return False


def lost_references(view: View, history: History, since: int = 0) -> list[Place]:
    """Return the earlier results that results of a view refer to and that it does not show whole.

    Args:
        view: The view.
        history: The history.
        since: Look at the groups with messages from this `seq` on. Unless these hold such a result, which is rare, that
            is all that is read.
    """
    if not view.plan.edits:
        return []
    referring: list[Segment] = []
    for segment in reversed(view.segments):
        entries = segment.entries
        if entries and entries[-1].seq < since:
            break
        if _refer(entries):
            referring.append(segment)
    found = list(open_references(shown_groups(referring), history.protected)) if referring else []
    if not found:
        return []
    groups = shown_groups(view.segments)
    earlier, whole = EarlierResults(view.plan, groups), whole_results(groups)
    places = (earlier.meant_by(result) for result in found)
    return [place for place in places if place is not None and place not in whole]


def left_results(before: View, plan: Plan) -> tuple[LeftResult, ...]:
    """Return the results that a plan leaves out: those that the plan before it left out, and what the view before
    showed of them; the newest ones.
    """
    gaps = list(plan.gaps())
    found = set(before.plan.left)
    for group in shown_groups(before.segments) if gaps else ():
        if any(covers(gaps, entry.seq) for entry in group.entries):
            for result in results_of(group.entries):
                names = result.names() if result.meant is None else ()
                found.update(LeftResult(_key(name), *result.place) for name in names)
    return tuple(sorted(found, key=lambda each: (each.seq, each.part, each.key))[-MOST_LEFT:])
