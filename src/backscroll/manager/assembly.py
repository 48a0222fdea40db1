"""The composition root: builds a working session from names and options.

It is the only module that knows both the core and the adapters around it.
"""

import inspect
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, partial
from time import monotonic
from typing import Any

from backscroll import events
from backscroll.compaction.modes import mode_named
from backscroll.compaction.native_request import NativeCompaction, Natives, reads_block
from backscroll.compaction.options import CachePricing, CompactionOptions
from backscroll.compaction.strategies import choose, masks_batches, shortens, uses_native
from backscroll.compaction.summarization import Summaries, Summarizer, SummarizerFunction
from backscroll.errors import ConfigurationError
from backscroll.history.journal import Journal
from backscroll.manager.lock import FairLock
from backscroll.manager.options import ManagerOptions
from backscroll.manager.regex import LimitedPattern
from backscroll.manager.telemetry import Telemetry
from backscroll.manager.threads import pausing, start
from backscroll.ports import BackgroundTask, EventHandler, Notification, Pattern, Store, Tokenizer
from backscroll.session.state import SessionConfig, SessionState, Write
from backscroll.stores.addresses import open_store
from backscroll.stores.wrappers import layered
from backscroll.tokens.budget import BudgetOptions, check_whole
from backscroll.tokens.engines import resolve
from backscroll.tokens.engines.measurer import Measurer
from backscroll.tokens.known_models import (
    binds_reasoning,
    compacts_natively,
    find_model,
    may_compact,
    media_limits,
    vendor_of,
)
from backscroll.tokens.model_profiles import COUNTED, UNKNOWN, ModelProfile, family_of
from backscroll.tokens.windows import LaneWindows
from backscroll.view.cache_marks import MOST, UNKNOWN_MINIMUM, CacheMarks, Marking


@dataclass(frozen=True, slots=True)
class SessionRuntime:
    """A session with the objects that run it."""

    name: str
    session: SessionState
    store: Store | None
    inner: Store | None
    """The store without its wrappers, which report to this session: a fork wraps it again."""
    measurer: Measurer
    on_event: EventHandler | None
    telemetry: Telemetry | None
    compile: Callable[[str], Pattern] = LimitedPattern
    turnstile: FairLock = field(default_factory=FairLock)


def open_session(
    options: ManagerOptions,
    background: BackgroundTask,
    native_background: BackgroundTask,
    *,
    write: Write | None = None,
    shows_users: bool = False,
    reads_only: bool = False,
) -> SessionRuntime:
    """Build a session. Raises `ConfigurationError` for options that can never work."""
    # Tokenizer and store find faults outside an operation, so they report into the session's queue.
    reports: deque[Notification] = deque()
    name = new_name() if options.session is None else options.session
    counter = resolve(options.tokenizer, partial(_reported, reports))
    measurer = Measurer(counter)
    config = replace(_config(options, counter, measurer), write=write, shows_users=shows_users, reads_only=reads_only)
    traced = Telemetry(name) if options.telemetry else None
    inner = None if options.store is None else open_store(options.store)
    store = layered(inner, options.storage, partial(_reported, reports, events.OFFLOAD_FAILED))
    kept = store if store is None or traced is None else traced.store(store)
    session = SessionState(
        config,
        journal=_journal(kept, name, options.lease),
        summaries=_summaries(options.summarizer, background, traced),
        pending_notifications=reports,
        clock=monotonic,
        listened_to=options.on_event is not None,
    )
    session.start = start
    session.natives = _natives(options.native, native_background, traced)
    return SessionRuntime(
        name=name,
        session=session,
        store=store,
        inner=inner,
        measurer=measurer,
        on_event=options.on_event,
        telemetry=traced,
    )


def _config(options: ManagerOptions, counter: Tokenizer, measurer: Measurer) -> SessionConfig:
    """Return the options that the core decides by."""
    budget = options.budget if isinstance(options.budget, BudgetOptions) else BudgetOptions(options.budget)
    named = options.model if isinstance(options.model, str) else None

    def model_of(lane: str) -> str:
        return lane if find_model(lane) else named or ""

    return SessionConfig(
        budget=budget,
        windows=LaneWindows(named, budget.windows),
        media=lambda lane: media_limits(lane if find_model(lane) else named),
        compaction=_compaction(options, budget),
        overhead_tokens=_checked_overhead(options.overhead_tokens),
        strategies=choose(options.strategies, mode_named(options.mode).strategies),
        shortens=shortens(options.strategies),
        measure=measurer.measure,
        count=pausing(measurer.count),
        counted_by=cache(lambda: counter.name),
        tokenizer=counter,
        family=_families(options.model, not isinstance(options.tokenizer, str), counter),
        binds=_binding(options.model),
        marking=_marking(options.cache_marks, options.model),
        prices=options.cache_pricing or (CachePricing() if masks_batches(options.strategies) else None),
        native=uses_native(options.strategies, options.native),
        model=model_of,
        compacts=_compacting(options.native, model_of),
        redact=options.redact,
    )


