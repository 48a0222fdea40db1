"""What providers count reaches the bill, with the cached parts apart."""

import asyncio
from typing import Any

import pytest
from google.genai import types

from backscroll.integrations.adk.usage import counted_in
from backscroll.messages.counted import Counted
from tests.integrations.adk.agents import running
from tests.integrations.adk.scripted import Scripted, chat


def usage_of(**counts: int) -> Any:
    found: dict[str, Any] = {f"{name}_token_count": at for name, at in counts.items()}
    return types.GenerateContentResponseUsageMetadata(**found)


def test_the_cached_part_is_counted_once():
    usage = usage_of(prompt=100, cached_content=60, candidates=5, thoughts=7)
    assert counted_in(usage) == Counted(40, 60, 0, 12)
    assert counted_in(usage_of(prompt=100)) == Counted(100, 0, 0, 0)


def test_what_claude_wrote_to_its_cache_is_apart():
    """The framework keeps it in an attribute that is no field."""
    anthropic = pytest.importorskip("anthropic", reason="clients are no part of the extra")
    from google.adk.models.anthropic_llm import message_to_generate_content_response

    usage = {"input_tokens": 10, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30, "output_tokens": 5}
    message = anthropic.types.Message.model_validate({
        "id": "m", "type": "message", "role": "assistant", "model": "claude", "content": [], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": usage,
    })  # fmt: skip  # one message
    assert counted_in(message_to_generate_content_response(message).usage_metadata) == Counted(10, 60, 30, 5)


@pytest.mark.parametrize("usage", [None, usage_of(), usage_of(candidates=5, total=5)], ids=["none", "empty", "answer"])
def test_without_a_count_of_the_prompt_there_is_none(usage):
    assert counted_in(usage) is None


@pytest.mark.parametrize("stream", [False, True])
def test_the_count_of_each_request_is_observed(stream):
    run = running(Scripted(chat))
    for turn in range(3):
        run.say(f"turn {turn}", stream=stream)
        assert run.conversation.usage("small").used.source == "measured"


class Partly(Scripted):
    """A model whose parts of a stream have counts of their own."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        async for response in super().generate_content_async(llm_request, stream):
            if response.partial:
                response.usage_metadata = usage_of(prompt=99_999)
            yield response


def test_the_counts_of_parts_of_a_stream_are_skipped():
    run = running(Partly(chat))  # type: ignore[call-arg, arg-type]  # `Scripted` has its own
    run.say("hello", stream=True)
    assert run.conversation.usage("small").used.tokens < 1_000
    assert asyncio.run(run.conversation.window_report("small")) is not None
