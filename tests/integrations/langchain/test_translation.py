"""LangChain's messages to stored ones and back: nothing is lost, and changes go where partners of LangChain read."""

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from backscroll import BackscrollWarning, MessageError
from backscroll.integrations.conversation import ModelCall
from backscroll.integrations.langchain import LangChainConversation
from backscroll.integrations.langchain.translation import LangChainTranslation
from backscroll.messages import read_message, validated
from tests.fakes import count_quarter
from tests.integrations import world
from tests.present import present

TRANSLATION = LangChainTranslation()
CALL = {"id": "c1", "name": "look", "args": {"at": "ä", "n": 1.5}}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
IDS = {"__openai_function_call_ids__": {"c1": "fc_1"}}
TEXT = {"type": "text", "text": "so"}
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
OLD = {"reasoning": THOUGHT, "tool_outputs": [SEARCH], **IDS}
"""Where langchain-openai keeps what is no text, unless it is asked for another `output_version`."""
TEXTS = st.text(max_size=20)
BLOCKS = st.one_of(
    TEXTS,
    st.builds(lambda text: {"type": "text", "text": text}, TEXTS),
    st.builds(
        lambda text: {"type": "text", "text": text, "id": "msg_1", "cache_control": {"type": "ephemeral"}}, TEXTS
    ),
    st.sampled_from(
        [
            {"type": "image", "base64": world.PNG, "mime_type": "image/png"},
            {"type": "image", "source_type": "base64", "data": world.PNG, "mime_type": "image/png"},
            {"type": "image", "url": "https://example.com/a.png"},
            {"type": "image", "file_id": "f1"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": world.PNG}},
            {"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"},
            {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
            {"type": "file", "base64": "AAAA", "mime_type": "application/pdf"},
            {"type": "file", "file": {"file_data": "AAAA"}},
            {"type": "text-plain", "text": "plain", "mime_type": "text/plain"},
            {"type": "non_standard", "value": {"of": "a provider"}},
        ]
    ),
)
CONTENT = st.one_of(TEXTS, st.lists(BLOCKS, max_size=4))
NATIVES = st.one_of(
    st.builds(HumanMessage, CONTENT),
    st.builds(SystemMessage, CONTENT),
    st.builds(lambda content: ToolMessage(content, tool_call_id="c0", status="error"), CONTENT),
    st.builds(
        lambda content, calls, more: AIMessage(content, tool_calls=calls, additional_kwargs=more),
        CONTENT,
        st.lists(st.just(CALL), max_size=1),
        st.sampled_from([{}, {"reasoning": THOUGHT}, {"tool_outputs": [SEARCH]}, {"reasoning_content": "hm"}]),
    ),
)  # fmt: skip  # one message a line


@given(NATIVES)
def test_an_unchanged_message_comes_back_equal(native):
    before = deepcopy(native)
    message = TRANSLATION.to_message(native)
    back = TRANSLATION.to_native(validated(message), [native])
    assert native == before
    assert back == native
    assert back is not native


@given(NATIVES)
def test_every_message_is_json_and_reads_without_strangers(native):
    message = validated(TRANSLATION.to_message(native))
    assert TRANSLATION.said(json.loads(json.dumps(message))) == TRANSLATION.says(native)
    texts = [part.text for part in read_message(message).parts if part.kind == "opaque"]
    assert not any(world.PNG in text for text in texts), "a picture counts as one"


@pytest.mark.parametrize(
    ("block", "kind", "data"),
    [
        ({"type": "image", "base64": world.PNG, "mime_type": "image/png"}, "image", world.PNG),
        ({"type": "image", "source_type": "base64", "data": world.PNG, "mime_type": "image/png"}, "image", world.PNG),
        ({"type": "image", "url": "https://example.com/a.png"}, "image", None),
        ({"type": "image", "file_id": "f1"}, "image", None),
        ({"type": "audio", "base64": "AAAA", "mime_type": "audio/wav"}, "audio", "AAAA"),
        ({"type": "video", "base64": "AAAA", "mime_type": "video/mp4"}, "document", "AAAA"),
        ({"type": "file", "base64": "AAAA", "mime_type": "application/pdf"}, "document", "AAAA"),
        ({"type": "text-plain", "url": "https://example.com/a.txt"}, "document", None),
    ],
)
def test_media_of_langchain_are_read_as_media(block, kind, data):
    (part,) = read_message(TRANSLATION.to_message(HumanMessage([block]))).parts
    assert (part.kind, present(part.media).kind, present(part.media).data) == ("media", kind, data)


def test_plain_text_is_read_as_text():
    (part,) = read_message(TRANSLATION.to_message(HumanMessage([{"type": "text-plain", "text": "so"}]))).parts
    assert (part.kind, part.text) == ("text", "so")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (HumanMessage("a", id="1"), HumanMessage("a", id="2", name="Anna"), True),
        (HumanMessage("a"), HumanMessage("b"), False),
        (HumanMessage([TEXT]), HumanMessage([{**TEXT, "cache_control": {}}]), True),
        (AIMessage("a", usage_metadata=USAGE), AIMessage("a"), True),
        (AIMessage("a", response_metadata={"id": "r"}), AIMessage("a"), True),
        (AIMessage("", tool_calls=[CALL]), AIMessage("", tool_calls=[{**CALL, "args": {}}]), False),
        (ToolMessage("a", tool_call_id="1"), ToolMessage("a", tool_call_id="2"), False),
        (ToolMessage("a", tool_call_id="1"), ToolMessage("a", tool_call_id="1", status="error"), False),
        (ToolMessage("a", tool_call_id="1"), ToolMessage("a", tool_call_id="1", artifact=object()), True),
    ],
)  # fmt: skip  # one pair a line
def test_notes_are_no_difference(one, other, same):
    assert (TRANSLATION.says(one) == TRANSLATION.says(other)) is same


