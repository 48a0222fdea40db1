"""The replay: its sums worked out by hand, its tables, and real recordings as views of themselves."""

import json
from collections.abc import Callable
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from backscroll.cli.replay_table import as_json, as_tables, totals
from backscroll.errors import BudgetError, ConfigurationError
from backscroll.evaluation.readers import Transcript, read
from backscroll.evaluation.run import EventHandler, Manager, Outcome, Weigher, replay, requests_of
from tests.evaluation.messages import (
    amplifier_call,
    anthropic_call,
    anthropic_result,
    bedrock_call,
    bedrock_result,
    calls,
    said,
    tool,
    user,
)
from tests.long_run import usually
from tests.real import RECORDINGS, needs_recordings

Message = dict[str, Any]


# Sums: one token a character, so that every figure can be worked out by hand


class Whole:
    """A manager that sends everything."""

    def __init__(self, budget: int, on_event: EventHandler) -> None:
        self.budget, self.on_event = budget, on_event
        self.messages: list[Message] = []

    def append(self, message: Message) -> None:
        self.messages.append(message)

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        return list(self.messages)


class Newest(Whole):
    """A manager that sends the newest message alone, and refuses when it was told to hold too little."""

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        self.on_event("context:compaction", {})
        self.on_event("context:post_compact", {})
        if token_budget is not None and token_budget < 6:
            raise BudgetError("too small")
        return self.messages[-1:]


def run(make: Callable[[int, EventHandler], Manager], messages: list[Message], budget: int | float = 1000) -> Outcome:
    return replay(Transcript("t", "openai", messages), budget=budget, tokenizer=len, make_manager=make)


TALK = [user("12345678"), said("123456"), user("1234"), said("12"), user("1"), said("1")]  # 12 10 8 6 5 5 with framing


def test_sending_everything_costs_what_sending_everything_costs() -> None:
    outcome = run(Whole, TALK)
    assert (outcome.name, outcome.format, outcome.messages, outcome.raw_tokens) == ("t", "openai", 6, 46)
    assert (outcome.requests, outcome.tokens_sent) == (3, 12 + 30 + 41)
    assert (outcome.tokens_after_first, outcome.tokens_kept) == (30 + 41, 12 + 30)
    assert outcome.prefix_kept == pytest.approx(42 / 71)
    assert outcome.cost == pytest.approx((0.1 * 42 + 1.25 * 41) / 1e6)
    assert outcome.cost_whole == pytest.approx(outcome.cost)
    assert (outcome.compactions, outcome.refused, outcome.invalid, outcome.over_budget) == (0, 0, 0, 0)
    assert outcome.cpu_seconds >= 0


def test_views_that_share_nothing_keep_no_prefix() -> None:
    outcome = run(Newest, TALK)
    assert (outcome.requests, outcome.tokens_sent, outcome.compactions) == (3, 12 + 8 + 5, 3)
    assert outcome.prefix_kept == 0
    assert outcome.cost == pytest.approx(1.25 * 25 / 1e6)
    assert outcome.cost_whole == pytest.approx((0.1 * 42 + 1.25 * 41) / 1e6)
    assert outcome.invalid == 2  # the first user message is missing from two of three
    assert outcome.problems[0] == "request 2: the first user message, history[0], is not in the view"


def test_views_over_the_budget_and_refused_requests_are_counted() -> None:
    assert run(Whole, TALK, budget=30).over_budget == 1
    outcome = run(Newest, TALK, budget=5)
    assert (outcome.requests, outcome.refused, outcome.tokens_sent, outcome.prefix_kept) == (3, 3, 0, None)
    assert (outcome.refusal, outcome.cost, outcome.cost_whole) == ("request 1: too small", 0, 0)


def test_only_a_few_problems_are_kept_as_text() -> None:
    outcome = run(Newest, [user(), *[said(), user()] * 20])
    assert (outcome.invalid, len(outcome.problems)) == (0, 0)
    outcome = run(Newest, [user("first"), *[said(), user()] * 20])
    assert (outcome.invalid, len(outcome.problems)) == (19, 5)


