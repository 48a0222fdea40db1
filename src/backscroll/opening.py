"""The composition room: names and options in, a working session out. No logic of its own.

The only place that knows both the core and the edges it is put together from.
"""

import inspect
import warnings
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from backscroll import events
from backscroll.budget import Options
from backscroll.compaction.batch import Prices
from backscroll.compaction.strategies import choose, masks_batches
from backscroll.families import COUNTED, UNKNOWN, Family, family_of
from backscroll.logbook import Logbook
from backscroll.measuring import Measurer
from backscroll.patterns import LimitedPattern
from backscroll.ports import Background, Event, EventHandler, Pattern, Store, Tokenizer
from backscroll.session import Session
from backscroll.stores.addresses import open_store
from backscroll.stores.search import SearchIndex
from backscroll.stores.searching import Index, search_for
from backscroll.summaries import Summaries, Summarizer
from backscroll.tokenizers import resolve
from backscroll.turnstile import Turnstile

DEGRADED = frozenset(
    (
        events.USAGE_IGNORED,
        events.EDIT_REFUSED,
        events.EPHEMERAL_KEPT,
        events.OVERFLOW,
        events.PROVIDER_IGNORED,
        events.RULES_LEFT_OUT,
        events.STORE_UNAVAILABLE,
        events.SUMMARY_FAILED,
    )
)
"""Events that also warn: something was asked for and could not be done as asked."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A session with everything it needs around it."""

    name: str
    session: Session
    store: Store | None
    measurer: Measurer
    search: Index
    compile: Callable[[str], Pattern]
    turnstile: Turnstile
    on_event: EventHandler | None


def open_session(
    options: Options,
    *,
    name: str | None,
    store: str | Path | Store | None,
    strategy: str | None,
    strategies: Sequence[Any] | None,
    tokenizer: str | Callable[[str], int] | Tokenizer,
    model: str | Family | None,
    prices: Prices | None,
    summarizer: Summarizer | None,
    summary_window: int,
    summary_timeout: float,
    background: Background,
    on_event: EventHandler | None,
) -> Opened:
    """Puts a session together. Raises `ConfigurationError` for what can never work."""
    chosen = choose(strategy, strategies)
    fallbacks: deque[Event] = deque()
    counter = resolve(tokenizer, lambda name, payload: fallbacks.append((name, payload)))
    measurer = Measurer(counter)
    name = new_name() if name is None else name
    keeper = None if store is None else open_store(store)
    search = SearchIndex() if keeper is None else search_for(keeper, name)
    session = Session(
        options,
        chosen,
        measure=measurer.measure,
        count=measurer.count,
        counted_by=lambda: counter.name,
        prices=prices or (Prices() if masks_batches(strategy, strategies) else None),
        logbook=None if keeper is None else Logbook(keeper, name),
        summaries=_summaries(summarizer, summary_window, summary_timeout, background),
        family=_families(model, counted=not isinstance(tokenizer, str), counter=counter),
    )
    session.outbox = fallbacks  # a tokenizer reports into the same queue, from whichever count finds the fault
    session.listened_to = on_event is not None
    return Opened(name, session, keeper, measurer, search, LimitedPattern, Turnstile(), on_event)


def _summaries(summarizer: Summarizer | None, window: int, timeout: float, background: Background) -> Summaries | None:
    """Settings are checked also where there is no summarizer."""
    blocking = not any(map(inspect.iscoroutinefunction, (summarizer, type(summarizer).__call__)))
    made = Summaries(str if summarizer is None else summarizer, window, timeout, blocking, background)
    return None if summarizer is None else made


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


def warn(name: str, payload: dict[str, Any]) -> None:
    """Python's own way of saying that something works less well than asked for."""
    warnings.warn(f"{name}: {payload}", RuntimeWarning, stacklevel=2)