def test_roles():
    roles = {
        "system": SystemMessage("x"),
        "user": HumanMessage("x"),
        "function": FunctionMessage(content="x", name="f"),
        "developer": ChatMessage(content="x", role="developer"),
    }
    for role, native in roles.items():
        assert TRANSLATION.to_message(native)["role"] == role
    assert TRANSLATION.to_message(ChatMessage(content="x", role="critic"))["role"] == "user"


def test_synthetic_messages_are_plain_ones():
    made = [
        TRANSLATION.to_native(message, [])
        for message in (
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "system", "content": "c"},
            {"role": "tool", "tool_call_id": "c1", "content": "d"},
        )
    ]
    assert made == [
        HumanMessage("a"), AIMessage("b"), SystemMessage("c"), ToolMessage("d", tool_call_id="c1", status="error")
    ]  # fmt: skip  # one line


def test_a_shortened_message_keeps_its_notes_and_other_blocks():
    picture = {"type": "image", "base64": world.PNG, "mime_type": "image/png", "extras": {"detail": "low"}}
    native: Any = ToolMessage(
        [{"type": "text", "text": "long"}, picture], tool_call_id="c1", status="error", artifact=object()
    )
    message = TRANSLATION.to_message(native)
    message["content"][0] = {"type": "text", "text": "cut"}
    back: Any = TRANSLATION.to_native(message, [native])
    assert back.content == [{"type": "text", "text": "cut"}, picture]
    assert (back.status, back.artifact, back.id) == ("error", native.artifact, native.id)
    assert native.content[0]["text"] == "long"


def test_blocks_that_are_stored_alike_keep_their_order():
    one = {"type": "image", "base64": world.PNG, "mime_type": "image/png"}
    other = {"type": "image", "source_type": "base64", "data": world.PNG, "mime_type": "image/png"}
    native = HumanMessage([{"type": "text", "text": "long"}, one, other, {**TEXT, "cache_control": {}}, TEXT])
    message = TRANSLATION.to_message(native)
    message["content"][0] = {"type": "text", "text": "cut"}
    back = TRANSLATION.to_native(message, [native])
    assert back.content == [{"type": "text", "text": "cut"}, *native.content[1:]]


def test_shortened_arguments_go_to_the_call():
    native = AIMessage("", tool_calls=[CALL], additional_kwargs={"tool_calls": [{"raw": 1}], "other": 2})
    message = TRANSLATION.to_message(native)
    message["tool_calls"][0]["function"]["arguments"] = '{"left_out": "12"}'
    back: Any = TRANSLATION.to_native(message, [native])
    assert back.tool_calls == [{**CALL, "args": {"left_out": "12"}, "type": "tool_call"}]
    assert back.additional_kwargs == {"other": 2}
    assert native.tool_calls[0]["args"] == CALL["args"]


def test_calls_that_could_not_be_read_count_as_calls():
    native = AIMessage("", invalid_tool_calls=[{"id": "c1", "name": "look", "args": "{", "error": "no JSON"}])
    message = TRANSLATION.to_message(native)
    assert read_message(message).calls == ("c1",)
    assert TRANSLATION.to_native(message, [native]) == native
    nameless = AIMessage("x", invalid_tool_calls=[{"id": None, "name": None, "args": "{", "error": None}])
    assert "tool_calls" not in TRANSLATION.to_message(nameless)


