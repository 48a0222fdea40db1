"""The oracle of the replay: each kind of problem is found, and sound views pass, in every dialect."""

from collections.abc import Callable
from typing import Any

import pytest

from backscroll.evaluation.strangers import strangers
from backscroll.evaluation.validity import Judge, problems
from tests.evaluation.messages import (
    Message,
    amplifier_call,
    anthropic_call,
    anthropic_result,
    bedrock_call,
    bedrock_result,
    calls,
    gemini_call,
    gemini_result,
    said,
    system,
    tool,
    user,
)

DIALECTS: dict[str, tuple[Callable[[str], Message], Callable[[str], Message]]] = {
    "openai": (calls, tool),
    "amplifier": (amplifier_call, tool),
    "anthropic": (anthropic_call, anthropic_result),
    "bedrock": (bedrock_call, bedrock_result),
    "gemini": (gemini_call, gemini_result),
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
        shown = history[:end]
        open_call = [result({3: "a", 5: "b"}[end])] if end in (3, 5) else []
        assert problems([*shown, *open_call], shown) == []


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
def test_call_open_at_the_end_needs_a_placeholder(call: Call, result: Result) -> None:
    history = [user(), call("a"), result("a"), call("b")]
    assert "call 'b' has no result at the end" in one(problems(history, history))
    assert problems([*history, result("b")], history) == []
    assert "call 'a' has no result" in one(problems([user(), call("a")], history[:2]))


@in_all_dialects
def test_result_moves_up_where_only_the_user_spoke(call: Call, result: Result) -> None:
    history = [user("one"), call("a"), user("hook"), result("a"), said("x"), user("two")]
    moved = [user("one"), call("a"), result("a"), user("hook"), said("x"), user("two")]
    assert problems(moved, history) == []
    assert problems(moved[:4], history[:4]) == []
    same_turn = [user("one"), call("a"), said("x"), result("a"), user("two")]
    assert problems([user("one"), call("a"), result("a"), said("x"), user("two")], same_turn) == []


@in_all_dialects
def test_a_supplied_answer_for_a_call_that_never_got_one_passes(call: Call, result: Result) -> None:
    history = [user("one"), call("a"), user("two"), said("x")]
    assert problems([user("one"), call("a"), result("a"), user("two"), said("x")], history) == []
    assert "call 'a' has no result before view[2]" in one(problems(history, history))


def test_first_message_is_named_by_the_entry_that_covers_it() -> None:
    history = [user("# AGENTS.md instructions <b>Go on with it.</b>"), user("Read on."), said(), user("two")]

    def found(summary: str) -> list[str]:
        return problems([user(f"<summary>\nEarlier:\n{summary}\n</summary>"), user("two")], history)

    assert found("[ref:0-2] user: Read on.\n  with it: instructions of the project") == []
    assert found("[ref:0] user: Go on with it.") == []
    assert found("[ref:0-2] user: Read on.\n  user: Go on with it.") == []
    missing = "the first user message, history[0], is not in the view"
    assert one(found("[ref:0-2] user: Read on.")) == missing
    assert one(found("[ref:1-2] user: Read on.\n  with it: instructions of the project")) == missing
    assert one(found("[ref:0-1] user: Read on.\n[ref:2] said\n  with it: a reminder")) == missing


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
    history = [user(), calls("a"), tool("a"), user("two")]
    assert problems([user(), {**calls("a"), "content": ""}, tool("a"), user("two")], history) == []


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


def test_calls_missing_from_the_history_are_found() -> None:
    assert "call 'z' was never made" in "\n".join(problems([user(), calls("z")], [user(), said()]))


def test_broken_arguments_are_found() -> None:
    history = [user(), calls("a", arguments='{"path": "x"}'), tool("a")]
    shown = [user(), calls("a", arguments='{"path": "'), tool("a")]
    assert "arguments of call 'a' are not JSON" in one(problems(shown, history))


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
    assert any("view[3]: out of order" in found for found in problems(shown, history))


def test_a_repeated_message_is_found() -> None:
    history = [user("one"), said("x"), user("two")]
    assert problems([user("one"), said("x"), user("one"), said("x"), user("two")], history) != []


@pytest.mark.parametrize(("gone", "which"), [(1, "first"), (5, "last")])
def test_missing_user_messages_are_found(gone: int, which: str) -> None:
    history = [system(), user("one"), said("x"), user("two"), said("y"), user("three")]
    shown = [message for at, message in enumerate(history) if at != gone]
    assert f"the {which} user message, history[{gone}], is not in the view" in problems(shown, history)


def test_observations_are_cleared_like_results_of_tools() -> None:
    observed = {**user("a long output of a tool"), "metadata": {"kind": "observation"}}
    view = [user("one"), said("ls"), user("[tool result of 9 tokens left out, recall [ref:2.0]]")]
    assert problems(view, [*view[:2], observed]) == []
    assert any("last user message" in line for line in problems(view, [*view[:2], user("a long output of a tool")]))


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


def test_a_judge_of_a_whole_session_finds_what_a_new_one_finds() -> None:
    history = [
        system(),
        user(),
        calls("a", "b"),
        tool("a"),
        tool("b"),
        anthropic_call("c"),
        anthropic_result("c"),
        said(),
    ]
    views = [history, history[1:], history[:2], [*history[:3], history[4]], [history[0], *history[2:]], history[::-1]]
    judge = Judge()
    for length in range(1, len(history) + 1):  # it grows, and begins anew
        past = history[:length]
        for view in (past, *views):
            assert judge.problems(view, past) == problems(view, past)
    assert judge.problems(history, [user("other")]) == problems(history, [user("other")])


# What is shown of nobody


def test_strangers_are_texts_that_no_message_holds():
    """A replaced result that is still shown is found; references, synthetic text and system messages are not."""
    history: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "run", "input": {"path": "a.py"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "new"}]},
    ]
    marked: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "<summary>2 messages</summary>"},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c", "content": "[out, recall [ref:2.0]]"}],
        },
    ]
    assert strangers([*marked, *history], history) == []
    stale = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "old"}]}
    (found,) = strangers([*history[:2], stale], history)
    assert found == "view[2] shows 'old', which is in no message of the history"
    (found,) = strangers([{"role": "user", "content": "stop"}], history)
    assert "'stop'" in found
