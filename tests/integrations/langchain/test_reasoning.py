"""Providers that bind reasoning to what came before it: not one request of an agent is refused."""

import random
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, RemoveMessage, SystemMessage
from langgraph.checkpoint.memory import InMemorySaver

from backscroll.evaluation.fake_providers import Reply, reply
from tests.integrations.langchain.agents import agent_of, config_of, middleware_of
from tests.integrations.langchain.bound_models import BoundClaude, BoundGpt
from tests.long_run import usually

pytestmark = pytest.mark.frameworks

CONFIG = config_of("one")
MODELS: dict[str, Any] = {
    "claude": BoundClaude,
    "gpt": BoundGpt,
    "gpt as before": lambda **given: BoundGpt(old=True, **given),
}


class Prompted(AgentMiddleware):
    """Another system prompt now and then, in the middle of a run."""

    def __init__(self) -> None:
        self.calls = 0

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self.calls += 1
        return handler(request.override(system_message=SystemMessage(f"You are agent {self.calls // 9}.")))


def scripted(seed: int) -> Any:
    """What a model answers: reasoning, texts and up to three calls at once, and a text at the end of a run."""
    chance = random.Random(seed)

    def answer(request: Any) -> Reply:
        calls = [("order", {"number": chance.randrange(900)}) for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 3)))]
        thoughts = [f"I think of {chance.random()}." for _ in range(chance.choice((0, 1, 1, 1)))]
        said = f"So {chance.random()}." if not calls or chance.random() < 0.4 else ""
        return reply(said, thinking=thoughts, calls=calls)

    return answer


def run(kind: str, seed: int, turns: int) -> Any:
    """The model, after turns in which the user also removes what was said last."""
    chance = random.Random(seed)
    model = MODELS[kind](script=scripted(seed))
    agent = agent_of(
        model, Prompted(), middleware_of(budget=chance.choice((3_000, 4_000))), checkpointer=InMemorySaver()
    )
    config = {**CONFIG, "recursion_limit": 400}
    for turn in range(turns):
        agent.invoke({"messages": [HumanMessage(f"Turn {turn}.")]}, config)
        held = agent.get_state(config).values["messages"]
        if chance.random() < 0.25:
            users = [at for at, message in enumerate(held) if message.type == "human" and at]
            if users:
                agent.update_state(config, {"messages": [RemoveMessage(id=each.id) for each in held[users[-1] :]]})
    return model


@pytest.mark.parametrize("kind", usually([*MODELS], 2))
def test_no_request_is_refused(kind):
    model = run(kind, 0, 4)
    assert len(model.requests) >= 12
    assert model.dropped == []
    shown = [str(request).count("signature") + str(request).count("encrypted_content") for request in model.requests]
    assert max(shown) > 1, "reasoning is in requests"
    assert any("<summary>" in str(request) for request in model.requests)


@pytest.mark.long
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(1, 11))
def test_no_request_is_refused_at_length(kind, seed):
    model = run(kind, seed, 30)
    assert model.dropped == []
