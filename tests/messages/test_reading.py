"""Reading messages of OpenAI chat and Amplifier, flags and user turns. Other dialects: `test_reading_blocks.py`."""

from typing import Any

import pytest

from backscroll.messages import Flags, Media
from tests.builders import PIXEL, assistant, parts, read, tool, user

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}


# --- OpenAI chat ---------------------------------------------------------------------------------------------------


def test_openai_texts_stand_in_a_string_or_in_blocks() -> None:
    assert parts({"role": "user", "content": "hi"}) == [("text", "content", "hi")]
    blocks = user(
        {"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}, {"type": "output_text", "text": "c"}
    )
    assert parts(blocks) == [
        ("text", "content.0.text", "a"),
        ("text", "content.1.text", "b"),
        ("text", "content.2.text", "c"),
    ]


def test_openai_parallel_calls_are_read_in_order() -> None:
    """OpenAI parallel calls are read in order with their names."""
    calls = [CALL, {"id": "c2", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]
    message = assistant(None, tool_calls=calls)
    assert parts(message) == [
        ("call", "tool_calls.0.function.arguments", '{"path": "a.py"}', "c1", "read"),
        ("call", "tool_calls.1.function.arguments", "{}", "c2", "ls"),
    ]
    assert read(message).calls == ("c1", "c2")
    assert not read(message).rigid


def test_openai_custom_tools_take_free_text() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    reading = read(assistant("", tool_calls=[call]))
    assert [(part.path, part.text, part.form) for part in reading.parts] == [
        (("tool_calls", 0, "custom", "input"), "*** Begin", "string")
    ]
    assert reading.calls == ("c1",)


def test_openai_function_call_of_old_is_answered_by_name() -> None:
    call = assistant(None, function_call={"name": "read", "arguments": "{}"})
    answer = {"role": "function", "name": "read", "content": "text"}
    assert parts(call) == [("call", "function_call.arguments", "{}", "function:read", "read")]
    assert parts(answer) == [("result", "content", "text", "function:read")]
    assert read(answer).results == ((read(call).calls[0], ()),)
    nameless = assistant(None, function_call={"arguments": "{}"})
    assert read({"role": "function", "content": "text"}).results == ((read(nameless).calls[0], ()),)


def test_openai_refusals_are_texts_inside_or_outside_content() -> None:
    assert parts(assistant(None, refusal="No.")) == [("text", "refusal", "No.")]
    assert parts({"role": "assistant", "refusal": "No."}) == [("text", "refusal", "No.")]
    assert parts(assistant([{"type": "refusal", "refusal": "No."}])) == [("text", "content.0.refusal", "No.")]


def test_openai_media_carry_their_data_and_no_text() -> None:
    url = f"data:image/png;base64,{PIXEL}"
    pdf = {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}
    message = user(
        {"type": "image_url", "image_url": {"url": url, "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "input_image", "image_url": url},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": pdf},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "input_file", **pdf},
    )
    assert parts(message) == [
        ("media", "content.0", Media("image", url)),
        ("media", "content.1", Media("image", None)),
        ("media", "content.2", Media("image", url)),
        ("media", "content.3", Media("audio", "UklGRg==")),
        ("media", "content.4", Media("document", pdf["file_data"])),
        ("media", "content.5", Media("document", None)),
        ("media", "content.6", Media("document", pdf["file_data"])),
    ]
    assert all(part.text == "" for part in read(message).parts)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("text", [("result", "content", "text", "c1")]),
        ("", [("result", "content", "", "c1")]),
        (None, [("result", "content", "", "c1")]),
        ([], [("result", "content", "", "c1")]),
        (
            [{"type": "text", "text": "a"}, "b"],
            [("result", "content.0.text", "a", "c1"), ("result", "content.1", "b", "c1")],
        ),
        ({"rows": 3}, [("result", "content", '{"rows":3}', "c1")]),
        (12, [("result", "content", "12", "c1")]),
    ],
)
def test_tool_message_answers_its_call_with_any_content(content: Any, found: list[Any]) -> None:
    assert parts(tool(content)) == found
    assert read(tool(content)).results == (("c1", ()),)


def test_tool_message_of_blocks_is_one_result_with_media() -> None:
    """A tool message of several blocks is one result with its media."""
    message = tool([{"type": "text", "text": "a"}, {"type": "image", "source": {"type": "base64", "data": PIXEL}}])
    assert parts(message)[1] == ("media", "content.1", Media("image", PIXEL), "c1")
    assert read(message).results == (("c1", ()),)


