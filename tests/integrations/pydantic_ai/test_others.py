"""Other capabilities, settings and options beside ours: what is kept, what is refused, and with which reason."""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.messages import ModelRequest
from pydantic_ai.usage import RequestUsage

from backscroll import ConfigurationError
from backscroll.integrations.pydantic_ai import Backscroll
from backscroll.integrations.pydantic_ai.request import counted_in
from backscroll.messages.counted import Counted
from backscroll.notices import BackscrollWarning
from backscroll.tokens.usage import TokenCount
from tests.integrations import world
from tests.integrations.pydantic_ai.agents import Scripted, agent_of, called, said, spoken, turns


def fine(step: int, messages: Any) -> Any:
    return said("Fine.")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"budgets": 3_000}, "budgets"),
        ({"cache_marks": "auto"}, "caches themselves"),
        ({"native": lambda: None}, "`native` has no effect here"),
        ({"budget": -1}, "at least 1"),
        ({"max_conversations": 0}, "max_conversations"),
    ],
)
def test_what_can_never_work_is_refused_at_construction(options, reason):
    with pytest.raises(ConfigurationError, match=reason):
        Backscroll(**options)


@pytest.mark.parametrize(
    "setting",
    [
        {"openai_previous_response_id": "auto"},
        {"openai_conversation_id": "conv_1"},
        {"anthropic_context_management": {"edits": [{"type": "compact_20260112"}]}},
        {"openai_context_management": [{"type": "compaction"}]},
    ],
)
def test_a_history_that_the_provider_keeps_is_refused(setting):
    model = Scripted(fine)
    with pytest.raises(ConfigurationError, match=next(iter(setting))):
        asyncio.run(agent_of(model).run("Hello.", model_settings=setting))
    assert model.requests == []


def test_a_second_one_of_ours_is_refused():
    agent = agent_of(Scripted(fine), capabilities=[Backscroll()])
    with pytest.raises(ConfigurationError, match="one capability Backscroll"):
        asyncio.run(agent.run("Hello."))


def test_a_compaction_by_the_provider_is_refused():
    openai = pytest.importorskip("pydantic_ai.models.openai")  # its client is no part of the extra
    agent = agent_of(Scripted(fine), capabilities=[openai.OpenAICompaction(message_count_threshold=5)])
    with pytest.raises(ConfigurationError, match="OpenAICompaction"):
        asyncio.run(agent.run("Hello."))


def test_a_compaction_of_the_harness_is_warned_of():
    class SlidingWindowCompaction(AbstractCapability[Any]):
        __module__ = "pydantic_ai_harness.compaction._sliding_window_compaction"

    agent = agent_of(Scripted(fine), capabilities=[SlidingWindowCompaction()])
    with pytest.warns(BackscrollWarning, match="SlidingWindowCompaction edits the history"):
        asyncio.run(agent.run("Hello."))


@dataclass
class Adding(AbstractCapability[Any]):
    """Adds messages to a request, or leaves one out of it."""

    front: str = ""
    end: str = ""
    drops: bool = False

    async def before_model_request(self, ctx: Any, request_context: Any) -> Any:
        front = [ModelRequest.user_text_prompt(self.front)] if self.front else []
        end = [ModelRequest.user_text_prompt(self.end)] if self.end else []
        messages = [*front, *request_context.messages, *end]
        return replace(request_context, messages=messages[1:] if self.drops else messages)


@pytest.mark.parametrize("first", [True, False])
def test_what_others_add_to_a_request_is_sent(first):
    model = Scripted(fine)
    capabilities = [Adding(front="a memory", end="a reminder"), Backscroll()]
    agent = Agent(model, capabilities=capabilities if first else capabilities[::-1], name="shop")
    history = asyncio.run(turns(agent, 2)).all_messages()
    for request in model.spoken:
        assert request[0]["content"] == "a memory"
        assert request[-1]["content"] == "a reminder"
    assert "a reminder" not in str(spoken(history))


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_what_others_add_stays_after_a_rejection():
    model = Scripted(limit=1_800)
    agent = Agent(model, tools=[world.order], capabilities=[Adding(end="a reminder"), Backscroll()], name="shop")
    asyncio.run(turns(agent, 1))
    assert model.refused
    assert all(request[-1]["content"] == "a reminder" for request in model.spoken)


