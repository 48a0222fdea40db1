"""Read the branch and views, present and past, from replicas that leave the session unchanged."""

from collections.abc import Iterator

from backscroll.compaction.lane_state import LaneState
from backscroll.history.loading import chunks, fetch_messages
from backscroll.messages import Message, copy_message, read_message
from backscroll.messages.echoes import Echoes
from backscroll.ports import Operation
from backscroll.session.state import SessionState
from backscroll.session.store_sync import enter, flush_deferred, load_state, refresh_lane
from backscroll.session.system_prompt import prompt_of


def get_messages(state: SessionState) -> Operation[list[Message]]:
    """Return copies of all messages of the branch."""
    yield from enter(state)
    return (yield from stored_messages(state))


def stored_messages(state: SessionState, start: int = 0) -> Operation[list[Message]]:
    """Return copies of the branch from an index on. The lock must be held."""
    copies: list[Message] = []
    branch = state.history.branch
    for seqs in chunks(list(branch.between(start, len(branch)))):
        copies += map(copy_message, (yield from fetch_messages(state.history, state.reader, seqs)))
    return copies


def get_rewound(state: SessionState) -> Operation[list[Message]]:
    """Return all messages that rewinds took off the branch, without copies."""
    yield from enter(state)
    history, found = state.history, list[Message]()
    for seqs in chunks([seq for seq in range(history.next_seq) if seq not in history.branch]):
        found += yield from fetch_messages(history, state.reader, seqs)
    return found


def messages_at(state: SessionState, at: int) -> Operation[list[Message]]:
    """Return the branch as it was when the message `at` had just been added.

    Raises:
        ReferenceNotFoundError: There is no such message.
    """
    yield from enter(state)
    before = yield from state_before_next(state, at)
    return (yield from stored_messages(before))


def view_at(state: SessionState, at: int | None, lane_name: str) -> Operation[list[Message]]:
    """Return the last view before a message followed `at`, sent or not. `None`: the present one. Ephemeral messages are
    left out.

    Raises:
        ReferenceNotFoundError: There is no message `at`.
    """
    yield from enter(state)
    past = state if at is None else (yield from state_before_next(state, at))
    lane = yield from lane_as_it_is(past, lane_name)
    assert lane.view is not None
    return lane.view.copies()


def lane_as_it_is(state: SessionState, lane_name: str) -> Operation[LaneState]:
    """Return a copy of a lane with its view, so that reading changes nothing. The lock must be held."""
    known = state.look(lane_name)
    prompt = yield from prompt_of(state, known.prompt)
    lane = state.make_lane(lane_name, known.plan)
    lane.healed = None
    yield from refresh_lane(state, lane, prompt)
    return lane


def state_before_next(state: SessionState, at: int) -> Operation[SessionState]:
    """Return a replica at the point before the branch continued after `at`, or was rewound. The lock must be held.

    Raises:
        ReferenceNotFoundError: There is no message `at`.
    """
    state.check_seq(at)
    yield from flush_deferred(state)
    return (yield from state_at(state, (yield from state.reader.place_before_next(at))))


def state_at(state: SessionState, place: int) -> Operation[SessionState]:
    """Return a replica at a position of the log."""
    replica = state.replica(state.reader.reader())
    checkpoint, behind = yield from state.reader.checkpoint_at(place)
    yield from load_state(replica, checkpoint, behind, place)
    return replica


# -- the newest view handed out --


def estimated_tokens(state: SessionState, lane_name: str) -> int | None:
    """Return the expected tokens of the lane's last request."""
    lane = state.lanes.get(lane_name)
    return None if lane is None or lane.sent is None else lane.calibrator.total(lane.sent, lane.budget).expected


def newest_request(state: SessionState) -> tuple[str, int, int] | None:
    """Return the lane of the last request, its expected tokens, and its number of messages."""
    lane = state.asked
    if lane is None or lane.view is None:
        return None
    return lane.name, lane.used(lane.budget).expected, len(lane.view.messages)


def texts_in_view(state: SessionState) -> Iterator[str]:
    """Yield the texts of the last view; none before the first request. Recalled texts are skipped, so that a repeated
    query has the same result.
    """
    view, echoes = state.asked.view if state.asked else None, Echoes()
    for message in view.messages if view else ():
        reading = read_message(message)
        left_out = echoes.of(reading)
        yield from [part.readable for number, part in enumerate(reading.parts) if number not in left_out]


PAGE_TOKENS = 4_000
SEARCH_TOKENS = 3_400
"""Of a search, whose best hits come first: measured in `recall/ranking.py`."""


def page_tokens(state: SessionState, searched: bool) -> int:
    """Return the tokens of one page of recalled text: a quarter of the smallest budget, at most 4,000, of a
    search at most 3,400.
    """
    budgets = [lane.budget for lane in state.lanes.values()] or [state.config.default_budget("main")]
    return max(1, min(SEARCH_TOKENS if searched else PAGE_TOKENS, min(budgets) // 4))
