"""A prompt cache that the provider has forgotten: what is compacted then costs nothing extra, so it is done earlier."""

import pytest

from backscroll import CachePricing, ConfigurationError, ContextManager, events
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")
BUDGET = 20_000


class Timed(RecordingSession):
    """An agent at work, whose clock a test moves."""

    def __init__(self, **options):
        super().__init__(**{"clear_at_least_tokens": None} | options)
        self.now = 1_000.0
        self.manager._session.clock = lambda: self.now
        self.manager.append(TALK.say("user", "go"))
        self.rounds = 0

    def work(self, share, waits=1.0):
        """Rounds until the request takes this share of the budget; the last view."""
        while self.manager.usage().used_upper_bound < share * BUDGET:
            name = f"c{self.rounds}"
            self.rounds += 1
            self.manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"line {name}\n" * 200)]))
            view = self.request(waits)
        return view

    def request(self, waits):
        """The view so many seconds later."""
        self.now += waits
        return self.manager.get_messages_for_request(token_budget=BUDGET)

    @property
    def triggers(self):
        """Why it was compacted, each time."""
        return [payload["trigger"] for payload in self.payloads(events.COMPACTION)]


def test_view_with_a_cold_cache_compacts_below_its_threshold():
    """After the cache went cold a view is compacted below its threshold."""
    timed = Timed()
    view = timed.work(0.80)
    assert timed.request(299.0) == view
    assert timed.request(300.0) != view
    assert timed.triggers == ["cache_expired"]
    assert timed.manager.usage().used_upper_bound <= 0.55 * BUDGET


def test_a_view_near_its_target_is_left_alone_however_cold():
    timed = Timed()
    view = timed.work(0.65)
    assert timed.request(100_000.0) == view
    assert timed.triggers == []


def test_cold_cache_does_not_repeat_a_useless_compaction():
    """A cold cache starts no second compaction where the first could win nothing."""
    timed = Timed()
    timed.work(0.72)
    timed.manager.append({**TALK.say("user", "keep this " * 700), "metadata": {"pinned": True}})
    view = timed.request(400.0)
    assert timed.triggers == ["cache_expired"]
    assert timed.request(400.0) == timed.request(400.0) == view
    assert timed.triggers == ["cache_expired"]


def test_how_long_a_cache_lives_is_the_users_to_say():
    hour, forever = (
        Timed(cache_pricing=CachePricing(ttl_seconds=3_600)),
        Timed(cache_pricing=CachePricing(ttl_seconds=float("inf"))),
    )
    for timed in (hour, forever):
        view = timed.work(0.80)
        assert timed.request(3_000.0) == view
    hour.request(3_600.0)
    forever.request(1e9)
    assert (hour.triggers, forever.triggers) == (["cache_expired"], [])


def test_cold_batch_does_not_wait_for_paying_requests():
    """A cold batch waits for no requests that would pay for it."""
    results = []
    for waits in (1.0, 1_000.0):
        timed = Timed(clear_at_least_tokens=1_000, cache_pricing=CachePricing(read=0.01, write=2.0), budget=10**6)
        timed.manager.append(TALK.say("assistant", "wait"), TALK.say("user", "something pasted " * 3_000))
        while not timed.triggers and timed.rounds < 60:
            name = f"c{timed.rounds}"
            timed.rounds += 1
            timed.manager.append(TALK.call([name], "", {}), *TALK.results([(name, f"line {name}\n" * 100)]))
            timed.now += waits
            timed.manager.get_messages_for_request()
        assert set(timed.triggers) <= {"cache_savings"}
        results.append(timed.rounds)
    warm, cold = results
    assert cold < warm


def test_first_view_after_a_resume_equals_the_last_one_before():
    """The first view after a resume is the one before it however long that was."""
    store = MemoryStore()
    timed = Timed(session="s", store=store)
    view = timed.work(0.80)
    timed.manager.close()
    again = ContextManager(session="s", store=store, tokenizer=count_quarter, clear_at_least_tokens=None)
    again._session.clock = lambda: 1e9
    assert again.get_messages_for_request(token_budget=BUDGET) == view


@pytest.mark.parametrize("lifetime", [0, -1.0, float("nan"), "an hour", True])
def test_a_lifetime_that_no_cache_has_is_refused(lifetime):
    with pytest.raises(ConfigurationError, match="`ttl_seconds`"):
        CachePricing(ttl_seconds=lifetime)
