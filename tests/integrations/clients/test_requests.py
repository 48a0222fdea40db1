"""Arguments for requests from views: what stays, what is moved, and what is refused."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll import CacheMarks, ConfigurationError, ContextManager
from backscroll.integrations.clients import (
    anthropic_request,
    chat_request,
    gemini_request,
    interactions_request,
    responses_request,
)

MARK = {"cache_control": {"type": "ephemeral"}}
SYSTEM: dict[str, Any] = {"role": "system", "content": "Be brief.", "metadata": {"critical": True}}
USER: dict[str, Any] = {"role": "user", "content": "Go.", "metadata": {"pinned": True}}


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def result(call: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call, "content": "done"}


def test_anthropic_system_messages_become_blocks_of_system():
    marked = {"role": "developer", "content": [text("And kind.", **MARK)]}
    request = anthropic_request([SYSTEM, marked, USER])
    assert request == {
        "system": [text("Be brief."), text("And kind.", **MARK)],
        "messages": [{"role": "user", "content": "Go."}],
    }


def test_anthropic_request_without_system_messages_has_no_system():
    """Nor has one whose system message says nothing: the API refuses an empty text."""
    assert anthropic_request([USER]) == {"messages": [{"role": "user", "content": "Go."}]}
    assert "system" not in anthropic_request([{"role": "system", "content": ""}, USER])


def test_anthropic_later_system_message_stays_in_its_place():
    view = [USER, {"role": "system", "content": "New mode."}, {"role": "assistant", "content": "Yes."}]
    assert [message["role"] for message in anthropic_request(view)["messages"]] == ["user", "system", "assistant"]


def test_anthropic_results_of_one_turn_are_one_message():
    """What the user says behind them is a message of its own."""
    results = [{"role": "user", "content": [result(call)]} for call in "abc"]
    calls = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": call, "name": "read", "input": {}} for call in "abc"],
    }
    view = [USER, calls, *results, USER, calls, results[0]]
    before = json.dumps(view)
    messages = anthropic_request(view)["messages"]
    assert [len(message["content"]) for message in messages] == [3, 3, 3, 3, 3, 1]
    assert messages[2]["content"] == [result(call) for call in "abc"]
    assert json.dumps(view) == before


words = st.sampled_from(["", "Go.", "Be brief."])
blocks = st.lists(
    st.sampled_from([text("x"), text("y", **MARK), result("a"), result("b"), {"type": "thinking", "thinking": "t"}]),
    min_size=1,
    max_size=4,
)
messages_of_views = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "user", "assistant"]), "content": st.one_of(words, blocks)},
        optional={"metadata": st.just({"pinned": True})},
    ),
    max_size=12,
)


def blocks_in(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [text(content)] if content else []


@given(messages_of_views)
def test_anthropic_request_keeps_every_block_in_order(view):
    """With its mark, and without `metadata`; and the request for a longer view begins with this one."""
    request = anthropic_request(view)
    pieces = [
        *request.get("system", ()),
        *(block for each in request["messages"] for block in blocks_in(each["content"])),
    ]
    assert pieces == [block for message in view for block in blocks_in(message["content"])]
    assert all("metadata" not in message for message in request["messages"])
    roles = [message["role"] for message in request["messages"]]
    assert "system" not in roles[:1]
    longer = anthropic_request([*view, {"role": "user", "content": "More."}])
    assert longer["messages"][: len(roles)] == request["messages"]


@pytest.mark.parametrize("reserved", [0, 1, 2])
def test_anthropic_request_has_at_most_four_marks(reserved):
    """With those that the caller sets at tools or at the top level, which `reserved` names."""
    marks = CacheMarks("anthropic", reserved=reserved)
    with ContextManager(budget=4_000, cache_marks=marks) as context:
        context.append(SYSTEM, USER)
        for number in range(30):
            calls: list[dict[str, Any]] = [
                {"type": "tool_use", "id": f"{number}-{at}", "name": "read", "input": {}} for at in range(25)
            ]
            context.append({"role": "assistant", "content": calls})
            context.append(*[{"role": "user", "content": [result(call["id"])]} for call in calls])
            request = json.dumps(anthropic_request(context.get_messages_for_request()))
            assert 1 <= request.count("cache_control") <= 4 - reserved
        assert "<summary>" in request


def test_chat_request_drops_metadata_and_nothing_else():
    calls = [{"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
    view: list[dict[str, Any]] = [SYSTEM, USER, {"role": "assistant", "content": None, "tool_calls": calls}]
    view += [{"role": "tool", "tool_call_id": "c", "content": [text("x")]}]
    bare = [{key: value for key, value in message.items() if key != "metadata"} for message in view]
    assert chat_request(view) == {"messages": bare}


def test_responses_request_keeps_system_messages_in_input():
    """`instructions` are behind the input from GPT-6.2 on, where no cache holds them."""
    items = [{"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}]
    items += [{"type": "function_call_output", "call_id": "c", "output": "x"}]
    sent = responses_request([SYSTEM, USER, *items])
    assert sent == {"input": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Go."}, *items]}


def said(words: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "parts": [{"text": words}]}


def test_gemini_system_messages_become_the_system_instruction():
    """Contents keep only role and parts; the caller's config is not changed."""
    config = {"tools": [{"function_declarations": []}]}
    view = [SYSTEM, said("And kind.", "system"), said("Go.") | {"metadata": {"pinned": True}}, said("Yes.", "model")]
    assert gemini_request(view, config) == {
        "contents": [said("Go."), said("Yes.", "model")],
        "config": {**config, "system_instruction": {"parts": [{"text": "Be brief."}, {"text": "And kind."}]}},
    }
    assert list(config) == ["tools"]
    assert gemini_request([said("Go.")]) == {"contents": [said("Go.")], "config": {}}


