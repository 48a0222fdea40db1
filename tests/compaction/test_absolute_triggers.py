"""`compact_at` and `compact_to`: a compaction starts and ends at sizes in tokens, however large the window is."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import BudgetOptions, ConfigurationError, ContextManager, events
from tests.builders import MessageFactory, add_round, words
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")
WINDOW = 1_000_000


def sizes_of(rounds: int, **options) -> tuple[list[int], RecordingSession]:
    """Return the upper estimates of the requests of a tool loop with a large window."""
    session, sizes = RecordingSession(**{"budget": WINDOW, "clear_at_least_tokens": None} | options), []
    session.manager.append(TALK.say("user", "go"))
    for number in range(rounds):
        add_round(session, number, " ".join(f"w{number}x{each}" for each in range(200)))
        session.manager.get_messages_for_request()
        sizes.append(session.manager.usage().used_upper_bound)
    return sizes, session


def test_compaction_starts_at_compact_at_in_a_large_window():
    sizes, session = sizes_of(60, compact_at=10_000)
    assert max(sizes) <= 10_000
    assert 2 <= session.compactions <= 12
    assert max(sizes_of(60)[0]) > 20_000


def test_compaction_ends_at_compact_to():
    sizes, session = sizes_of(60, compact_at=10_000, compact_to=8_000, strategies=["truncate"])
    after = [now for before, now in pairwise(sizes) if now < before]
    assert session.compactions == len(after) > 3
    assert all(7_000 <= size <= 9_000 for size in after)


def test_smaller_budget_decides_over_compact_at():
    """An absolute trigger above the budget of a call changes nothing."""
    one, other = RecordingSession(budget=WINDOW, compact_at=50_000), RecordingSession(budget=WINDOW)
    for session in (one, other):
        session.manager.append(TALK.say("user", "go"))
        for number in range(20):
            add_round(session, number, words(400))
    assert one.manager.get_messages_for_request(6_000) == other.manager.get_messages_for_request(6_000)


def test_required_messages_over_compact_at_raise_nothing():
    """Only the budget is a limit; beyond `compact_at` a view is larger, and no compaction follows another."""
    session = RecordingSession(budget=WINDOW, compact_at=2_000, clear_at_least_tokens=None)
    session.manager.append({**TALK.say("user", words(4_000)), "metadata": {"pinned": True}})
    for number in range(20):
        add_round(session, number, words(20))
        session.manager.get_messages_for_request()
    assert session.manager.usage().used_upper_bound > 2_000
    assert session.compactions <= 4


def test_overhead_over_compact_at_starts_no_storm():
    sizes, session = sizes_of(60, compact_at=8_000, overhead_tokens=9_000)
    triggers = [payload["trigger"] for payload in session.payloads(events.COMPACTION)]
    assert len(triggers) - triggers.count("large_result") <= 30
    assert max(sizes) <= 9_000 + 2 * 8_000


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"compact_at": 8_000, "compact_to": 8_000}, "compact_to"),
        ({"compact_at": 8_000, "budget": 8_000}, "compact_at"),
        ({"compact_at": 8_000, "budget": BudgetOptions(max_tokens=4_000)}, "compact_at"),
        ({"compact_at": 0.5}, "compact_at"),
        ({"compact_to": -1}, "compact_to"),
    ],
)
def test_absolute_triggers_that_cannot_work_are_refused(options, named):
    with pytest.raises(ConfigurationError, match=f"`{named}`"):
        ContextManager(**options)


@settings(max_examples=25)
@given(st.integers(500, 20_000), st.integers(0, 8_000), st.lists(st.integers(1, 900), max_size=25))
def test_view_never_exceeds_its_budget_with_any_trigger(at, overhead, sizes):
    manager = ContextManager(tokenizer=count_quarter, budget=20_001, compact_at=at, overhead_tokens=overhead)
    manager.append(TALK.say("user", "go"))
    for number, size in enumerate(sizes):
        manager.append(TALK.call([f"c{number}"], "", {}), *TALK.results([(f"c{number}", words(size))]))
        manager.get_messages_for_request()
        assert manager.usage().used_upper_bound <= 20_001
