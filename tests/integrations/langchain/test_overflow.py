"""A request that the provider rejects as too long is sent again with a shorter view, and nothing else is."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from langchain.agents.structured_output import StructuredOutputValidationError
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, HumanMessage

from backscroll import BackscrollWarning, BudgetError, RequestTooLargeError
from backscroll.integrations.langchain import RequestTooLarge
from tests.integrations import world
from tests.integrations.langchain.agents import agent_of, middleware_of, played
from tests.integrations.langchain.scripted import Scripted, faults, tokens_of

refusals_expected = pytest.mark.filterwarnings("ignore:the provider refused a request")


@refusals_expected
def test_a_smaller_window_than_known_is_found():
    model = Scripted(window=1_800)
    messages = played(agent_of(model), None, turns=1)
    assert model.rejected
    assert len(model.requests) == world.TURN
    assert faults(model, messages) == []


@refusals_expected
@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "error",
    [ContextOverflowError("too much"), ValueError("Error 400: prompt is too long: 9000 tokens > 2500 maximum")],
)
def test_each_retry_is_shorter(error, loop):
    model = Scripted(usage=False)
    agent = agent_of(model)
    messages = [*played(agent, None, turns=1), HumanMessage("go on")]
    model.failures = [error, ContextOverflowError("too much"), ContextOverflowError("too much")]
    model.script = lambda step: AIMessage("done")
    model.requests.clear()
    found = asyncio.run(agent.ainvoke({"messages": messages})) if loop else agent.invoke({"messages": messages})
    assert found["messages"][-1].content == "done"
    sizes = [tokens_of(request) for request in [*model.rejected, *model.requests]]
    assert len(sizes) == 4
    assert all(later < earlier for earlier, later in pairwise(sizes))


@refusals_expected
@pytest.mark.parametrize("loop", [False, True])
def test_too_many_rejections_end_in_our_error(loop):
    said = "prompt is too long: 50001 tokens > 50000 maximum"  # however short the request is
    model = Scripted(failures=[ContextOverflowError(said) for _ in range(40)], usage=False)
    agent = agent_of(model, middleware_of(budget=100_000))
    given: Any = {"messages": [HumanMessage(f"{at} " * 5_000, id=str(at)) for at in range(30)]}
    with pytest.raises(RequestTooLarge, match="24 times in a row") as caught:
        asyncio.run(agent.ainvoke(given)) if loop else agent.invoke(given)
    assert isinstance(caught.value, RequestTooLargeError)
    assert isinstance(caught.value, ContextOverflowError)
    assert isinstance(caught.value.__cause__, ContextOverflowError)
    assert len(model.rejected) == 25
    model.failures = [ContextOverflowError("too much")]
    model.script = lambda step: AIMessage("done")
    assert agent.invoke(given)["messages"][-1].content == "done", "another request counts from zero"


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize(
    "error",
    [
        ValueError("rate limit: too many requests"),
        KeyError("no such thing"),
        StructuredOutputValidationError("Sum", ValueError("prompt is too long"), AIMessage("prompt is too long")),
    ],
)
def test_another_error_passes_unchanged(error, loop):
    model = Scripted(failures=[error])
    agent = agent_of(model)
    given: Any = {"messages": [HumanMessage("begin")]}
    with pytest.raises(type(error)) as caught:
        asyncio.run(agent.ainvoke(given)) if loop else agent.invoke(given)
    assert caught.value is error
    assert len(model.rejected) == 1


@pytest.mark.parametrize("loop", [False, True])
def test_messages_that_can_never_fit_are_the_same_error(loop):
    model = Scripted()
    agent = agent_of(model, middleware_of(budget=100, strategies=None))
    given: Any = {"messages": [HumanMessage("word " * 4_000)]}
    with pytest.raises(RequestTooLarge) as caught:
        asyncio.run(agent.ainvoke(given)) if loop else agent.invoke(given)
    assert isinstance(caught.value.__cause__, BudgetError)
    assert model.requests == []


def test_an_answer_that_was_cut_off_by_the_window_is_kept():
    """Anthropic answers as far as it can. That is no error: the next request is shorter, and this one is not sent
    again.
    """
    model = Scripted()
    agent = agent_of(model)
    messages = played(agent, None, turns=1)
    cut = AIMessage("as far as", response_metadata={"stop_reason": "model_context_window_exceeded"})
    model.script = lambda step: cut
    model.requests.clear()
    messages = agent.invoke({"messages": [*messages, HumanMessage("go on")]})["messages"]
    assert len(model.requests) == 1
    model.script = lambda step: AIMessage("done")
    with pytest.warns(BackscrollWarning, match="the provider refused a request"):
        agent.invoke({"messages": [*messages, HumanMessage("and now?")]})
    first, second = map(tokens_of, model.requests)
    assert second < 0.85 * first
