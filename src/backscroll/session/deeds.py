"""The deeds of a branch: its calls and results in pairs, read in order."""

from collections.abc import Collection, Sequence
from typing import NamedTuple, get_args

from backscroll.errors import ConfigurationError
from backscroll.history.history import Entry
from backscroll.history.loading import chunks
from backscroll.history.plan import reference
from backscroll.messages import ParsedMessage, Part
from backscroll.messages.deed_kind import DeedKind
from backscroll.messages.deeds import deeds_of
from backscroll.messages.pairing import matched
from backscroll.messages.parts import NO_ID, CallId
from backscroll.ports import Ask, Operation
from backscroll.session.deed_record import DeedRecord
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, fetch

_FOR_LEDGERS = ("before", "folder", "added")
"""Fields of a deed that only the facts of a hand-over need."""


def deeds(state: SessionState, since: int, kinds: Collection[str] | None) -> Operation[list[DeedRecord]]:
    """Return the deeds of the branch in order of their calls, from the message `since` on.

    Raises:
        ConfigurationError: There is no such kind.
    """
    unknown = sorted(set(kinds or ()) - set(get_args(DeedKind)))
    if unknown or isinstance(kinds, str):
        known = ", ".join(f"{kind!r}" for kind in get_args(DeedKind))
        raise ConfigurationError(f"`kinds` must be a list of {known}; not {kinds!r:.80}")
    yield from enter(state)
    pairs = _Pairs()
    branch = state.history.branch
    for seqs in chunks([seq for seq in branch.between(0, len(branch)) if seq >= since]):
        entries = yield from fetch(state, seqs)
        yield Ask(pairs.add, (entries,), heavy=True)
    return [deed for found in pairs.found() for deed in found if kinds is None or deed.kind in kinds]


class _Waiting(NamedTuple):
    """A call without a result so far."""

    place: int
    """The number of the call among all."""
    seq: int
    part: Part


class _Pairs:
    """Calls in order, each with what it did as soon as its result comes."""

    def __init__(self) -> None:
        self._deeds: list[list[DeedRecord]] = []
        self._waiting: dict[CallId, list[_Waiting]] = {}

    def add(self, entries: Sequence[Entry]) -> None:
        """Read the next messages of the branch."""
        for entry in entries:
            self._add(entry.seq, self._named(entry.reading))

    def found(self) -> list[list[DeedRecord]]:
        """Return the deeds of each call, also of those that have no result."""
        for calls in self._waiting.values():
            for call in calls:
                self._deeds[call.place] = _records(call, None, [])
        return self._deeds

    def _named(self, reading: ParsedMessage) -> ParsedMessage:
        """Return a reading whose results name their calls, where they may name the function alone."""
        if not reading.by_name:
            return reading
        waiting = [((-call.seq, call.place), call_id) for call_id, calls in self._waiting.items() for call in calls]
        return reading.answering(matched([name for name, _ in reading.results], waiting))

    def _add(self, seq: int, reading: ParsedMessage) -> None:
        results: dict[CallId, list[Part]] = {call_id: [] for call_id, _ in reading.results}
        for part in reading.parts:
            if part.kind == "call":
                self._waiting.setdefault(part.id or NO_ID, []).append(_Waiting(len(self._deeds), seq, part))
                self._deeds.append([])
            elif part.kind in ("result", "media") and part.id is not None:
                results.setdefault(part.id, []).append(part)
        for call_id, parts in results.items():
            if calls := self._waiting.get(call_id):
                call = calls.pop(0)
                self._deeds[call.place] = _records(call, seq, parts)


def _records(call: _Waiting, seq: int | None, parts: Sequence[Part]) -> list[DeedRecord]:
    """Return the deeds of a call; `seq` is the number of the message with its result, `None` if there is none."""
    text = "\n".join([part.text for part in parts if part.text])
    result = None if seq is None else Part(kind="result", path=(), text=text, form="string")
    return [
        DeedRecord(
            **{name: value for name, value in deed._asdict().items() if name not in _FOR_LEDGERS},
            tool=call.part.name or "",
            seq=call.seq,
            ref=reference(call.seq),
            result_ref="" if seq is None else reference(seq),
        )
        for deed in deeds_of(call.part, result)
    ]
