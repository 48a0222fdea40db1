"""Reading messages of Anthropic and Bedrock Converse, blocks that nobody knows, and anything at all."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll.messages import Media, read_message
from backscroll.messages.parts import CallId
from tests.builders import PIXEL, assistant, parts, read, user

# --- Anthropic -----------------------------------------------------------------------------------------------------


def test_anthropic_calls_and_results() -> None:
    call = assistant([{"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "a"}, "caller": {"x": 1}}])
    assert parts(call) == [("call", "content.0.input", '{"path":"a"}', "t1", "read")]
    results = user(
        {"type": "tool_result", "tool_use_id": "t1", "content": "one"},
        {
            "type": "tool_result",
            "tool_use_id": "t2",
            "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "more"}],
        },
        {"type": "tool_result", "tool_use_id": "t3", "is_error": True},
        {"type": "tool_result", "tool_use_id": "t4", "content": []},
        {"type": "tool_result", "tool_use_id": "t5", "content": {"rows": 1}},
    )
    assert parts(results) == [
        ("result", "content.0.content", "one", "t1"),
        ("result", "content.1.content.0.text", "two", "t2"),
        ("result", "content.1.content.1.text", "more", "t2"),
        ("result", "content.2.content", "", "t3"),
        ("result", "content.3.content", "", "t4"),
        ("result", "content.4.content", '{"rows":1}', "t5"),
    ]
    assert read(results).results == tuple((f"t{number + 1}", ("content", number)) for number in range(5))


def test_anthropic_media_in_messages_and_in_results() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    message = user(
        image,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
            "title": "T",
        },
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "words"}]}},
        {"type": "tool_result", "tool_use_id": "t1", "content": [image]},
        {"type": "image"},
    )
    assert parts(message) == [
        ("media", "content.0", Media("image", PIXEL)),
        ("media", "content.1", Media("image", None)),
        ("media", "content.2", Media("document", "JVBERi0=")),
        ("media", "content.3", Media("document", None)),
        ("text", "content.4.source.data", "words"),
        ("opaque", "content.5", '[{"type":"text","text":"words"}]'),
        ("media", "content.6.content.0", Media("image", PIXEL), "t1"),
        ("media", "content.7", Media("image", None)),
    ]


def test_what_the_provider_ran_itself_is_neither_call_nor_result() -> None:
    message = assistant(
        [
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s1",
                "content": [{"url": "u", "encrypted_content": "e"}],
            },
        ]
    )
    assert [part[0] for part in parts(message)] == ["opaque", "opaque"]
    assert read(message).calls == ()
    assert read(message).results == ()


def test_cache_markers_cost_nothing_and_do_not_hide_a_text() -> None:
    message = user(
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"cachePoint": {"type": "default"}}
    )
    assert parts(message) == [("text", "content.0.text", "a"), ("opaque", "content.1", "")]


# --- Bedrock Converse ----------------------------------------------------------------------------------------------


def test_bedrock_calls_and_results() -> None:
    call = assistant([{"text": "look"}, {"toolUse": {"toolUseId": "b1", "name": "read", "input": {"path": "a"}}}])
    assert parts(call) == [
        ("text", "content.0.text", "look"),
        ("call", "content.1.toolUse.input", '{"path":"a"}', "b1", "read"),
    ]
    image = {"image": {"format": "png", "source": {"bytes": PIXEL}}}
    document = {"document": {"format": "pdf", "name": "d", "source": {"bytes": "JVBERi0="}}}
    contents = [{"text": "one"}, {"json": {"rows": 1}}, image, document]
    result = user(
        {"toolResult": {"toolUseId": "b1", "status": "success", "content": contents}},
        {"toolResult": {"toolUseId": "b2", "content": []}},
        {"toolResult": {"toolUseId": "b3"}},
    )
    assert parts(result) == [
        ("result", "content.0.toolResult.content.0.text", "one", "b1"),
        ("result", "content.0.toolResult.content.1", '{"rows":1}', "b1"),
        ("media", "content.0.toolResult.content.2", Media("image", PIXEL), "b1"),
        ("media", "content.0.toolResult.content.3", Media("document", "JVBERi0="), "b1"),
        ("result", "content.1.toolResult.content", "", "b2"),
        ("result", "content.2.toolResult.content", "", "b3"),
    ]
    assert read(result).results == (("b1", ("content", 0)), ("b2", ("content", 1)), ("b3", ("content", 2)))


@pytest.mark.parametrize("kind", ["image", "document", "video", "audio"])
@pytest.mark.parametrize(
    "data", [PIXEL, {"__bytes_encoded__": True, "data": PIXEL}], ids=["base64", "as sessions write it"]
)
def test_bedrock_media_never_count_as_text(kind: str, data: Any) -> None:
    message = user({kind: {"format": "x", "source": {"bytes": data}}})
    assert parts(message) == [("media", "content.0", Media(kind, PIXEL))]
    assert parts(user({kind: {"source": {"s3Location": {"uri": "s3://a"}}}})) == [
        ("media", "content.0", Media(kind, None))
    ]


def test_bedrock_documents_of_text_are_read_as_text() -> None:
    plain = {"document": {"format": "txt", "name": "d", "source": {"text": "words"}}}
    blocks = {"document": {"format": "txt", "name": "d", "source": {"content": [{"text": "words"}]}}}
    assert parts(user(plain, blocks)) == [
        ("text", "content.0.document.source.text", "words"),
        ("opaque", "content.1", '[{"text":"words"}]'),
    ]
    result = user({"toolResult": {"toolUseId": "b1", "content": [plain]}})
    assert parts(result) == [("result", "content.0.toolResult.content.0.document.source.text", "words", "b1")]


# --- anything at all -----------------------------------------------------------------------------------------------


def test_unknown_blocks_become_one_fixed_part_with_their_text() -> None:
    """Unknown blocks become one fixed part with all their text."""
    block = {"type": "hologram", "data": {"text": "x"}, "id": 7}
    reading = read(user(block, 5, None, ["a"], weird={"key": [1]}))
    assert [part.kind for part in reading.parts] == ["opaque"] * 4
    assert [json.loads(part.text) for part in reading.parts] == [block, 5, None, ["a"]]


KEYS = """
    type text content id name input arguments function custom tool tool_use_id tool_call_id output source data url
    image_url thinking signature refusal toolUse toolResult toolUseId image document video json reasoningContent
    reasoningText bytes cachePoint file input_audio
"""
TYPES = "text tool_use tool_call tool_result thinking refusal reasoning image document image_url input_audio file"
ANY = st.recursive(
    st.none() | st.integers(0, 3) | st.booleans() | st.sampled_from(TYPES.split()) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS.split()), inner, max_size=5),
    max_leaves=25,
)

OPTIONAL = ("content", "tool_calls", "function_call", "tool_call_id", "name", "metadata", "thinking_block", "refusal")


@given(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "function", "system", "odd"])},
        optional=dict.fromkeys(OPTIONAL, ANY),
    )
)
def test_reading_never_fails_and_never_changes_a_message(message: dict[str, Any]) -> None:
    before = copy.deepcopy(message)
    reading = read_message(message)
    assert message == before
    assert all(type(part.text) is str for part in reading.parts)
    assert list(reading.calls) == [part.id for part in reading.call_parts]
    assert not set(reading.calls) & {answered for answered, _ in reading.results}
    assert len({part.path for part in reading.parts}) == len(reading.parts)
    assert all(type(answered) is CallId for answered, _ in reading.results)
