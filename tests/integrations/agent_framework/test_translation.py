"""Messages of the framework in Anthropic's dialect, and back: what a view leaves as it is stays the same object."""

import json
from typing import Any

import pytest
from agent_framework import Content, Message
from hypothesis import given
from hypothesis import strategies as st

from backscroll import BackscrollWarning
from backscroll.integrations.agent_framework.translation import AgentFrameworkTranslation
from backscroll.integrations.conversation import Conversation, ModelCall
from backscroll.messages import validated
from tests.integrations import world
from tests.present import present

TRANSLATION = AgentFrameworkTranslation()
TEXTS = st.text(max_size=20)
RESULTS = st.one_of(TEXTS, st.lists(st.builds(Content.from_text, TEXTS), max_size=3), st.integers(), st.none())
PICTURE = Content.from_uri(f"data:image/png;base64,{world.PNG}", media_type="image/png")
CONTENTS = st.one_of(
    st.builds(Content.from_text, TEXTS),
    st.builds(Content.from_text_reasoning, text=st.none() | TEXTS, protected_data=st.none() | TEXTS),
    st.builds(
        Content.from_function_call,
        st.sampled_from(["a", "b"]),
        st.just("order"),
        arguments=st.one_of(st.none(), TEXTS, st.just('{"number": 1}'), st.just({"number": 1})),
        hosted=st.booleans(),
    ),
    st.builds(Content.from_function_result, st.sampled_from(["a", "b"]), result=RESULTS, exception=st.none() | TEXTS),
    st.sampled_from([
        PICTURE,
        Content.from_uri("https://example.com/a.png", media_type="image/png"),
        Content.from_data(b"sound", "audio/wav"),
        Content.from_data(b"pages", "application/pdf"),
        Content.from_hosted_file("file_1"),
        Content.from_usage({"input_token_count": 3}),
        Content.from_error(message="no"),
        Content.from_mcp_server_tool_call("c", "search", server_name="s", arguments={"a": 1}),
        Content.from_mcp_server_tool_result("c", output=[Content.from_text("found")]),
    ]),
)  # fmt: skip  # one list
MESSAGES = st.builds(Message, st.sampled_from(["user", "assistant", "tool", "system"]), st.lists(CONTENTS, max_size=4))


@given(MESSAGES)
def test_an_unchanged_message_has_its_own_contents(native):
    before = native.to_dict()
    message = json.loads(json.dumps(TRANSLATION.to_message(native)))
    made = TRANSLATION.to_native(message, [native])
    assert len(made.contents) == len(native.contents) == len(message["content"])
    assert all(one == other for one, other in zip(made.contents, native.contents, strict=True))
    assert all(any(one is own for own in native.contents) for one in made.contents)
    assert native.to_dict() == before
    assert made.role == native.role


@given(MESSAGES, TEXTS)
def test_a_changed_text_changes_its_content_only(native, text):
    message = TRANSLATION.to_message(native)
    at = next((at for at, block in enumerate(message["content"]) if block["type"] == "text"), None)
    if at is None:
        return
    before = native.to_dict()
    message["content"][at]["text"] = changed = f"changed {text}"
    made = TRANSLATION.to_native(message, [native])
    assert made.contents[at].text == changed
    assert [one == other for one, other in zip(made.contents, native.contents, strict=True)].count(False) == 1
    assert native.to_dict() == before


def result_of(*items: Content) -> Message:
    content = Content.from_function_result("c", result=list(items), additional_properties={"note": 1})
    content.raw_representation = object()
    return Message("tool", [content], author_name="shop", message_id="m", raw_representation=object())


def test_a_shortened_result_keeps_what_only_the_framework_knows():
    native = result_of(Content.from_text("long " * 50), PICTURE)
    message = TRANSLATION.to_message(native)
    message["content"][0]["content"][0]["text"] = "short"
    made = TRANSLATION.to_native(message, [native])
    (content,) = made.contents
    assert (made.role, made.author_name, made.message_id, made.raw_representation) == ("tool", "shop", "m", None)
    assert (content.call_id, content.result, content.additional_properties) == ("c", "short", {"note": 1})
    assert content.raw_representation is None, "it has the long text"
    assert [item.text for item in present(content.items)] == ["short", None]
    assert present(content.items)[1] is PICTURE
    assert native.contents[0].result != "short"


def test_a_picture_that_left_becomes_a_text():
    native = Message("user", ["look", PICTURE, "and say"])
    message = TRANSLATION.to_message(native)
    message["content"][1] = {"type": "text", "text": "[image left out]"}
    made = TRANSLATION.to_native(message, [native])
    assert [content.text for content in made.contents] == ["look", "[image left out]", "and say"]
    assert made.contents[0] is native.contents[0]
    assert made.contents[2] is native.contents[2]


