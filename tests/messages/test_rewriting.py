"""Rewriting messages for a view: replacing parts, clipping, leaving blocks out, and the messages that nobody wrote."""

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from backscroll.messages import ParsedMessage, Part, read_message, validated
from backscroll.messages.rewriter import (
    NO_RESULT,
    answer_missing,
    clip_arguments,
    clip_text,
    leave_out,
    mask_arguments,
    plain,
    replace,
    replaceable,
)
from tests.builders import PIXEL, assistant, tool, user

texts = st.text(max_size=12)
ids = st.text(min_size=1, max_size=4)
jsons = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(texts, jsons, max_size=3)
extras = st.dictionaries(st.sampled_from(["cache_control", "visibility", "x"]), jsons, max_size=2)


def block(optional: Any = None, **keys: Any) -> Any:
    """A strategy for a block of these keys, mostly with some that nobody knows."""
    known = {key: value if isinstance(value, st.SearchStrategy) else st.just(value) for key, value in keys.items()}
    return st.builds(lambda extra, found: {**extra, **found}, extras, st.fixed_dictionaries(known, optional=optional))


# --- random messages of each dialect -------------------------------------------------------------------------------

openai_texts = block(type="text", text=texts)
openai_media = st.one_of(
    block(type="image_url", image_url=st.fixed_dictionaries({"url": texts})),
    block(type="input_audio", input_audio=st.fixed_dictionaries({"data": texts})),
    block(type="file", file=st.fixed_dictionaries({"file_data": texts})),
)
openai_call = st.one_of(
    block(
        id=ids,
        type="function",
        function=st.fixed_dictionaries({"name": ids, "arguments": texts | objects.map(json.dumps)}),
    ),
    block(id=ids, type="custom", custom=st.fixed_dictionaries({"name": ids, "input": texts})),
    block(id=ids, tool=ids, arguments=objects),
)
openai_content = (
    st.none() | texts | st.lists(openai_texts | openai_media | block(type="refusal", refusal=texts), max_size=4)
)
openai = st.one_of(
    block(role=st.sampled_from(["system", "user", "developer"]), content=openai_content),
    block(
        {"tool_calls": st.lists(openai_call, max_size=3), "refusal": texts, "reasoning_content": texts},
        role="assistant",
        content=openai_content,
    ),
    block({"content": openai_content}, role="tool", tool_call_id=ids),
    block(role="assistant", content=st.none(), function_call=st.fixed_dictionaries({"name": ids, "arguments": texts})),
)
thoughts = st.one_of(
    block({"signature": texts}, type="thinking", thinking=texts),
    block(type="redacted_thinking", data=texts),
    block(type="reasoning", content=st.lists(texts, max_size=2), summary=st.just([])),
)
images = block(type="image", source=st.fixed_dictionaries({"type": st.just("base64"), "data": st.just(PIXEL)}))
documents = block(
    type="document",
    source=st.one_of(
        st.fixed_dictionaries({"type": st.just("text"), "data": texts}),
        st.fixed_dictionaries({"type": st.just("url"), "url": texts}),
        st.fixed_dictionaries({"type": st.just("content"), "content": st.lists(openai_texts, max_size=2)}),
    ),
)
inner = st.lists(openai_texts | images | documents, max_size=3)
typed_blocks = st.lists(
    st.one_of(
        openai_texts,
        images,
        documents,
        thoughts,
        block(type=st.sampled_from(["tool_use", "tool_call"]), id=ids, name=ids, input=objects),
        block({"content": texts | inner}, type="tool_result", tool_use_id=ids),
        block({"output": texts | jsons}, type="tool_result", tool_call_id=ids),
        block(type="server_tool_use", id=ids, name=ids, input=objects),
        objects,
    ),
    max_size=4,
)
amplifier_calls = {"tool_calls": st.lists(openai_call, max_size=2), "thinking_block": objects}
typed = st.one_of(
    block(role="user", content=typed_blocks), block(amplifier_calls, role="assistant", content=typed_blocks | texts)
)
sourced = st.fixed_dictionaries(
    {
        "source": st.fixed_dictionaries(
            {}, optional={"bytes": texts, "text": texts, "content": st.lists(objects, max_size=1)}
        )
    }
)
bedrock_plain = [block(text=texts), block(image=sourced), block(document=sourced), block(video=sourced)]
bedrock_inner = st.lists(st.one_of(*bedrock_plain, block(json=jsons)), max_size=3)
bedrock_blocks = st.lists(
    st.one_of(
        *bedrock_plain,
        block(toolUse=block(toolUseId=ids, name=ids, input=objects)),
        block(toolResult=block({"content": bedrock_inner, "status": texts}, toolUseId=ids)),
        block(reasoningContent=block(reasoningText=block({"signature": texts}, text=texts))),
        block(cachePoint=objects),
    ),
    max_size=4,
)
bedrock = block(role=st.sampled_from(["user", "assistant"]), content=bedrock_blocks)
messages = st.one_of(openai, typed, bedrock)