def test_arguments_that_are_no_json_are_named():
    with pytest.raises(MessageError, match="arguments of a tool call"):
        TRANSLATION.to_message(AIMessage("", tool_calls=[{**CALL, "args": {"at": {1, 2}}}]))


OPENAI_BLOCKS: list[Any] = [
    THOUGHT,
    {"type": "text", "text": "so", "id": "msg_1", "annotations": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
]


@pytest.mark.parametrize(
    "native",
    [
        AIMessage(OPENAI_BLOCKS, tool_calls=[CALL], id="resp_1"),
        AIMessage([TEXT], tool_calls=[CALL], id="msg_1", additional_kwargs=OLD),
        AIMessage([{"type": "thinking", "thinking": "hm", "signature": "s"}, TEXT], tool_calls=[CALL]),
        AIMessage("so", tool_calls=[CALL], additional_kwargs={"reasoning_content": "hm"}),
        AIMessage([THOUGHT, OPENAI_BLOCKS[2]], tool_calls=[CALL]),
    ],
)  # fmt: skip  # one message a line
def test_without_its_reasoning_a_message_demands_none(native):
    from backscroll.messages.reasoning import without_reasoning

    before = deepcopy(native)
    left = without_reasoning(TRANSLATION.to_message(native))
    assert left is not None
    back = TRANSLATION.to_native(left, [native])
    assert isinstance(back, AIMessage)
    sent = json.dumps([back.content, back.additional_kwargs, back.id])
    for word in ("reasoning", "thinking", "gAAA", "fc_1", "msg_1", "ws_1", "hm"):
        assert word not in sent
    assert back.tool_calls == native.tool_calls
    assert native == before


@pytest.mark.parametrize(
    "native",
    [
        AIMessage([THOUGHT], tool_calls=[CALL]),
        AIMessage([THOUGHT, SEARCH]),
        AIMessage([THOUGHT, OPENAI_BLOCKS[2]], tool_calls=[CALL]),
        AIMessage("", additional_kwargs={"reasoning": {"id": "rs_1", "summary": []}}, tool_calls=[CALL]),
    ],
)
def test_items_of_responses_are_one_message(native: Any):
    history = [HumanMessage("a"), native]
    if native.tool_calls:
        history.append(ToolMessage("seen", tool_call_id="c1"))
    context = LangChainConversation({"tokenizer": count_quarter})
    view = context.view_now(history, ModelCall(budget=10_000))
    assert all(there is here for there, here in zip(view, history, strict=True))
    assert any(part.kind == "reasoning" for part in read_message(TRANSLATION.to_message(native)).parts)


def test_unread_call_is_valid_once_a_view_replaced_its_arguments():
    calls = [{"id": "c1", "name": "look", "args": "{", "error": "no JSON"}]
    native = AIMessage("so", invalid_tool_calls=calls, tool_calls=[{**CALL, "id": "c0"}])
    message = deepcopy(TRANSLATION.to_message(native))
    message["tool_calls"][1]["function"]["arguments"] = "{}"
    back = TRANSLATION.to_native(message, [native])
    assert isinstance(back, AIMessage)
    assert [(each["id"], each["args"]) for each in back.tool_calls] == [("c0", CALL["args"]), ("c1", {})]
    assert back.invalid_tool_calls == []
    assert [each["args"] for each in native.invalid_tool_calls] == ["{"]


def test_picture_of_a_late_result_stays_langchains_own_block():
    picture = {"type": "image", "base64": "aGk=", "mime_type": "image/png"}
    history = [HumanMessage("a"), AIMessage("", tool_calls=[CALL]), HumanMessage("b")]
    history += [AIMessage("c"), ToolMessage([{"type": "text", "text": "seen"}, picture], tool_call_id="c1")]
    context = LangChainConversation({"tokenizer": count_quarter})
    with pytest.warns(BackscrollWarning, match="cannot be sent as it is"):
        view: Any = context.view_now(history, ModelCall(budget=10_000))
    last = view[-1]
    assert isinstance(last, HumanMessage)
    assert isinstance(last.content[0], dict)
    assert "Later result of" in last.content[0]["text"]
    assert last.content[1] == picture


def test_system_messages_within_the_history_stay():
    history: list[Any] = [HumanMessage("a"), SystemMessage("a rule"), AIMessage("b"), HumanMessage("c")]
    context = LangChainConversation({"tokenizer": count_quarter})
    view = context.view_now(history, ModelCall(budget=10_000, system="Be brief."))
    assert view == history
