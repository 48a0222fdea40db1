"""Reading what a provider counted from the objects of its own client, from dicts of them, and from what is neither."""

from types import SimpleNamespace
from typing import Any

import pytest

from backscroll import BackscrollWarning, ConfigurationError, ContextManager
from backscroll.messages.counted import Counted
from backscroll.tokens.responses import SUPPORTED, read_usage
from tests.builders import MessageFactory
from tests.present import present

CHAT = {
    "id": "c", "object": "chat.completion", "created": 1, "model": "gpt-6-luna",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Done."}}],
    "usage": {
        "prompt_tokens": 5_000, "completion_tokens": 40, "total_tokens": 5_040,
        "prompt_tokens_details": {"cached_tokens": 4_096, "cache_write_tokens": 512, "audio_tokens": None},
    },
}  # fmt: skip  # as it comes over the wire
RESPONSE = {
    "id": "r", "object": "response", "created_at": 1, "model": "gpt-6-luna", "output": [], "tools": [],
    "parallel_tool_calls": True, "tool_choice": "auto", "status": "completed",
    "usage": {
        "input_tokens": 5_000, "output_tokens": 40, "total_tokens": 5_040,
        "input_tokens_details": {"cached_tokens": 4_096, "cache_write_tokens": 512},
        "output_tokens_details": {"reasoning_tokens": 30},
    },
}  # fmt: skip
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn",
    "stop_sequence": None, "content": [{"type": "text", "text": "Done."}],
    "usage": {
        "input_tokens": 392, "cache_read_input_tokens": 4_096, "cache_creation_input_tokens": 512, "output_tokens": 40,
    },
}  # fmt: skip
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Done."}]}, "finishReason": "STOP"}],
    "usageMetadata": {
        "promptTokenCount": 5_000, "cachedContentTokenCount": 4_096, "candidatesTokenCount": 10,
        "thoughtsTokenCount": 30, "toolUsePromptTokenCount": 700, "totalTokenCount": 5_740,
    },
}  # fmt: skip
CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Done."}]}}, "stopReason": "end_turn",
    "metrics": {"latencyMs": 9},
    "usage": {
        "inputTokens": 392, "outputTokens": 40, "totalTokens": 5_040,
        "cacheReadInputTokens": 4_096, "cacheWriteInputTokens": 512,
    },
}  # fmt: skip
WRITTEN = Counted(392, 4_096, 512, 40)
READ = Counted(904, 4_096, 0, 40)
TOLD: dict[str, tuple[dict[str, Any], Counted]] = {
    "chat": (CHAT, WRITTEN),
    "responses": (RESPONSE, WRITTEN),
    "anthropic": (MESSAGE, WRITTEN),
    "gemini": (GEMINI, READ),
    "bedrock": (CONVERSE, WRITTEN),
}


def usage_in(response: dict[str, Any]) -> dict[str, Any]:
    return response.get("usage") or response["usageMetadata"]


@pytest.mark.parametrize("name", TOLD)
def test_a_dict_of_a_response_and_its_usage_alone_say_the_same(name):
    response, counted = TOLD[name]
    assert read_usage(response) == read_usage(usage_in(response)) == counted
    assert counted.prompt == 5_000


def of_clients() -> dict[str, Any]:
    """The same responses as the clients' own objects."""
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    return {
        "chat": openai.types.chat.ChatCompletion.model_validate(CHAT),
        "responses": openai.types.responses.Response.model_validate(RESPONSE),
        "anthropic": anthropic.types.Message.model_validate(MESSAGE),
        "beta": anthropic.types.beta.BetaMessage.model_validate(MESSAGE),
    }


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic", "beta"])
def test_objects_of_the_clients_are_read(name):
    response = of_clients()[name]
    assert read_usage(response) == read_usage(response.usage) == WRITTEN
    assert read_usage(response.model_dump()) == WRITTEN


def test_both_input_tokens_interfaces_are_distinguished():
    """OpenAI's Responses include what was cached, Anthropic excludes it; without a cache both say the same."""
    both = {"input_tokens": 5_000, "output_tokens": 40}
    assert read_usage(both) == Counted(5_000, 0, 0, 40)
    assert read_usage(both | {"input_tokens_details": {"cached_tokens": 4_096}}) == READ
    assert read_usage(both | {"cache_read_input_tokens": 4_096}) == Counted(5_000, 4_096, 0, 40)
    assert (
        present(read_usage(both | {"cache_read_input_tokens": None, "cache_creation_input_tokens": None})).prompt
        == 5_000
    )