def test_other_changes_of_a_request_are_warned_of_once():
    model = Scripted(
        lambda step, messages: called(world.Called(f"c{step}", "order", {"number": 1})) if step < 3 else said("ok")
    )
    agent = Agent(model, tools=[world.order], capabilities=[Adding(drops=True), Backscroll()])
    with pytest.warns(BackscrollWarning, match="list it behind Backscroll") as caught:
        asyncio.run(agent.run("Hello."))
    assert len([warning for warning in caught if warning.category is BackscrollWarning]) == 1
    assert spoken(model.requests[0])[0]["content"] == "Hello."


def test_a_processor_of_the_history_is_followed():
    model = Scripted()
    capabilities = [ProcessHistory(lambda messages: messages[-9:]), Backscroll()]
    agent = Agent(model, tools=[world.order], capabilities=capabilities, name="shop")
    history = asyncio.run(turns(agent, 1)).all_messages()
    assert len(history) <= 10


def test_the_window_of_the_model_decides_unless_an_option_does():
    context, other = Backscroll(), Backscroll(budget=5_000)
    for capability, budget in ((context, world.BUDGET), (other, 5_000)):
        asyncio.run(agent_of(Scripted(fine), capability).run("Hello.", conversation_id="c"))
        assert capability.conversation("c", "shop").usage("scripted/m").window == budget


def test_usage_is_recorded_with_the_cached_parts_apart():
    class Cached(Scripted):
        async def _answer(self, messages: Any, info: Any) -> Any:
            response = await super()._answer(messages, info)
            response.usage = RequestUsage(
                input_tokens=300, cache_read_tokens=200, cache_write_tokens=40, output_tokens=9
            )
            return response

    model = Cached(fine)
    context = Backscroll()
    history: Any = asyncio.run(agent_of(model, context).run("Hello.", conversation_id="c")).all_messages()
    assert counted_in(history[-1], "scripted/m") == Counted(60, 200, 40, 9)
    assert context.conversation("c", "shop").usage("scripted/m").used == TokenCount(300, "measured")


@pytest.mark.parametrize(
    "change",
    [{"metadata": {"__pydantic_ai__": {"context_input_tokens": 100}}}, {"state": "interrupted"}],
)
def test_usage_of_no_single_whole_request_is_not_recorded(change):
    class Summing(Scripted):
        async def _answer(self, messages: Any, info: Any) -> Any:
            return replace(await super()._answer(messages, info), **change)

    context = Backscroll()
    asyncio.run(agent_of(Summing(fine), context).run("Hello.", conversation_id="c"))
    assert context.conversation("c", "shop").usage("scripted/m").used.source == "estimated"


def test_usage_of_an_answer_in_two_requests_is_not_recorded():
    model = Scripted(lambda step, messages: replace(said("Fine."), state="complete" if step else "suspended"))
    context = Backscroll()
    asyncio.run(agent_of(model, context).run("Hello.", conversation_id="c"))
    assert len(model.requests) == 2
    assert model.requests[1][-1].kind == "response", "the second continues the first"
    assert context.conversation("c", "shop").usage("scripted/m").used.source == "estimated"


@pytest.mark.filterwarnings("ignore:the provider refused a request")
def test_after_a_cut_answer_the_next_request_is_shorter():
    def script(step: int, messages: Any) -> Any:
        response = called(world.Called(f"c{step}", "order", {"number": step})) if step < 9 else said("ok")
        return (
            replace(response, provider_details={"finish_reason": "model_context_window_exceeded"})
            if step == 6
            else response
        )

    model = Scripted(script, window=None)
    asyncio.run(agent_of(model).run("Go."))
    sizes = [sum(len(str(each["content"])) for each in request) for request in model.spoken]
    assert sizes[7] < sizes[6]


def test_conversations_are_closed_and_open_again():
    context = Backscroll()
    agent = agent_of(Scripted(fine), context)
    history = asyncio.run(agent.run("Hello.", conversation_id="c")).all_messages()
    context.close()
    result = asyncio.run(agent.run("And now?", message_history=history))
    assert result.output == "Fine."
    assert len(asyncio.run(context.conversation("c", "shop").get_messages())) == 3