BECOMES_TEXT = {"media": "text", "opaque": "text"}


def after(reading: ParsedMessage, number: int, text: str) -> list[tuple[Any, ...]]:
    """What the parts must read as when part `number` was replaced by `text`."""
    expected = []
    kind: str
    for at, part in enumerate(reading.parts):
        kind, words, media = part.kind, part.text, part.media
        if at == number:
            kind = "result" if kind in BECOMES_TEXT and part.id is not None else BECOMES_TEXT.get(kind, kind)
            words, media = text, None
        expected.append((kind, words, part.id, part.name, media))
    return expected


def seen(reading: ParsedMessage) -> list[tuple[Any, ...]]:
    return [(part.kind, part.text, part.id, part.name, part.media) for part in reading.parts]


@given(messages, st.text(min_size=1, max_size=12), objects)
def test_each_part_can_be_replaced_alone_in_every_dialect(
    message: dict[str, Any], text: str, arguments: dict[str, Any]
) -> None:
    """Each replaceable part can be replaced alone in every dialect."""
    message = validated(message)
    before, reading = copy.deepcopy(message), read_message(message)
    for number, part in enumerate(reading.parts):
        if not replaceable(reading, part):
            continue
        new = json.dumps(arguments, ensure_ascii=False, separators=(",", ":")) if part.kind == "call" else text
        changed = replace(message, reading, {number: new})
        assert seen(read_message(validated(changed))) == after(reading, number, new)
        assert message == before
        assert list(changed)[: len(message)] == list(message)


@given(messages, st.text(min_size=1, max_size=12))
def test_all_texts_of_a_message_can_be_replaced_together(message: dict[str, Any], text: str) -> None:
    message = validated(message)
    reading = read_message(message)
    stub = mask_arguments(text)
    new = {
        number: stub if part.kind == "call" else text
        for number, part in enumerate(reading.parts)
        if replaceable(reading, part)
    }
    changed = read_message(replace(message, reading, new))
    assert [part.text for part in changed.parts] == [new.get(n, part.text) for n, part in enumerate(reading.parts)]
    assert (changed.calls, changed.results) == (reading.calls, reading.results)


def test_rigid_messages_and_reasoning_cannot_be_replaced() -> None:
    """Nothing of a rigid message and no reasoning may be replaced."""
    signed = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    rigid = read_message(assistant([signed, {"type": "text", "text": "long"}], tool_calls=[{"id": "1", "tool": "x"}]))
    loose = read_message(assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "long"}]))
    assert [replaceable(rigid, part) for part in rigid.parts] == [False, False, False]
    assert [replaceable(loose, part) for part in loose.parts] == [False, True]


def test_a_result_without_content_can_be_given_one() -> None:
    for message in ({"role": "tool", "tool_call_id": "c1"}, tool(None)):
        assert replace(message, read_message(message), {0: "new"}) == tool("new")


# --- clipping ------------------------------------------------------------------------------------------------------


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inside for text in strings(item)]


