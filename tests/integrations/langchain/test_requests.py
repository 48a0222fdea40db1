"""What a request holds outside the messages, and which models are refused."""

from typing import Any

import pytest
from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict

from backscroll import ConfigurationError
from backscroll.integrations.langchain import BackscrollMiddleware, LangChainConversation
from backscroll.integrations.langchain.models import counted_in, input_budget, lane_of, unbound
from backscroll.integrations.langchain.requests import RequestReader
from backscroll.messages.counted import Counted
from tests.fakes import count_quarter
from tests.integrations.langchain.agents import agent_of, middleware_of, order
from tests.integrations.langchain.scripted import Scripted

CALL = {"id": "c1", "name": "look", "args": {}}


class Sum(BaseModel):
    """The sum of all orders."""

    cents: int


class Configured(Scripted):
    """A model that may have any option of a partner's."""

    model_config = ConfigDict(extra="allow")


def read(model: Any = None, settings: Any = (), **more: Any) -> Any:
    """What is known of a request."""
    context = LangChainConversation({"tokenizer": count_quarter})
    return RequestReader(has_budget=False).read(context, model or Scripted(), dict(settings), **more)


def test_lanes_are_named_by_provider_and_model():
    assert lane_of(Scripted()) == "scripted/scripted"
    assert lane_of(Scripted(model="claude-opus-5-5")) == "scripted/claude-opus-5-5"
    assert lane_of(object()) == "main"


@pytest.mark.parametrize(
    ("profile", "settings", "budget"),
    [
        (None, {}, None),
        ({}, {}, None),
        ({"max_input_tokens": 0}, {}, None),
        ({"max_input_tokens": 200_000}, {}, 200_000),
        ({"max_input_tokens": 200_000}, {"max_tokens": 64_000}, 136_000),
        ({"max_input_tokens": 8_000}, {"max_tokens": 64_000}, 4_000),
    ],
)
def test_the_budget_is_the_window_of_the_profile(profile, settings, budget):
    assert input_budget(Scripted(profile=profile), settings) == budget
    assert read(Scripted(profile=profile), settings).budget == budget
    if settings:
        assert input_budget(Configured(profile=profile, **settings), {}) == budget


def test_a_budget_of_the_options_goes_first():
    model = Scripted(profile={"max_input_tokens": 900_000}, script=lambda step: AIMessage("done"))
    for middleware, window in ((middleware_of(budget=5_000), 5_000), (BackscrollMiddleware(), 900_000)):
        agent_of(model, middleware).invoke({"messages": [HumanMessage("hi", id=str(window))]})
        (context,) = middleware._threads._in_memory._open.values()
        assert context.usage("scripted/scripted").window == window


@pytest.mark.parametrize("form", [ToolStrategy(Sum), ProviderStrategy(Sum), AutoStrategy(Sum), Sum])
def test_tools_and_formats_are_defined(form):
    call = read(tools=[order, {"type": "web_search", "name": "web_search"}, form])
    names = [tool.get("name") or tool["function"]["name"] for tool in call.tools]
    assert names == ["order", "web_search", "Sum"]
    assert "cents" in str(call.tools)


def test_definitions_are_made_once():
    reader, context = RequestReader(has_budget=False), LangChainConversation({"tokenizer": count_quarter})
    one, two = (reader.read(context, Scripted(), {}, tools=[order]) for _ in range(2))
    assert one.tools is two.tools
    other = reader.read(context, Scripted(), {}, tools=[])
    assert other.tools is None


def test_tools_that_are_loaded_later_do_not_count():
    later = order.model_copy(update={"extras": {"defer_loading": True}})
    assert read(tools=[later]).tools[0]["defer_loading"] is True


def test_arguments_bound_to_a_model_are_read():
    model, bound = unbound(Scripted().bind_tools([order]).bind(max_tokens=7).with_config(tags=["a"]))
    assert isinstance(model, Scripted)
    assert bound["max_tokens"] == 7
    assert [tool["function"]["name"] for tool in bound["tools"]] == ["order"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"use_previous_response_id": True}, "omit `use_previous_response_id`"),
        ({"model_kwargs": {"previous_response_id": "resp_1"}}, "omit `use_previous_response_id`"),
        ({"model_kwargs": {"conversation": "conv_1"}}, "omit `conversation`"),
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "omit `context_management`"),
        ({"context_management": [{"type": "compaction"}]}, "omit `context_management`"),
        ({"model_kwargs": {"compaction": {"type": "summarize"}}}, "omit `compaction`"),
        ({"truncation": "auto"}, "truncation='auto'"),
    ],
)
def test_models_that_manage_the_conversation_are_refused(options, words):
    agent = agent_of(Configured(**options))
    with pytest.raises(ConfigurationError, match=words):
        agent.invoke({"messages": [HumanMessage("hi")]})
    given = options.get("model_kwargs", options)
    if "truncation" in given or "model_kwargs" in options:
        with pytest.raises(ConfigurationError, match=words):
            read(settings=given)


@pytest.mark.parametrize(
    ("usage", "content", "expected"),
    [
        (None, "a", None),
        ({"input_tokens": 0}, "a", None),
        ({"input_tokens": 100, "output_tokens": 7}, "a", Counted(100, 0, 0, 7)),
        ({"input_tokens": 100, "input_token_details": {"cache_read": 60, "cache_creation": 30}}, "a", (10, 60, 30, 0)),
        (
            {
                "input_tokens": 100,
                "input_token_details": {"cache_read": 60, "cache_creation": 0, "ephemeral_5m_input_tokens": 30},
            },
            "a",
            (10, 60, 30, 0),
        ),
        ({"input_tokens": 50, "input_token_details": {"cache_read": 60}}, "a", (50, 0, 0, 0)),
        ({"input_tokens": 50}, [{"type": "server_tool_use", "id": "s", "name": "web_search"}], None),
        ({"input_tokens": 50}, [{"type": "text", "text": "a"}], (50, 0, 0, 0)),
    ],
)
def test_usage_is_read_with_the_cached_parts_apart(usage, content, expected):
    full = usage and {"output_tokens": 0, "total_tokens": 0, **usage}
    assert counted_in(AIMessage(content, usage_metadata=full)) == expected


def test_usage_reaches_the_conversation():
    def script(step: int) -> AIMessage:
        return AIMessage("done")

    model, middleware = Scripted(script=script), middleware_of()
    agent_of(model, middleware).invoke({"messages": [HumanMessage("hi " * 100)]})
    (context,) = middleware._threads._in_memory._open.values()
    assert context.usage("scripted/scripted").used.source == "measured"
