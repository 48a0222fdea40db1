"""Facts kept: what a fact is, where it stands, and the replay's two figures about it, worked out by hand."""

import json
from dataclasses import replace as changed
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from backscroll.cli.replay_table import UNITS, as_json, as_tables, compared, totals
from backscroll.errors import BudgetError
from backscroll.evaluation.facts import Finder, stands, used
from backscroll.evaluation.kept import FactIndex
from backscroll.evaluation.run import EventHandler, MakeManager, Outcome, replay
from backscroll.evaluation.transcript import Transcript
from tests.evaluation.messages import calls, said, system, tool, user

Message = dict[str, Any]


# What a fact is


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("edit src/main.py:12, ./run.sh or /etc/hosts.", {"src/main.py", "./run.sh", "/etc/hosts"}),
        ("in config.yaml, of a/b/c", {"config.yaml", "a/b/c"}),
        ("and/or, I/O, 1/2, e.g. os.path or self.x", set()),
        (
            "see https://example.com/a?b=1, or ask mia.li@example.com.",
            {"https://example.com/a?b=1", "mia.li@example.com"},
        ),
        ("max_tokens, camelCase, HTTPServer; not plain, UPPER or __init__", {"max_tokens", "camelCase", "HTTPServer"}),
        ("4096 of 12,345.67 at 0.75 in 3.11.2 on 2024-05-06", {"4096", "12,345.67", "0.75", "3.11.2", "2024-05-06"}),
        ("17 of 999", set()),
        ("a1b2c3d4 and 0xFF, deadbeef is a word", {"a1b2c3d4", "0xFF"}),
        ("550e8400-e29b-41d4-a716-446655440000", {"550e8400-e29b-41d4-a716-446655440000"}),
        ("orders ORD-4711 and W2378156 of AB12", {"ORD-4711", "W2378156"}),
        ('it said "disk is full" and `no space left`', {"disk is full", "no space left"}),
        ('of "a", then "b", or "done"', set()),
        ("src/main.py src/main.py", {"src/main.py"}),
    ],
)
def test_a_fact_is_something_specific(text: str, facts: set[str]) -> None:
    assert used(said(text)) == facts


def test_a_call_uses_the_values_of_its_arguments_and_their_lines() -> None:
    arguments = {"file_path": "src/main.py", "limit": 2000, "old": "if x:\n    total = count + offset\n"}
    assert used(calls("c", arguments=json.dumps(arguments))) == {"src/main.py", "2000", "total = count + offset"}


def test_arguments_may_be_nested_deeply_or_be_free_text() -> None:
    assert used(calls("c", arguments="[" * 900 + '"one_fact"' + "]" * 900)) == {"one_fact"}
    assert used(calls("c", arguments="[" * 90_000 + "one_fact")) == {"one_fact"}


def test_reasoning_is_no_use_of_a_fact() -> None:
    blocks = [{"type": "thinking", "thinking": "max_tokens?", "signature": "s"}, {"type": "text", "text": "min_tokens"}]
    assert used({"role": "assistant", "content": blocks}) == {"min_tokens"}


@pytest.mark.parametrize(
    "text", ["a" * 50_000, "a-" * 50_000, "-" * 50_000, "a/" * 50_000, "1." * 50_000, "A1-" * 9_000]
)
def test_one_endless_word_is_no_fact(text: str) -> None:
    assert used(said(text)) == set()


# Where it stands


@pytest.mark.parametrize(
    ("fact", "text", "expected"),
    [
        ("foo_bar", "foo_bar", True),
        ("foo_bar", "src/foo_bar.py", True),
        ("foo_bar", "foo_bars, my_foo_bar", False),
        ("foo_bar", "foo_bars and foo_bar", True),
        ("1234", "costs 1234.", True),
        ("1234", "1234, or so", True),
        ("1234", "1234.5, 0.1234, 1,1234, 12345", False),
        ("src/a.py", "/home/me/src/a.py:3", True),
        ("src/a.py", "src/a.pyc", False),
        ("} else if (x) {", "} else if (x) {return", True),
    ],
)
def test_a_fact_stands_between_the_boundaries_of_words(fact: str, text: str, expected: bool) -> None:
    assert stands(fact, text) is expected
    assert Finder([fact])(user(text)) == ({fact} if expected else set())


def test_facts_are_found_behind_the_escapes_of_json() -> None:
    line = 'print("two words")'
    find = Finder(["foo_bar", line])
    assert find(calls("c", arguments=json.dumps({"text": f"\nfoo_bar\n{line}"}))) == {"foo_bar", line}
    answered = json.dumps({"output": f"\nfoo_bar\n{line}"})
    assert find(tool("c", answered)) == find(tool("c", answered[:-2])) == {"foo_bar", line}


def openai(arguments: dict[str, Any], answer: str) -> list[Message]:
    return [calls("c", arguments=json.dumps(arguments)), tool("c", answer)]


def anthropic(arguments: dict[str, Any], answer: str) -> list[Message]:
    call = {"type": "tool_use", "id": "c", "name": "f", "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": answer}]}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def bedrock(arguments: dict[str, Any], answer: str) -> list[Message]:
    call = {"toolUse": {"toolUseId": "c", "name": "f", "input": arguments}}
    result = {"toolResult": {"toolUseId": "c", "content": [{"text": answer}]}}
    return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]


