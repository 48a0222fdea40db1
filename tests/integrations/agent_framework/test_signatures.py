"""Every signature and attribute of the framework that the adapter rests on: a release that moves one is named here."""

import asyncio
import inspect
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatContext,
    ChatMiddleware,
    ChatResponse,
    CompactionProvider,
    Content,
    ContextProvider,
    FunctionTool,
    HistoryProvider,
    InMemoryHistoryProvider,
    Message,
    ResponseStream,
    SessionContext,
)

from tests.integrations.agent_framework.scripted import Recorder, Scripted, chat


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (ContextProvider.__init__, {"source_id"}),
        (ContextProvider.before_run, {"agent", "session", "context", "state"}),
        (ContextProvider.after_run, {"agent", "session", "context", "state"}),
        (SessionContext.extend_middleware, {"source_id", "middleware"}),
        (SessionContext.extend_tools, {"source_id", "tools"}),
        (SessionContext.get_messages, {"include_input"}),
        (ChatMiddleware.process, {"context", "call_next"}),
        (ChatResponse.from_updates, {"updates"}),
        (ResponseStream.__init__, {"stream", "finalizer"}),
        (ResponseStream.get_final_response, set()),
        (Message.__init__, {"role", "contents"}),
        (Content.from_text, {"text"}),
        (Content.from_function_call, {"call_id", "name", "arguments"}),
        (Content.from_function_result, {"call_id", "result"}),
        (FunctionTool.__init__, {"name", "description", "func", "input_model", "approval_mode"}),
        (FunctionTool.to_json_schema_spec, set()),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_signatures(function, parameters):
    assert parameters <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("thing", "names"),
    [
        (SessionContext(input_messages=[]), "context_messages middleware options"),
        (ChatContext(Scripted(chat), [], {}), "client messages options stream kwargs result"),
        (ChatResponse(messages=[]), "messages usage_details finish_reason"),
        (AgentSession(), "session_id service_session_id"),
        (Message("user", []), "role contents additional_properties raw_representation"),
        (Scripted(chat), "compaction_strategy STORES_BY_DEFAULT OTEL_PROVIDER_NAME model"),
        (
            Agent(Scripted(chat)),
            "name client context_providers default_options compaction_strategy"
            " require_per_service_call_history_persistence",
        ),
        (
            Content("text"),
            "type text protected_data call_id name arguments hosted result items exception uri media_type file_id"
            " raw_representation additional_properties",
        ),
    ],
    ids=lambda value: "" if isinstance(value, str) else type(value).__name__,
)
def test_attributes(thing, names):
    assert [name for name in names.split() if not hasattr(thing, name)] == []


def test_classes_that_are_recognized():
    assert issubclass(InMemoryHistoryProvider, HistoryProvider)
    assert issubclass(HistoryProvider, ContextProvider)
    assert issubclass(CompactionProvider, ContextProvider)
    assert BaseChatClient.OTEL_PROVIDER_NAME == "unknown"
    assert BaseChatClient.STORES_BY_DEFAULT is False
    assert HistoryProvider("a").source_id == "a"  # type: ignore[abstract]  # at runtime it is not


class Adds(ContextProvider):
    """Adds middleware and a message, as our provider and a memory do."""

    async def before_run(self, *, context: Any, **_: Any) -> None:
        context.extend_middleware(self.source_id, Recorder())
        context.extend_messages(self, [Message("user", ["a memory"])])


def test_middleware_of_a_provider_sees_the_whole_conversation():
    """What the design rests on: the history comes first, without instructions, and contents are shared."""
    inner, outer = Adds("adds"), Recorder()
    agent: Any = Agent(Scripted(chat), "Be brief.", context_providers=[inner], middleware=[outer])
    session = agent.create_session()
    for turn in range(2):
        asyncio.run(agent.run(f"turn {turn}", session=session))
    assert outer.given[1][0].text == "a memory"
    assert len(outer.given[1]) == 4
    kept = [content for message in session.state["in_memory"]["messages"] for content in message.contents]
    shown = [content for message in outer.given[1] for content in message.contents]
    assert sum(any(one is other for other in kept) for one in shown) == 3
    assert agent.client.options[0]["instructions"] == "Be brief."