def test_gemini_two_system_instructions_are_refused():
    with pytest.raises(ConfigurationError, match="`system_instruction`"):
        gemini_request([SYSTEM, said("Go.")], {"system_instruction": "Be long."})
    kept = gemini_request([said("Go.")], {"system_instruction": "Be long."})
    assert kept["config"] == {"system_instruction": "Be long."}


@pytest.mark.parametrize("config", [{"cached_content": "caches/1"}, {"cachedContent": "caches/1"}, {"tools": [print]}])
def test_gemini_config_that_hides_messages_is_refused(config):
    """Contents that are cached apart, and functions that the client calls in requests of its own."""
    with pytest.raises(ConfigurationError, match=r"`(cached_content|tools)`"):
        gemini_request([said("Go.")], config)


def step(words: str, kind: str = "user_input") -> dict[str, Any]:
    return {"type": kind, "content": [text(words)]}


STEPS: dict[str, Any] = {"role": "user", "content": [step("Go.")]}


def test_interactions_get_the_steps_of_all_messages_in_a_row():
    """The system messages apart, no metadata, and nothing that a server keeps; a text alone is a step."""
    later = {"role": "developer", "content": [text("And kind.")]}
    call = {"type": "function_call", "id": "c", "name": "read", "arguments": {}}
    found = {"type": "function_result", "call_id": "c", "result": "x"}
    thought = {"type": "thought", "signature": "c2ln"}
    view = [SYSTEM, later, STEPS | {"metadata": {"pinned": True}}, {"role": "assistant", "content": [thought, call]}]
    view += [{"role": "user", "content": [found]}, {"role": "assistant", "content": "Yes."}, USER]
    said = [step("Yes.", "model_output"), step("Go.")]
    assert interactions_request(view) == {
        "input": [step("Go."), thought, call, found, *said],
        "system_instruction": "Be brief.\n\nAnd kind.",
        "store": False,
    }
    assert interactions_request([STEPS]) == {"input": [step("Go.")], "store": False}


def test_interactions_have_no_step_for_a_later_system_message():
    with pytest.raises(ConfigurationError, match=r"view\[1\] is a system message in the middle"):
        interactions_request([STEPS, SYSTEM])


CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {}}]}
BEDROCK = {"role": "user", "content": [{"text": "Go."}]}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read", "input": {}}]}
ITEM = {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"}
PART = {"role": "user", "content": [{"type": "input_text", "text": "Go."}]}
TYPED = {"role": "user", "content": [text("Go.")]}
TOOL = {"role": "tool", "tool_call_id": "c", "content": "x"}
CONTENT = said("Go.")


@pytest.mark.parametrize(
    ("request_for", "foreign", "named"),
    [
        (anthropic_request, CALLED, "'tool_calls'"),
        (anthropic_request, TOOL, "the role 'tool'"),
        (anthropic_request, ITEM, "'function_call'"),
        (anthropic_request, PART, "'input_text'"),
        (anthropic_request, BEDROCK, "without `type`"),
        (anthropic_request, CONTENT, "'parts'"),
        (chat_request, USE, "'tool_use'"),
        (chat_request, ITEM, "'function_call'"),
        (chat_request, PART, "'input_text'"),
        (chat_request, BEDROCK, "without `type`"),
        (chat_request, CONTENT, "'parts'"),
        (responses_request, CALLED, "'tool_calls'"),
        (responses_request, TOOL, "the role 'tool'"),
        (responses_request, USE, "'tool_use'"),
        (responses_request, TYPED, "'text'"),
        (responses_request, BEDROCK, "without `type`"),
        (responses_request, CONTENT, "'parts'"),
        (anthropic_request, STEPS, "'user_input'"),
        (chat_request, STEPS, "'user_input'"),
        (responses_request, STEPS, "'user_input'"),
        (interactions_request, CALLED, "'tool_calls'"),
        (interactions_request, TOOL, "the role 'tool'"),
        (interactions_request, USE, "'tool_use'"),
        (interactions_request, TYPED, "'text'"),
        (interactions_request, BEDROCK, "without `type`"),
        (interactions_request, CONTENT, "'parts'"),
        (gemini_request, USER, "'content'"),
        (gemini_request, CALLED, "the role 'assistant'"),
        (gemini_request, ITEM, "the role None"),
    ],
)
def test_messages_of_another_api_are_refused_by_place(request_for, foreign, named):
    """The error names what is foreign, and never quotes a text."""
    with pytest.raises(ConfigurationError, match="never converted") as refused:
        request_for([SYSTEM, foreign])
    assert "view[1]" in str(refused.value)
    assert named in str(refused.value)
    assert "Go." not in str(refused.value)
