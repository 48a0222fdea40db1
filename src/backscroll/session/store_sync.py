"""Keep a session and its store in step: load stored events, commit new ones, write checkpoints.

Operations are generators that yield effects (`ports.py`). An event that could not be stored does not happen.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from backscroll import events
from backscroll.compaction.decision import PolicyInput
from backscroll.compaction.lane_state import LaneState
from backscroll.errors import ConflictError
from backscroll.history.history import Entry
from backscroll.history.journal import Journal
from backscroll.history.loading import fetch as fetch_entries
from backscroll.history.loading import load, load_group, restored, take
from backscroll.history.log import Checkpoint, LogEvent, MessageAdded, Rewound
from backscroll.history.plan import Plan, hidden
from backscroll.ports import AcquireLock, Ask, Notification, Operation
from backscroll.session.lane import not_loaded, refresh
from backscroll.session.state import SessionState
from backscroll.session.system_prompt import prompt_of
from backscroll.session.usage_reports import take_in_reports
from backscroll.tokens.budget import NO_LIMITS, Limits

LOSSES = 4  # lost tries of a change before its writer takes a turn: trying again is faster, as long as it succeeds
TRIES = 8  # of one change against other writers; each of these made progress meanwhile
LOCK = AcquireLock()


def too_many_conflicts() -> ConflictError:
    """Return the error after too many tries."""
    return ConflictError(f"other writers were faster {TRIES} times in a row; try again")


def warm(state: SessionState) -> Operation[None]:
    """Make the first count, in a thread, unless there was one: it loads a vocabulary."""
    if not state.measured:
        yield Ask(state.config.count, ("a",), heavy=True)
        state.measured = True


# -- catching up --


def enter(state: SessionState) -> Operation[None]:
    """Hold the lock from here on, with everything loaded."""
    yield LOCK
    yield from catch_up(state)


def catch_up(state: SessionState, *, look: bool = True) -> Operation[None]:
    """With the lock held, load what is stored and not known here, and apply pending reports.

    `look`: check for events of other writers; otherwise only a session that was not opened yet is loaded.
    """
    journal = state.journal
    if journal is not None and not state.entered:
        yield from load_session(state, journal)
    elif journal is not None and look:
        yield from load_news(state, journal)
    if state.summaries is not None or state.natives is not None or state.pending_usage:
        take_in_reports(state)


def load_session(state: SessionState, journal: Journal) -> Operation[None]:
    """Load a session from its store."""
    checkpoint, behind = yield from journal.open()
    try:
        yield from load_state(state, checkpoint, behind, journal.end)
    except BaseException:
        state.begin()  # nothing that was loaded half
        raise


def load_state(
    state: SessionState, checkpoint: Checkpoint | None, behind: Sequence[LogEvent], place: int
) -> Operation[None]:
    """Load the state that a checkpoint and the events after it define, which are the records before a position."""
    state.begin()
    first = place - len(behind)
    with state.reader.at(first - 1):
        state.history = yield from restored(state.reader, checkpoint, [])
        for snapshot in checkpoint.lanes if checkpoint else ():
            assert isinstance(snapshot.plan, Plan)
            lane = state.lanes[snapshot.name] = state.make_lane(snapshot.name, snapshot.plan)
            lane.restore(snapshot)
        state.newest_lane = checkpoint.newest_lane if checkpoint else None
        state.answering = checkpoint.answering if checkpoint else None
        if len(state.lanes) == 1:
            state.answering = next((name for name, lane in state.lanes.items() if lane.requested), None)
        if state.newest_lane not in (None, *state.lanes):
            raise ValueError(f"its newest lane is {state.newest_lane!r:.80}, and it has no such lane")
    for at, event in enumerate(behind, first):
        yield from load_and_apply(state, event, at)
    state.entered = True


def load_news(state: SessionState, journal: Journal) -> Operation[None]:
    """Load what was stored since: by own callers that were cancelled, and by other writers."""
    state.entered = False  # if only a part of it can be applied now, load the session again
    own, others = yield from journal.catch_up()
    for at, event in own:
        yield from load_and_apply(state, event, at)
    for at, event in others:
        yield from load_and_apply(state, event, at)
        if isinstance(event, MessageAdded):
            state.theirs.append(event.seq)
        if isinstance(event, MessageAdded | Rewound):
            state.met += 1
    state.entered = True


def load_and_apply(state: SessionState, event: LogEvent, at: int | None = None) -> Operation[None]:
    """Apply an event, and load what it needs. `at`: its position, if it was stored before."""
    if at is None:
        yield from take(state.history, state.reader, event)
        state.follow(event)
        return
    with state.reader.at(at):
        yield from take(state.history, state.reader, event)
        state.follow(event)


def refresh_lane(
    state: SessionState, lane: LaneState, prompt: str | None, limits: Limits = NO_LIMITS
) -> Operation[PolicyInput]:
    """Bring a lane's view up to date, and load what it shows. Returns the input of a decision."""
    now = state.policy_input(prompt)
    if missing := not_loaded(lane, now):
        yield from load(state.history, state.reader, missing)
    if reports := refresh(lane, now) if state.settled else (yield from _first_refresh(state, lane, now)):
        state.pending_notifications += reports
        refused = (each for name, each in reports if name == events.HEALED and each["rule"] != "data_twice")
        if not state.odd and (first := next(refused, None)):
            state.odd = True
            state.pending_notifications.append((events.HISTORY_ODD, first))
    if limits is NO_LIMITS:
        return now
    for seq in sorted(hidden(lane.plan, limits.retain)):
        yield from load_group(state.history, state.reader, seq)
    return now._replace(limits=limits)


