"""A history as it was: what it says of itself, while messages are appended to the one that it came from."""

from hypothesis import assume, given
from hypothesis import strategies as st

from backscroll.history.history import History
from backscroll.history.log import MessageAdded
from backscroll.messages import read_message, validated
from backscroll.tokens.counts import Count
from tests.builders import conversations


def history_of(messages):
    history = History()
    for seq, message in enumerate(map(validated, messages)):
        reading = read_message(message)
        history.append(MessageAdded(seq, message, tuple(Count(1) for _ in reading.parts)), reading)
    return history


def said(history):
    """What a compaction asks of a history."""
    users = [None if entry is None else entry.seq for entry in (history.first_user, history.last_user)]
    groups = [(group.first, group.members, group.open_calls) for group in (history.newest,) if group is not None]
    return (
        history.branch.runs(), history.next_seq, history.leading, users, history.last_assistant, history.reminder,
        history.last_sealed, history.protected, groups, history.newest_seqs, history.last and history.last.seq,
    )  # fmt: skip  # one thought


@given(conversations(most=20), st.integers(0, 30))
def test_a_past_history_says_what_the_present_one_said(messages, at):
    assume(at < len(messages))
    then, later = history_of(messages[: at + 1]), history_of(messages)
    joined = {seq for seq in range(at + 1) if later.entry(seq).group.members[-1] > at}
    assume(not joined)  # a late result ends whatever is made of the past
    assert said(later.as_of(at)) == said(then)


@given(conversations(most=20), st.integers(0, 30))
def test_a_past_history_does_not_grow(messages, at):
    assume(at < len(messages))
    history = history_of(messages[: at + 1])
    past = history.as_of(at)
    before = past.branch.runs(), past.next_seq, past.last_assistant, past.protected, past.last_user
    for seq, message in enumerate(map(validated, messages[at + 1 :]), at + 1):
        reading = read_message(message)
        history.append(MessageAdded(seq, message, tuple(Count(1) for _ in reading.parts)), reading)
    assert (past.branch.runs(), past.next_seq, past.last_assistant, past.protected, past.last_user) == before