def test_a_budget_may_be_a_share_of_the_transcript() -> None:
    assert run(Whole, TALK, budget=0.5).budget == 23
    assert run(Whole, TALK, budget=1.0).budget == 46
    assert run(Whole, TALK, budget=1).budget == 1
    for wrong in (0, -5, 0.0, 1.5):
        with pytest.raises(ConfigurationError, match="a budget of"):
            run(Whole, TALK, budget=wrong)


def test_a_first_assistant_message_needs_no_request() -> None:
    transcript = Transcript("t", "openai", [said(), user(), said(), said()])
    assert requests_of(transcript) == 2
    done: list[bool] = []
    outcome = replay(transcript, budget=99, tokenizer=len, make_manager=Whole, progress=lambda: done.append(True))
    assert (outcome.requests, len(done)) == (2, 2)
    assert run(Whole, [user()]).prefix_kept is None


def test_a_text_is_counted_once() -> None:
    counted: list[str] = []

    def count(text: str) -> int:
        counted.append(text)
        return len(text)

    weigh = Weigher(count)
    assert weigh(user("abc")) == weigh(said("abc")) == 7
    assert weigh(calls("a", arguments='{"x": 1}')) == 4 + 8 + len("f") + 8
    assert len(counted) == len(set(counted)) == 3


def test_weights_do_not_depend_on_the_dialect() -> None:
    weigh = Weigher(len)
    assert weigh(anthropic_call("a")) == weigh(bedrock_call("a")) == weigh(amplifier_call("a")) == weigh(calls("a"))
    assert weigh(anthropic_result("a")) == weigh(bedrock_result("a")) == weigh(tool("a"))


def test_totals_are_sums_and_a_weighted_share() -> None:
    outcomes = [run(Whole, TALK), run(Newest, TALK)]
    sums = totals(outcomes)
    assert (sums["requests"], sums["tokens_sent"], sums["invalid"]) == (6, 83 + 25, 2)
    assert sums["prefix_kept"] == pytest.approx(42 / (71 + 13))
    shown = json.loads(json.dumps(as_json(outcomes)))
    assert [row["prefix_kept"] for row in shown["outcomes"]] == [pytest.approx(42 / 71), 0]
    assert shown["totals"]["tokens_sent"] == 108
    first: Any = as_tables(outcomes, 200)[0]
    assert first.row_count == 3
    assert totals([])["prefix_kept"] is None


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_no_figure_is_cut_in_a_narrow_terminal(width: int) -> None:
    outcome = run(Whole, [user("x" * 1_234_567), said(), user("y" * 7_654_321), said()], budget=99_999_999)
    buffer = StringIO()
    console = Console(file=buffer, width=width)
    for shown in as_tables([outcome, outcome, outcome], width):
        console.print(shown)
    assert "8,888,906" in buffer.getvalue()
    assert "99,999,999" in buffer.getvalue()
    assert "\u2026" not in buffer.getvalue()


# Real recordings: the oracle agrees with what providers accepted, and who sends everything keeps every fact


@needs_recordings
@pytest.mark.parametrize("folder", ["sweagent", "tau", "native"])
def test_real_conversations_are_valid_views_of_themselves(folder: str) -> None:
    for path in sorted((RECORDINGS / folder).glob("*.*")):
        for transcript in read(path):
            outcome = replay(transcript, budget=10_000_000, tokenizer=len, make_manager=Whole)
            assert outcome.problems == ()
            assert outcome.cost == pytest.approx(outcome.cost_whole)


@needs_recordings
@pytest.mark.parametrize(
    "name", usually(["native/claude-code-short.jsonl", "native/tau-bench-airline.json", "entire/norm.jsonl"], 2)
)
def test_sending_everything_keeps_every_real_fact(name: str) -> None:
    """Sending everything keeps every fact of real conversations."""
    found = read(RECORDINGS / name)[-6:]
    whole = totals([replay(one, budget=0.25, tokenizer=len, make_manager=Whole) for one in found])
    assert whole["facts"] > whole["far_facts"] > 0
    assert whole["reachable"] == whole["far_reachable"] == 1.0
    newest = totals([replay(one, budget=0.25, tokenizer=len, make_manager=Newest) for one in found])
    assert (newest["facts"], newest["far_facts"]) == (whole["facts"], whole["far_facts"])
    assert newest["far_reachable"] < newest["reachable"] < 1.0
