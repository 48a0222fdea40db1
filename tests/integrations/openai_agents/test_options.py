"""What the adapter refuses, with the reason, and what it passes unchanged."""

import asyncio
from typing import Any

import pytest
from agents import Agent, ModelProvider, ModelSettings, RunConfig, Usage
from agents.models.interface import ModelTracing
from agents.testing import assistant_message, function_call

from backscroll import BackscrollWarning, ConfigurationError
from backscroll.integrations.openai_agents import ManagedModels, managed
from tests.integrations import world
from tests.integrations.openai_agents.scripted import FollowingModel, Spy, agent_with, items_at, order, run


def inner():
    return FollowingModel(lambda step: [assistant_message("done")])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"unknown": 1}, "unknown"),
        ({"session": "x"}, "`session` is not an option here"),
        ({"cache_marks": "auto"}, "needs no marks"),
        ({"native": object()}, "belong to that provider"),
        ({"lease": 3.0}, "agents of one session share"),
        ({"max_conversations": 0}, "at least 1"),
        ({"budget": -1}, "at least 1, not -1"),
    ],
)
def test_options_are_checked_where_they_are_given(options, words):
    with pytest.raises(ConfigurationError, match=words):
        ManagedModels(**options)


def test_sessions_are_named():
    with pytest.raises(ConfigurationError, match="non-empty text"):
        ManagedModels().provider("")
    with pytest.raises(ConfigurationError, match="found again"):
        managed(inner(), store="sqlite:///agent.db")
    with pytest.raises(ConfigurationError, match="managed already"):
        managed(managed(inner()))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"truncation": "auto"}, "truncation"),
        ({"context_management": [{"type": "compaction", "compact_threshold": 1_000}]}, "compact the history"),
        ({"extra_args": {"context_management": []}}, "compact the history"),
        ({"extra_body": {"context_management": []}}, "compact the history"),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
def test_settings_that_shorten_the_history_are_refused(settings, words, streamed):
    model = inner()
    agent = agent_with(managed(model), model_settings=ModelSettings(**settings))
    with pytest.raises(ConfigurationError, match=words):
        asyncio.run(run(agent, "hello", streamed=streamed))
    assert model.requests == []


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("how", [{"previous_response_id": "resp_1"}, {"conversation_id": "conv_1"}])
def test_a_history_kept_by_the_provider_passes_with_a_warning(how, streamed):
    model = inner()
    wrapped = managed(model)
    with pytest.warns(BackscrollWarning, match="the provider keeps this history"):
        asyncio.run(run(agent_with(wrapped), "hello", streamed=streamed, **how))
    assert asyncio.run(run(agent_with(wrapped), "hello", streamed=streamed, **how)).final_output == "done"
    assert asyncio.run(wrapped.conversation.get_messages()) == []


def test_a_text_is_the_message_of_a_user():
    model = inner()
    wrapped = managed(model)
    asyncio.run(
        wrapped.get_response(
            None, "hello", ModelSettings(), [], None, [], ModelTracing.DISABLED,
            previous_response_id=None, conversation_id=None, prompt=None,
        )
    )  # fmt: skip  # as in the signature
    assert model.requests == [[{"role": "user", "content": "hello"}]]


def test_attributes_are_those_of_the_model_that_answers():
    model = inner()
    wrapped = managed(model)
    assert wrapped.model == "scripted-1"
    assert wrapped.answered == 0
    with pytest.raises(AttributeError):
        _ = wrapped.no_such_thing


def test_the_same_model_for_a_whole_run():
    model = FollowingModel(items_at)
    asked = []

    class Provider(ModelProvider):
        def get_model(self, name):
            asked.append(name)
            return model

    models = ManagedModels(budget=world.BUDGET)
    agent = agent_with("small", models.recall_tool)
    asyncio.run(run(agent, world.asked(0), run_config=RunConfig(model_provider=models.provider("one", Provider()))))
    assert len(model.requests) == world.TURN
    assert asked == ["small"]


def test_what_precedes_the_items_is_counted():
    """Instructions, tools, handoffs and the format of the answer take room of the budget."""

    def used(**more):
        wrapped: Any = managed(FollowingModel(lambda step: [assistant_message('{"response": [1]}')]), budget=20_000)
        wrapped._inner.usage = lambda items: Usage()
        agent = Agent(**{"name": "a", "model": wrapped, "instructions": "Be brief.", **more})
        asyncio.run(run(agent, "hello"))
        return wrapped.conversation.usage("scripted-1").used.tokens

    bare = used()
    assert used(instructions="Be brief. " * 100) > bare + 150
    assert used(tools=[order]) > bare + 20
    assert used(handoffs=[Agent(name="other", handoff_description="Knows more. " * 50)]) > bare + 100
    assert used(output_type=list[int]) > bare + 20


@pytest.mark.parametrize("arguments", ["nonsense", "[1]", '{"ref": "999"}', "{}", ""])
def test_recall_answers_mistakes_with_words(arguments):
    def answer(step):
        return [function_call("recall", arguments, call_id="r")] if step == 0 else [assistant_message("done")]

    model = FollowingModel(answer)
    wrapped = managed(model)
    result = asyncio.run(run(agent_with(wrapped, wrapped.recall_tool), "hello"))
    assert result.final_output == "done"
    assert next(item["output"] for item in model.requests[1] if "output" in item)


def test_a_recall_that_waited_for_approval_is_answered():
    """A new process answers a call that the model made in another one."""

    def answer(step):
        return [function_call("recall", {"ref": "0"}, call_id="r")] if step == 0 else [assistant_message("done")]

    from dataclasses import replace

    def start(model):
        models = ManagedModels()
        tool = replace(models.recall_tool, needs_approval=True)
        config = RunConfig(model_provider=models.provider("one", type("P", (), {"get_model": lambda *_: model})()))
        return agent_with("small", tool), config

    model = FollowingModel(answer)
    agent, config = start(model)
    paused = asyncio.run(run(agent, "the first words", run_config=config))
    state = paused.to_state()
    again, config = start(model)

    async def resume():
        from agents import RunState

        loaded = await RunState.from_json(again, state.to_json())
        loaded.approve(loaded.get_interruptions()[0])
        return await run(again, loaded, run_config=config)

    result = asyncio.run(resume())
    assert result.final_output == "done"
    assert [item["output"] for item in model.requests[-1] if "output" in item] != []


def test_a_request_of_the_sdk_is_not_changed():
    spy, model = Spy(), FollowingModel(items_at)
    wrapped = managed(model, budget=world.BUDGET)
    asyncio.run(run(agent_with(wrapped, wrapped.recall_tool), world.asked(0), run_config=spy.config()))
    assert spy.copies == spy.histories
