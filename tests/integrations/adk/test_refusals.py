"""What cannot work together with Backscroll is refused at construction or at the first request, with the reason."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.apps.app import EventsCompactionConfig
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.tools.google_search_tool import google_search
from google.genai import types
from pydantic import BaseModel

from backscroll import ConfigurationError
from backscroll.integrations.adk import BackscrollPlugin
from tests.integrations.adk.agents import Running, agent_of, plugin_of, running
from tests.integrations.adk.scripted import Scripted, chat


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bugdet": 5}, "unknown option `bugdet`: did you mean `budget`"),
        ({"cache_marks": "auto"}, "`cache_marks` cannot be used with Google ADK: .*ContextCacheConfig"),
        ({"native": object()}, "`native` cannot be used with Google ADK"),
        ({"max_conversations": 0}, "`max_conversations` must be a whole number of at least 1"),
        ({"mode": "fast"}, "mode"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_options_that_cannot_work_fail_at_construction(options, message):
    with pytest.raises(ConfigurationError, match=message):
        BackscrollPlugin(**options)


def test_a_request_whose_history_the_provider_keeps_is_refused():
    async def send() -> None:
        async for _ in (
            plugin_of().model(Scripted(chat)).generate_content_async(LlmRequest(previous_interaction_id="i"))
        ):
            pass

    with pytest.raises(ConfigurationError, match="previous_interaction_id"):
        asyncio.run(send())


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL")
def test_compaction_of_events_is_refused():
    model, plugin = Scripted(chat), plugin_of()
    compaction = EventsCompactionConfig(compaction_interval=3, overlap_size=1)
    run = Running(agent_of(model, plugin), plugin, events_compaction_config=compaction)
    with pytest.raises(ConfigurationError, match="EventsCompactionConfig"):
        run.say("hello")
    assert model.requests == []


def test_a_plugin_that_filters_contents_is_refused():
    model = Scripted(chat)
    with pytest.raises(ConfigurationError, match="ContextFilterPlugin"):
        running(model, ContextFilterPlugin(num_invocations_to_keep=2)).say("hello")
    assert model.requests == []


def test_a_model_outside_of_an_app_with_the_plugin_is_named():
    model, plugin = Scripted(chat), plugin_of()
    with pytest.warns(RuntimeWarning, match="called by no agent of an app with its `BackscrollPlugin`"):
        assert Running(agent_of(model, plugin), None).say("hello").startswith("answer 0")
    assert len(model.requests) == 1
    assert "recall" not in str(model.configs[0].tools)


class Speaks(Scripted):
    """A model with live connections."""

    def connect(self, llm_request: Any) -> Any:
        @asynccontextmanager
        async def connection() -> Any:
            yield self

        return connection()


def test_a_live_connection_is_passed_on_with_a_warning():
    model = Speaks(chat)  # type: ignore[call-arg, arg-type]  # `Scripted` has its own

    async def connect() -> Any:
        async with plugin_of().model(model).connect(LlmRequest()) as connection:
            return connection

    with pytest.warns(RuntimeWarning, match="live connection .* does not manage it"):
        assert asyncio.run(connect()) is model


def test_a_managed_model_has_the_class_and_fields_of_its_own():
    """The framework asks for the class to know whether a model pairs calls by id."""
    plugin, gemini = plugin_of(), Gemini(model="gemini-3.5-flash", base_url="https://example.com")
    managed: Any = plugin.model(gemini)
    assert isinstance(managed, Gemini)
    assert (managed.model, managed.base_url) == ("gemini-3.5-flash", "https://example.com")
    assert type(gemini) is Gemini
    assert LlmAgent(name="a", model=managed).canonical_model is managed
    assert isinstance(plugin.model("gemini-3.5-flash"), Gemini)


def offered(model: Scripted, *, plugin: BackscrollPlugin | None = None, **options: Any) -> str:
    running(model, plugin=plugin, **options).say("hello")
    return str(model.configs[0].tools)


class Answer(BaseModel):
    """The form of an answer."""

    text: str


def test_recall_is_offered_where_the_model_can_call_it():
    assert "recall" in offered(Scripted(chat))
    assert "recall" in offered(Scripted(chat), tools=[])
    assert "recall" not in offered(Scripted(chat), plugin=plugin_of(with_recall_tool=False))
    answer: Any = lambda step, contents: [types.Part(text='{"text": "fine"}')]  # noqa: E731  # one line says it
    assert "recall" not in offered(Scripted(answer), tools=[], output_schema=Answer)
    assert "recall" not in offered(Scripted(chat, model="gemini-2.5-flash"), tools=[google_search])
