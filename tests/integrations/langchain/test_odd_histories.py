"""Odd histories in a real agent: what it sends is accepted by the provider, and the state stays as it was."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses
from tests.integrations import odd_histories as odd
from tests.integrations import world
from tests.integrations.langchain.agents import middleware_of
from tests.integrations.langchain.bound_models import claude_wire, gpt_wire
from tests.integrations.langchain.odd_messages import LACKS, built, chat_wire
from tests.integrations.odd_histories import Returned, Situation

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn


class Judged(BaseChatModel):
    """A chat model whose provider refuses what the real one refuses."""

    dialect: str
    wire: list[Any] = Field(default_factory=list)
    """The messages of each request as they were sent."""
    requests: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return self.dialect

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        self.requests.append(messages)
        behind = [message for message in messages if message.type != "system"]
        if self.dialect == "anthropic":
            self.wire.append(claude_wire(behind))
            FakeAnthropic().create(messages=self.wire[-1], max_tokens=100, system=world.SYSTEM)
        elif self.dialect == "responses":
            self.wire.append(gpt_wire(behind))
            FakeOpenAIResponses().create(input=self.wire[-1])
        else:
            self.wire.append(list(map(chat_wire, behind)))
            FakeOpenAIChat().create(messages=self.wire[-1])
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Fine."))])


def cases() -> list[Any]:
    """Each situation in each dialect that has it."""
    return [
        pytest.param(each, dialect, id=f"{each.name}-{dialect}")
        for dialect, lacks in LACKS.items()
        for each in odd.situations(without=lacks)
    ]


def ran(situation: Situation, dialect: str) -> Judged:
    """The model of an agent that ran through a situation. Each run is given what the one before left."""
    model, state = Judged(dialect=dialect), list[BaseMessage]()
    agent: Any = create_agent(model, [], system_prompt=world.SYSTEM, middleware=[middleware_of()])
    for turn in situation.turns:
        for step in turn.steps:
            state.append(built(step, dialect))
            if isinstance(step, Returned) and step.also:
                state.append(HumanMessage(step.also))
        if turn.prompt is not None:
            state.append(HumanMessage(turn.prompt))
        for at, message in enumerate(state):
            message.id = message.id or f"x{at}"  # else LangGraph sets it, on these objects
        before = deepcopy(state)
        after = agent.invoke({"messages": state})["messages"]
        assert state == before
        known = {message.id for message in before}  # LangChain itself adds results of calls that it cannot read
        assert [message for message in after if message.id in known] == before
        own, sent = [*state, *after], model.requests[-1]
        copies = [message for message in sent if not any(message is each for each in own)]
        assert [message for message in copies if message in own] == [], "what needs no healing is the very object"
        state = list(after)
    return model


@pytest.mark.parametrize(("situation", "dialect"), cases())
def test_odd_history_is_accepted_by_its_provider(situation, dialect):
    model = ran(situation, dialect)
    assert len(model.requests) == len(situation.turns)
    assert odd.not_as_wanted(situation, json.dumps(model.wire[-1], ensure_ascii=False)) == []
    assert odd.changed_prefixes(model.requests) == 0
