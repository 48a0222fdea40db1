"""What the adapter rests on in LiteLLM: a release that moves any of it is named here."""

import asyncio
import inspect
from typing import Any

import litellm
import pytest
from litellm.integrations.custom_logger import CustomLogger
from litellm.types.router import RetryPolicy
from litellm.types.utils import CallTypes

from tests.integrations.litellm import OURS
from tests.integrations.litellm.agents import Agent, handler_of, installed
from tests.integrations.litellm.provider import providing

pytestmark = OURS


@pytest.mark.parametrize(
    ("hook", "names"),
    [
        ("async_pre_call_deployment_hook", ["self", "kwargs", "call_type"]),
        ("async_post_call_success_deployment_hook", ["self", "request_data", "response", "call_type"]),
        (
            "async_post_call_failure_deployment_hook",
            ["self", "request_data", "exception", "call_type", "fallback_depth"],
        ),
        ("async_log_success_event", ["self", "kwargs", "response_obj", "start_time", "end_time"]),
        ("log_pre_api_call", ["self", "model", "messages", "kwargs"]),
    ],
)
def test_hooks_have_these_arguments(hook, names):
    assert list(inspect.signature(getattr(CustomLogger, hook)).parameters) == names


def test_hooks_are_called_with_what_the_adapter_reads():
    seen: dict[str, Any] = {}

    class Seeing(CustomLogger):  # type: ignore[misc]  # LiteLLM's classes are untyped here
        async def async_pre_call_deployment_hook(self, kwargs, call_type):
            seen["before"] = (dict(kwargs), call_type)
            return {**kwargs, "messages": list(kwargs["messages"])}

        async def async_post_call_success_deployment_hook(self, request_data, response, call_type):
            seen["after"] = (request_data["messages"], response)

        async def async_post_call_failure_deployment_hook(
            self, request_data, exception, call_type, fallback_depth=None
        ):
            seen["failed"] = (request_data["messages"], exception)

        def log_pre_api_call(self, model, messages, kwargs):
            seen["call_type"] = kwargs["call_type"]

    with providing() as provider, installed(Seeing()):
        agent = Agent(handler_of(), provider, stream=True, stream_options={"include_usage": True})
        agent.messages.append({"role": "user", "content": "Hi."})

        async def streamed() -> None:
            async for _ in await litellm.acompletion(**agent.call()):
                pass

        asyncio.run(streamed())
        given, kind = seen["before"]
        agent.named.pop("stream_options")
        agent.named["stream"] = False
        asyncio.run(litellm.acompletion(**agent.call()))
        provider.refusing = 1
        with pytest.raises(litellm.ContextWindowExceededError):
            asyncio.run(litellm.acompletion(**agent.call()))
    assert kind is CallTypes.acompletion
    assert {"model", "messages", "tools", "stream", "litellm_session_id", "litellm_call_id"} <= given.keys()
    assert type(seen["after"][0]) is type(seen["failed"][0]) is list
    usage = seen["after"][1].usage
    assert usage.prompt_tokens > usage.prompt_tokens_details.cached_tokens > 0
    assert hasattr(seen["after"][1], "_hidden_params")
    assert isinstance(seen["failed"][1], litellm.ContextWindowExceededError)
    assert seen["call_type"] == CallTypes.acompletion.value


def test_a_synchronous_call_runs_no_hook_that_could_change_it():
    class Hook(CustomLogger):  # type: ignore[misc]  # likewise
        async def async_pre_call_deployment_hook(self, kwargs, call_type):
            raise AssertionError("it runs: BackscrollHandler could manage `litellm.completion`")

    with providing() as provider, installed(Hook()):
        agent = Agent(handler_of(), provider)
        agent.messages.append({"role": "user", "content": "Hi."})
        litellm.completion(**agent.call())
    assert len(provider.requests("small-1")) == 1


def test_functions_and_fields_have_these_names():
    error = litellm.ContextWindowExceededError(message="m", model="a", llm_provider="b")
    assert (error.model, error.llm_provider, error.status_code) == ("a", "b", 400)
    assert litellm.get_llm_provider("gpt-4o", None, None)[:2] == ("gpt-4o", "openai")
    assert litellm.get_model_info("openai/gpt-4o")["max_input_tokens"] > 0
    assert {"thinking_blocks", "reasoning_items", "reasoning_content"} <= litellm.Message.model_fields.keys()
    assert "BadRequestErrorRetries" in RetryPolicy.model_fields
    for client in (litellm, litellm.Router):
        for name in ("acompletion", "completion"):
            assert {"model", "messages"} <= inspect.signature(getattr(client, name)).parameters.keys()
