"""Odd histories in a real agent with Strands' own model of Bedrock: what it sends is accepted, and the agent's messages
stay as they were.
"""

import json
from copy import deepcopy
from types import SimpleNamespace
from typing import Any

import pytest
from strands.models import BedrockModel

from backscroll.evaluation.fake_providers import FakeBedrock, FakeProviderError
from tests.integrations import odd_histories as odd
from tests.integrations.odd_histories import Called, Returned, Said, Situation, Step, Turn
from tests.integrations.strands.agents import agent_of
from tests.integrations.strands.scripted import sent

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
LACKS = ("server", "reasoning")


class Session:
    """A session of boto3 whose client asks a fake of Bedrock."""

    region_name = "us-west-2"

    def __init__(self) -> None:
        self.provider = FakeBedrock()
        self.meta = SimpleNamespace(region_name=self.region_name)
        self.exceptions = SimpleNamespace(ThrottlingException=FakeProviderError)

    def client(self, **options: Any) -> Any:
        return self

    def converse(self, **request: Any) -> Any:
        return self.provider.converse(**request)


def built(step: Step) -> Any:
    """A step as a message."""
    if isinstance(step, Said):
        return {"role": step.role, "content": [{"text": step.words}]}
    if isinstance(step, Returned):
        answer = {"toolUseId": step.id, "status": "success"}
        content = [{"text": step.value}] if isinstance(step.value, str) else step.value
        words = [{"text": step.also}] if step.also else []
        return {"role": "user", "content": [{"toolResult": {**answer, "content": content}}, *words]}
    assert isinstance(step, Called)
    given = step.arguments if step.arguments == odd.CUT else json.loads(step.arguments)
    uses = [{"toolUseId": known, "name": odd.TOOL, "input": given} for known in step.ids]
    return {"role": "assistant", "content": [{"toolUse": use} for use in uses]}


def ran(situation: Situation) -> FakeBedrock:
    """The provider of an agent that ran through a situation."""
    session: Any = Session()
    agent = agent_of(BedrockModel(boto_session=session, model_id="anthropic.claude-opus-5-5-v1:0", streaming=False))
    for turn in situation.turns:
        agent.messages.extend(map(built, turn.steps))
        before = deepcopy(sent(agent.messages))
        agent(turn.prompt)
        assert sent(agent.messages)[: len(before)] == before
    provider: FakeBedrock = session.provider
    return provider


@pytest.mark.parametrize("situation", odd.situations(without=LACKS), ids=odd.name_of)
def test_odd_history_is_accepted_by_bedrock(situation):
    provider = ran(situation)
    assert len(provider.requests) == len(situation.turns)
    requests = [request["messages"] for request in provider.requests]
    if situation.name.startswith("open_call"):  # Strands runs the call before it asks
        situation = situation._replace(shown=tuple(words for words in situation.shown if words != odd.WAITING))
    assert odd.not_as_wanted(situation, json.dumps(requests[-1], ensure_ascii=False)) == []
    assert odd.changed_prefixes(requests) == 0


def test_message_without_any_block_is_sent_as_blocks():
    situation = Situation("", (Turn((Said("w0x"), Said("w1x", "assistant")), None),), ("w0x", "w1x", "[empty message]"))
    session: Any = Session()
    agent = agent_of(BedrockModel(boto_session=session, model_id="anthropic.claude-opus-5-5-v1:0", streaming=False))
    agent.messages.extend([*map(built, situation.turns[0].steps), {"role": "user", "content": []}])
    agent()
    assert odd.not_as_wanted(situation, json.dumps(session.provider.requests[-1]["messages"])) == []
