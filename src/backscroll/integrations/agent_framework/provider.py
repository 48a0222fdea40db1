"""The context provider: it gives each run of an agent its middleware and the recall tool."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from agent_framework import AgentSession, ContextProvider, Message, SessionContext

from backscroll.errors import StoreError
from backscroll.integrations.agent_framework.recall_tool import recall_tool
from backscroll.integrations.agent_framework.refusals import refuse_agent, refuse_kept_elsewhere, refuse_options
from backscroll.integrations.agent_framework.translation import AgentFrameworkTranslation
from backscroll.integrations.agent_framework.view_middleware import ViewMiddleware
from backscroll.integrations.conversation import Conversation
from backscroll.integrations.conversations import MOST, Conversations
from backscroll.notices import warn


class BackscrollProvider(ContextProvider):
    """Gives each model call of an agent the best view of its conversation that fits.

    The history of the agent's session is read and never changed. One provider may serve many agents and sessions.

    Args:
        source_id: The name under which the framework knows this provider.
        max_conversations: How many conversations stay open, at least 1. A closed one is read from the store when its
            session comes again; without a store it is loaded from the framework's history.
        with_recall_tool: Whether each run has the tool `recall`, by which a model reads what views left out.
        options: Options of `backscroll.AsyncContextManager`, without `cache_marks` and `native`. With a `store`, each
            conversation is a session named by the session's id and the agent's name, behind `session` and a slash.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(
        self,
        *,
        source_id: str = "backscroll",
        max_conversations: int = MOST,
        with_recall_tool: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(source_id)
        refuse_options(options)
        self._translation = AgentFrameworkTranslation()
        self._with_recall_tool = with_recall_tool
        self._conversations = Conversations[Conversation[Message]](self._make, options, most=max_conversations)

    def _make(self, options: Mapping[str, Any]) -> Conversation[Message]:
        return Conversation(self._translation, options)

    def conversation(self, session: AgentSession | str, agent: Any = None) -> Conversation[Message]:
        """Return the conversation of an agent in a session: its usage, pins, reports and recall.

        Args:
            session: The session or its id.
            agent: The agent or its name. `None`: one without a name.

        Raises:
            ConfigurationError: Another live conversation has its stored session.
        """
        return self._conversations.get(_key(session, agent))

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used.

        Raises:
            StoreError: The store failed.
        """
        self._conversations.close()

    async def before_run(self, *, agent: Any, session: AgentSession, context: SessionContext, **_: Any) -> None:
        """Give a run its middleware and the recall tool.

        Raises:
            ConfigurationError: The agent or the run has something that cannot work together with Backscroll.
        """
        refuse_agent(agent, self)
        refuse_kept_elsewhere(agent, session, context)
        key = _key(session, agent)
        middleware = ViewMiddleware(
            conversations=self._conversations, key=key, agent=agent, context=context, translation=self._translation
        )
        context.extend_middleware(self.source_id, middleware)
        if self._with_recall_tool:
            context.extend_tools(self.source_id, [recall_tool(self._conversations, key)])

    async def after_run(self, *, context: SessionContext, **_: Any) -> None:
        """Load the answer. A store that fails now does not take the answer from the caller."""
        for middleware in context.middleware.get(self.source_id, ()):
            if isinstance(middleware, ViewMiddleware):
                try:
                    await middleware.ended()
                except StoreError as error:
                    warn(f"an answer could not be stored yet, the next run stores it: {error}")


def _key(session: AgentSession | str, agent: Any) -> str:
    """Return the key of a conversation: sub-agents may share a session, so it holds the agent's name."""
    session_id = session if isinstance(session, str) else session.session_id
    name = agent if isinstance(agent, str) else getattr(agent, "name", None)
    return quote(session_id, safe="") + (f"/{quote(name, safe='')}" if name else "")
