"""Recall in the figures of a replay, worked out by hand, and its tables. What a fact is: test_recall_measure."""

import json
from dataclasses import replace as changed
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from backscroll.cli.replay_table import UNITS, as_json, as_tables, compared, totals
from backscroll.errors import BudgetError
from backscroll.evaluation.run import EventHandler, MakeManager, Outcome, replay
from backscroll.evaluation.transcript import Transcript
from tests.evaluation.messages import said, user

Message = dict[str, Any]


# The figures: a token a character and four for each message


class Ends:
    """A manager that sends the first and the newest message alone."""

    def __init__(self, budget: int, on_event: EventHandler) -> None:
        self.messages: list[Message] = []

    def append(self, message: Message) -> None:
        self.messages.append(message)

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        return [self.messages[0], *self.messages[1:][-1:]]


class Whole(Ends):
    """A manager that sends everything."""

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        return list(self.messages)


class Refusing(Ends):
    """A manager that refuses the request after five messages."""

    def get_messages_for_request(self, token_budget: int | None = None) -> list[Message]:
        if len(self.messages) == 5:
            raise BudgetError("too small")
        return list(self.messages)


TALK = [
    user("ask alpha_one"),  # 17 tokens
    said("ok"),  # 6
    user("see beta_two"),  # 16, so that 39 stand before the next message
    said("ok"),  # 6
    user("now"),  # 7, so that 52 stand before the next message
    said("alpha_one, beta_two and gamma_three"),  # gamma_three is new: nothing to remember
    user("go"),
    said("beta_two"),  # mentioned two messages ago
]


def run(make: MakeManager, budget: int, messages: list[Message] = TALK, name: str = "t") -> Outcome:
    return replay(Transcript(name, "openai", messages), budget=budget, tokenizer=len, make_manager=make)


def figures(outcome: Outcome) -> tuple[int, float | None, int, float | None]:
    assert (outcome.reachable, outcome.far_reachable) == (outcome.recall, outcome.far_recall)
    return outcome.facts, outcome.recall, outcome.far_facts, outcome.far_recall


def test_recall_is_a_mean_over_the_requests_that_need_facts() -> None:
    # request 3 keeps one of two, and that one is far: 52 tokens from its last mention on; request 4 keeps none of one,
    # which is far as well: 45 tokens from its last mention on
    assert figures(run(Ends, 30)) == (3, (1 / 2 + 0 / 1) / 2, 2, (1 / 1 + 0 / 1) / 2)
    assert figures(run(Whole, 30)) == (3, 1.0, 2, 1.0)


@pytest.mark.parametrize(("budget", "far"), [(44, 2), (45, 1), (51, 1), (52, 0)])
def test_a_fact_is_far_where_its_message_and_the_rest_do_not_fit(budget: int, far: int) -> None:
    found = run(Ends, budget)
    assert (found.far_facts, found.far_recall) == (far, {2: 0.5, 1: 1.0, 0: None}[far])


def test_only_histories_over_the_budget_count() -> None:
    assert run(Ends, 51).facts == 3  # 52 tokens stand before request 3
    assert figures(run(Ends, 52)) == (1, 0.0, 0, None)
    assert figures(run(Ends, 1000)) == (0, None, 0, None)


def test_a_refused_request_kept_nothing() -> None:
    assert figures(run(Refusing, 30)) == (3, (0 + 1) / 2, 2, (0 + 1) / 2)


def test_totals_of_recall_are_means_over_the_transcripts() -> None:
    short = [user("alpha_one" + "." * 40), said("alpha_one")]
    one, other = run(Ends, 30), run(Whole, 30, short, name="short")
    assert figures(other) == (1, 1.0, 1, 1.0)
    sums = totals([one, other])
    assert (sums["facts"], sums["far_facts"]) == (4, 3)
    assert sums["recall"] == pytest.approx((0.25 + 1.0) / 2)
    assert sums["far_recall"] == pytest.approx((0.5 + 1.0) / 2)
    assert totals([one])["recall"] == one.recall
    assert totals([])["recall"] is None


# Several strategies


def outcome(name: str, strategy: str, far_kept: float | None, cost: float) -> Outcome:
    made = run(Ends, 30, name=name)
    return changed(made, strategy=strategy, far_facts=int(far_kept is not None), far_recall=far_kept, cost=cost)


