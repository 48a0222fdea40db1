"""Encrypted reasoning of earlier turns: where a provider does not bind it, it leaves before anything else is edited."""

from typing import Any

import pytest

from backscroll import ContextManager
from backscroll.evaluation.validity import problems
from tests.builders import words
from tests.fakes import count_quarter

Message = dict[str, Any]


def thought(name: str, **more: Any) -> Message:
    return {"type": "reasoning", "id": f"rs_{name}", "summary": [], **more}


def turn(name: str, *, sealed: bool = True) -> list[Message]:
    """A question, and a response with reasoning and a call, and its output."""
    sealing = {"encrypted_content": words(300, name)} if sealed else {"content": [{"text": words(300, name)}]}
    call = {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": "read", "arguments": "{}"}
    return [
        {"role": "user", "content": f"Do {name}."},
        {"role": "assistant", "content": [thought(name, **sealing), call]},
        {"role": "tool", "content": [{"type": "function_call_output", "call_id": name, "output": words(100, name)}]},
    ]


def kinds(view: list[Message]) -> list[str]:
    return [item.get("type", "message") for item in view]


def session(model: str, *turns: list[Message], budget: int = 4_000) -> tuple[ContextManager, list[Message]]:
    manager = ContextManager(model=model, tokenizer=count_quarter, budget=budget, plan_ahead=False)
    manager.append(*[message for each in turns for message in each])
    return manager, manager.get_messages_for_request()


@pytest.mark.parametrize("sealed", [True, False], ids=["encrypted", "by id alone"])
def test_reasoning_of_earlier_turns_leaves_first(sealed):
    """All else stays whole, without the ids that demand the reasoning; the newest turn keeps its own."""
    turns = [turn(f"t{number}", sealed=sealed) for number in range(9)]
    manager, view = session("gpt-5.5", *turns)
    history = manager.get_messages()
    assert problems(view, history) == []
    bare = [
        [each[0], {key: value for key, value in each[1]["content"][1].items() if key != "id"}] for each in turns[:-1]
    ]
    outputs = [each[2]["content"][0] for each in turns]
    before = [item for (said, call), output in zip(bare, outputs, strict=False) for item in (said, call, output)]
    assert view == [*before, turns[-1][0], *turns[-1][1]["content"], outputs[-1]]
    states = [status.state for status in manager.explain()]
    assert states == ["whole", "without reasoning", "whole"] * 8 + ["whole"] * 3
    assert manager.explain()[1].reason == "its reasoning belongs to an earlier turn"
    assert history == [message for each in turns for message in each]
    manager.close()


def test_digest_and_recall_quote_no_encrypted_reasoning():
    """A digest of few lines would spend them on bytes that only the provider reads."""
    turns = [turn(f"t{number}") for number in range(9)]
    for number, (_, answer, _) in enumerate(turns):
        said = [{"type": "summary_text", "text": f"The port is 80{number}0."}]
        answer["content"][0] |= {"summary": said, "encrypted_content": f"gAAAAAB_{number}-x9Zq/" * 50}
    manager, view = session("gpt-5.5", *turns, budget=700)
    assert "Earlier messages are compacted" in str(view)
    assert "gAAAAAB_" not in str([item for item in view if kinds([item]) != ["reasoning"]])
    assert manager.recall(query="gAAAAAB_0-x9Zq").hits == ()
    assert manager.recall(pattern="gAAAAAB").hits == ()
    assert "The port is 8000." in manager.recall("1")
    assert "gAAAAAB" not in manager.recall("1")
    assert manager.recall(query="port 8030").hits[0].seq == 10
    manager.close()


def test_reasoning_of_earlier_turns_stays_while_there_is_room():
    """It is a part of a compaction, and compacts nothing by itself."""
    manager, view = session("gpt-5.5", *[turn(f"t{number}") for number in range(9)], budget=20_000)
    assert kinds(view).count("reasoning") == 9
    manager.close()


def test_reasoning_of_the_current_turn_stays_in_a_compaction():
    """What OpenAI wants back in a tool loop: everything since the user's last message."""
    loop = [message for number in range(4) for message in turn(f"now{number}")[1:]]
    manager, view = session("gpt-5.5", *[turn(f"t{number}") for number in range(6)], [turn("last")[0]], loop)
    assert problems(view, manager.get_messages()) == []
    asked = view.index({"role": "user", "content": "Do last."})
    assert "reasoning" not in kinds(view[:asked])
    assert kinds(view[asked:]).count("reasoning") == 4
    manager.close()


def test_thinking_of_other_providers_stays_where_it_is_unbound():
    signed = {"type": "thinking", "thinking": "Hm. " * 40, "signature": "c2ln"}
    turns: list[list[Any]] = [
        [
            {"role": "user", "content": words(150, f"t{number}")},
            {"role": "assistant", "content": [signed, {"type": "text", "text": f"Done {number}."}]},
        ]
        for number in range(40)
    ]
    manager, view = session("claude-opus-4-8", *turns, [{"role": "user", "content": "And now?"}], budget=3_000)
    assert "<summary>" in str(view)
    answers = [message["content"] for message in view if type(message["content"]) is list]
    assert all(signed in blocks for blocks in answers if len(blocks) > 1)
    assert sum(signed in blocks for blocks in answers) > 1
    manager.close()
