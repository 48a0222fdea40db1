"""The oracle over items of the Responses API: sound views pass, and each kind of problem is found."""

from typing import Any

import pytest

from backscroll.evaluation.validity import problems

Message = dict[str, Any]
GO: Message = {"role": "user", "content": "go"}
NEXT: Message = {"role": "user", "content": "next"}


def thought(name: str) -> Message:
    return {"type": "reasoning", "id": f"rs_{name}", "summary": [], "encrypted_content": f"sealed {name}"}


def call(name: str) -> Message:
    return {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "run", "arguments": "{}"}


def output(name: str, text: str = "found") -> Message:
    return {"type": "function_call_output", "call_id": name, "output": text}


def reply(text: str) -> Message:
    said = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{text}", "role": "assistant", "status": "completed", "content": said}


def made(*items: Message) -> Message:
    return {"role": "assistant", "content": list(items)}


def answered(name: str) -> Message:
    return {"role": "tool", "content": [output(name)]}


HISTORY = [
    GO,
    made(thought("1"), reply("one"), call("a"), call("b")),
    answered("b"),
    answered("a"),
    made(thought("2"), call("c")),
    answered("c"),
    made(thought("3"), reply("three")),
    NEXT,
]
VIEW = [
    GO, thought("1"), reply("one"), call("a"), call("b"), output("b"), output("a"), thought("2"), call("c"),
    output("c"), thought("3"), reply("three"), NEXT,
]  # fmt: skip  # one thought
DIGEST: Message = {"role": "assistant", "content": "<summary>[ref:1-3]</summary>"}
LINE: Message = {"role": "user", "content": "<summary>[ref:1-3] is left out here.</summary>"}


def without(*items: Message) -> list[Message]:
    return [item for item in VIEW if item not in items]


def test_sound_view_of_items_passes():
    assert problems(VIEW, HISTORY) == []
    assert problems(HISTORY, HISTORY) == []
    assert problems([GO, DIGEST, LINE, *VIEW[7:]], HISTORY) == []


OPEN = {2: "ab", 3: "a", 5: "c"}
"""The calls that are open behind so many messages."""


@pytest.mark.parametrize("end", range(2, len(HISTORY)))
def test_history_is_its_own_sound_view_at_any_length(end):
    placeholders = [output(name, "[no result recorded]") for name in OPEN.get(end, "")]
    assert problems([*HISTORY[:end], *placeholders], HISTORY[:end]) == []
    assert len(problems(HISTORY[:end], HISTORY[:end])) == len(placeholders)


APPROVAL: Message = {"type": "mcp_approval_request", "id": "ap", "server_label": "s", "name": "run", "arguments": "{}"}


def test_approval_that_the_user_owes_may_stay_open():
    history = [GO, made(reply("I ask."), APPROVAL)]
    assert problems([GO, reply("I ask."), APPROVAL], history) == []
    later = [*history, NEXT]
    assert any("call 'ap' has no result" in each for each in problems([GO, reply("I ask."), APPROVAL, NEXT], later))


def test_reasoning_taken_out_with_the_ids_that_demand_it_passes():
    """As a plan does where an edit would make the reasoning invalid."""
    free = {key: value for key, value in call("c").items() if key != "id"}
    view = [free if item == call("c") else item for item in without(thought("2"))]
    assert problems(view, HISTORY) == []


def test_messages_without_reasoning_are_those_of_the_history():
    """An output message becomes a plain one then. It and the call behind it are one response, and no two in a row."""

    def plain(text: str) -> Message:
        return {"type": "message", "role": "assistant", "content": text}

    free = [{key: value for key, value in call(name).items() if key != "id"} for name in "abc"]
    view = [GO, plain("one"), *free[:2], output("b"), output("a"), free[2], output("c"), plain("three"), NEXT]
    assert problems(view, HISTORY) == []
    parted = [GO, plain("one"), plain("three"), NEXT]
    assert any("two messages of role assistant in a row" in each for each in problems(parted, HISTORY))


def test_responses_in_a_row_pass_where_the_history_has_them():
    """The Responses API takes a message after a message."""
    history = [GO, made(thought("1"), reply("one")), made(thought("2"), reply("two")), NEXT]
    view = [GO, *history[1]["content"], *history[2]["content"], NEXT]
    assert problems(view, history) == []
    bare = [{"type": "message", "role": "assistant", "content": text} for text in ("one", "two")]
    assert problems([GO, *bare, NEXT], history) == []


BROKEN = {
    "a call is gone": (without(call("a")), "result for call 'a' without that call"),
    "an output is gone": (without(output("a")), "call 'a' has no result"),
    "an output comes before its call": (
        [GO, thought("1"), reply("one"), output("a"), *VIEW[3:6], *VIEW[7:]],
        "result for call 'a' without that call",
    ),
    "a user speaks inside a round": ([*VIEW[:5], NEXT, *VIEW[5:-1]], "has no result before view"),
    "reasoning is gone": (without(thought("2")), "'fc_c' without its reasoning"),
    "reasoning of another": (
        [thought("3") if item == thought("2") else item for item in VIEW],
        "'fc_c' without its reasoning",
    ),
    "what followed reasoning is gone": (without(reply("one")), "reasoning without the item that followed it"),
    "reasoning at the end": ([*without(NEXT), NEXT, thought("1")], "reasoning without the item that followed it"),
    "reasoning is changed": (
        [{**item, "encrypted_content": "x"} if item == thought("1") else item for item in VIEW],
        "is in no message of the history",
    ),
    "arguments are cut": (
        [{**item, "arguments": "{"} if item == call("c") else item for item in VIEW],
        "are not JSON",
    ),
    "the order is changed": ([GO, *VIEW[7:12], *VIEW[1:7], NEXT], "out of order"),
    "the first user message is gone": (VIEW[1:], "the first user message"),
    "two responses that others parted": (
        [GO, reply("one"), thought("3"), reply("three"), NEXT],
        "two messages of role assistant in a row",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_view_of_items_is_found(name):
    view, words = BROKEN[name]
    assert any(words in problem for problem in problems(view, HISTORY)), problems(view, HISTORY)


@pytest.mark.parametrize(
    "item",
    [
        {"type": "compaction", "encrypted_content": "sealed"},
        {"type": "additional_tools", "role": "developer", "tools": []},
        {"type": "configuration_update", "reasoning": {"effort": "low"}},
        {"type": "item_reference", "id": "msg_9"},
    ],
    ids=lambda item: item["type"],
)
def test_item_that_holds_for_all_that_follows_must_be_there(item):
    history = [GO, made(item), *HISTORY[1:]]
    assert problems([GO, item, *VIEW[1:]], history) == []
    assert any("must hold is missing" in problem for problem in problems(VIEW, history))
