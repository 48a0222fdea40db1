"""Lane and budget follow the model, as the Router, Backscroll's table or LiteLLM knows it."""

from typing import Any

import litellm
import pytest

from backscroll.integrations.litellm.call_arguments import tools_of
from backscroll.integrations.litellm.windows import budget_of, lane_of
from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import ORDER, handler_of
from tests.integrations.litellm.recorder import Recorder, turns

pytestmark = OURS
INFO = {"max_input_tokens": 9_000}
KNOWN = "openai/backscroll-test-model"


@pytest.mark.parametrize(
    ("call", "lane"),
    [
        ({"model": "gpt-4o"}, "openai/gpt-4o"),
        ({"model": "anthropic/claude-opus-5-5"}, "anthropic/claude-opus-5-5"),
        ({"model": "x", "custom_llm_provider": "openai"}, "openai/x"),
        ({"model": "azure/mine", "model_info": {"base_model": "azure/gpt-4o"}}, "azure/gpt-4o"),
        ({"model": "nobody-knows-it"}, "nobody-knows-it"),
    ],
)
def test_the_lane_is_provider_and_model(call, lane):
    assert lane_of(call) == lane


@pytest.mark.parametrize(
    ("call", "budget"),
    [
        ({"model": "openai/x", "model_info": INFO}, 9_000),
        ({"model": "openai/x", "model_info": INFO, "max_tokens": 1_000}, 8_000),
        ({"model": "openai/x", "model_info": INFO, "max_completion_tokens": 8_000}, 4_500),
        ({"model": "gpt-4o", "model_info": INFO}, 9_000),
        ({"model": "gpt-4o"}, None),
        ({"model": "openai/x"}, None),
        ({"model": "ollama/x"}, None),
        ({"model": KNOWN}, 7_000),
        ({"model": KNOWN, "max_tokens": 500}, 6_500),
    ],
)
def test_the_budget_is_what_the_window_leaves_for_input(call, budget):
    litellm.register_model({KNOWN: {"max_input_tokens": 7_000, "litellm_provider": "openai", "mode": "chat"}})
    assert budget_of(call, lane_of(call)) == budget


@pytest.mark.parametrize(("options", "window"), [({"budget": 5_000}, 5_000), ({"budget": None}, 7_000)])
def test_an_option_overrides_it(options, window):
    litellm.register_model({KNOWN: {"max_input_tokens": 7_000, "litellm_provider": "openai", "mode": "chat"}})
    handler = handler_of(client=Recorder(), **options)
    handler.completion(KNOWN, turns(3), litellm_session_id="s")
    assert handler.conversation("s").usage(KNOWN).window == window


def test_each_model_has_a_lane_of_its_own():
    handler = handler_of(client=Recorder())
    for name in ("openai/a", "openai/b"):
        handler.completion(name, turns(3), litellm_session_id="s")
    assert handler.conversation("s").usage("openai/a").messages == 7
    assert handler.conversation("s").usage("openai/b").messages == 7


class Answer:
    """A pydantic model as LiteLLM takes one."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        return {"type": "object"}


@pytest.mark.parametrize(
    ("call", "names"),
    [
        ({}, None),
        ({"tools": [ORDER]}, ["order"]),
        ({"tools": [ORDER], "functions": [{"name": "old"}]}, ["order", "old"]),
        ({"response_format": {"type": "json_object"}}, None),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, ["response_format"]),
        ({"tools": [ORDER], "response_format": Answer}, ["order", "response_format"]),
    ],
)
def test_all_that_a_call_defines_counts(call, names):
    found = tools_of(call)
    assert (found and [each["function"]["name"] for each in found]) == names
    handler = handler_of(client=Recorder())
    handler.completion("openai/m", turns(3), litellm_session_id="s", **call)
    assert [each.name for each in handler.conversation("s").usage("openai/m").tools] == (names or [])


@pytest.mark.parametrize(
    "tool", [{"type": "web_search_preview"}, {"googleSearch": {}}, {"type": "mcp", "server_url": "x"}]
)
def test_tools_of_a_provider_do_not_stop_a_call(tool):
    client = Recorder()
    handler_of(client=client).completion("openai/m", turns(3), litellm_session_id="s", tools=[tool])
    assert client.calls[0]["tools"] == [tool]
