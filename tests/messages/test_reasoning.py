"""Where a message holds reasoning, and the message without it, in every dialect."""

import copy
from typing import Any

import pytest

from backscroll.messages import read_message, validated, without_reasoning
from tests.builders import assistant
from tests.messages.requested import faults

SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "b3BhcXVl"}
CONVERSE = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
HIDDEN = {"reasoningContent": {"redactedContent": "b3BhcXVl"}}
ITEM = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
TEXT = {"type": "text", "text": "It is red."}
USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {}}
CALL = {"type": "function_call", "call_id": "c1", "name": "read", "arguments": "{}"}
SAID = {"type": "output_text", "text": "It is red.", "annotations": []}
REPLY = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [SAID]}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "red"}}
SHELL = {
    "type": "local_shell_call",
    "id": "ls_1",
    "call_id": "c2",
    "status": "completed",
    "action": {"type": "exec", "command": ["ls"], "env": {}},
}
THOUGHT = {"text": "Hm.", "thought": True, "thoughtSignature": "c2ln"}
UNSHOWN = {"thought": True, "thought_signature": "c2ln"}
ASKED = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}
LISTED = {"tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}]}


def _content(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


HELD: dict[str, tuple[dict[str, Any], tuple[int, ...], bool, dict[str, Any] | None]] = {
    "anthropic": (assistant([SIGNED, TEXT, USE]), (0,), True, assistant([TEXT, USE])),
    "anthropic, interleaved": (assistant([SIGNED, TEXT, REDACTED, USE]), (0, 2), True, assistant([TEXT, USE])),
    "anthropic, nothing else": (assistant([SIGNED, REDACTED]), (0, 1), True, None),
    "bedrock": (assistant([CONVERSE, {"text": "Red."}]), (0,), True, assistant([{"text": "Red."}])),
    "bedrock, hidden": (assistant([HIDDEN, {"text": "Red."}]), (0,), True, assistant([{"text": "Red."}])),
    "bedrock, only a mark": (assistant([CONVERSE, {"cachePoint": {"type": "default"}}]), (0,), True, None),
    "chat": (assistant("Red.", reasoning_content="Hm."), (1,), False, assistant("Red.")),
    "chat, calls": (assistant(None, reasoning_content="Hm.", **LISTED), (0,), False, assistant(None, **LISTED)),
    "chat, empty text": (assistant("", reasoning_content="Hm."), (0,), False, None),
    "amplifier": (assistant([TEXT], thinking_block=SIGNED), (1,), True, assistant([TEXT])),
    "responses, calls": (assistant([ITEM, {**CALL, "id": "fc_1"}]), (0,), True, assistant([CALL])),
    "responses, search": (assistant([ITEM, SEARCH, CALL]), (0,), True, assistant([CALL])),
    "responses, shell": (assistant([ITEM, SHELL]), (0,), True, assistant([SHELL])),
    "responses, reply": (
        assistant([ITEM, {**REPLY, "phase": "final_answer"}]),
        (0,),
        True,
        assistant([{"type": "message", "role": "assistant", "phase": "final_answer", "content": "It is red."}]),
    ),
    "responses, nothing else": (assistant([ITEM]), (0,), True, None),
}


@pytest.mark.parametrize("name", HELD)
def test_reader_names_the_parts_that_are_reasoning(name):
    message, numbers, sealed, _ = HELD[name]
    reading = read_message(validated(message))
    assert reading.reasoning == numbers
    assert {reading.parts[number].is_sealed for number in numbers} == {sealed}


SUMMARY = {**ITEM, "summary": [{"type": "summary_text", "text": "Red?"}]}
OWN = {**ITEM, "content": [{"type": "reasoning_text", "text": "Hm."}], "summary": SUMMARY["summary"]}
GEMINI = {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": "Red.", "thoughtSignature": "c2ln"}]}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (assistant([SIGNED, REDACTED]), ["Hm.", ""]),
        (assistant([CONVERSE, HIDDEN]), ["Hm.", ""]),
        (assistant("Red.", reasoning_content="Hm."), ["Hm."]),
        (assistant([TEXT], thinking_block={**SIGNED, "content": ["b3BhcXVl", "rs_1"]}), ["Hm."]),
        (
            assistant([TEXT], thinking_block={"thinking_blocks": [SIGNED, REDACTED], "reasoning_items": [OWN]}),
            ["Hm.\nRed?\nHm."],
        ),
        (assistant([ITEM, SUMMARY, OWN]), ["", "Red?", "Red?\nHm."]),
        (GEMINI, ["Hm.", ""]),
        ({"role": "model", "parts": [{"thought": True, "thoughtSignature": "c2ln"}]}, ["", ""]),
    ],
    ids=["anthropic", "bedrock", "chat", "amplifier", "litellm", "responses", "gemini", "a hidden thought of gemini"],
)
def test_readable_reasoning_holds_no_encrypted_bytes(message, expected):
    parts = read_message(validated(message)).parts
    assert [part.readable for part in parts if part.kind == "reasoning"] == expected
    assert [part.readable for part in parts if part.kind != "reasoning"] == [
        part.text for part in parts if part.kind != "reasoning"
    ]


@pytest.mark.parametrize("name", HELD)
def test_message_without_reasoning_keeps_all_the_rest(name):
    message, _, _, expected = HELD[name]
    given = copy.deepcopy(message)
    left = without_reasoning(message)
    assert left == expected
    assert message == given
    if left is not None:
        assert read_message(left).reasoning == ()
        assert without_reasoning(left) is left


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ((THOUGHT, ASKED), (ASKED,)),
        ((UNSHOWN, {"text": "Red."}), ({"text": "Red."},)),
        (({"text": "Hm.", "thought": True}, THOUGHT, ASKED), ({"text": "Hm.", "thought": True}, ASKED)),
        ((THOUGHT, UNSHOWN), None),
    ],
)
def test_a_signed_thought_in_the_shape_of_gemini_is_sealed(parts, left):
    """As Google ADK writes the thinking of Claude. Gemini itself signs what follows a thought, which stays."""
    message = _content(*parts)
    assert read_message(message).is_sealed
    assert read_message(message).rigid
    assert without_reasoning(message) == (None if left is None else _content(*left))
    assert not read_message(_content(ASKED)).is_sealed


@pytest.mark.parametrize(
    "message",
    [
        assistant("Red."),
        assistant([TEXT, USE]),
        assistant([{**CALL, "id": "fc_1"}, SEARCH]),
        assistant([REPLY]),
        assistant(None, **LISTED),
        {"role": "tool", "tool_call_id": "c1", "content": "red"},
        _content({"text": "Hm.", "thought": True}, ASKED),
    ],
)
def test_message_that_holds_no_reasoning_stays_the_same(message):
    """Ids stay: nothing on the server demands reasoning that was never made."""
    assert without_reasoning(message) is message


def test_items_without_reasoning_are_what_a_request_takes():
    types = pytest.importorskip("openai.types.responses.response_input_item_param")
    message = assistant([ITEM, {**CALL, "id": "fc_1"}, SEARCH, SHELL, REPLY])
    left = without_reasoning(message)
    assert left is not None
    assert [faults(item, types.ResponseInputItemParam) for item in left["content"]] == [[], [], []]
