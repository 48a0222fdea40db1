"""Reads a session for display, and formats it."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.table import Table
from rich.text import Text

from backscroll.cli import screen
from backscroll.errors import BackscrollError
from backscroll.history.history import Entry
from backscroll.manager.base import MAIN
from backscroll.manager.driver import run_sync
from backscroll.manager.sync_manager import ContextManager
from backscroll.messages import Message
from backscroll.ports import Extent, Operation, Store
from backscroll.recall.pages import SearchHit
from backscroll.session.explain import MessageStatus
from backscroll.session.log_replay import LogReplay, Step
from backscroll.session.request_log import left_out
from backscroll.session.store_sync import enter, fetch

PAGE = 50  # messages per page
_SINGLE = 8
"""Messages up to which a session may be a question by itself: an instruction or two, and the question. A longer one is
not opened for that.
"""


class Reader(ContextManager):
    """A read-only session: what opening it would store is never flushed."""

    _reads_only = True

    def __init__(self, store: Store, session: str, tokenizer: str = "estimate") -> None:
        super().__init__(session=session, store=store, tokenizer=tokenizer)

    def pages(self, statuses: Sequence[MessageStatus]) -> Iterator[list[tuple[MessageStatus, Message]]]:
        """Yield pages of messages with their status."""
        for start in range(0, len(statuses), PAGE):
            some = statuses[start : start + PAGE]
            yield [(each, entry.message) for each, entry in zip(some, self.entries(some), strict=True)]

    def entries(self, statuses: Sequence[MessageStatus]) -> list[Entry]:
        """Return the entries of these messages."""
        return run_sync(self._opened, self._entries([each.seq for each in statuses]))

    def replay(self) -> LogReplay:
        """Begin to replay the session's log."""
        return LogReplay(self._session)

    def advance(self, replay: LogReplay, most: int) -> list[Step]:
        """Replay at most this many further events."""
        return run_sync(self._opened, replay.advance(most))

    def left_out(self, at: int, first: int, last: int) -> list[tuple[MessageStatus, Message]]:
        """Return messages that the request at a position left out, with their status in it."""
        return run_sync(self._opened, left_out(self._session, at, first, last))

    def count(self, text: str) -> int:
        """Count the tokens of a text as the session does."""
        return self._opened.measurer.tokenizer.count(text)

    def chosen_lane(self, named: str | None) -> str:
        """Return the lane to show: the named one, else `main`, or if that made no request the one that sent most."""
        return named or run_sync(self._opened, self._lane())

    def _lane(self) -> Operation[str]:
        yield from enter(self._session)
        asked = {lane.name: lane.sent_to for lane in self._session.lanes.values() if lane.requested}
        return MAIN if MAIN in asked else max(asked, key=asked.__getitem__, default=MAIN)

    def _entries(self, seqs: Sequence[int]) -> Operation[list[Entry]]:
        yield from enter(self._session)
        return (yield from fetch(self._session, seqs))


def messages_of(store: Store, session: str) -> int:
    """Return how many messages were ever added, by binary search for the first unused number."""
    low, high = 0, 1
    while store.find(session, seq=high - 1) is not None:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        if store.find(session, seq=middle) is not None:
            low = middle + 1
        else:
            high = middle
    return low


def is_single(store: Store, name: str) -> bool:
    """Return whether a session is a question by itself, without tools and without an answer, that a proxy stored."""
    if messages_of(store, name) > _SINGLE:
        return False
    try:
        messages = Reader(store, name).get_messages()
    except BackscrollError:  # the session is listed, and a command that reads it reports the error
        return False
    metadata = messages[-1].get("metadata") if messages else None
    noted = metadata.get("log") if isinstance(metadata, dict) else None
    return isinstance(noted, dict) and noted.get("single") is True


def session_row(store: Store, name: str) -> dict[str, Any]:
    """Return the figures of a session; `bytes` and `changed` are `None` if the store does not know them."""
    extent = getattr(store, "extent", None)
    found: Extent | None = None if extent is None else extent(name)
    changed = None if found is None or found.changed is None else datetime.fromtimestamp(found.changed, UTC)
    return {
        "session": name,
        "messages": messages_of(store, name),
        "records": store.length(name),
        "bytes": None if found is None else found.size,
        "changed": None if changed is None else changed.isoformat(timespec="seconds"),
    }


def sessions_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Return a table with a row per session, without empty columns."""
    shown = Table()
    shown.add_column("session", overflow="fold")
    figures = [name for name in ("messages", "records", "bytes") if any(row[name] is not None for row in rows)]
    for header in figures:
        shown.add_column(header, justify="right")
    dated = any(row["changed"] is not None for row in rows)
    if dated:
        shown.add_column("last record")
    for row in rows:
        cells = [screen.line(row["session"]), *(f"{row[name]:,}" for name in figures)]
        shown.add_row(*(Text(cell) for cell in cells), *([_local(row["changed"])] if dated else []))
    return shown


def _local(moment: str) -> str:
    """Return a moment in local time."""
    return datetime.fromisoformat(moment).astimezone().strftime("%Y-%m-%d %H:%M")


def plan_table(statuses: Sequence[MessageStatus]) -> Table:
    """Return a table of the state of each message in the newest view."""
    shown = Table()
    for header in ("ref", "role", "state", "tokens", "reason"):
        shown.add_column(header, justify="right" if header == "tokens" else "left", overflow="fold")
    for each in statuses:
        shown.add_row(
            *(Text(screen.line(cell)) for cell in (each.ref, each.role, each.state, f"{each.tokens:,}", each.reason))
        )
    return shown


def explained_json(each: MessageStatus) -> dict[str, Any]:
    """Return the status of a message as JSON."""
    return {name: getattr(each, name) for name in ("seq", "role", "state", "reason", "tokens", "ref")}


def entry(each: MessageStatus, message: Message) -> Text:
    """Format a message as it was added, under its reference."""
    state = "" if each.state == "whole" else f"{each.state} in the view ({each.reason})"
    return screen.message(each.ref.strip("[]"), message, each.tokens, state)


def hit(found: SearchHit, session: str | None) -> Text:
    """Format a passage under its reference."""
    text = Text()
    if session is not None:
        text.append(f"{screen.line(session)} ", style="bold cyan")
    text.append(f"[ref:{found.seq}.{found.part}]", style="bold")
    text.append(f" from character {found.offset:,}\n", style="dim")
    text.append(screen.clean(found.text).strip("\n") + "\n")
    return text