def lane_now(state: SessionState, lane_name: str) -> Operation[tuple[LaneState, PolicyInput]]:
    """Return a copy of a lane with an up-to-date view, so that reading changes nothing."""
    known = state.look(lane_name)
    prompt = yield from prompt_of(state, known.prompt)
    lane = state.make_lane(lane_name, known.plan)
    lane.restore(known.snapshot())
    lane.healed = None
    return lane, (yield from refresh_lane(state, lane, prompt))


def _first_refresh(state: SessionState, lane: LaneState, now: PolicyInput) -> Operation[list[Notification]]:
    """Refresh the view in a thread, because that may be the first count. Lanes that were made before the first count
    count otherwise from then on, if the tokenizer failed its check.
    """
    config, settled = state.config, state.measured
    reports: list[Notification] = yield Ask(refresh, (lane, now), heavy=not settled)
    if lane.family.exact and not config.tokenizer.exact and not config.reads_only:
        for each in state.lanes.values():
            each.count_by(config.family(each.name))
        reports += refresh(lane, now)
    state.settled = settled
    return reports


def fetch(state: SessionState, seqs: Sequence[int]) -> Operation[list[Entry]]:
    """Load these entries for reading only; `seqs` ascend."""
    return (yield from fetch_entries(state.history, state.reader, seqs))


def fetch_one(state: SessionState, seq: int) -> Operation[Entry]:
    """Load the entry `seq`.

    Raises:
        ReferenceNotFoundError: There is no such message.
    """
    state.check_seq(seq)
    (found,) = yield from fetch(state, [seq])
    return found


# -- committing --


def commit(state: SessionState, happening: Sequence[LogEvent]) -> Operation[bool]:
    """Store events before they are applied. Returns False if another writer was first; its events are applied then."""
    journal = state.journal
    if journal is None:
        return True
    stored = yield from journal.commit(happening)
    if not stored:
        state.lost += 1
        if state.lost >= LOSSES:
            yield from journal.take_turn()
        yield from load_news(state, journal)
    return stored


@contextmanager
def tries(state: SessionState) -> Iterator[range]:
    """Yield the tries of a change that may lose against other writers. A turn taken after repeated losses ends here."""
    state.lost = 0
    try:
        yield range(TRIES)
    finally:
        if state.journal is not None and state.journal.turn is not None:
            state.journal.end_turn()


def commit_and_apply(state: SessionState, event: LogEvent, check: Callable[[], None] = lambda: None) -> Operation[None]:
    """Store an event after other writers' events, and apply it. `check` raises if it cannot follow these."""
    with tries(state) as attempts:
        for _ in attempts:
            check()
            if (yield from commit(state, [event])):
                state.entered = False  # until it is applied
                yield from load_and_apply(state, event)
                state.entered = True
                return
    raise too_many_conflicts()


def flush_deferred(state: SessionState) -> Operation[None]:
    """Store the buffered events."""
    with tries(state) as attempts:
        for _ in attempts:
            if (yield from commit(state, [])):
                return
    raise too_many_conflicts()


def flush(state: SessionState) -> Operation[None]:
    """Store the buffered events, and release a lease."""
    journal = state.journal
    if journal is None or not journal.gone:  # otherwise nothing can be stored, which was reported
        yield LOCK
        yield from catch_up(state, look=False)
        yield from flush_deferred(state)
    if journal is not None:
        yield from journal.release()


def write_checkpoint(state: SessionState) -> Operation[None]:
    """Evict messages that no view shows, and write a checkpoint. Without a store, pack the log up to there."""
    journal, history = state.journal, state.history
    if not history.noted:
        return
    shown = {seq for lane in state.lanes.values() if lane.view for seq in lane.view.shown()}
    fresh = (
        journal.checkpoint_every if journal is not None and journal.due else 0
    )  # no view was requested lately: the newest messages will be needed
    history.evict(shown, history.next_seq - fresh)
    if journal is not None:
        state.apply_deferred(_checkpoint(state))
    elif (log := state.events) is not None:
        yield from log.pack(history.evicted_to)
        if log.due:
            log.save(_checkpoint(state))


def _checkpoint(state: SessionState) -> Checkpoint:
    lanes = tuple(lane.snapshot() for lane in state.lanes.values())
    answering = state.answering if len(lanes) > 1 else None
    return Checkpoint(state.history.snapshot(), lanes, state.newest_lane, answering)