def test_strategies_are_sorted_by_far_recall_and_then_by_cost() -> None:
    found = [
        outcome("a", "none kept", 0.0, 1.0),
        outcome("a", "no far facts", None, 0.5),
        outcome("a", "dear", 0.8001, 3.0),
        outcome("a", "cheap", 0.8, 2.0),
        outcome("a", "best", 0.9, 9.0),
    ]
    ranked = ["best", "cheap", "dear", "none kept", "no far facts"]
    assert [sums["strategy"] for sums in compared(found)] == ranked
    shown = json.loads(json.dumps(as_json(found)))
    assert [sums["strategy"] for sums in shown["totals"]] == ranked
    assert [row["strategy"] for row in shown["outcomes"]] == [one.strategy for one in found]


def test_one_strategy_has_its_totals_as_an_object() -> None:
    shown = as_json([outcome("a", "auto", 0.5, 1.0), outcome("b", "auto", 1.0, 1.0)])
    assert (shown["totals"]["cost"], shown["totals"]["far_recall"]) == (2.0, 0.75)
    assert {"strategy", "facts", "recall", "reachable", "far_facts", "far_recall", "far_reachable"} <= shown[
        "outcomes"
    ][0].keys()
    assert {"strategy", "facts", "recall", "reachable", "far_facts"} <= UNITS.keys()


def test_an_outcome_says_what_made_its_views() -> None:
    transcript = Transcript("t", "openai", TALK)
    for strategies, name in ((None, "auto"), (["excerpt", "truncate"], "excerpt,truncate"), ([], "none")):
        assert replay(transcript, budget=1000, strategies=strategies).strategy == name


def printed(outcomes: list[Outcome], width: int) -> list[str]:
    buffer = StringIO()
    console = Console(file=buffer, width=width)
    for shown in as_tables(outcomes, width):
        console.print(shown)
    return buffer.getvalue().splitlines()


SEVERAL = [
    outcome(name, strategy, 0.5, 1234.5) for name in ("in/a.json", "in/b.json") for strategy in ("auto", "truncate")
]


def test_a_wide_terminal_shows_a_row_a_transcript_and_strategy() -> None:
    rows = [row for row in printed(SEVERAL, 160) if row.startswith("│")]
    assert [row.split()[1:4:2] for row in rows[0:6:2]] == [["a.json", "auto"], ["b.json", "auto"], ["total", "2"]]
    assert [row.split()[2] for row in rows[1:6:2]] == ["truncate"] * 3
    assert [row.split()[1] for row in rows[6:]] == ["auto", "truncate"]
    assert len(rows) == 8


def test_names_are_shown_without_the_folder_that_all_share() -> None:
    for names, shown in (
        (["x/in/a.json", "x/in/deep/b.json"], ["a.json", "deep/b.json"]),
        (["/x/a.json#1", "/x/a.json#2"], ["a.json#1", "a.json#2"]),
        (["x/a.json", "standard input"], ["x/a.json", "standard input"]),
        (["x/a.json"], ["x/a.json"]),
        (["x/a.json", "x/a.json"], ["x/a.json", "x/a.json"]),
    ):
        rows = [row.split("│")[1].strip() for row in printed([outcome(name, "auto", 0.5, 1.0) for name in names], 200)
                if row.startswith("│")]  # fmt: skip
        assert rows == [*shown, f"total of {len(names)}"]


def test_a_narrow_terminal_shows_a_table_a_transcript() -> None:
    lines = printed(SEVERAL, 80)
    assert [line.strip() for line in lines if not set(line) & set("┏┃┡│└")][:4] == [
        "a.json",
        "b.json",
        "total of 2",
        "most far recall, then most recall, then the cheapest",
    ]
    assert sum(line.split()[:6] == ["┃", "strategy", "┃", "auto", "┃", "truncate"] for line in lines) == 3
    assert sum(line.startswith("│ far recall %") for line in lines) == 3


def test_comparison_gives_the_totals_of_one_transcript() -> None:
    text = "\n".join(printed(SEVERAL[:2], 160))
    assert "total of" not in text
    assert "most far recall, then" in text
    assert "total of 1" in "\n".join(printed(SEVERAL[:1], 160))


@pytest.mark.parametrize("width", [40, 80, 120, 160])
@pytest.mark.parametrize("strategies", [1, 2, 7])
def test_no_figure_of_a_comparison_is_cut(width: int, strategies: int) -> None:
    found = [
        changed(outcome("a.json", f"strategy-{number}", 0.5, 1234.5), raw_tokens=123_456_789)
        for number in range(strategies)
    ]
    text = "\n".join(printed(found, width))
    assert text.count("123,456,789") == strategies + (strategies == 1)
    assert text.count("1234.500") == 2 * strategies
    assert "\u2026" not in text
    assert all(len(line) <= width for line in text.splitlines())
