"""One pass over the records of a session, without resuming it: its figures for the first page, and what went wrong.

The pass continues where it ended, so it finds what an agent added since, and may stop after any slice.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

from backscroll.cli.inspect.money import Money
from backscroll.cli.inspect.times import time_of, utc
from backscroll.errors import CorruptionError
from backscroll.history.codec import Codec
from backscroll.history.log import (
    CompactionSkipped,
    LogEvent,
    MessageAdded,
    Overflowed,
    RequestRecorded,
    SummaryFailed,
    UsageObserved,
)
from backscroll.ports import LOST, Store
from backscroll.tokens.model_profiles import family_of
from backscroll.tokens.usage import estimate_count

_AT_ONCE = 500  # records of one slice
_KINDS = frozenset(("message", "request", "usage", "overflow", "no_summary", "settled", LOST))
_PLAIN = family_of(None)  # counts are used as they were stored


class Trouble(NamedTuple):
    """Something that went wrong, as the log has it."""

    at: int
    """Its position in the log."""
    kind: str
    """`refused`, `summary failed`, `little won`, `lost` or `corrupt`."""
    text: str


@dataclass(slots=True)
class _Sent:
    """One request."""

    lane: str
    tokens: int
    cached: int | None = None
    written: int = 0
    answer: int | None = None


class SessionScan:
    """What the records of one session say so far."""

    position: int
    """Records that were read."""
    messages: int
    tokens: int
    compactions: int
    times: dict[int, str]
    """Times of messages by their `seq`, of those that say."""
    troubles: list[Trouble]

    def __init__(self, store: Store, name: str) -> None:
        self._store, self._name = store, name
        self._codec = Codec()
        self.position = self.messages = self.tokens = self.compactions = 0
        self.times, self.troubles = {}, []
        self._first = self._last = ""
        self._sent: list[_Sent] = []
        self._newest: dict[str, _Sent] = {}
        self._plans: dict[str, int] = {}

    def go_on(self) -> bool:
        """Read further records; return whether there were any. A record that cannot be read ends the pass."""
        if self.troubles and self.troubles[-1].kind == "corrupt":
            return False
        before = self.position
        try:
            for stored in self._store.read(self._name, before, before + _AT_ONCE):
                if stored.record.kind in _KINDS:
                    self._take(stored.position, self._codec.decode(stored))
                if stored.record.kind == LOST:
                    why = stored.record.body.decode("utf-8", "replace")
                    self.troubles.append(Trouble(stored.position, "lost", why))
                self.position = stored.position + 1
        except CorruptionError as error:
            self.troubles.append(Trouble(self.position, "corrupt", str(error)))
        return self.position > before

    def _take(self, at: int, event: LogEvent) -> None:
        match event:
            case MessageAdded():
                self._add(event)
            case RequestRecorded():
                self._request(event)
            case UsageObserved() if (sent := self._newest.get(event.lane)) is not None:
                sent.tokens, sent.answer = event.report.tokens, event.report.answer or None
                sent.cached, sent.written = event.cached, event.written or 0
            case Overflowed():
                limit = "" if event.limit is None else f", which accepts {event.limit:,}"
                why = f"the provider refused a request of lane {event.lane}, of {event.tokens:,} tokens as estimated"
                self.troubles.append(Trouble(at, "refused", why + limit))
            case SummaryFailed():
                self.troubles.append(Trouble(at, "summary failed", f"lane {event.lane}: {event.reason}"))
            case CompactionSkipped(batch=False):
                why = f"a compaction of lane {event.lane} would have won too little of {event.tokens:,} tokens"
                self.troubles.append(Trouble(at, "little won", why))

    def _add(self, event: MessageAdded) -> None:
        self.messages += 1
        self.tokens += sum(round(estimate_count(count, _PLAIN)[0]) for count in event.counts)
        time = time_of(event.message)
        if time:
            self.times[event.seq] = time
            self._first, self._last = min(self._first or time, time), max(self._last, time)

    def _request(self, event: RequestRecorded) -> None:
        newest = max(self._plans.values(), default=0)  # a lane starts from the newest plan
        self.compactions += event.plan != self._plans.get(event.lane, newest)
        self._plans[event.lane] = event.plan
        self._newest[event.lane] = sent = _Sent(event.lane, (event.total or event.estimate)[0])
        self._sent.append(sent)

    def row(self, money: Money) -> dict[str, Any]:
        """Return the figures for the first page."""
        costs = [money.cost(e.lane, e.tokens, e.cached or 0, e.written, e.answer) for e in self._sent]
        known = [cost for cost in costs if cost is not None]
        extent = getattr(self._store, "extent", None)
        changed = None if extent is None else extent(self._name).changed
        return {
            "name": self._name,
            "messages": self.messages,
            "tokens": self.tokens,
            "requests": len(self._sent),
            "sent": sum(each.tokens for each in self._sent),
            "compactions": self.compactions,
            "cost": sum(known) if known else None,
            "unpriced": len(costs) - len(known),
            "unreported": sum(each.cached is None for each in self._sent),
            "first": self._first,
            "last": max(self._last, utc(changed)),
            "troubles": dict(Counter(each.kind for each in self.troubles)),
        }