def shape(value: Any) -> Any:
    """The value with every string left out: what clipping may not change."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return None if isinstance(value, str) else value


long_texts = st.builds(lambda text, size: (text * size)[:size], st.text(min_size=1, max_size=5), st.integers(0, 300))
long_arguments = st.dictionaries(texts, long_texts | st.lists(long_texts, max_size=3) | jsons, min_size=1, max_size=4)


@given(long_arguments | jsons, st.booleans(), st.integers(0, 30), st.integers(0, 30))
def test_clipped_arguments_stay_valid_json_of_the_same_shape(value: Any, escaped: bool, head: int, tail: int) -> None:
    clipped = json.loads(clip_arguments(json.dumps(value, ensure_ascii=escaped), head, tail, "[ref:1.0]"))
    assert shape(clipped) == shape(value)
    for old, new in zip(strings(value), strings(clipped), strict=True):
        if len(old) <= head + tail:
            assert new == old
        elif new != old:
            assert new.startswith(old[:head])
            assert new.endswith(old[len(old) - tail :])
            assert "[ref:1.0]" in new
            assert len(new) < len(old)
        else:
            assert len(old) <= head + tail + 100  # a cut would win next to nothing


@pytest.mark.parametrize(
    "text", ["", "{", '{"a": ', "not json", "[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, "1" * 5_000], ids=len
)
def test_arguments_that_cannot_be_read_stay_as_they_are(text: str) -> None:
    assert clip_arguments(text, 10, 10, "[ref:1.0]") == text


def test_clipped_arguments_can_be_encoded_if_the_whole_could() -> None:
    text = json.dumps({"a": "\ud83d" + "x" * 500, "b": "ä"})
    clipped = clip_arguments(text, 20, 20, "[ref:1.0]")
    assert clipped.encode()
    assert json.loads(clipped)["a"].startswith("\ud83dx")
    assert len(clipped) < len(text)


@given(st.text(max_size=80), st.integers(0, 50), st.integers(0, 50))
def test_clipped_text_keeps_its_ends_and_says_what_is_missing(text: str, head: int, tail: int) -> None:
    """A clipped text keeps head and tail and says how much is missing."""
    clipped = clip_text(text, head, tail, "[ref:3.1]")
    missing = len(text) - head - tail
    if missing <= 0:
        assert clipped == text
    else:
        note = f"\n[... {missing:,} characters left out, recall [ref:3.1] ...]\n"
        assert clipped == text[:head] + note + text[head + missing :]


@given(st.text())
def test_masked_arguments_are_a_json_object_that_holds_the_note(note: str) -> None:
    assert json.loads(mask_arguments(note)) == {"left_out": note}


# --- leaving blocks out --------------------------------------------------------------------------------------------


@given(st.one_of(typed, bedrock), st.sets(st.integers(0, 3)))
def test_removed_results_go_and_the_rest_stays_in_order(message: dict[str, Any], gone: set[int]) -> None:
    """Left out results are gone and everything else stays in order."""
    assume(isinstance(message["content"], list))
    before = copy.deepcopy(message)
    rest = leave_out(message, [("content", number) for number in gone])
    kept = [found for number, found in enumerate(message["content"]) if number not in gone]
    assert message == before
    if rest is not None:
        assert rest == {**message, "content": kept}
    else:
        assert all(set(found) <= {"cachePoint"} for found in kept)


def test_message_with_only_a_cache_marker_left_is_removed() -> None:
    """A message of which only a cache marker would remain is left out."""
    result = {"toolResult": {"toolUseId": "b1", "content": []}}
    marker = {"cachePoint": {"type": "default"}}
    assert leave_out(user(result, marker), [("content", 0)]) is None
    assert leave_out(user(result), [("content", 0)]) is None
    assert leave_out(user(result, {"text": "x"}, marker), [("content", 0)]) == user({"text": "x"}, marker)


def test_the_empty_path_stands_for_the_whole_message() -> None:
    assert leave_out(tool("x"), [()]) is None


# --- synthetic messages --------------------------------------------------------------------------------------------

OPENAI_CALLS = assistant(
    None,
    tool_calls=[
        {"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in ("a", "b", "c")
    ],
)
CUSTOM_CALLS = assistant(
    "", tool_calls=[{"id": name, "type": "custom", "custom": {"name": "f", "input": ""}} for name in "abc"]
)
AMPLIFIER_CALLS = assistant(
    [{"type": "tool_call", "id": name, "name": "f", "input": {}} for name in "abc"],
    tool_calls=[{"id": name, "tool": "f", "arguments": {}} for name in "abc"],
)
BLOCK_CALLS = assistant([{"type": "tool_call", "id": name, "name": "f", "input": {}} for name in "abc"])
ANTHROPIC_CALLS = assistant([{"type": "tool_use", "id": name, "name": "f", "input": {}} for name in "abc"])
BEDROCK_CALLS = assistant([{"toolUse": {"toolUseId": name, "name": "f", "input": {}}} for name in "abc"])


def anthropic_result(name: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": name, "content": "done"}


def bedrock_result(name: str) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": name, "content": [{"text": "done"}]}}


def answered(results: list[dict[str, Any]]) -> list[str]:
    return [name for message in results for name, _ in read_message(validated(message)).results]


def missing(message: dict[str, Any], names: str) -> list[Part]:
    return [part for part in read_message(message).parts if part.kind == "call" and part.id in set(names)]


@pytest.mark.parametrize("calls", [OPENAI_CALLS, CUSTOM_CALLS, AMPLIFIER_CALLS, BLOCK_CALLS])
def test_missing_tool_results_follow_the_recorded_ones(calls: dict[str, Any]) -> None:
    """Missing results of the tool role follow the recorded ones."""
    recorded = [tool("done", "b")]
    messages = answer_missing(calls, missing(calls, "ac"), recorded)
    assert messages == [tool("done", "b"), tool(NO_RESULT, "a"), tool(NO_RESULT, "c")]
    assert recorded == [tool("done", "b")]
    assert answered(answer_missing(calls, missing(calls, "abc"), [])) == ["a", "b", "c"]


@pytest.mark.parametrize(("calls", "result"), [(ANTHROPIC_CALLS, anthropic_result), (BEDROCK_CALLS, bedrock_result)])
def test_missing_block_results_join_the_recorded_user_message(calls: dict[str, Any], result: Any) -> None:
    """Missing results of block dialects join the recorded user message."""
    said = {"type": "text", "text": "and"} if result is anthropic_result else {"text": "and"}
    recorded = [user(result("b"), said)]
    messages = answer_missing(calls, missing(calls, "ac"), recorded)
    assert len(messages) == 1
    assert answered(messages) == ["b", "a", "c"]
    assert messages[0]["content"][0] == result("b")
    assert messages[0]["content"][-1] == said
    assert recorded == [user(result("b"), said)]
    assert [part.text for part in read_message(messages[0]).parts] == ["done", NO_RESULT, NO_RESULT, "and"]


@pytest.mark.parametrize("calls", [ANTHROPIC_CALLS, BEDROCK_CALLS])
def test_missing_block_results_make_a_user_message_if_needed(calls: dict[str, Any]) -> None:
    """Missing results of block dialects make one user message where there is none."""
    messages = answer_missing(calls, missing(calls, "abc"), [])
    assert [message["role"] for message in messages] == ["user"]
    assert answered(messages) == ["a", "b", "c"]


@pytest.mark.parametrize("call", [{"name": "f", "arguments": "{}"}, {"arguments": "{}"}])
def test_missing_result_of_a_function_call_has_the_function_role(call: dict[str, Any]) -> None:
    """A missing result of a function call is of the function role."""
    message = assistant(None, function_call=call)
    reading = read_message(message)
    messages = answer_missing(message, list(reading.parts), [])
    assert [found["role"] for found in messages] == ["function"]
    assert answered(messages) == list(reading.calls)


def test_no_missing_calls_leave_the_results_as_they_are() -> None:
    assert answer_missing(OPENAI_CALLS, [], [tool("x")]) == [tool("x")]


@pytest.mark.parametrize(
    ("like", "content"),
    [
        (None, "x"),
        ({"role": "user", "content": "hi"}, "x"),
        (user({"type": "text", "text": "hi"}), "x"),
        (user(), "x"),
        (assistant(None), "x"),
        (user({"text": "hi"}), [{"text": "x"}]),
        (BEDROCK_CALLS, [{"text": "x"}]),
        (user({"cachePoint": {"type": "default"}}, bedrock_result("a")), [{"text": "x"}]),
        (user({"guardContent": {"text": {"text": "hi"}}}, {"text": "hi"}), [{"text": "x"}]),
    ],
)
def test_a_plain_message_has_the_block_form_of_its_history(like: dict[str, Any] | None, content: Any) -> None:
    assert plain("user", "x", like) == {"role": "user", "content": content}
