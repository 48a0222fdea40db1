"""Pieces of streams, put together: however a response is cut, the whole comes out."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import ContextManager, MessageError
from backscroll.integrations.clients.collected import Collected

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
arguments = st.sampled_from(['{"path": "naïve.py"}', "{}", '{"a": [1, {"b": "}"}], "c": "\\u00e9"}'])


def cut(draw, text):
    """Cut a text into pieces, some of them empty."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in pairwise([0, *places, len(text)])]


def collected(events):
    found = Collected()
    for event in events:
        found.add(event)
    found.end()
    return found.response()


def chunk(delta, reason=None):
    return {"id": "c", "model": "m", "created": 1, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


@given(st.data(), texts, st.lists(arguments, max_size=3), st.booleans())
def test_chat_completion_is_the_sum_of_its_chunks(data, said, calls, repeats):
    """Calls come one after the other or mixed; some servers repeat id and name with each chunk."""
    pieces = [[{"content": each}] for each in cut(data.draw, said)]
    pieces += [[{"reasoning_content": each}] for each in cut(data.draw, "Let me see.")]
    for index, written in enumerate(calls):
        run: list[dict[str, Any]] = [
            {"index": index, "function": {"arguments": each}} for each in cut(data.draw, written)
        ]
        about = {"id": f"call_{index}", "type": "function"}
        run[0] |= about
        run[0]["function"]["name"] = "read"
        if repeats:
            run = [{**each, **about, "function": {**each["function"], "name": "read"}} for each in run]
        pieces += [[{"tool_calls": [each]}] for each in run]
    usage = {"prompt_tokens": 9, "completion_tokens": 1}
    events = [chunk({"role": "assistant", "content": ""}), *(chunk(delta) for [delta] in pieces), chunk({}, "stop")]
    response = collected([*events, {"choices": [], "usage": usage}])
    made = [
        {"id": f"call_{at}", "type": "function", "function": {"name": "read", "arguments": each}}
        for at, each in enumerate(calls)
    ]
    message = {"role": "assistant", "content": said, "reasoning_content": "Let me see."}
    assert response["choices"][0]["message"] == message | ({"tool_calls": made} if made else {})
    assert response["usage"] == usage
    with ContextManager() as context:
        context.append(response)


@given(st.data(), texts, arguments)
def test_anthropic_message_is_the_sum_of_its_events(data, said, written):
    blocks = [
        ({"type": "thinking", "thinking": "", "signature": ""}, "thinking", "thinking_delta", "I see."),
        ({"type": "text", "text": ""}, "text", "text_delta", said),
        ({"type": "tool_use", "id": "t", "name": "read", "input": {}}, "partial_json", "input_json_delta", written),
    ]
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 5}},
        }
    ]
    for index, (begun, field, kind, whole) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        deltas = [{"type": kind, field: each} for each in cut(data.draw, whole)]
        if kind == "thinking_delta":
            deltas.append({"type": "signature_delta", "signature": "sealed"})
        if kind == "text_delta":
            deltas += [{"type": "citations_delta", "citation": {"type": "page", "number": at}} for at in (1, 2)]
        events += [{"type": "content_block_delta", "index": index, "delta": each} for each in deltas]
        events += [
            {"type": kind.removesuffix("_delta"), "snapshot": "of the helper"},
            {"type": "content_block_stop", "index": index},
        ]
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}})
    response = collected([*events, {"type": "message_stop"}])
    cited = [{"type": "page", "number": at} for at in (1, 2)]
    assert response["content"] == [
        {"type": "thinking", "thinking": "I see.", "signature": "sealed"},
        {"type": "text", "text": said, "citations": cited},
        {"type": "tool_use", "id": "t", "name": "read", "input": json.loads(written)},
    ]
    assert response["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert response["stop_reason"] == "tool_use"


def test_anthropic_call_that_was_cut_is_no_message():
    """Its arguments are no JSON, and a call with others would be another call."""
    block = {"type": "tool_use", "id": "t", "name": "read", "input": {}}
    events = [
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"pa'}},
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {}},
        {"type": "message_stop"},
    ]
    with pytest.raises(MessageError, match="'max_tokens'"):
        collected(events)


@given(st.data(), texts)
def test_gemini_response_is_the_sum_of_its_chunks(data, said):
    """Pieces of one text are joined; thoughts, signed parts and calls stay parts of their own."""
    call = {"functionCall": {"name": "read", "args": {}}, "thoughtSignature": "c2ln"}
    signed = {"text": "", "thoughtSignature": "c2ln"}
    parts = [{"text": each, "thought": True} for each in cut(data.draw, "I see.")]
    parts += [{"text": each} for each in cut(data.draw, said)]
    usage = {"promptTokenCount": 9}
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [part]}}]} for part in [*parts, signed, call, call]
    ]
    chunks.append({"candidates": [{"finishReason": "STOP"}], "usageMetadata": usage})
    response = collected(chunks)
    whole = [{"text": "I see.", "thought": True}, {"text": said}, signed, call, call]
    assert response["candidates"][0]["content"] == {"role": "model", "parts": whole}
    assert response["usage_metadata"] == usage


@given(st.data(), texts, arguments)
def test_interaction_is_the_sum_of_its_events(data, said, written):
    """Steps come one after the other or mixed; a server's tool brings what it asked for as a whole."""
    search = {"type": "google_search_call", "arguments": {"queries": ["red"]}, "signature": "c2ln"}
    noted = {"type": "url_citation", "url": "https://example.org"}
    runs: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"type": "thought"}, [{"type": "thought_summary", "content": {"type": "text", "text": "I see."}},
         {"type": "thought_signature", "signature": "c2ln"}]),
        ({"type": "google_search_call", "id": "s", "arguments": {}}, [search]),
        ({"type": "model_output"}, [{"type": "text", "text": each} for each in cut(data.draw, said)]
         + [{"type": "text_annotation_delta", "annotations": [noted]}]),
        ({"type": "function_call", "id": "c", "name": "read", "arguments": {}},
         [{"type": "arguments_delta", "arguments": each} for each in cut(data.draw, written)]),
    ]  # fmt: skip  # a step and its deltas
    events = [{"event_type": "step.start", "index": at, "step": begun} for at, (begun, _) in enumerate(runs)]
    for index, (_, deltas) in enumerate(runs):
        events += [{"event_type": "step.delta", "index": index, "delta": each} for each in deltas]
    about = {"id": "v1", "status": "requires_action", "usage": {"total_input_tokens": 9}}
    response = collected([*events, {"event_type": "interaction.completed", "interaction": about}])
    assert response == about | {
        "steps": [
            {"type": "thought", "summary": [{"type": "text", "text": "I see."}], "signature": "c2ln"},
            {**search, "id": "s"},
            {"type": "model_output", "content": [{"type": "text", "text": said, "annotations": [noted]}]},
            {"type": "function_call", "id": "c", "name": "read", "arguments": json.loads(written)},
        ]
    }
    with ContextManager() as context:
        context.append(response)


def test_response_of_several_choices_is_whole():
    """`append` asks for one of them; a choice without an end is none."""
    first = {"choices": [{"index": 1, "delta": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}]}
    second = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "A"}, "finish_reason": None}]}
    with pytest.raises(MessageError, match="without a finished response"):
        collected([first, second])
    second["choices"][0]["finish_reason"] = "stop"
    assert [each["message"]["content"] for each in collected([first, second])["choices"]] == ["A", "B"]