def test_separate_reasoning_content_is_read_and_is_no_answer() -> None:
    """Reasoning content next to is read and never taken for the answer."""
    message = assistant("yes", reasoning_content="because")
    assert parts(message) == [("text", "content", "yes"), ("reasoning", "reasoning_content", "because")]


# --- Amplifier -----------------------------------------------------------------------------------------------------

AMPLIFIER_CALL = {"type": "tool_call", "id": "c1", "name": "read", "input": {"path": "a"}}


def test_amplifier_calls_in_blocks_and_list_count_once() -> None:
    """Amplifier calls in blocks and next to them are counted once and kept whole."""
    message = assistant(
        [{"type": "text", "text": "let me look"}, AMPLIFIER_CALL, {**AMPLIFIER_CALL, "id": "c2"}],
        tool_calls=[
            {"id": "c1", "tool": "read", "arguments": {"path": "a"}},
            {"id": "c2", "tool": "read", "arguments": {"path": "a"}},
        ],
    )
    assert parts(message) == [
        ("text", "content.0.text", "let me look"),
        ("call", "tool_calls.0.arguments", '{"path":"a"}', "c1", "read"),
        ("call", "tool_calls.1.arguments", '{"path":"a"}', "c2", "read"),
    ]
    assert read(message).calls == ("c1", "c2")
    assert read(message).rigid


def test_amplifier_calls_without_ids_are_counted_once_too() -> None:
    block = {"type": "tool_call", "name": "read", "input": {}}
    message = assistant([block], tool_calls=[{"tool": "read", "arguments": {}}])
    assert read(message).calls == ("",)


def test_call_only_in_blocks_counts_with_the_listed_ones() -> None:
    """A call that only stands in the blocks is counted next to those that stand twice."""
    message = assistant([AMPLIFIER_CALL, {**AMPLIFIER_CALL, "id": "c2"}], tool_calls=[{"id": "c1", "tool": "read"}])
    assert sorted(read(message).calls) == ["c1", "c2"]


def test_call_block_without_a_text_id_is_read_with_listed_calls() -> None:
    """A call block with an id that is no text is read next to listed calls."""
    for odd in ([1], {"a": 1}, None, 5):
        message = assistant([{**AMPLIFIER_CALL, "id": odd}], tool_calls=[CALL, "odd"])
        assert sorted(read(message).calls) == ["", "c1"]


def test_amplifier_calls_in_blocks_only() -> None:
    message = assistant([AMPLIFIER_CALL])
    assert parts(message) == [("call", "content.0.input", '{"path":"a"}', "c1", "read")]
    assert not read(message).rigid
    assert not read(assistant([AMPLIFIER_CALL], tool_calls=[])).rigid
    assert not read(assistant([AMPLIFIER_CALL], tool_calls=None)).rigid


def test_amplifier_call_with_an_empty_name_and_a_tool_is_read() -> None:
    call = {"id": "c1", "name": None, "tool": "read", "arguments": {}}
    assert parts(assistant("", tool_calls=[call])) == [("call", "tool_calls.0.arguments", "{}", "c1", "read")]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "thinking", "thinking": "hm", "content": ["encrypted", "rs_1"]},
        {"type": "redacted_thinking", "data": "b2s="},
        {"type": "reasoning", "content": ["encrypted"], "summary": []},
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "b2s="}},
    ],
    ids=str,
)
def test_sealed_reasoning_makes_a_message_rigid(block: dict[str, Any]) -> None:
    reading = read(assistant([block, {"type": "text", "text": "yes"}]))
    assert reading.parts[0].kind == "reasoning"
    assert reading.rigid


def test_thinking_block_outside_the_content_makes_it_rigid() -> None:
    """A thinking block next to the content makes a message rigid."""
    block = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    reading = read(assistant("yes", thinking_block=block))
    assert [part.kind for part in reading.parts] == ["text", "reasoning"]
    assert reading.rigid


def test_unsigned_reasoning_does_not_make_a_message_rigid() -> None:
    message = assistant(
        [{"type": "thinking", "thinking": "hm"}, {"reasoningContent": {"reasoningText": {"text": "so"}}}]
    )
    assert parts(message) == [
        ("reasoning", "content.0.thinking", "hm"),
        ("reasoning", "content.1.reasoningContent.reasoningText.text", "so"),
    ]
    assert not read(message).rigid


