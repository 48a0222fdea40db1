"""The composition room: names and options in, a working session out. No logic of its own.

The only place that knows both the core and the edges it is put together from.
"""

import inspect
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple
from uuid import uuid4

from backscroll import events
from backscroll.compaction.cache_pricing import Prices
from backscroll.compaction.strategies import choose, masks_batches
from backscroll.compaction.summarization import Summaries, Summarizer
from backscroll.history.journal import Logbook
from backscroll.manager.lease import Lease
from backscroll.manager.lock import Turnstile
from backscroll.manager.regex import LimitedPattern
from backscroll.manager.telemetry import Telemetry
from backscroll.messages import Redact
from backscroll.ports import Background, Blobs, Event, EventHandler, Pattern, Store, Tokenizer
from backscroll.recall.all_sessions import Found
from backscroll.session.state import SessionConfig, SessionState, Write
from backscroll.stores.addresses import open_store
from backscroll.stores.search import Index, search_everywhere, search_for
from backscroll.stores.search.index import SearchIndex
from backscroll.stores.wrappers import Report, layered
from backscroll.tokens.budget import Options
from backscroll.tokens.engines import resolve
from backscroll.tokens.engines.measurer import Measurer
from backscroll.tokens.model_profiles import COUNTED, UNKNOWN, Family, family_of


class Around(NamedTuple):
    """What is asked for around a store."""

    blobs: str | Path | Blobs | None
    offload_over: int
    encryption_key: bytes | str | None


class Summarizing(NamedTuple):
    """What is asked for of summaries."""

    summarizer: Summarizer | None
    summary_window: int
    summary_timeout: float
    summary_as_turn: bool


@dataclass(frozen=True, slots=True)
class Opened:
    """A session with everything it needs around it."""

    name: str
    session: SessionState
    store: Store | None
    inner: Store | None
    """The store without the layers around it, which report to this session."""
    measurer: Measurer
    search: Index
    everywhere: Callable[[str, int], Found] | None
    """The search over all sessions of the store."""
    on_event: EventHandler | None
    telemetry: Telemetry | None
    compile: Callable[[str], Pattern] = LimitedPattern
    turnstile: Turnstile = field(default_factory=Turnstile)


def open_session(
    options: Options,
    *,
    name: str | None,
    store: str | Path | Store | None,
    lease: float | None,
    around: Around,
    redact: Redact | None,
    strategy: str | None,
    strategies: Sequence[Any] | None,
    tokenizer: str | Callable[[str], int] | Tokenizer,
    model: str | Family | None,
    prices: Prices | None,
    summarizing: Summarizing,
    background: Background,
    on_event: EventHandler | None,
    telemetry: bool,
    write: Write | None = None,
    reads_only: bool = False,
) -> Opened:
    """Put a session together. Raises `ConfigurationError` for what can never work."""
    reports: deque[Event] = deque()
    measurer = Measurer(counter := resolve(tokenizer, partial(_reported, reports)))
    name = new_name() if name is None else name
    inner, keeper, search, everywhere = _kept(store, name, around, partial(_reported, reports, events.OFFLOAD_FAILED))
    traced = Telemetry(name) if telemetry else None
    config = SessionConfig(
        options, tuple(choose(strategy, strategies)), measure=measurer.measure, count=measurer.count,
        counted_by=lambda: counter.name, family=_families(model, not isinstance(tokenizer, str), counter),
        prices=prices or (Prices() if masks_batches(strategy, strategies) else None),
        redact=redact, write=write, reads_only=reads_only,
    )  # fmt: skip  # names that repeat themselves tell nothing
    session = SessionState(  # tokenizer and store report into the same queue, from wherever they find the fault
        config, logbook=_logbook(keeper if keeper is None or traced is None else traced.store(keeper), name, lease),
        summaries=_summaries(summarizing, background, traced), outbox=reports, clock=monotonic,
        listened_to=on_event is not None,
    )  # fmt: skip  # one thought
    return Opened(name, session, keeper, inner, measurer, search, everywhere, on_event, traced)


def _kept(
    store: str | Path | Store | None, name: str, around: Around, failed: Report
) -> tuple[Store | None, Store | None, Index, Callable[[str, int], Found] | None]:
    """A store, the same with its layers, the search over one of its sessions, and that over all."""
    inner = None if store is None else open_store(store)
    keeper = layered(inner, around.blobs, around.offload_over, around.encryption_key, failed)
    if keeper is None:
        return inner, keeper, SearchIndex(), None
    return inner, keeper, search_for(keeper, name), partial(search_everywhere, keeper)


def _logbook(store: Store | None, session: str, seconds: float | None) -> Logbook | None:
    lease = None if seconds is None else Lease(store, session, seconds)
    return None if store is None else Logbook(store, session, lease)


def _summaries(asked: Summarizing, background: Background, traced: Telemetry | None) -> Summaries | None:
    """Settings are checked also where there is no summarizer."""
    summarizer, window, timeout, as_turn = asked
    blocking = not any(map(inspect.iscoroutinefunction, (summarizer, type(summarizer).__call__)))
    made = Summaries(str if summarizer is None else summarizer, window, timeout, blocking, background, as_turn)
    if summarizer is None or traced is None:
        return None if summarizer is None else made
    return replace(made, summarizer=traced.summarizer(summarizer))


def _reported(reports: deque[Event], name: str, payload: dict[str, Any]) -> None:
    reports.append((name, payload))


def new_name() -> str:
    """A name for a session that nobody named."""
    return uuid4().hex


def _families(model: str | Family | None, counted: bool, counter: Tokenizer) -> Callable[[str], Family]:
    """A lane named after a model counts as that model; any other lane as the session's model.

    Estimated counts are never taken as exact, whatever the family: their upper estimate gets the wide margin.
    """

    def family(lane: str) -> Family:
        if isinstance(model, Family):
            found = model
        else:
            named = family_of(lane, counted=counted)
            unnamed = named.name in (UNKNOWN.name, COUNTED.name)
            found = family_of(model, counted=counted) if unnamed else named
        return found if counter.exact else replace(found, exact=False)

    return family
