"""What other middleware did to a request: additions at its ends stay, anything else is replaced with one warning."""

from copy import deepcopy
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ContextEditingMiddleware
from langchain.agents.middleware.context_editing import ClearToolUsesEdit
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from backscroll import BackscrollWarning
from backscroll.integrations.langchain.foreign_edits import read_request
from tests.integrations.langchain.agents import agent_of, middleware_of, played
from tests.integrations.langchain.scripted import Scripted, called, faults, without_system

A, B, C = (HumanMessage(name, id=name) for name in "abc")
NEW = HumanMessage("new")
ANSWERED = AIMessage("", tool_calls=[{"id": "c1", "name": "look", "args": {}}])
UNREAD = AIMessage("", id="u", invalid_tool_calls=[{"id": "c1", "name": "look", "args": "{", "error": "no JSON"}])
REPAIR = ToolMessage("could not be read", tool_call_id="c1")


@pytest.mark.parametrize(
    ("state", "given", "expected"),
    [
        ([A, B], [A, B], ([A, B], [], [], False)),
        ([A, B], [NEW, A, B], ([A, B], [NEW], [], False)),
        ([A, B], [A, B, NEW], ([A, B], [], [NEW], False)),
        ([A, B], [A, NEW, B], ([A, B], [], [], True)),
        ([A, B], [B], ([A, B], [], [], True)),
        ([A, B, C], [A, C], ([A, B, C], [], [], True)),
        ([A, B], [B, A], ([A, B], [], [], True)),
        ([A, B], [A, HumanMessage("other", id="b")], ([A, B], [], [], True)),
        ([A, B], [A, HumanMessage("b", id="b")], ([A, B], [], [], False)),
        ([A, B], [NEW], ([A, B], [], [NEW], True)),
        ([], [NEW], ([], [], [NEW], False)),
        ([A, UNREAD, B], [A, UNREAD, REPAIR, B], ([A, UNREAD, REPAIR, B], [], [], False)),
        ([A, UNREAD], [A, UNREAD, REPAIR], ([A, UNREAD, REPAIR], [], [], False)),
        ([A, UNREAD], [A, UNREAD, REPAIR, NEW], ([A, UNREAD, REPAIR], [], [NEW], False)),
        ([A, ANSWERED], [A, ANSWERED, REPAIR], ([A, ANSWERED], [], [REPAIR], False)),
    ],
)
def test_requests_are_read(state, given, expected):
    found = read_request(state, given)
    assert (list(found.history), list(found.front), list(found.end), found.edited) == expected


class Adding(AgentMiddleware):
    """Adds a message at each end of a request."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        first, last = HumanMessage("first of all"), HumanMessage("last of all. " * 40)
        return handler(request.override(messages=[first, *request.messages, last]))


def test_additions_stay_in_the_request_and_count():
    model = Scripted()
    messages = played(agent_of(model, Adding(), middleware_of()), None, turns=1)
    for request in model.requests:
        shown = without_system(request)
        assert shown[0].content == "first of all"
        assert str(shown[-1].content).startswith("last of all")
        request[:] = shown[1:-1]
    assert faults(model, messages) == []
    assert "of all" not in str(messages)


def test_a_middleware_that_clears_results_is_reported_once():
    model = Scripted()
    other = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=500, keep=1)])
    agent = agent_of(model, other, middleware_of(budget=100_000))
    with pytest.warns(BackscrollWarning, match="ContextEditingMiddleware"):
        messages = agent.invoke({"messages": [HumanMessage("begin")]})["messages"]
    assert faults(model, messages) == []
    assert "[cleared]" not in str(model.requests[-1])


class Copying(AgentMiddleware):
    """Copies all messages of a request, and changes nothing."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=deepcopy(request.messages)))


def test_equal_copies_are_no_edit():
    model = Scripted()
    messages = played(agent_of(model, Copying(), middleware_of()), None, turns=1)
    own = {id(message) for message in messages}
    assert any(id(message) in own for message in model.requests[-1])
    assert faults(model, messages) == []


def test_a_call_that_cannot_be_read_is_answered():
    """LangChain answers such a call in the request, and adds the answer to the state with the model's next message."""

    def script(step: int) -> AIMessage:
        return UNREAD.model_copy(deep=True) if step == 0 else called(19)

    model = Scripted(script=script)
    agent = agent_of(model)
    messages = agent.invoke({"messages": [HumanMessage("begin")]})["messages"]
    messages = agent.invoke({"messages": [*messages, HumanMessage("go on")]})["messages"]
    kinds = [message.type for message in messages]
    assert kinds == ["human", "ai", "tool", "human", "ai"]
    shown = without_system(model.requests[-1])
    assert [message.type for message in shown] == ["human", "ai", "tool", "human"]
    agent.invoke({"messages": [*messages, HumanMessage("and now?")]})
    assert [message.type for message in without_system(model.requests[-1])] == [*kinds, "human"]