@pytest.mark.parametrize("arguments", ['{"text": "long"}', {"text": "long"}])
def test_shortened_arguments_have_the_type_they_had(arguments):
    native = Message("assistant", [Content.from_function_call("c", "save", arguments=arguments)])
    message = TRANSLATION.to_message(native)
    assert message["content"][0]["input"] == {"text": "long"}
    message["content"][0]["input"] = {"text": "s"}
    (content,) = TRANSLATION.to_native(message, [native]).contents
    assert content.arguments == ('{"text": "s"}' if isinstance(arguments, str) else {"text": "s"})


def test_a_result_that_was_never_recorded_becomes_one_of_a_tool():
    block = {"type": "tool_result", "tool_use_id": "c", "content": "[no result recorded]"}
    made = TRANSLATION.to_native({"role": "user", "content": [block]}, [])
    assert made.role == "tool"
    assert (made.contents[0].call_id, made.contents[0].result) == ("c", "[no result recorded]")


def test_a_message_of_backscroll_is_plain():
    made = TRANSLATION.to_native({"role": "user", "content": "<summary>\nso far\n</summary>"}, [])
    assert (made.role, made.text, made.additional_properties) == ("user", "<summary>\nso far\n</summary>", {})


def test_results_of_one_round_are_brought_together():
    natives = [Message("tool", [Content.from_function_result(name, result=f"result {name}")]) for name in ("a", "b")]
    blocks = [block for native in natives for block in TRANSLATION.to_message(native)["content"]]
    made = TRANSLATION.to_native({"role": "user", "content": blocks}, natives)
    assert [content is native.contents[0] for content, native in zip(made.contents, natives, strict=True)] == [True] * 2


def test_notes_are_no_difference():
    one, other = (Message("assistant", ["fine"], author_name=name, message_id=name) for name in "ab")
    other.contents[0].annotations = [{"type": "citation"}]
    assert TRANSLATION.says(one) == TRANSLATION.says(other)
    assert TRANSLATION.says(one) != TRANSLATION.says(Message("assistant", ["good"]))


def reasoning(*contents: dict[str, Any]) -> list[dict[str, Any]]:
    native = Message("assistant", [Content.from_text_reasoning(**each) for each in contents])
    blocks: list[dict[str, Any]] = TRANSLATION.to_message(native)["content"]
    return blocks


def test_reasoning_of_openai_alone_is_an_item_that_no_view_shows():
    sealed = Content.from_text_reasoning(id="rs_1", text="hm", protected_data="gAAA")
    (item,) = TRANSLATION.to_message(Message("assistant", [sealed]))["content"]
    assert (item["type"], item["id"], item["encrypted_content"]) == ("reasoning", "rs_1", "gAAA")
    blocks = TRANSLATION.to_message(Message("assistant", [sealed, Content.from_text("so")]))["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text"]


def test_hosted_call_and_its_result_are_known_as_a_pair():
    call = Content.from_mcp_server_tool_call("c", "search", server_name="s", arguments={"a": 1})
    result = Content.from_mcp_server_tool_result("c", output="found")
    said = [Message("user", [Content.from_text("go")]), Message("assistant", [call])]
    history = [
        *said,
        Message("assistant", [result, Content.from_text("so")]),
        Message("user", [Content.from_text("b")]),
    ]
    context = Conversation(TRANSLATION, {})
    assert all(one is other for one, other in zip(context.view_now(history, ModelCall(9_000)), history, strict=True))
    alone = [history[0], history[2], history[3]]
    with pytest.warns(BackscrollWarning, match="server_pair"):
        view = Conversation(TRANSLATION, {}).view_now(alone, ModelCall(9_000))
    assert [content.type for content in view[1].contents] == ["text"]


def test_reasoning_is_sealed_also_where_its_signature_is_apart():
    assert reasoning({"text": "hm", "protected_data": "sig"}) == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"}
    ]
    assert reasoning({"text": "hm"}) == [{"type": "thinking", "thinking": "hm", "visibility": "all"}]
    apart = reasoning({"text": "hm"}, {"text": None, "protected_data": "sig"})
    assert apart[0]["signature"]
    assert apart[1] == {"type": "redacted_thinking", "data": "sig"}


def test_data_that_nobody_reads_is_not_counted_as_a_text():
    picture = Content.from_image_generation_tool_result(image_id="i", outputs=[PICTURE])
    assert world.PNG not in str(TRANSLATION.to_message(Message("assistant", [picture])))


@pytest.mark.parametrize("arguments", ['{"number": NaN}', {"number": float("inf")}])
def test_a_call_with_a_number_that_is_no_json_can_be_stored(arguments):
    message = AgentFrameworkTranslation().to_message(
        Message("assistant", [Content.from_function_call("c", "order", arguments=arguments)])
    )
    assert validated(message)["content"][0]["input"]["number"] in ("NaN", "Infinity")
