"""The second trigger: old results are masked in batches where that is cheaper than to go on sending them."""

from typing import Any

import pytest

from backscroll import ConfigurationError, ContextManager, events
from backscroll.compaction.options import CachePricing
from backscroll.compaction.strategies.clear import ClearStrategy
from tests.builders import MessageFactory
from tests.fakes import RecordingSession, count_quarter

TALK = MessageFactory("openai")
BUDGET = 1_000_000  # so large that nothing but a batch can be the reason of a compaction
RESULT = "a line that some tool has read\n" * 65  # about 500 tokens
SPARED = 3  # newest groups with results that the model has seen
BATCH = "cache savings"


class Working(RecordingSession):
    """An agent at work far below its budget: one call, its result and one request at each step."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"clear_at_least_tokens": 3_000, **options})
        self.manager.append(TALK.say("system", "be brief"), TALK.say("user", "read every file"))
        self.results: list[int] = []
        self.views: list[list[dict[str, Any]]] = []

    def step(self, text: str = RESULT) -> None:
        """One round."""
        name = f"c{len(self.results)}"
        self.manager.append(TALK.call([name], "", {"command": name}))
        self.results.append(self.manager.append(*TALK.results([(name, text)])))
        self.request()

    def steps(self, number: int) -> "Working":
        """Several rounds."""
        for _ in range(number):
            self.step()
        return self

    def until_batch(self, most: int = 60) -> "Working":
        """Rounds until the next batch is masked."""
        before = self.compactions
        while self.compactions == before:
            assert most, "no batch was masked"
            most -= 1
            self.step()
        return self

    def request(self) -> list[dict[str, Any]]:
        """The view to send now."""
        self.views.append(self.manager.get_messages_for_request(token_budget=BUDGET))
        return self.views[-1]

    @property
    def masked(self) -> dict[int, str]:
        """What is masked, and why."""
        return {found.seq: found.reason for found in self.manager.explain() if found.state == "cleared"}


def test_old_results_are_cleared_early_once_they_fill_a_batch():
    """Old results are cleared far below the threshold once they are a batch."""
    working = Working().until_batch()
    assert working.manager.usage().used_upper_bound < 0.01 * BUDGET
    (payload,) = [payload for name, payload in working.events if name == events.COMPACTION]
    assert payload["before_tokens"] - payload["after_tokens"] >= 3_000
    assert payload["strategies"] == {BATCH: len(working.masked)}
    states = {found.state for found in working.manager.explain() if found.seq not in working.masked}
    assert states == {"whole"}


def test_batch_clears_all_seen_results_but_the_newest_three():
    """All seen results but the newest three are cleared and the unseen one is whole."""
    working = Working().until_batch()
    seen, unseen = working.results[:-1], working.results[-1]
    assert working.masked == dict.fromkeys(seen[:-SPARED], BATCH)
    view, messages = working.request(), working.manager.get_messages()
    for seq in (*seen[-SPARED:], unseen):
        assert view[seq] == messages[seq]
    for seq in seen[:-SPARED]:
        assert view[seq]["content"] == f"[tool result of {count_quarter(RESULT)} tokens left out, recall [ref:{seq}.0]]"
        assert working.manager.recall(f"{seq}.0", limit=10_000) == RESULT


def test_unseen_results_of_parallel_calls_stay_whole():
    """Results of several calls that no one has seen yet stay whole."""
    working = Working(clear_at_least_tokens=4_000, cache_pricing=CachePricing(read=1.0, write=1.0))
    working.steps(5)
    names = [f"open-{number}" for number in range(6)]
    working.manager.append(*[TALK.call([name], "", {"command": name}) for name in names])
    unseen = [working.manager.append(*TALK.results([(name, 5 * RESULT)])) for name in names]
    working.request()
    assert not working.masked.keys() & set(unseen)
    working.until_batch()
    assert working.masked.keys() & set(unseen)


def test_pinned_results_and_short_ones_are_no_part_of_a_batch():
    working = Working()
    working.step()
    working.step("ok, nothing to do")
    working.step()
    working.manager.pin(working.results[0])
    working.until_batch()
    assert not working.masked.keys() & set(working.results[:2])
    assert working.results[2] in working.masked


def test_below_the_least_worth_nothing_is_masked():
    small, large = Working(clear_at_least_tokens=3_000), Working(clear_at_least_tokens=9_000)
    small.until_batch()
    large.steps(len(small.results))
    assert large.masked == {}
    large.until_batch()
    before, after = (next(p for n, p in w.events if n == events.COMPACTION) for w in (small, large))
    assert before["before_tokens"] - before["after_tokens"] < 9_000
    assert after["before_tokens"] - after["after_tokens"] >= 9_000


def test_default_waits_for_five_thousand_tokens():
    working = Working(clear_at_least_tokens=5_000)
    default = ContextManager(tokenizer=count_quarter)
    default.append(*working.manager.get_messages())
    for number in range(60):
        working.step()
        default.append(*working.manager.get_messages()[-2:])
        view = default.get_messages_for_request(token_budget=BUDGET)
        assert view == working.views[-1]
        assert number > 10 or not working.masked
    assert working.masked


@pytest.mark.parametrize(
    "options",
    [
        {"clear_at_least_tokens": None},
        {"strategies": ["excerpt"]},
        {"strategies": ["deduplicate", "excerpt", "digest", "importance", "truncate"]},
        {"strategies": []},
        {"strategies": None},
        {"cache_pricing": CachePricing(read=0.0)},
        {"cache_pricing": CachePricing(read=0.0, write=1.0)},
    ],
    ids=str,
)
def test_no_batch_where_it_is_off_or_a_loss(options):
    working = Working(**options).steps(60)
    assert working.compactions == 0
    assert working.request() == working.manager.get_messages()


@pytest.mark.parametrize(
    "options",
    [
        {"strategies": ["clear"]},
        {"strategies": ["excerpt", "clear"]},
        {"strategies": [ClearStrategy(over=200)]},
        {"strategies": "auto"},
    ],
    ids=str,
)
def test_batches_need_the_clear_strategy_or_the_defaults(options):
    """Batches are on where mask is among the strategies or everything is on."""
    assert set(Working(**options).until_batch().masked.values()) == {BATCH}


def test_each_batch_emits_one_event_and_views_extend_between():
    """One event for each batch and the views in between extend each other."""
    working = Working()
    before: list[dict[str, Any]] = []
    compactions = changed = 0
    for _ in range(120):
        working.step()
        view = working.views[-1]
        extends = view[: len(before)] == before
        assert extends == (working.compactions == compactions)
        assert working.compactions - compactions <= 1
        changed += not extends
        compactions, before = working.compactions, view
    assert changed == working.compactions == working.manager.usage().compactions
    assert 120 * 500 / 3_000 / 4 <= compactions <= 120 * 500 / 3_000


def test_what_one_batch_masked_the_next_leaves_as_it_is():
    working = Working().until_batch()
    first, stubs = working.masked, working.views[-1]
    working.until_batch()
    assert first.items() < working.masked.items()
    assert all(working.views[-1][seq] == stubs[seq] for seq in first)
    for name, payload in working.events:
        if name == events.COMPACTION:
            assert payload["before_tokens"] - payload["after_tokens"] >= 3_000


def test_batch_waits_until_requests_pay_for_the_new_cache():
    """A batch waits for requests that pay for what has to be cached again."""

    def first(prices: CachePricing, behind: str) -> int:
        working = Working(cache_pricing=prices, clear_at_least_tokens=1_000)
        working.steps(2)
        working.manager.append(TALK.say("assistant", "wait"), TALK.say("user", behind))
        return len(working.until_batch(400).results)

    paste = "something the user has pasted\n" * 1_500
    assert first(CachePricing(), "go on") < first(CachePricing(), paste)
    assert first(CachePricing(read=0.5), paste) < first(CachePricing(), paste)
    assert first(CachePricing(write=1.0), paste) < first(CachePricing(), paste)
    assert first(CachePricing(read=1.0, write=1.0), paste) == 2 + SPARED + 2


def test_undone_batch_is_not_cleared_again_at_once():
    """Undo brings a batch back and it is not cleared again at once."""
    working = Working().until_batch()
    masked = working.masked
    assert working.manager.undo_compaction()
    assert working.request() == working.manager.get_messages()
    assert working.masked == {}
    working.step()
    assert working.masked == {}
    working.until_batch()
    assert masked.items() < working.masked.items()


def test_what_the_budget_asks_for_is_done_on_top_of_a_batch():
    working = Working().until_batch()
    working.steps(30)
    view = working.manager.get_messages_for_request(token_budget=2_000)
    assert working.manager.usage().used_upper_bound <= 2_000
    assert view[1]["content"] == "read every file"


@pytest.mark.parametrize(
    "prices",
    [{"read": -0.1}, {"read": 1.1}, {"read": 0.5, "write": 0.4}, {"write": -1.0}],
)
def test_prices_that_no_provider_has_are_refused(prices):
    with pytest.raises(ConfigurationError, match="`read` must be"):
        CachePricing(**prices)


@pytest.mark.parametrize("least", [0, -1, 1.5, True, "many"])
def test_a_least_worth_that_is_no_number_of_tokens_is_refused(least):
    with pytest.raises(ConfigurationError, match="clear_at_least_tokens"):
        ContextManager(clear_at_least_tokens=least)
