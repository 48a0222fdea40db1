"""Agents for the tests of this adapter: a real runner and agent, a scripted model, and the tool of `world`."""

import asyncio
from collections.abc import Iterable
from typing import Any

from google.adk.agents import LlmAgent, RunConfig
from google.adk.agents.run_config import StreamingMode  # type: ignore[attr-defined]  # it is documented there
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.genai import types

from backscroll.integrations.adk import BackscrollPlugin
from tests.integrations import world
from tests.integrations.adk.scripted import Recorder, Scripted

APP, USER = "shop_app", "customer"


def order(number: int) -> str:
    """Look up an order."""
    return world.order(number)


def plugin_of(**options: Any) -> BackscrollPlugin:
    """A plugin with a small budget."""
    return BackscrollPlugin(**{"budget": world.BUDGET, **options})


def agent_of(model: BaseLlm, plugin: BackscrollPlugin, **options: Any) -> LlmAgent:
    """An agent."""
    settings = {"name": "shop", "instruction": world.SYSTEM, "tools": [order], **options}
    return LlmAgent(model=plugin.model(model), **settings)


class Running:
    """An app that runs, and one session of it.

    Args:
        agent: The agent of the app.
        plugin: The plugin; `None` for none.
        others: Further plugins, behind a recorder.
        service: Keeps the sessions.
        session: The id of the session.
        options: Options of the app.
    """

    def __init__(
        self,
        agent: Any,
        plugin: BackscrollPlugin | None,
        *others: Any,
        service: Any = None,
        session: str = "session",
        user: str = USER,
        **options: Any,
    ) -> None:
        self.recorder = Recorder()
        plugins = [*([plugin] if plugin else ()), self.recorder, *others]
        self.service = service or InMemorySessionService()
        app = App(name=APP, root_agent=agent, plugins=plugins, **options)
        self.runner = Runner(app=app, session_service=self.service, auto_create_session=True)
        self.id, self.user, self.agent, self.plugin = session, user, agent, plugin

    @property
    def session(self) -> Session:
        """The session as the framework keeps it."""
        found: Any = asyncio.run(self.service.get_session(app_name=APP, user_id=self.user, session_id=self.id))
        return found

    @property
    def contents(self) -> list[types.Content]:
        """The contents of the session's events."""
        return [event.content for event in self.session.events if event.content is not None]

    @property
    def conversation(self) -> Any:
        """The conversation of the agent."""
        assert self.plugin is not None
        return self.plugin.conversation(self.session, self.agent)

    @property
    def stored(self) -> list[dict[str, Any]]:
        """The messages of the conversation."""
        found: list[dict[str, Any]] = asyncio.run(self.conversation.get_messages())
        return found

    async def hear(self, said: Any, *, stream: bool = False, **options: Any) -> str:
        """Run the agent once, and return its last words."""
        parts = [types.Part(text=said)] if isinstance(said, str) else said
        mode = StreamingMode.SSE if stream else StreamingMode.NONE
        last = ""
        async for event in self.runner.run_async(
            user_id=self.user,
            session_id=self.id,
            new_message=types.Content(role="user", parts=parts),
            run_config=RunConfig(streaming_mode=mode, **options),
        ):
            last = (event.content.parts[0].text if event.content and event.content.parts else None) or last
        return last

    def say(self, said: Any, **options: Any) -> str:
        """Do the same without an event loop."""
        return asyncio.run(self.hear(said, **options))

    async def remember(self, texts: Iterable[str]) -> None:
        """Begin the session with what the user and the agent said by turns."""
        session = await self.service.create_session(app_name=APP, user_id=self.user, session_id=self.id)
        for at, said in enumerate(texts):
            role, author = (("user", "user"), ("model", self.agent.name))[at % 2]
            content = types.Content(role=role, parts=[types.Part(text=said)])
            await self.service.append_event(session, Event(author=author, content=content))

    async def work_through(self, turns: int = 3, *, stream: bool = False) -> None:
        """Give the agent the work of `world`."""
        for turn in range(turns):
            await self.hear(world.asked(turn), stream=stream)


def running(model: Scripted, *others: Any, plugin: BackscrollPlugin | None = None, **options: Any) -> Running:
    """An app of one agent with a scripted model."""
    plugin = plugin or plugin_of()
    return Running(agent_of(model, plugin, **options), plugin, *others)