def _compaction(options: ManagerOptions, budget: BudgetOptions) -> CompactionOptions:
    """Return when lanes are compacted and how far: by the options, else by the mode."""
    mode = mode_named(options.mode)
    target = mode.target_usage if options.target_usage is None else options.target_usage
    return CompactionOptions(
        compact_threshold=mode.compact_threshold if options.compact_threshold is None else options.compact_threshold,
        target_usage=target,
        compact_at=_checked_trigger(options.compact_at, budget),
        compact_to=options.compact_to,
        protect=options.protect or mode.protect,
        tool_result_preview=options.tool_result_preview or mode.tool_result_preview,
        max_messages=options.max_messages,
        clear_at_least_tokens=options.clear_at_least_tokens,
        plan_ahead=options.plan_ahead,
        digest=mode.digest_within(target),
    )


def _checked_trigger(tokens: int | None, budget: BudgetOptions) -> int | None:
    if tokens is not None and budget.max_tokens is not None and tokens >= budget.max_tokens:
        raise ConfigurationError(
            f"`compact_at` ({tokens:,}) must be below the budget ({budget.max_tokens:,}), or it would never start a "
            "compaction: lower it, or use `compact_threshold`"
        )
    return tokens


def _checked_overhead(tokens: int | None) -> int | None:
    if tokens is not None:
        check_whole("overhead_tokens", tokens, 0)
    return tokens


def _journal(store: Store | None, session: str, seconds: float | None) -> Journal | None:
    lease = None
    if seconds is not None:
        from backscroll.manager.lease import Lease  # noqa: PLC0415  few sessions have one

        lease = Lease(store, session, seconds)
    return None if store is None else Journal(store, session, lease)


def _summaries(
    given: Summarizer | SummarizerFunction | None, background: BackgroundTask, traced: Telemetry | None
) -> Summaries | None:
    if given is None:
        return None
    summarizer = given if isinstance(given, Summarizer) else Summarizer(given)
    blocking = _blocks(summarizer.fn)
    if traced is not None:
        summarizer = replace(summarizer, fn=traced.summarizer(summarizer.fn))
    return Summaries(summarizer, blocking, background)


def _natives(given: NativeCompaction | None, background: BackgroundTask, traced: Telemetry | None) -> Natives | None:
    if given is None:
        return None
    blocking = _blocks(given.fn)
    if traced is not None:
        given = replace(given, fn=traced.native(given.fn))
    return Natives(given, blocking, background)


def _blocks(function: Callable[..., Any]) -> bool:
    return not any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))


def _reported(reports: deque[Notification], name: str, payload: dict[str, Any]) -> None:
    reports.append((name, payload))


def new_name() -> str:
    """Return a new name for a session."""
    from uuid import uuid4  # noqa: PLC0415  a program that names its sessions needs none

    return uuid4().hex


def _binding(model: str | ModelProfile | None) -> Callable[[str], bool]:
    """Return the function that says whether a lane's provider binds reasoning. A model that is not known is taken to
    bind, which concerns only reasoning that is signed or encrypted.
    """

    def binds(lane: str) -> bool:
        named = binds_reasoning(lane)
        if named is None and isinstance(model, str):
            named = binds_reasoning(model)
        return named is not False

    return binds


def _compacting(native: NativeCompaction | None, model_of: Callable[[str], str]) -> Callable[[str], bool]:
    """Return the function that says whether a lane's model can be compacted natively. Of a model that the caller names
    only the vendor decides: the lane has to read its block.
    """
    asked = None if native is None else native.model

    def compacts(lane: str) -> bool:
        if asked is None:
            return compacts_natively(model_of(lane)) is not False
        return may_compact(vendor_of(asked)) and reads_block(model_of(lane), asked)

    return compacts


def _marking(given: str | CacheMarks | None, model: str | ModelProfile | None) -> Callable[[str], Marking | None]:
    """Return the function that says how a lane marks its views: by the model of its name, else by the session's."""
    marks = CacheMarks(given) if isinstance(given, str) else given
    named = find_model(model) if isinstance(model, str) else None

    def marking(lane: str) -> Marking | None:
        found = find_model(lane) or named
        if marks is None or (marks.provider == "auto" and (found is None or found.vendor != "anthropic")):
            return None
        minimum = (found.cache_minimum if found is not None else None) or UNKNOWN_MINIMUM
        return Marking(minimum, MOST - marks.reserved, (marks.system_ttl or marks.ttl, marks.ttl))

    return marking


def _families(model: str | ModelProfile | None, counted: bool, counter: Tokenizer) -> Callable[[str], ModelProfile]:
    """Return the function that finds a lane's model profile.

    A lane named after a model counts as that model, any other lane as the session's model. Estimated counts are never
    exact, whichever the profile: their upper estimate gets the wide margin.
    """

    def family(lane: str) -> ModelProfile:
        if isinstance(model, ModelProfile):
            found = model
        else:
            named = family_of(lane, counted=counted)
            unnamed = named.name in (UNKNOWN.name, COUNTED.name)
            found = family_of(model, counted=counted) if unnamed else named
        return found if counter.exact else replace(found, exact=False)

    return family
