"""Parts become blocks, and blocks that a view changed become parts again; nothing is changed in place."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CachePoint,
    CompactionPart,
    DocumentUrl,
    FilePart,
    ImageUrl,
    InstructionDeltaPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolAvailabilityDeltaPart,
    ToolCallPart,
    ToolReturnPart,
    ToolSearchCallPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)

from backscroll.integrations.pydantic_ai.translation import PydanticAITranslation
from backscroll.manager.importing import ImportingManager
from backscroll.messages import validated
from tests.integrations.pydantic_ai.agents import kept

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)
TRANSLATION = PydanticAITranslation()
PROMPT = UserPromptPart(
    [
        "Look:",
        ImageUrl("https://example.com/a.png"),
        CachePoint(),
        BinaryContent(PNG, media_type="image/png"),
        TextContent("a note", metadata={"by": "app"}),
    ]
)
REQUESTS: list[Any] = [
    SystemPromptPart("Be brief."),
    SystemPromptPart("Now: 3 left.", scope="request"),
    UserPromptPart("Hello."),
    PROMPT,
    UserPromptPart(
        [DocumentUrl("https://e.com/a.pdf"), AudioUrl("https://e.com/a.mp3"), VideoUrl("https://e.com/a.mp4")]
    ),
    UserPromptPart(
        [BinaryContent(b"sound", media_type="audio/wav"), BinaryContent(b"%PDF", media_type="application/pdf")]
    ),
    UserPromptPart([UploadedFile("file-1", provider_name="openai", media_type="image/png")]),
    ToolReturnPart("look", "long " * 50, "c1"),
    ToolReturnPart("look", {"a": [1, None, "x"]}, "c2"),
    ToolReturnPart("look", ["two", BinaryContent(PNG, media_type="image/png")], "c3"),
    ToolReturnPart("look", "no such file", "c4", outcome="failed"),
    RetryFeedbackPart("Say it in JSON.", retry=RetryInfo(cause="model_retry")),
    ToolAvailabilityDeltaPart(tools_added=["late"]),
    InstructionDeltaPart(id=None, content="From now on in French."),
    CompactionPart("They talked."),
]
RESPONSES: list[Any] = [
    TextPart("Fine.", id="msg_1", provider_name="openai"),
    ThinkingPart("Hm.", signature="sig", provider_name="anthropic"),
    ThinkingPart("", id="rs_1", provider_name="openai"),
    ThinkingPart("Plain."),
    ToolCallPart("look", {"path": "a"}, "c1"),
    ToolCallPart("look", '{"path": "b"}', "c2", id="fc_1", provider_name="openai"),
    ToolCallPart("look", "not JSON", "c3"),
    ToolCallPart("look", None, "c4"),
    NativeToolCallPart("web_search", {"query": "x"}, "n1", provider_name="anthropic"),
    NativeToolReturnPart("web_search", [{"title": "y"}], "n1", provider_name="anthropic"),
    FilePart(BinaryContent(PNG, media_type="image/png")),
    CompactionPart("They talked.", provider_name="anthropic"),
]


def messages() -> st.SearchStrategy[ModelMessage]:
    """Messages with any parts."""
    requests = st.lists(st.sampled_from(REQUESTS), max_size=6).map(lambda parts: ModelRequest(parts=parts))
    responses = st.lists(st.sampled_from(RESPONSES), max_size=6).map(lambda parts: ModelResponse(parts=parts))
    return st.one_of(requests, responses)


@given(messages())
def test_what_a_view_leaves_as_it_is_comes_back_equal(native):
    before = kept([native])
    message = TRANSLATION.to_message(native)
    found = TRANSLATION.to_native(message, [native])
    assert sorted(map(repr, found.parts)) == sorted(map(repr, native.parts))
    assert all(any(part is own for own in native.parts) for part in found.parts)
    assert [native] == before


@given(messages())
def test_every_message_can_be_stored(native):
    context = ImportingManager(tokenizer=len)
    context.append(TRANSLATION.to_message(native))
    assert context.get_messages() == [TRANSLATION.to_message(native)]


@given(messages(), messages())
def test_messages_are_the_same_if_they_say_the_same(one, other):
    equal = TRANSLATION.to_message(one)["content"] == TRANSLATION.to_message(other)["content"]
    if (
        equal
        and one.kind == other.kind
        and [part.part_kind for part in one.parts] == [p.part_kind for p in other.parts]
    ):
        assert TRANSLATION.says(one) == TRANSLATION.says(other)
    later = replace(one, run_id="another run", parts=list(one.parts))
    assert TRANSLATION.says(later) == TRANSLATION.says(one)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (REQUESTS[0], {"content": "Be long."}),
        (REQUESTS[2], {"content": "Goodbye."}),
        (PROMPT, {"content": [*PROMPT.content[:4], "another note"]}),
        (
            PROMPT,
            {"content": [*PROMPT.content[:3], BinaryContent(b"other", media_type="image/png"), PROMPT.content[4]]},
        ),
        (REQUESTS[7], {"content": "short"}),
        (REQUESTS[7], {"outcome": "failed"}),
        (REQUESTS[8], {"content": {"a": [2]}}),
        (REQUESTS[9], {"content": ["two"]}),
        (REQUESTS[13], {"content": "From now on in German."}),
        (RESPONSES[0], {"content": "Bad."}),
        (RESPONSES[1], {"signature": "other"}),
        (RESPONSES[4], {"args": {"path": "z"}}),
        (RESPONSES[9], {"content": []}),
    ],
)
def test_a_changed_part_says_another_thing(part, change):
    of = ModelRequest if part in REQUESTS else ModelResponse
    assert TRANSLATION.says(of(parts=[part])) != TRANSLATION.says(of(parts=[replace(part, **change)]))


def test_marks_and_times_say_nothing():
    without = replace(PROMPT, content=[item for item in PROMPT.content if not isinstance(item, CachePoint)])
    later = replace(REQUESTS[2], timestamp=datetime.now(UTC))
    assert TRANSLATION.says(ModelRequest(parts=[without])) == TRANSLATION.says(ModelRequest(parts=[PROMPT]))
    assert TRANSLATION.says(ModelRequest(parts=[later])) == TRANSLATION.says(ModelRequest(parts=[REQUESTS[2]]))


def changed(native: ModelMessage, **blocks: Any) -> Any:
    """The parts after a view changed the blocks at these numbers, given as b0, b1 and so on."""
    message = TRANSLATION.to_message(native)
    for name, block in blocks.items():
        message["content"][int(name[1:])] = block
    before = kept([native])
    found = TRANSLATION.to_native(message, [native])
    assert [native] == before, "the given message was changed"
    return found.parts


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_a_shortened_answer_of_a_tool():
    native = ModelRequest(parts=[REQUESTS[7], REQUESTS[8]], run_id="r")
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "long [...]"}
    first, second = changed(native, b0=block)
    assert (first.content, first.tool_name, first.tool_call_id) == ("long [...]", "look", "c1")
    assert second is native.parts[1]
    assert TRANSLATION.to_native(TRANSLATION.to_message(native), [native]).run_id == "r"


def test_a_picture_that_leaves_the_answer_of_a_tool():
    native = ModelRequest(parts=[REQUESTS[9]])
    block = {"type": "tool_result", "tool_use_id": "c3", "content": [text("two"), text("[image left out]")]}
    (part,) = changed(native, b0=block)
    assert part.content == ["two", "[image left out]"]
    block["content"] = [text("t..."), TRANSLATION.to_message(native)["content"][0]["content"][1]]
    (part,) = changed(native, b0=block)
    assert part.content[0] == "t..."
    assert part.content[1] is REQUESTS[9].content[1]


def test_a_picture_that_leaves_a_prompt():
    (part,) = changed(ModelRequest(parts=[PROMPT]), b2=text("[image left out]"))
    assert part.content == ["Look:", PROMPT.content[1], PROMPT.content[2], "[image left out]", PROMPT.content[4]]
    assert part.content[4] is PROMPT.content[4]


def test_a_shortened_note_keeps_its_metadata():
    (part,) = changed(ModelRequest(parts=[PROMPT]), b3=text("a..."))
    assert part.content[4] == TextContent("a...", metadata={"by": "app"})


def test_shortened_arguments_keep_their_form():
    native = ModelResponse(parts=[RESPONSES[4], RESPONSES[5]])
    blocks = {
        f"b{n}": {"type": "tool_use", "id": f"c{n + 1}", "name": "look", "input": {"path": "..."}} for n in (0, 1)
    }
    first, second = changed(native, **blocks)
    assert first.args == {"path": "..."}
    assert (second.args, second.id) == ('{"path": "..."}', None), "OpenAI would use its own copy of an item with an id"


def test_a_changed_text_loses_its_id():
    (part,) = changed(ModelResponse(parts=[RESPONSES[0]]), b0=text("F..."))
    assert (part.content, part.id) == ("F...", None)


def without(native: ModelMessage, *numbers: int) -> Any:
    """The parts after a view left out the blocks at these numbers."""
    message = TRANSLATION.to_message(native)
    message["content"] = [block for at, block in enumerate(message["content"]) if at not in numbers]
    return TRANSLATION.to_native(message, [native]).parts


def test_without_its_reasoning_a_message_demands_none():
    search = replace(RESPONSES[8], id="ws_1")
    native = ModelResponse(parts=[RESPONSES[2], RESPONSES[0], search, RESPONSES[9], RESPONSES[5], RESPONSES[4]])
    found = without(native, 0)
    assert [part.part_kind for part in found] == ["text", "tool-call", "tool-call"]
    assert [part.id for part in found] == [None, None, None]
    assert found[-1] is RESPONSES[4]


def test_reasoning_that_openai_keeps_is_sealed_by_its_id():
    block, _ = TRANSLATION.to_message(ModelResponse(parts=[RESPONSES[2], TextPart("so")]))["content"]
    assert block["signature"] == "rs_1"
    (block,) = TRANSLATION.to_message(ModelResponse(parts=[RESPONSES[2]]))["content"]
    assert (block["type"], block["id"]) == ("reasoning", "rs_1")
    (block,) = TRANSLATION.to_message(ModelResponse(parts=[RESPONSES[3]]))["content"]
    assert "signature" not in block


def test_half_a_pair_of_a_native_tool_is_not_sent():
    native = ModelResponse(parts=[RESPONSES[8], RESPONSES[9], RESPONSES[0]])
    found = changed(native, b0=text("[left out]"))
    assert [part.part_kind for part in found] == ["text", "text"]


def test_results_of_several_messages_become_one():
    one, two = ModelRequest(parts=[REQUESTS[7]]), ModelRequest(parts=[REQUESTS[2], REQUESTS[8]])
    content = [*TRANSLATION.to_message(one)["content"], *TRANSLATION.to_message(two)["content"][::-1]]
    found = TRANSLATION.to_native({"role": "user", "content": content}, [one, two])
    assert [part.part_kind for part in found.parts] == ["tool-return", "tool-return", "user-prompt"]
    assert all(part in (*one.parts, *two.parts) for part in found.parts)


def test_what_backscroll_writes():
    written: list[dict[str, Any]] = [
        {"role": "user", "content": "<summary>x</summary>"},
        {"role": "assistant", "content": [text("<summary>x</summary>")]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c9", "content": "[no result recorded]"}]},
    ]
    made: list[Any] = [TRANSLATION.to_native(message, []) for message in written]
    request, response, result = made
    assert (request.parts[0].part_kind, request.parts[0].content) == ("user-prompt", "<summary>x</summary>")
    assert (response.kind, response.parts[0].content) == ("response", "<summary>x</summary>")
    assert (result.parts[0].tool_call_id, result.parts[0].content) == ("c9", "[no result recorded]")


STEERING = [REQUESTS[12], REQUESTS[13], REQUESTS[14], SystemPromptPart("Mind the time.")]


@pytest.mark.parametrize("part", STEERING)
def test_what_steers_stays_in_every_view(part):
    native = ModelRequest(parts=[ToolReturnPart("look", "x", "c1"), part])
    assert TRANSLATION.to_message(native)["metadata"] == {"critical": True}


def test_a_tool_search_stays_in_every_view():
    native = ModelResponse(parts=[ToolSearchCallPart("search_tools", {"queries": ["x"]}, "c1")])
    assert TRANSLATION.to_message(native)["metadata"] == {"critical": True}


def test_a_prompt_for_one_request_is_no_part_of_a_view():
    native = ModelRequest(parts=[REQUESTS[1], REQUESTS[2]])
    assert TRANSLATION.to_message(native) == {"role": "user", "content": [text("Hello.")]}
    assert native.parts[0] in changed(native, b0=text("Hel..."))


def test_the_first_prompt_may_be_shortened():
    translation = PydanticAITranslation()
    native = ModelRequest(parts=[SystemPromptPart("Be brief."), UserPromptPart("Hello.")])
    assert "metadata" in translation.to_message(native)
    translation.first = native
    assert "metadata" not in translation.to_message(native)
    translation.first = alone = ModelRequest(parts=[SystemPromptPart("Be brief.")])
    assert translation.to_message(alone)["metadata"] == {"critical": True}


def test_pins_of_the_harness_count():
    pinned = UserPromptPart([TextContent("Keep this.", metadata="pydantic-ai-harness.compaction.pin.v1")])
    assert TRANSLATION.to_message(ModelRequest(parts=[pinned]))["metadata"] == {"pinned": True}


def test_a_call_with_a_number_that_is_no_json_can_be_stored():
    message = ModelResponse(parts=[ToolCallPart("order", '{"number": NaN}', "c")])
    assert validated(PydanticAITranslation().to_message(message))["content"][0]["input"] == {"number": "NaN"}
