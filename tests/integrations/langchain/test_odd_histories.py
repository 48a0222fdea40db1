"""Odd histories in a real agent: what it sends is accepted by the provider, and the state stays as it was."""

import json
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from backscroll.evaluation.fake_providers import FakeAnthropic, FakeOpenAIChat, FakeOpenAIResponses
from tests.integrations import odd_histories as odd
from tests.integrations import world
from tests.integrations.langchain.agents import middleware_of
from tests.integrations.langchain.bound_models import claude_wire, gpt_wire
from tests.integrations.odd_histories import Called, Returned, Said, Served, Situation, Step, Thought

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # odd messages warn
DIALECTS = ("chat", "anthropic", "responses")


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


def chat_wire(message: BaseMessage) -> dict[str, Any]:
    """A message as langchain-openai sends it: calls that could not be read go with the others."""
    if isinstance(message, ToolMessage):
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    if not isinstance(message, AIMessage):
        return {"role": "user", "content": message.content}
    listed = [(each["id"], each["name"], json.dumps(each["args"])) for each in message.tool_calls]
    listed += [(each["id"], each["name"], each["args"] or "") for each in message.invalid_tool_calls]
    calls = [
        {"id": known, "type": "function", "function": {"name": name, "arguments": text}} for known, name, text in listed
    ]
    return {"role": "assistant", "content": message.content} | ({"tool_calls": calls} if calls else {})


def built(step: Step, dialect: str) -> BaseMessage:
    """A step as a partner of LangChain writes it."""
    if isinstance(step, Said):
        return AIMessage(step.words) if step.role == "assistant" else HumanMessage(step.words)
    if isinstance(step, Returned):
        return ToolMessage(step.value if isinstance(step.value, list) else str(step.value), tool_call_id=step.id)
    if isinstance(step, Thought):
        return AIMessage([{"type": "reasoning", "id": step.id, "summary": [], "encrypted_content": "sealed"}])
    if isinstance(step, Served):
        return AIMessage(list(served(step)))
    return called(step, dialect)


def called(step: Called, dialect: str) -> AIMessage:
    if step.arguments == odd.CUT:
        listed: Any = [{"id": known, "name": odd.TOOL, "args": step.arguments, "error": "cut"} for known in step.ids]
        calls: Any = {"invalid_tool_calls": listed}
    else:
        calls = {
            "tool_calls": [{"id": known, "name": odd.TOOL, "args": json.loads(step.arguments)} for known in step.ids]
        }
    if dialect != "anthropic":
        return AIMessage(step.words, **calls)
    given = step.arguments if step.arguments == odd.CUT else json.loads(step.arguments)
    uses = [{"type": "tool_use", "id": known, "name": odd.TOOL, "input": given} for known in step.ids]
    return AIMessage([*({"type": "text", "text": step.words} for _ in step.words[:1]), *uses], **calls)


def served(step: Served) -> Any:
    if step.call:
        yield {"type": "server_tool_use", "id": step.id, "name": "web_search", "input": {"query": "x"}}
    if step.result:
        hit = {"type": "web_search_result", "url": "https://example.org", "title": "T", "encrypted_content": "e" * 90}
        yield {"type": "web_search_tool_result", "tool_use_id": step.id, "content": [hit]}
    if step.words:
        yield {"type": "text", "text": step.words}


def cases() -> list[Any]:
    """Each situation in each dialect that has it."""
    lacks = {"chat": ("server", "reasoning"), "anthropic": ("reasoning",), "responses": ("server",)}
    return [
        pytest.param(each, dialect, id=f"{each.name}-{dialect}")
        for dialect in DIALECTS
        for each in odd.situations(without=lacks[dialect])
    ]


def ran(situation: Situation, dialect: str) -> Judged:
    """The model of an agent that ran through a situation. Each run is given what the one before left."""
    model, state = Judged(dialect=dialect), list[BaseMessage]()
    agent = create_agent(model, [], system_prompt=world.SYSTEM, middleware=[middleware_of()])
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