def amplifier(arguments: dict[str, Any], answer: str) -> list[Message]:
    block = {"type": "tool_call", "id": "c", "name": "f", "input": arguments}
    call = {"role": "assistant", "content": [block], "tool_calls": [{"id": "c", "tool": "f", "arguments": arguments}]}
    return [call, tool("c", answer)]


@pytest.mark.parametrize("dialect", [openai, anthropic, bedrock, amplifier])
def test_facts_are_the_same_in_every_dialect(dialect: Any) -> None:
    read = dialect({"path": "src/main.py"}, "12\ttotal = count + offset\n13\treturn grand_total")
    edit = dialect({"path": "src/main.py", "old": "total = count + offset", "new": "fresh_name"}, "done")
    index = FactIndex([user("Look into src/main.py."), *read, *edit])
    assert [index.used_at(at) for at in (1, 3)] == [{"src/main.py": 0}, {"src/main.py": 1, "total = count + offset": 2}]
    assert index.held(read[1]) == {"total = count + offset"}


def test_the_last_mention_before_a_message_counts() -> None:
    index = FactIndex([user("one_fact"), said("x"), user("one_fact"), said("one_fact"), user("y"), said("one_fact")])
    assert [index.used_at(at) for at in (1, 3, 5)] == [{}, {"one_fact": 2}, {"one_fact": 3}]


def test_the_system_prompt_and_names_of_tools_are_no_facts() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    asking = {"role": "assistant", "content": "read_file of house_rule, other_fact", "tool_calls": [call]}
    history = [system("house_rule"), user("house_rule, other_fact, read_file"), asking]
    assert FactIndex(history).used_at(2) == {"other_fact": 1}
    # a later system message may leave a view, so what it says is remembered or not
    later = [user("hello"), system("house_rule"), said("house_rule")]
    assert FactIndex(later).used_at(2) == {"house_rule": 1}


# The figures: a token a character and four for each message


class Ends:
    """A manager that sends the first and the newest message alone."""

    def __init__(self, budget: int, on_event: EventHandler) -> None:
        self.messages: list[Message] = []

    def add_message(self, message: Message) -> None:
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
    return outcome.facts, outcome.facts_kept, outcome.far_facts, outcome.far_facts_kept


def test_kept_facts_are_a_mean_over_the_requests_that_have_any() -> None:
    # request 3 keeps one of two, and that one is far: 35 tokens follow its last mention; request 4 keeps none of one
    assert figures(run(Ends, 30)) == (3, (1 / 2 + 0 / 1) / 2, 1, 1.0)
    assert figures(run(Whole, 30)) == (3, 1.0, 1, 1.0)


@pytest.mark.parametrize(("budget", "far"), [(34, 1), (35, 1), (36, 0), (51, 0)])
def test_a_fact_is_far_where_the_messages_after_it_fill_the_budget(budget: int, far: int) -> None:
    assert figures(run(Ends, budget)) == (3, 0.25, far, 1.0 if far else None)


def test_only_histories_over_the_budget_count() -> None:
    assert run(Ends, 51).facts == 3  # 52 tokens stand before request 3
    assert figures(run(Ends, 52)) == (1, 0.0, 0, None)
    assert figures(run(Ends, 1000)) == (0, None, 0, None)


def test_a_refused_request_kept_nothing() -> None:
    assert figures(run(Refusing, 30)) == (3, (0 + 1) / 2, 1, 0.0)


def test_totals_weigh_each_transcript_by_its_facts() -> None:
    short = [user("alpha_one" + "." * 40), said("alpha_one")]
    one, other = run(Ends, 30), run(Whole, 30, short, name="short")
    assert figures(other) == (1, 1.0, 0, None)
    sums = totals([one, other])
    assert (sums["facts"], sums["far_facts"]) == (4, 1)
    assert sums["facts_kept"] == pytest.approx((3 * 0.25 + 1 * 1.0) / 4)
    assert sums["far_facts_kept"] == 1.0
    assert totals([one])["facts_kept"] == one.facts_kept
    assert totals([])["facts_kept"] is None


# Several strategies


def outcome(name: str, strategy: str, far_kept: float | None, cost: float) -> Outcome:
    made = run(Ends, 30, name=name)
    return changed(made, strategy=strategy, far_facts=int(far_kept is not None), far_facts_kept=far_kept, cost=cost)


def test_strategies_are_sorted_by_far_facts_and_then_by_cost() -> None:
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
    assert (shown["totals"]["cost"], shown["totals"]["far_facts_kept"]) == (2.0, 0.75)
    assert {"strategy", "facts", "facts_kept", "far_facts", "far_facts_kept"} <= shown["outcomes"][0].keys()
    assert {"strategy", "facts", "facts_kept", "far_facts", "far_facts_kept"} <= UNITS.keys()


def test_an_outcome_says_what_made_its_views() -> None:
    transcript = Transcript("t", "openai", TALK)
    for strategies, name in ((None, "auto"), (["clip", "truncate"], "clip,truncate"), ([], "none")):
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
        "most far facts kept first, then most facts, then the cheapest",
    ]
    assert sum(line.split()[:6] == ["┃", "strategy", "┃", "auto", "┃", "truncate"] for line in lines) == 3
    assert sum(line.startswith("│ far facts kept %") for line in lines) == 3


def test_the_totals_of_one_transcript_are_told_by_the_comparison() -> None:
    text = "\n".join(printed(SEVERAL[:2], 160))
    assert "total of" not in text
    assert "most far facts kept first" in text
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
