"""Sessions of a store as JSON values, for the served page and for the exported file.

A reader of each session is kept, so that new records are found without starting over; it stores nothing.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Lock
from typing import Any

from backscroll.cli.inspect.money import Money
from backscroll.cli.inspect.scan import SessionScan
from backscroll.cli.stores.render import Reader
from backscroll.history.history import Entry
from backscroll.history.loading import chunks
from backscroll.messages.cache_marks import without_marks
from backscroll.ports import Store
from backscroll.recall.entry_texts import heading, part_text
from backscroll.session.log_replay import LogReplay, Step
from backscroll.session.request_log import RequestItem, RequestRecord, RequestSnapshot

_AT_ONCE = 200  # records replayed between checks of the time
PAGE = 100  # left-out messages per response
MOST_TROUBLES = 200  # that a response lists


class StoreInspector:
    """The sessions of one store."""

    store: Store
    title: str
    money: Money

    def __init__(self, store: Store, title: str, money: Money | None = None) -> None:
        self.store, self.title, self.money = store, title, money or Money()
        self._known: dict[str, SessionInspector] = {}
        self._scans: dict[str, SessionScan] = {}
        self._rows: dict[str, tuple[int, dict[str, Any]]] = {}
        """The figures of sessions, with the length of the log that they are of."""
        self._lock, self._reading = Lock(), Lock()

    def sessions(self) -> list[dict[str, Any]]:
        """Return the names, oldest first. Called every two seconds, so it reads nothing of the sessions."""
        return [{"name": name} for name in self.store.sessions()]

    def overview(self, seconds: float) -> dict[str, Any]:
        """Return the figures of all sessions whose logs were read; works for at most this many seconds, and later calls
        continue. A session whose log was not read to its end has `reading`.
        """
        ends = time.monotonic() + seconds
        with self._reading:
            rows = [self._row(name, ends) for name in self.store.sessions()]
        done = not any(row.get("reading") for row in rows)
        return {"title": self.title, "done": done, "sessions": rows}

    def _row(self, name: str, ends: float) -> dict[str, Any]:
        length = self.store.length(name)
        known, row = self._rows.get(name, (0, {"name": name}))
        if known > length:  # deleted, and begun again
            self._scans.pop(name, None)
        if known == length:
            return row
        scan = self._scans.setdefault(name, SessionScan(self.store, name))
        while (more := time.monotonic() < ends) and scan.go_on():
            pass
        if scan.position:
            row = scan.row(self.money)
        if more:
            self._rows[name] = length, row
            return row
        return {**row, "reading": True}

    def session(self, name: str) -> "SessionInspector":
        """Return a session. Raises `KeyError` if it does not exist."""
        if not self.store.length(name):
            raise KeyError(name)
        with self._lock:
            if name not in self._known:
                self._known[name] = SessionInspector(self, name)
            return self._known[name]


class SessionInspector:
    """One session."""

    def __init__(self, inspected: StoreInspector, name: str) -> None:
        self._reader = Reader(inspected.store, name)
        self._money = inspected.money
        self._scan = SessionScan(inspected.store, name)
        self._replay: LogReplay | None = None
        self._steps: list[Step] = []
        self._requests: dict[int, RequestRecord] = {}
        """All requests that were listed, by position."""
        self._lock, self._listing = Lock(), Lock()

    def requests(self, start: int) -> list[Any]:
        """Return the requests from a position of the log on."""
        with self._listing:
            newest = next(reversed(self._requests), 0)
            for each in self._reader.list_requests(newest):
                known = self._requests.get(each.at)
                if known is not None:  # what came before it is not in this range
                    each = replace(each, compacted=known.compacted, summarizer=known.summarizer)  # noqa: PLW2901  the same request
                self._requests[each.at] = each
            return [self._request(each) for at, each in self._requests.items() if at >= start]

    def _prices(self) -> dict[str, Any]:
        """Return whose prices those of each lane are; `None` for a lane whose prices are not known."""
        lanes = {each.lane: self._money.of(each.lane) for each in self._requests.values()}
        return {lane: None if found is None else [found[0], *found[1]] for lane, found in lanes.items()}

    def steps(self, known: int, seconds: float) -> dict[str, Any]:
        """Return the parts of each request after the known ones, and what went wrong so far; works for at most this
        many seconds.
        """
        if known == 0:
            self.requests(0)
        with self._lock:
            ends = time.monotonic() + seconds
            done = False
            while not done and time.monotonic() < ends:
                more = self._scan.go_on()
                done = not self._go_on() and not more
            return {
                "done": done,
                "steps": [self._step(each) for each in self._steps[known:]],
                "troubles": self._scan.troubles[:MOST_TROUBLES],
                "more": max(0, len(self._scan.troubles) - MOST_TROUBLES),
                "prices": self._prices(),
            }

    def _go_on(self) -> bool:
        """Replay further records; return whether there were any."""
        replay, self._replay = self._replay, None
        if replay is None:  # the first call, or the last one failed midway
            replay, self._steps = self._reader.replay(), []
        before = replay.place
        self._steps += self._reader.advance(replay, _AT_ONCE)
        self._replay = replay
        return replay.place > before

    def _request(self, each: RequestRecord) -> list[Any]:
        cost = None
        if each.measured is not None and each.cached is not None:
            cost = self._money.cost(each.lane, each.measured, each.cached, each.written or 0, each.answer)
        return [
            each.at, each.lane, each.budget, each.plan, each.last, each.estimated, each.upper, int(each.compacted),
            each.measured, each.cached, each.written, each.answer, *each.summarizer, cost,
        ]  # fmt: skip  # in the order in which the page reads them

    def _step(self, each: Step) -> list[Any]:
        record = self._requests.get(each.at)
        cost = time_ = None
        if record is not None:
            cost = self._money.forecast(record.lane, sum(each.parts.values()), each.kept, record.answer)
            time_ = self._scan.times.get(record.last)
        return [each.at, each.messages, each.kept, cost, time_, *each.parts.values()]

    def request(self, at: int, before: int | None) -> dict[str, Any]:
        """Return a request as it was sent, and where it first differs from the one before on its lane."""
        # the older one first: the newer is replayed from near it
        earlier = None if before is None else self._reader.get_request(before)
        sent = self._reader.get_request(at)
        return {"lines": [line(each) for each in sent.lines], "moved": self.moved(earlier, sent)}

    def sent(self, at: int) -> RequestSnapshot:
        """Return a request as it was sent."""
        return self._reader.get_request(at)

    def moved(self, earlier: RequestSnapshot | None, sent: RequestSnapshot) -> dict[str, Any] | None:
        """Return the first message that differs from the earlier request, its JSON split at the first differing
        character, and the approximate tokens before it; `None` if none differs. Marks for the cache do not count.
        """
        if earlier is None:
            return None
        old, new = ([without_marks(message) for message in each.messages] for each in (earlier, sent))
        pairs = enumerate(zip(old, new, strict=False))
        same = next((at for at, (then, now) in pairs if then != now), min(len(old), len(new)))
        if same == len(old):
            return None
        then, now = (_text(messages[same : same + 1]) for messages in (old, new))
        at = next((n for n, (a, b) in enumerate(zip(then, now, strict=False)) if a != b), min(len(then), len(now)))
        tokens = sum(each.tokens for each in [line for line in sent.lines if line.message is not None][:same])
        if at:
            tokens += self._reader.count(now[:at])
        return {"message": same, "character": at, "tokens": tokens, "text": [now[:at], now[at : at + 1], now[at + 1 :]]}

    def left_out(self, at: int, first: int, last: int) -> list[Any]:
        """Return some of the messages that a request left out."""
        found = self._reader.left_out(at, first, min(last, first + PAGE - 1))
        return [[e.seq, e.role, e.state, e.reason, e.tokens, e.ref, message] for e, message in found]

    def kept(self) -> Iterator[list[Any]]:
        """Yield every message of the branch with its parts as recall returns them: a heading, the text (`None` if it is
        the message's content), and whether there is more than a medium's name.
        """
        statuses = self._reader.explain()
        for some in chunks(statuses, PAGE):
            for each, entry in zip(some, self._reader.entries(some), strict=True):
                yield [each.seq, each.role, each.tokens, each.ref, entry.message, _parts(entry)]

    def search(self, query: str, offset: int) -> dict[str, Any]:
        """Return the recall tool's answer to a query or a reference, and the passages found."""
        _, ask = self._reader.recall_tool()
        asked = {"ref": query} if query.strip("[]").startswith("ref:") else {"query": query}
        answer = ask(**asked, offset=offset)
        found = self._reader.recall(query=query) if "query" in asked else None
        hits = [] if found is None else [[hit.seq, hit.part, hit.text] for hit in found.hits]
        return {"answer": answer, "hits": hits}


def _parts(entry: Entry) -> list[Any]:
    content, found = entry.message.get("content"), []
    for number, part in enumerate(entry.reading.parts):
        text = part_text(entry, number)
        found.append([heading(entry, number), None if text == content else text, bool(part.text)])
    return found


def line(each: RequestItem) -> list[Any]:
    """Return a line as JSON, in the order in which the page reads it."""
    state = "pinned" if each.state == "whole" and each.reason in ("pinned", "critical") else each.state
    return [
        each.kind, each.role, each.first, each.last, state, each.reason, each.tokens, each.original, each.ref,
        each.message,
    ]  # fmt: skip  # in the order in which the page reads them


def _text(messages: Sequence[Any]) -> str:
    return "".join(json.dumps(message, ensure_ascii=False) for message in messages)


def packed(lines: Sequence[Any]) -> bytes:
    """Return JSON in ASCII: messages may hold lone surrogates, which UTF-8 cannot encode."""
    return json.dumps(lines, separators=(",", ":")).encode("ascii")
