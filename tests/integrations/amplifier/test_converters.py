"""Views in Amplifier's shape, as its providers send them: sound ones are accepted, odd histories are refused."""

import pytest
from pydantic import ValidationError

from backscroll import ContextManager
from tests.integrations.amplifier.converters import Message, calls_of, refusals, to_anthropic


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def said(text: str) -> Message:
    return {"role": "assistant", "content": [{"type": "text", "text": text}] if text else ""}


def call(*ids: str) -> Message:
    blocks = [{"type": "tool_call", "id": known, "name": "run", "input": {"path": "a"}} for known in ids]
    listed = [{"id": known, "tool": "run", "arguments": {"path": "a"}} for known in ids]
    return {"role": "assistant", "content": [{"type": "text", "text": "I look."}, *blocks], "tool_calls": listed}


def tool(known: str, text: str = "42") -> Message:
    return {"role": "tool", "tool_call_id": known, "content": text}


SOUND = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "# Notes"},
    user("Fix it."),
    call("a", "b"),
    tool("a"),
    tool("b"),
    said("Done."),
    user("And now?"),
]


def test_sound_history_is_accepted_by_every_provider() -> None:
    for end in (3, 6, 8):
        assert refusals(SOUND[:end]) == []


def test_compacted_views_are_accepted_by_every_provider() -> None:
    """Of histories that are not odd, with parallel calls, at budgets that compact."""
    with ContextManager(budget=1_500) as context:
        context.append(*SOUND[:3])
        for number in range(30):
            results = [tool(f"{name}{number}", "line of output\n" * 20) for name in "ab"]
            context.append(call(f"a{number}", f"b{number}"), *results)
            assert refusals(context.get_messages_for_request()) == []
            context.append(said(f"Step {number} is done."), user(f"Go on with {number}."))
        assert "compacted here" in str(context.get_messages_for_request())


def test_calls_in_blocks_and_next_to_them_count_once() -> None:
    assert [known for known, _, _ in calls_of(call("a", "b"))] == ["a", "b"]
    sent = to_anthropic(SOUND)
    assert [message["role"] for message in sent["messages"]] == [
        "user",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert [block["type"] for block in sent["messages"][3]["content"]] == ["tool_result", "tool_result"]
    assert sent["system"] == [{"type": "text", "text": "Be brief."}]


ODD = {
    "a second result": ([user("Go."), call("a"), tool("a"), said("x"), tool("a")], 3),
    "a late result": ([user("Go."), call("a"), user("On."), said("x"), tool("a"), user("So?")], 2),
    "an unknown call": ([user("Go."), said("x"), tool("z")], 3),
    "an open call": ([user("Go."), call("a")], 3),
    "an empty answer": ([user("Go."), said(""), user("On.")], 1),
    "half a character": ([user("Go \ud83d.")], 3),
    "an answer at the end": ([user("Go."), said("x")], 1),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_history_sent_as_it_is_is_refused(name: str) -> None:
    """By so many of the three: the Responses API takes late outputs, and OpenAI takes empty texts."""
    history, count = ODD[name]
    assert len(refusals(history)) == count


@pytest.mark.parametrize("content", [None, {"x": 1}, [{"type": "tool_use", "id": "a", "name": "run", "input": {}}]])
def test_content_that_the_kernel_refuses_raises(content: object) -> None:
    with pytest.raises(ValidationError):
        refusals([user("Go."), {"role": "assistant", "content": content}])