@pytest.mark.parametrize(
    ("output", "text"),
    [("done", "done"), ({"ok": True}, '{"ok":true}'), ([1, "ä"], '[1,"ä"]'), (None, "null"), ("", "")],
)
def test_amplifier_result_blocks_hold_any_output(output: Any, text: str) -> None:
    block = {"type": "tool_result", "tool_call_id": "c1", "output": output}
    assert parts(user(block)) == [("result", "content.0.output", text, "c1")]
    assert read(user(block)).results == (("c1", ("content", 0)),)


def test_amplifier_result_block_is_read_from_its_content() -> None:
    """Amplifier result block with content in place of output is read there."""
    block = {"type": "tool_result", "tool_call_id": "c1", "content": "long text"}
    assert parts(user(block)) == [("result", "content.0.content", "long text", "c1")]


def test_result_blocks_answer_by_block_unless_the_message_does() -> None:
    """Result blocks in tool messages answer by block unless the message names its call."""
    blocks = [{"type": "tool_result", "tool_call_id": name, "output": name} for name in ("c1", "c2")]
    assert read({"role": "tool", "content": blocks}).results == (("c1", ("content", 0)), ("c2", ("content", 1)))
    mixed = {"role": "tool", "content": [{"type": "text", "text": "x"}, blocks[1]]}
    assert read(mixed).results == (("c2", ("content", 1)),)
    assert read(tool(blocks[:1])).results == (("c1", ()),)
    assert read({"role": "tool", "content": "lost"}).results == (("", ()),)
    assert read(tool([{"type": "thinking", "thinking": "hm"}])).results == (("c1", ()),)


# --- flags and turns -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "flags"),
    [
        ({}, Flags()),
        ({"pinned": True}, Flags(pinned=True)),
        ({"custom": {"pinned": True}}, Flags(pinned=True)),
        ({"critical": True}, Flags(critical=True)),
        ({"ephemeral": True}, Flags(ephemeral=True, injected=True)),
        ({"ephemeral": True, "persisted": False}, Flags(ephemeral=True, injected=True)),
        ({"ephemeral": True, "persisted": True}, Flags(injected=True, reminder=True)),
        ({"persisted": True}, Flags()),
        ({"source": "hook", "hook_name": "x"}, Flags(injected=True)),
        ({"pinned": "true", "critical": 1, "ephemeral": "yes", "custom": "pinned"}, Flags()),
    ],
)
def test_flags_are_true_booleans_in_metadata(metadata: dict[str, Any], flags: Flags) -> None:
    assert read({"role": "user", "content": "x", "metadata": metadata}).flags == flags


def test_metadata_of_any_other_shape_sets_nothing() -> None:
    for metadata in (None, [], "pinned", 5, ["pinned"]):
        assert read({"role": "user", "content": "x", "metadata": metadata}).flags == Flags()


RESULT = {"toolResult": {"toolUseId": "b1", "content": [{"text": "x"}, {"image": {"source": {}}}]}}


@pytest.mark.parametrize(
    ("message", "is_turn"),
    [
        ({"role": "user", "content": "hi"}, True),
        ({"role": "user", "content": ""}, True),
        (user({"text": "hi"}), True),
        (user({"image": {"source": {}}}), True),
        (user(RESULT), False),
        (user(RESULT, {"cachePoint": {"type": "default"}}), False),
        (user(RESULT, {"text": "and"}), True),
        (user({"type": "tool_result", "tool_use_id": "t1"}, {"type": "text", "text": "and"}), True),
        (assistant("hi"), False),
        (tool("hi"), False),
        ({"role": "system", "content": "hi"}, False),
        (user({"text": "hi"}, metadata={"source": "hook"}), False),
        (user({"text": "hi"}, metadata={"ephemeral": True, "persisted": True}), False),
        (user({"text": "hi"}, metadata={"ephemeral": True}), False),
    ],
)
def test_user_turn_is_text_written_with_results(message: dict[str, Any], is_turn: bool) -> None:
    assert read(message).is_user_turn is is_turn


def test_developer_is_the_newer_name_of_system() -> None:
    roles = ("system", "developer", "user", "assistant", "tool")
    assert [read({"role": role, "content": "x"}).is_system for role in roles] == [True, True, False, False, False]