def test_objects_in_geminis_and_bedrocks_shape_are_read():
    metadata = SimpleNamespace(
        prompt_token_count=5_000, cached_content_token_count=4_096, candidates_token_count=None,
        thoughts_token_count=40, total_token_count=5_040,
    )  # fmt: skip
    assert read_usage(SimpleNamespace(candidates=[], usage_metadata=metadata)) == read_usage(metadata) == READ
    assert read_usage({"metadata": {"usage": CONVERSE["usage"]}}) == WRITTEN


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 100}, Counted(100, 0, 0, 0)),
        ({"prompt_tokens": 100, "prompt_tokens_details": None, "completion_tokens": 5}, Counted(100, 0, 0, 5)),
        ({"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}, Counted(36, 64, 0, 0)),
        ({"prompt_tokens": 100, "cached_tokens": 64}, Counted(36, 64, 0, 0)),
        ({"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 101}}, Counted(100, 0, 0, 0)),
        ({"prompt_tokens": 90, "cache_read_input_tokens": 64, "prompt_tokens_details": {"cached_tokens": 64}},
         Counted(26, 64, 0, 0)),
        ({"inputTokens": 99, "outputTokens": 5, "totalTokens": 104, "cacheReadInputTokens": 64}, Counted(35, 64, 0, 5)),
    ],
)  # fmt: skip
def test_other_providers_in_these_shapes_are_read(usage, counted):
    """DeepSeek, Moonshot, gateways that name cached tokens in both ways, and Strands' models."""
    assert read_usage(usage) == counted


def test_call_with_server_tools_reports_what_was_sent():
    """Anthropic adds up the prompts of all turns that its server took; ours was the first."""
    turn = {"input_tokens": 100, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 0, "output_tokens": 5}
    compacted = turn | {"type": "compaction", "input_tokens": 7}
    turns = [compacted, turn | {"type": "message"}, turn | {"type": "message", "input_tokens": 800}]
    usage = {"input_tokens": 900, "cache_read_input_tokens": 1_800, "output_tokens": 10, "iterations": turns}
    assert read_usage(usage) == Counted(100, 900, 0, 10)
    types = pytest.importorskip("anthropic").types.beta
    assert read_usage(types.BetaUsage.model_validate(usage)) == Counted(100, 900, 0, 10)
    assert read_usage({"input_tokens": 0, "output_tokens": 0, "iterations": [compacted]}) == Counted(0, 0, 0, 0)


def chunk(**more: Any) -> Any:
    told = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-6-luna", "choices": []}
    return pytest.importorskip("openai").types.chat.ChatCompletionChunk.model_validate(told | more)


def test_events_of_streams_are_read_where_they_hold_the_usage():
    openai, anthropic = pytest.importorskip("openai").types, pytest.importorskip("anthropic").types
    done = {"type": "response.completed", "sequence_number": 3, "response": RESPONSE}
    started = {"type": "message_start", "message": MESSAGE}
    assert read_usage(chunk(usage=CHAT["usage"])) == WRITTEN
    assert read_usage(openai.responses.ResponseCompletedEvent.model_validate(done)) == read_usage(done) == WRITTEN
    assert read_usage(anthropic.RawMessageStartEvent.model_validate(started)) == read_usage(started) == WRITTEN


def test_what_holds_no_count_of_its_prompt_reads_as_none():
    anthropic = pytest.importorskip("anthropic").types
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    text = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Do"}}
    empty = [
        chunk(), chunk().model_dump(), CHAT | {"usage": None}, RESPONSE | {"usage": None},
        GEMINI | {"usageMetadata": None},
        anthropic.RawMessageDeltaEvent.model_validate(delta), anthropic.RawContentBlockDeltaEvent.model_validate(text),
        {"contentBlockDelta": {"delta": {"text": "Do"}}}, {"prompt_tokens": None}, {"input_tokens": -1},
        {"input_tokens": True}, {"inputTokens": 1.5},
    ]  # fmt: skip
    assert [read_usage(response) for response in empty] == [None] * len(empty)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (None, "NoneType"),
        (1_200, "int"),
        ("1200 tokens", "str"),
        ([CHAT], "list"),
        ({}, "dict with the keys none"),
        ({"role": "assistant", "content": "Done."}, "dict with the keys 'role', 'content'"),
        (SimpleNamespace(text="Done."), "types.SimpleNamespace"),
        ({"choices": [], "usage": 1_200}, "dict with the keys 'choices', 'usage', whose usage is int"),
    ],
)
def test_what_is_no_response_is_refused_at_the_call(wrong, named):
    manager = asked()
    with pytest.raises(ConfigurationError) as raised:
        manager.observe_response(wrong)
    assert f"usage cannot be read from {named}" in str(raised.value)
    assert SUPPORTED in str(raised.value)


def asked() -> ContextManager:
    """A session that handed out a view of about 5,000 tokens."""
    manager = ContextManager(tokenizer=lambda text: len(text) // 4)
    manager.append(MessageFactory("openai").say("user", "word " * 4_000))
    manager.get_messages_for_request()
    return manager


@pytest.mark.parametrize("name", TOLD)
def test_what_was_read_is_the_anchor_and_is_stored(name):
    response, counted = TOLD[name]
    manager = asked()
    manager.observe_response(response)
    assert (manager.usage().used.tokens, manager.usage().used.source) == (5_000, "measured")
    manager.append(MessageFactory("openai").say("assistant", "Done."))
    (request,) = manager.list_requests()
    assert (request.measured, request.answer) == (5_000, 40)
    assert (request.cached, request.written) == (counted.read, counted.written)


def test_stream_without_usage_is_ignored_with_the_remedy():
    """A stream without usage is ignored and says how to get it."""
    heard: list[Any] = []
    manager = ContextManager(tokenizer=len, on_event=lambda name, payload: heard.append((name, payload)))
    manager.append(MessageFactory("openai").say("user", "hello"))
    manager.get_messages_for_request()
    manager.observe_response(CHAT | {"usage": None})
    with pytest.warns(BackscrollWarning, match="stream_options=.*include_usage.*get_final_message"):
        manager.append(MessageFactory("openai").say("assistant", "Done."))
    (payload,) = [payload for name, payload in heard if name == "context:usage_rejected"]
    assert payload["lane"] == "main"
    assert not manager._session.lanes["main"].calibrator.measured


def test_a_response_on_another_lane_is_about_its_view():
    manager = asked()
    manager.get_messages_for_request(lane="side")
    manager.observe_response(MESSAGE, lane="side")
    assert (manager.usage("side").used.source, manager.usage().used.source) == ("measured", "estimated")
