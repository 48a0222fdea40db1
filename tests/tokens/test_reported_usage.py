"""Reports of usage that are wrong do not ruin a session, and right ones are never taken for wrong."""

import json
import random
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import ContextManager
from backscroll.stores.memory import MemoryStore
from tests.builders import MessageFactory
from tests.long_run import usually
from tests.profiles import examples

BUDGET = 32_000
STEPS, MENDED = 130, 105
"""Requests of a session, and from which on its caller reports what it should."""
Report = Callable[["Agent", int, int], dict[str, Any]]
"""What a caller passes to `observe_usage` for a prompt of so many tokens, of which so many were cached."""


class Agent:
    """Reads files in a loop; its provider counts `factor` tokens for each of ours, and `outside` for its tools."""

    def __init__(self, outside: int = 0, factor: float = 1.0, seed: int = 1, **options: Any) -> None:
        self.options = {"tokenizer": lambda text: len(text) // 4, "budget": BUDGET, **options}
        self.outside, self.factor = outside, factor
        self.heard: list[tuple[str, dict[str, Any]]] = []
        self.open()
        self.chance, self.number, self.sum = random.Random(seed), 0, 0
        self.sent, self.tools = list[Any](), outside
        self.prompts: list[int] = []
        """Tokens of each request, as its provider counted them."""
        self.manager.append(MessageFactory("openai").say("user", "Look at all of it. " + "words of the task " * 50))

    def open(self) -> None:
        self.manager = ContextManager(**self.options, on_event=lambda *told: self.heard.append(told))

    def step(self, report: Report) -> None:
        talk, name = MessageFactory("openai"), f"c{self.number}"
        text = f"{self.number} " + "line\n" * self.chance.randrange(50, 900)
        self.manager.append(talk.call([name], "I look.", {"n": self.number}), *talk.results([(name, text)]))
        self.number += 1
        view = self.manager.get_messages_for_request()
        prompt = self.outside + self.counted(view)
        same = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], zip(view, self.sent, strict=False))]
        kept = self.outside + self.counted(same) if self.sent and self.outside == self.tools else 0
        self.sent, self.tools = view, self.outside
        self.prompts.append(prompt)
        self.sum += prompt
        self.manager.observe_usage(**report(self, prompt, kept // 128 * 128 if kept >= 1_024 else 0))

    def counted(self, messages: list[Any]) -> int:
        return int(self.factor * sum(len(json.dumps(message)) for message in messages) / 4)

    def work(self, report: Report, steps: int = STEPS, mended: int = MENDED) -> "Agent":
        for number in range(steps):
            self.step(report if number < mended else right)
        return self

    def viewed(self, first: int, last: int) -> float:
        """Tokens of the messages in the views of these requests, in the mean."""
        return sum(self.prompts[first:last]) / (last - first) - self.outside

    def said(self, name: str) -> list[dict[str, Any]]:
        return [payload for told, payload in self.heard if told == f"context:{name}"]


def right(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    return {"input_tokens": prompt}


def apart(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """As Anthropic reports it, rightly."""
    return {"input_tokens": prompt - cached, "cache_read_tokens": cached}


def totals(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """Of all requests so far."""
    return {"input_tokens": agent.sum}


def totals_before(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """The same of a process that spent something before."""
    return {"input_tokens": agent.sum + 12_000}


def totals_with_answers(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    return {"input_tokens": agent.sum + 300 * agent.number}


def twice(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """OpenAI's figures, whose prompt includes what was cached."""
    return {"input_tokens": prompt, "cache_read_tokens": cached}


def twice_from_the_first(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """The same where the first request was cached by another session."""
    return {"input_tokens": prompt, "cache_read_tokens": cached or prompt // 128 * 128}


def twice_at_times(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """The same where the cache finds a part only, now and then."""
    return {"input_tokens": prompt, "cache_read_tokens": cached // 3 if agent.number % 3 == 2 else cached}


def twice_with_writes(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    return twice(agent, prompt, cached) | {"cache_write_tokens": (prompt - cached) // 128 * 128}


@cache
def who_is_right(outside: int, factor: float) -> Agent:
    return Agent(outside, factor).work(right)


WRONG = [totals_before, twice, twice_at_times, totals, totals_with_answers, twice_from_the_first, twice_with_writes]


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize(
    ("outside", "factor"),
    [(3_000, 1.5), *(pytest.param(outside, 1.0, marks=pytest.mark.long) for outside in (0, 3_000, 15_000))],
)
@pytest.mark.parametrize("report", usually([twice, *(report for report in WRONG if report is not twice)], 1))
def test_views_of_a_wrong_caller_are_as_large_as_others(report, outside, factor):
    """And they stay so when it is mended. The first requests are small in any case."""
    agent, other = Agent(outside, factor).work(report), who_is_right(outside, factor)
    assert agent.viewed(20, MENDED) >= 0.9 * other.viewed(20, MENDED)
    assert agent.viewed(MENDED + 4, STEPS) >= 0.9 * other.viewed(MENDED + 4, STEPS)
    assert agent.said("usage_corrected")
    assert len(agent.said("usage_corrected")) < 10
    assert not other.said("usage_corrected") + other.said("usage_ignored")
    assert max(other.prompts) <= BUDGET
    assert max(agent.prompts[MENDED + 1 :]) <= BUDGET
    assert agent.manager.usage().used.tokens == agent.prompts[-1]


def added(agent: Agent, prompt: int, cached: int) -> dict[str, int]:
    """Cached tokens counted twice in one figure, in which nobody can find them."""
    return {"input_tokens": prompt + cached}


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize(("mode", "least"), [("facts", 0.5), ("standard", 0.4)])
def test_added_cached_tokens_warn_and_the_session_recovers(mode, least):
    """Doubled counts leave half of the budget. Views of another caller are the larger, the higher the mode's target."""
    agent, other = Agent(mode=mode).work(added), Agent(mode=mode).work(right)
    assert agent.viewed(20, MENDED) >= least * other.viewed(20, MENDED)
    assert agent.viewed(MENDED + 8, STEPS) >= 0.8 * other.viewed(MENDED + 8, STEPS)
    assert 1 <= len(agent.said("overhead_large")) <= 3
    assert not other.said("overhead_large")


@pytest.mark.parametrize("report", [totals, twice])
def test_what_is_corrected_is_said_once_and_how_to_mend_it(report):
    agent = Agent()
    with pytest.warns(
        match="were taken as [0-9,]+, since .*: pass the provider's response to `observe_response`"
    ) as all_:
        agent.work(report, 40, 40)
    assert len(all_) == len(agent.said("usage_corrected")) == 1
    (told,) = agent.said("usage_corrected")
    assert told["lane"] == "main"
    assert told["reported"] > told["taken"]
    assert told["taken"] in agent.prompts


def test_a_large_overhead_is_said_once_and_works_as_before():
    with pytest.warns(match="15,[0-9]{3} of the 32,000 tokens of lane 'main' .* pass .* to `observe_response`") as all_:
        agent = Agent(15_000).work(right)
    assert len(all_) == 1
    assert max(agent.prompts) <= BUDGET
    assert max(agent.prompts) >= 0.9 * BUDGET


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
def test_a_large_overhead_is_said_again_when_it_is_much_worse():
    agent = Agent(12_000).work(right, 8)
    agent.outside = 21_000
    agent.work(right, 8)
    assert [told["tokens"] // 1_000 for told in agent.said("overhead_large")] == [12, 21]


def test_a_given_overhead_is_not_warned_of():
    agent = Agent(15_000, overhead_tokens=15_000).work(right, 20)
    assert not agent.said("overhead_large")


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize("first", usually([11_000, 17_000, 10**6], 1))
def test_a_first_report_that_is_wrong_is_forgotten(first):
    agent, other = Agent(), Agent()
    agent.work(lambda *_: {"input_tokens": first}, 1, 1)
    other.work(right, 1)
    agent.work(right, 4)
    other.work(right, 4)
    assert agent.manager.usage().used.tokens == agent.prompts[-1]
    overheads = [each.manager._session.lanes["main"].calibrator.overhead(BUDGET) for each in (agent, other)]
    assert overheads[0] <= overheads[1] + 1_000
    agent.work(right)
    assert max(agent.prompts) <= BUDGET


@pytest.mark.filterwarnings("ignore:by the reported usage", "ignore:the usage reported for lane")
@given(
    st.integers(0, 12_000),
    st.sampled_from([0.8, 1.0, 1.3, 1.6]),
    st.sampled_from([right, apart]),
    st.lists(st.tuples(st.integers(3, 40), st.integers(0, 6_000)), max_size=3),
    st.integers(0, 100),
)
@settings(max_examples=examples(12))
def test_right_reports_are_never_corrected(outside, factor, report, tools, seed):
    """Also where tools come while it runs. Before the first report of these, nobody can know of them; and one that
    grew by more than can be believed at once is ignored, until the next one says the same.
    """
    agent, unknown = Agent(outside, factor, seed), {0}
    changes = dict(tools)
    for number in range(45):
        if number in changes:
            agent.outside = changes[number] + outside // 2
            unknown.add(number)
        agent.step(report)
        assert agent.prompts[-1] <= BUDGET or number in unknown
    assert not agent.said("usage_corrected")
    assert len(agent.said("usage_ignored")) <= len(changes)


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
def test_a_response_says_itself_what_includes_cached_tokens():
    """What would be taken for cached tokens that were counted twice, as far as figures tell, is right where it was read
    from Anthropic's response: as much was cached as was new, twice in a row.
    """
    agents = Agent(), Agent()
    for fresh, cached in ((2_600, 0), (5_100, 2_560), (7_600, 4_992)):
        for agent in agents:
            agent.manager.append(MessageFactory("openai").say("user", "word " * 2_000))
            agent.manager.get_messages_for_request()
        usage = {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": 9}
        agents[0].manager.observe_response({"type": "message", "usage": usage})
        agents[1].manager.observe_usage(input_tokens=fresh, cache_read_tokens=cached)
    assert agents[0].manager.usage().used.tokens == 7_600 + 4_992
    assert agents[1].manager.usage().used.tokens == 7_600


@pytest.mark.filterwarnings("ignore::backscroll.BackscrollWarning")
@pytest.mark.parametrize("report", usually([right, added, totals, twice], 2))
def test_a_session_that_is_opened_again_counts_as_it_did(report):
    """Reports that were corrected are stored as they were taken; what they taught is stored with the checkpoints."""
    store = MemoryStore()
    agent = Agent(3_000, store=store, session="s")
    for _ in range(6):
        agent.work(report, 13, 13)
        agent.manager.append(MessageFactory("openai").say("assistant", "So far."))
        before = agent.manager._session.lanes["main"].calibrator.snapshot()
        agent.manager.close()
        agent.open()
        agent.manager.get_messages()
        assert agent.manager._session.lanes["main"].calibrator.snapshot() == before
        assert len(before.recent) == 5
