"""Every signature and attribute of the framework that the adapter rests on: a release that moves one is named here."""

import asyncio
import inspect
import weakref
from typing import Any

import pytest
from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models import BaseLlm, LLMRegistry
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.sessions import Session
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from tests.integrations.adk.agents import Running, order
from tests.integrations.adk.scripted import Recorder, Scripted, chat


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (BaseLlm.generate_content_async, {"llm_request", "stream"}),
        (BaseLlm.connect, {"llm_request"}),
        (LLMRegistry.new_llm, {"model"}),
        (LlmRequest.append_tools, {"tools"}),
        (LlmResponse.get_function_calls, set()),
        (BasePlugin.__init__, {"name"}),
        (BasePlugin.before_model_callback, {"callback_context", "llm_request"}),
        (BasePlugin.close, set()),
        (CallbackContext.get_invocation_context, set()),
        (BaseTool.__init__, {"name", "description"}),
        (BaseTool._get_declaration, set()),
        (BaseTool.run_async, {"args", "tool_context"}),
    ],
    ids=lambda value: getattr(value, "__qualname__", ""),
)
def test_signatures(function, parameters):
    assert parameters <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (LlmRequest, "model contents config tools_dict previous_interaction_id"),
        (LlmResponse, "content partial usage_metadata"),
        (Gemini, "model use_interactions_api"),
        (InvocationContext, "invocation_id session run_config user_content events_compaction_config plugin_manager"),
        (RunConfig, "model_input_context"),
        (Session, "app_name user_id id events"),
        (types.Content, "role parts"),
        (
            types.Part,
            "text thought thought_signature inline_data file_data function_call function_response executable_code"
            " code_execution_result",
        ),
        (types.FunctionCall, "id name args"),
        (types.FunctionResponse, "id name response parts"),
        (types.FunctionDeclaration, "name description parameters_json_schema"),
        (types.GenerateContentConfig, "system_instruction tools response_schema response_json_schema"),
        (types.Tool, "function_declarations"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_fields(kind, names):
    assert [name for name in names.split() if name not in kind.model_fields] == []


def test_attributes_that_are_no_fields():
    assert LlmRequest()._static_instruction_prefix_end_index is None
    assert [name for name in ("session", "agent_name", "branch") if not hasattr(CallbackContext, name)] == []
    assert ToolContext is CallbackContext
    assert hasattr(Scripted(chat).capabilities, "output_schema_and_tools")
    assert PluginManager([Recorder()]).plugins


class Watching(Recorder):
    """A plugin that notes whether contents share their texts with the events."""

    shared = False

    def __init__(self) -> None:
        super().__init__()
        self.name = "watching"

    async def before_model_callback(self, *, callback_context: Any, llm_request: LlmRequest) -> None:
        await super().before_model_callback(callback_context=callback_context, llm_request=llm_request)
        event = callback_context.session.events[0]
        contents: Any = llm_request.contents
        self.shared = contents[0].parts[0].text is event.content.parts[0].text


def test_what_the_design_rests_on():
    """The request of a callback is the one that the model gets; contents are copies that share texts with events; the
    ids of calls that the framework made up are taken off; a tool that a request has got can be called.
    """
    requests: list[Any] = []

    class Model(Scripted):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            requests.append(llm_request)
            llm_request.append_tools([Tool(name="added", description="added")])
            async for response in super().generate_content_async(llm_request, stream):
                yield response

    def asks(step: int, contents: list[types.Content]) -> list[types.Part]:
        called = types.Part(function_call=types.FunctionCall(name="added", args={}))
        return [types.Part(text="done")] if step else [called]

    watching = Watching()
    run = Running(LlmAgent(name="shop", model=Model(asks), tools=[order]), None, watching)  # type: ignore[call-arg, arg-type]  # as above
    assert run.say("hello") == "done"
    assert all(one is other for one, other in zip(requests, watching.requests, strict=True))
    assert watching.shared
    assert watching.given[1][0] is not watching.given[0][0]
    given: Any = watching.given[1]
    contents: Any = run.contents
    assert [part.function_call.id for part in given[1].parts] == [None]
    assert contents[1].parts[0].function_call.id
    assert contents[2].parts[0].function_response.response == {"result": "was called"}
    assert weakref.ref(requests[0])() is requests[0]
    asyncio.run(run.runner.close())


class Tool(BaseTool):
    """A tool that only a model adds."""

    def _get_declaration(self) -> types.FunctionDeclaration:
        return types.FunctionDeclaration(name=self.name, description=self.description)

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> str:
        return "was called"
