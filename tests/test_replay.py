"""The replay and its oracle: each kind of problem is found, sound views pass, and the sums are right."""

import json
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from backscroll.errors import BudgetError, ConfigurationError
from backscroll.replay.readers import Transcript, read
from backscroll.replay.run import EventHandler, Manager, Outcome, Weigher, replay, requests_of
from backscroll.replay.table import as_json, as_table, fitting, totals
from backscroll.replay.validity import problems

Message = dict[str, Any]


def system(text: str = "S") -> Message:
    return {"role": "system", "content": text}


def user(text: str = "U") -> Message:
    return {"role": "user", "content": text}


def said(text: str = "A") -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str, arguments: str = "{}") -> Message:
    made = [{"id": known, "type": "function", "function": {"name": "f", "arguments": arguments}} for known in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(known: str, text: str = "R") -> Message:
    return {"role": "tool", "tool_call_id": known, "content": text}


def anthropic_call(known: str) -> Message:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": known, "name": "f", "input": {}}]}


def anthropic_result(*ids: str) -> Message:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": known, "content": "R"} for known in ids]}


def bedrock_call(known: str) -> Message:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": known, "name": "f", "input": {}}}]}


def bedrock_result(known: str) -> Message:
    return {"role": "user", "content": [{"toolResult": {"toolUseId": known, "content": [{"text": "R"}]}}]}


def amplifier_call(known: str) -> Message:
    block = {"type": "tool_call", "id": known, "name": "f", "input": {}}
    return {"role": "assistant", "content": [block], "tool_calls": [{"id": known, "tool": "f", "arguments": {}}]}


DIALECTS: dict[str, tuple[Callable[[str], Message], Callable[[str], Message]]] = {
    "openai": (calls, tool),
    "amplifier": (amplifier_call, tool),
    "anthropic": (anthropic_call, anthropic_result),
    "bedrock": (bedrock_call, bedrock_result),
}
in_all_dialects = pytest.mark.parametrize(("call", "result"), DIALECTS.values(), ids=DIALECTS)
Call = Callable[[str], Message]
Result = Callable[[str], Message]


def one(found: list[str]) -> str:
    assert len(found) == 1, found
    return found[0]


# Sound views


@in_all_dialects
def test_a_sound_history_is_its_own_sound_view(call: Call, result: Result) -> None:
    history = [system(), user("one"), call("a"), result("a"), call("b"), result("b"), said(), user("two"), said()]
    for end in range(len(history) + 1):
        assert problems(history[:end], history[:end]) == []


@in_all_dialects
def test_a_compacted_view_passes(call: Call, result: Result) -> None:
    history = [system(), user("one"), call("a"), result("a"), said("x"), user("two"), call("b"), result("b")]
    digest, line = said("<summary>[ref:2-4]</summary>"), user("<summary>[ref:2-5] is left out here.</summary>")
    assert problems([*history[:2], digest, *history[5:]], history) == []
    one_turn = [user("one"), call("a"), result("a"), call("b"), result("b")]
    assert problems([one_turn[0], digest, line, *one_turn[3:]], one_turn) == []


def test_clipped_texts_are_known_again() -> None:
    long = "The first words of a long request. " + "x" * 500 + " And its last words."
    cut = long[:40] + "\n[... 480 characters left out, recall [ref:0] ...]\n" + long[-20:]
    history = [user(long), user("second"), said(long)]
    shown = [user(cut), user("second"), said(cut.replace("[ref:0]", "[ref:2]"))]
    assert problems(shown, history) == []
    unmarked = problems([user(long[:40]), user("second")], history)
    assert "the first user message, history[0], is not in the view" in unmarked


@in_all_dialects
def test_pending_calls_may_stay_open_at_the_end_only(call: Call, result: Result) -> None:
    history = [user(), call("a"), result("a"), call("b")]
    assert problems(history, history) == []
    assert problems(history, [*history, said("later")]) != []
    assert "call 'a' has no result" in one(problems([user(), call("a")], history))


@in_all_dialects
def test_late_results_and_what_stood_inside_a_pair_move(call: Call, result: Result) -> None:
    history = [user("one"), call("a"), user("hook"), result("a"), said("x"), user("two")]
    moved = [user("one"), call("a"), result("a"), user("hook"), said("x"), user("two")]
    assert problems(moved, history) == []
    late = [user("one"), call("a"), said("x"), result("a"), user("two")]
    assert problems([user("one"), call("a"), result("a"), said("x"), user("two")], late) == []


@in_all_dialects
def test_a_supplied_answer_for_a_call_that_never_got_one_passes(call: Call, result: Result) -> None:
    history = [user("one"), call("a"), user("two"), said("x")]
    assert problems([user("one"), call("a"), result("a"), user("two"), said("x")], history) == []
    assert "call 'a' has no result before view[2]" in one(problems(history, history))


def test_ids_that_are_used_again_belong_to_the_nearest_call() -> None:
    history = [user(), calls("same"), tool("same", "1"), calls("same"), tool("same", "2"), said()]
    assert problems(history, history) == []
    assert problems([user(), said("<summary></summary>"), user("<summary/>"), *history[3:]], history) == []
    assert "without that call" in one(problems([*history[:3], tool("same", "2"), said()], history))


def test_joined_calls_of_block_dialects_are_one_turn() -> None:
    history = [user(), anthropic_call("a"), anthropic_call("b"), anthropic_result("a", "b")]
    assert problems(history, history) == []
    apart = [user(), calls("a"), calls("b"), tool("a"), tool("b")]
    assert problems(apart, apart) != []


def test_missing_content_and_empty_text_say_the_same() -> None:
    history = [user(), {"role": "assistant", "content": None}, user("two")]
    assert problems([user(), said(""), user("two")], history) == []


# Each problem is found


@in_all_dialects
def test_orphan_results_are_found(call: Call, result: Result) -> None:
    history = [user(), call("a"), result("a"), said()]
    assert any(
        "view[1]: result for call 'a' without that call" in found
        for found in problems([user(), result("a"), said()], history)
    )


@in_all_dialects
def test_results_before_their_call_are_found(call: Call, result: Result) -> None:
    history = [user(), call("a"), result("a"), said()]
    found = problems([user(), result("a"), call("a"), said()], history)
    assert any("without that call before it" in problem for problem in found)
    assert any("call 'a' has no result" in problem for problem in found)


def test_half_answered_parallel_calls_are_found() -> None:
    history = [user(), calls("a", "b"), tool("b"), tool("a"), said()]
    assert problems(history, history) == []
    assert "call 'a' has no result before view[3]" in one(
        problems([user(), calls("a", "b"), tool("b"), said()], history)
    )


def test_messages_between_a_call_and_its_result_are_found() -> None:
    history = [user(), calls("a"), user("hook"), tool("a"), said()]
    assert len(problems(history, history)) == 2  # the call has no result, the result has no call


def test_calls_that_nobody_made_are_found() -> None:
    assert "call 'z' was never made" in "\n".join(problems([user(), calls("z")], [user(), said()]))


def test_broken_arguments_are_found_unless_they_were_broken() -> None:
    history = [user(), calls("a", arguments='{"path": "x"}'), tool("a")]
    shown = [user(), calls("a", arguments='{"path": "'), tool("a")]
    assert "arguments of call 'a' are not JSON any more" in one(problems(shown, history))
    assert problems(shown, shown) == []


def test_arguments_that_change_their_type_are_found() -> None:
    shown = anthropic_call("a")
    shown["content"][0]["input"] = "{}"
    history = [user(), anthropic_call("a"), anthropic_result("a")]
    assert "changed their type to str" in one(problems([user(), shown, anthropic_result("a")], history))


def test_a_changed_order_is_found() -> None:
    history = [user("one"), said("x"), user("two"), said("y"), user("three")]
    shown = [user("one"), said("y"), user("two"), said("x"), user("three")]
    assert any("out of order" in found for found in problems(shown, history))


@in_all_dialects
def test_a_changed_order_of_rounds_is_found(call: Call, result: Result) -> None:
    history = [user(), call("a"), result("a"), call("b"), result("b")]
    shown = [user(), call("b"), result("b"), call("a"), result("a")]
    assert "view[3]: out of order" in one(problems(shown, history))


def test_a_repeated_message_is_found() -> None:
    history = [user("one"), said("x"), user("two")]
    assert problems([user("one"), said("x"), user("one"), said("x"), user("two")], history) != []


@pytest.mark.parametrize(("gone", "which"), [(1, "first"), (5, "last")])
def test_missing_user_messages_are_found(gone: int, which: str) -> None:
    history = [system(), user("one"), said("x"), user("two"), said("y"), user("three")]
    shown = [message for at, message in enumerate(history) if at != gone]
    assert f"the {which} user message, history[{gone}], is not in the view" in problems(shown, history)


def test_injected_messages_and_results_are_nobodys_words() -> None:
    hook = {**user("reminder"), "metadata": {"source": "hook"}}
    history = [hook, user("one"), anthropic_call("a"), anthropic_result("a"), hook]
    assert problems(history[1:4], history) == []


def test_a_dialogue_must_begin_with_the_user() -> None:
    history = [user("one"), said("x"), user("two")]
    shown = [said("<summary></summary>"), user("one"), said("x"), user("two")]
    assert any("begins with no user message" in found for found in problems(shown, history))


@pytest.mark.parametrize("shown", [[user()], [system("other"), user()], [user(), system()]])
def test_missing_changed_or_moved_system_messages_are_found(shown: list[Message]) -> None:
    assert any("leading system message history[0]" in found for found in problems(shown, [system(), user()]))


def test_roles_that_repeat_where_they_did_not_are_found() -> None:
    history = [user("one"), said("x"), user("two"), said("y")]
    found = one(problems([user("one"), user("two"), said("y")], history))
    assert found == "view[0] and view[1]: two messages of role user in a row, the history had none there"
    digest = said("<summary></summary>")
    assert "role assistant in a row" in one(problems([user("one"), digest, said("x"), user("two")], history[:3]))


def test_roles_that_did_repeat_may() -> None:
    history = [user("one"), user("two"), user("three"), said("x"), said("y"), user("four")]
    assert problems(history, history) == []
    assert problems([user("one"), user("three"), said("x"), said("y"), user("four")], history) == []


def test_empty_views_are_found() -> None:
    assert problems([], []) == []
    assert problems([], [user()]) == ["the view is empty"]
    assert problems([user()], []) == ["the view holds messages although the history is empty"]


# Sums: one token a character, so that every figure can be worked out by hand


class Whole:
    """A manager that sends everything."""

    def __init__(self, budget: int, on_event: EventHandler) -> None:
        self.budget, self.on_event = budget, on_event
        self.messages: list[Message] = []

    def add_message(self, message: Message) -> None:
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
    assert as_table(outcomes).row_count == 3
    assert totals([])["prefix_kept"] is None


@pytest.mark.parametrize("width", [40, 80, 120, 160])
def test_no_figure_is_cut_in_a_narrow_terminal(width: int) -> None:
    outcome = run(Whole, [user("x" * 1_234_567), said(), user("y" * 7_654_321), said()], budget=99_999_999)
    buffer = StringIO()
    console = Console(file=buffer, width=width)
    for shown in fitting([outcome, outcome, outcome], width):
        console.print(shown)
    assert "8,888,906" in buffer.getvalue() and "99,999,999" in buffer.getvalue()
    assert "\u2026" not in buffer.getvalue()


# Real recordings: the oracle agrees with what providers accepted

RECORDINGS = Path(os.environ.get("BACKSCROLL_TRANSCRIPTS") or Path(__file__).parents[2] / "shared" / "transcripts")


@pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason=f"no recordings at {RECORDINGS}; point BACKSCROLL_TRANSCRIPTS at a folder of them"
)
@pytest.mark.parametrize("folder", ["sweagent", "tau", "native"])
def test_real_conversations_are_valid_views_of_themselves(folder: str) -> None:
    for path in sorted((RECORDINGS / folder).glob("*.*")):
        for transcript in read(path):
            outcome = replay(transcript, budget=10_000_000, tokenizer=len, make_manager=Whole)
            assert outcome.problems == ()
            assert outcome.cost == pytest.approx(outcome.cost_whole)
