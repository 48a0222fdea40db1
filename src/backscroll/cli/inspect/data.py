"""Sessions of a store as JSON values, for the served page and for the exported file.

A reader of each session is kept, so that new records are found without starting over; it stores nothing.
"""

import json
import time
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

from backscroll.cli.stores.render import Reader
from backscroll.history.history import Entry
from backscroll.history.loading import chunks
from backscroll.ports import Store
from backscroll.recall.retrieval import heading, part_text
from backscroll.session.log_replay import LogReplay, Step
from backscroll.session.request_log import RequestItem, RequestRecord, RequestSnapshot

_AT_ONCE = 200  # records replayed between checks of the time
PAGE = 100  # left-out messages per response


class StoreInspector:
    """The sessions of one store."""

    store: Store
    title: str

    def __init__(self, store: Store, title: str) -> None:
        self.store, self.title = store, title
        self._known: dict[str, SessionInspector] = {}
        self._lock = Lock()

    def sessions(self) -> list[dict[str, Any]]:
        """Return the names, oldest first. Called every two seconds, so it reads nothing of the sessions."""
        return [{"name": name} for name in self.store.sessions()]

    def session(self, name: str) -> "SessionInspector":
        """Return a session. Raises `KeyError` if it does not exist."""
        if not self.store.length(name):
            raise KeyError(name)
        with self._lock:
            if name not in self._known:
                self._known[name] = SessionInspector(self.store, name)
            return self._known[name]


class SessionInspector:
    """One session."""

    def __init__(self, store: Store, name: str) -> None:
        self._reader = Reader(store, name)
        self._replay: LogReplay | None = None
        self._steps: list[Step] = []
        self._lock = Lock()

    def requests(self, start: int) -> list[Any]:
        """Return the requests from a position of the log on."""
        return [_request(each) for each in self._reader.list_requests(start)]

    def steps(self, known: int, seconds: float) -> dict[str, Any]:
        """Return the parts of each request after the known ones; works for at most this many seconds."""
        with self._lock:
            ends = time.monotonic() + seconds
            done = False
            while not done and time.monotonic() < ends:
                done = not self._go_on()
            return {"done": done, "steps": [_step(each) for each in self._steps[known:]]}

    def _go_on(self) -> bool:
        """Replay further records; return whether there were any."""
        replay, self._replay = self._replay, None
        if replay is None:  # the first call, or the last one failed midway
            replay, self._steps = self._reader.replay(), []
        before = replay.place
        self._steps += self._reader.advance(replay, _AT_ONCE)
        self._replay = replay
        return replay.place > before

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
        character, and the approximate tokens before it; `None` if none differs.
        """
        if earlier is None:
            return None
        pairs = enumerate(zip(earlier.messages, sent.messages, strict=False))
        same = next((at for at, (then, now) in pairs if then != now), min(len(earlier.messages), len(sent.messages)))
        if same == len(earlier.messages):
            return None
        then, now = (_text(messages[same : same + 1]) for messages in (earlier.messages, sent.messages))
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


def _request(each: RequestRecord) -> list[Any]:
    return [
        each.at, each.lane, each.budget, each.plan, each.last, each.estimated, each.upper, int(each.compacted),
        each.measured, each.cached, each.written, each.answer, *each.summarizer,
    ]  # fmt: skip  # in the order in which the page reads them


def _step(each: Step) -> list[Any]:
    return [each.at, each.messages, each.kept, *each.parts.values()]


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
