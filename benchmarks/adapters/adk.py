"""Google ADK: a managed model with requests of the framework, which makes all their contents again for each."""

import gc
import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from adapters.base import SHOWN, Adapter, Clock, Laps, Message, call_of
from backscroll.integrations.adk import BackscrollPlugin

APP, USER = "bench", "user"
LANE = "m"


class Silent(BaseLlm):
    """A model that answers nothing, with the usage that it is given."""

    clock: Any = None
    prompt: Any = None

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,
    ) -> AsyncGenerator[LlmResponse, None]:
        with self.clock.paused():
            usage = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=self.prompt(), candidates_token_count=20
            )
            response = LlmResponse(content=types.Content(role="model", parts=[]), usage_metadata=usage)
        yield response


class GoogleADK(Adapter):
    """The model of `BackscrollPlugin.model`, behind its `before_model_callback`."""

    name = "Google ADK"

    def __init__(self, budget: int, system: str) -> None:
        super().__init__(budget, system)
        self.plugin = BackscrollPlugin(budget=budget)
        self.inner = Silent(model="m", prompt=self.tokens)
        self.model = self.plugin.model(self.inner)
        self.agent = LlmAgent(name="bench", model=self.model, instruction=system)
        self.session = Session(id="s", app_name=APP, user_id=USER)
        self.contents: list[types.Content] = []
        self.names: dict[str, str] = {}
        self.runs = 0

    def native(self, message: Message) -> types.Content:
        text = message["content"]
        if message["role"] == "tool":
            found = types.FunctionResponse(name=self.names[message["tool_call_id"]], response={"result": text})
            return types.Content(role="user", parts=[types.Part(function_response=found)])
        if (call := call_of(message)) is not None:
            self.names[call[0]] = call[1]
            return types.Content(
                role="model",
                parts=[types.Part(function_call=types.FunctionCall(name=call[1], args=json.loads(call[2])))],
            )
        role = "user" if message["role"] == "user" else "model"
        return types.Content(role=role, parts=[types.Part(text=text)])

    def add(self, natives: Sequence[types.Content]) -> None:
        self.contents += natives
        self.session.events += [Event(author=USER, content=content) for content in natives]

    async def begin(self) -> None:
        self.runs += 1
        self.invocation = InvocationContext(
            session_service=InMemorySessionService(), invocation_id=f"run {self.runs}", agent=self.agent,
            session=self.session, user_content=self.contents[-1], run_config=RunConfig(),
        )  # fmt: skip  # one thought

    async def step(self, clock: Clock) -> None:
        self.inner.clock = clock
        config = types.GenerateContentConfig(system_instruction=self.system)
        contents = [content.model_copy() for content in self.contents]
        gc.freeze()  # else the collector walks the framework's copies whenever we make objects
        request = LlmRequest(model="m", contents=contents, config=config)
        context = CallbackContext(self.invocation)
        with clock:
            await self.plugin.before_model_callback(callback_context=context, llm_request=request)
            async for _ in self.model.generate_content_async(request):
                pass

    def tokens(self) -> int:
        return self.plugin.conversation(self.session, self.agent).usage(LANE).used.tokens

    async def alone(self, history: Sequence[types.Content], steps: int) -> list[float]:
        laps, service = Laps(), InMemorySessionService()
        agent = LlmAgent(name="own", model=Own(model="own", laps=laps, steps=steps), tools=[look])
        runner = Runner(app=App(name=APP, root_agent=agent), session_service=service)
        await service.create_session(app_name=APP, user_id=USER, session_id="own")
        authors = {"model": "own", "user": USER}
        events = [Event(author=authors[content.role or "user"], content=content) for content in history[:-1]]
        service.sessions[APP][USER]["own"].events += events  # by `append_event` it takes minutes
        async for _ in runner.run_async(user_id=USER, session_id="own", new_message=history[-1]):
            pass
        return laps.seconds


class Own(BaseLlm):
    """A model that shows itself the newest contents, calls the tool so often, and then ends."""

    laps: Any = None
    steps: int = 0

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,
    ) -> AsyncGenerator[LlmResponse, None]:
        self.laps.lap()
        shown = llm_request.contents[-SHOWN:]
        assert shown
        part = types.Part(text="done")
        if len(self.laps) < self.steps:
            part = types.Part(function_call=types.FunctionCall(name="look", args={}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def look() -> str:
    """Look."""
    return "seen"
