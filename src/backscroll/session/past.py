"""Look at the branch and at views, as they are and as they were. Changes nothing: what is looked at is a replica."""

from collections.abc import Iterator

from backscroll.compaction.lane_state import LaneState
from backscroll.compaction.policy import PolicyInput
from backscroll.history.journal import Journal
from backscroll.history.loading import chunks
from backscroll.history.log import MessageAdded, Rewound
from backscroll.messages import Message, copy_message, read_message
from backscroll.messages.echoes import Echoes
from backscroll.ports import Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, fetch, flush_deferred, refresh_lane, stand_at
from backscroll.session.system_prompt import prompt_of


def get_messages(state: SessionState) -> Operation[list[Message]]:
    """Copies of everything stored on the branch."""
    yield from enter(state)
    return (yield from stored_messages(state))


def stored_messages(state: SessionState, start: int = 0) -> Operation[list[Message]]:
    """The same from an index on, with the lock held already."""
    copies: list[Message] = []
    branch = state.history.branch
    for seqs in chunks(list(branch.between(start, len(branch)))):
        copies += [copy_message(entry.message) for entry in (yield from fetch(state, seqs))]
    return copies


def messages_at(state: SessionState, at: int) -> Operation[list[Message]]:
    """The branch as it was when the message `at` had just been added. Raises `ReferenceNotFoundError`."""
    yield from enter(state)
    before = yield from state_before_next(state, at)
    return (yield from stored_messages(before))


def view_at(state: SessionState, at: int | None, lane_name: str) -> Operation[list[Message]]:
    """The view that was sent last, or would have been sent, before a message came behind `at`; None = now.

    Without ephemeral messages. Raises `ReferenceNotFoundError`.
    """
    yield from enter(state)
    past = state if at is None else (yield from state_before_next(state, at))
    known = past.look(lane_name)
    prompt = yield from prompt_of(past, known.prompt)
    lane = past.make_lane(lane_name, known.plan)  # of its own: what is looked at changes nothing
    yield from refresh_lane(past, lane, prompt)
    assert lane.view is not None
    return lane.view.copies()


def lane_now(state: SessionState, lane_name: str) -> Operation[tuple[LaneState, PolicyInput]]:
    """A lane with its view as it stands, of its own: what is looked at changes nothing."""
    known = state.look(lane_name)
    prompt = yield from prompt_of(state, known.prompt)
    lane = state.make_lane(lane_name, known.plan)
    lane.resume(known.mark())
    return lane, (yield from refresh_lane(state, lane, prompt))


def state_before_next(state: SessionState, at: int) -> Operation[SessionState]:
    """A replica that stands where this session stood before the branch went on behind `at`, or back. With the lock
    held already. Raises `ReferenceNotFoundError`.
    """
    state.check_seq(at)
    logbook = state.logbook
    if logbook is None:
        replica = state.replica(None)
        for event in state.events:
            if replica.history.next_seq > at and isinstance(event, MessageAdded | Rewound):
                break
            replica.apply(event)
        return replica
    yield from flush_deferred(state)
    return (yield from state_at(state, logbook, (yield from logbook.place_before_next(at))))


def state_at(state: SessionState, logbook: Journal, place: int) -> Operation[SessionState]:
    """A replica that stands before a place of the log."""
    replica = state.replica(Journal(logbook.store, logbook.session))
    checkpoint, behind = yield from logbook.standing(place)
    yield from stand_at(replica, logbook, checkpoint, behind, place)
    return replica


# -- the view handed out last --


def estimated_tokens(state: SessionState, lane_name: str) -> int | None:
    """The middle estimate, in tokens, of the request that was handed out last on a lane."""
    lane = state.lanes.get(lane_name)
    return None if lane is None or lane.sent is None else lane.meter.total(lane.sent, lane.budget).middle


def newest_request(state: SessionState) -> tuple[str, int, int] | None:
    """The lane of the view handed out last, the tokens of that request by the middle estimate, and its messages."""
    lane = state.asked
    if lane is None or lane.view is None:
        return None
    return lane.name, lane.used(lane.budget).middle, len(lane.view.flat)


def texts_in_view(state: SessionState) -> Iterator[str]:
    """The texts of the view handed out last; none before the first request. Without what recall brought back: the
    same query has the same answer, however often it is asked.
    """
    view, echoes = state.asked.view if state.asked else None, Echoes()
    for message in view.flat if view else ():
        reading = read_message(message)
        left_out = echoes.of(reading)
        yield from [part.text for number, part in enumerate(reading.parts) if number not in left_out]


PAGE_TOKENS = 4_000


def page_tokens(state: SessionState) -> int:
    """Tokens of one page of recalled text: what fits into a quarter of the budget, at most 4,000."""
    budgets = [lane.budget for lane in state.lanes.values()] or [state.config.budget.max_tokens]
    return max(1, min(PAGE_TOKENS, min(budgets) // 4))
