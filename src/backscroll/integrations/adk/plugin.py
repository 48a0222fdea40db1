"""The plugin: it notes the agent of each request, makes managed models, and holds the conversations."""

from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models import BaseLlm, LLMRegistry
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins import BasePlugin
from google.adk.sessions import Session
from google.adk.tools.tool_context import ToolContext

from backscroll.integrations.adk.conversation import ADKConversation
from backscroll.integrations.adk.managed_model import managed_model
from backscroll.integrations.adk.noted_requests import NotedRequests, key_of
from backscroll.integrations.adk.recall_tool import RecallTool
from backscroll.integrations.adk.refusals import refuse_options
from backscroll.integrations.adk.sending import Sending
from backscroll.integrations.conversations import MOST, Conversations


class BackscrollPlugin(BasePlugin):
    """Gives each call of a managed model the best view of its agent's conversation that fits.

    Give it to the app, before plugins that change requests, and `model(...)` to its agents. The events of sessions are
    read and never changed. One plugin may serve many agents and sessions.

    Args:
        name: The name under which the app knows the plugin.
        max_conversations: How many conversations stay open, at least 1. A closed one is read from the store when its
            session comes again; without a store it is loaded from the session's events.
        with_recall_tool: Whether requests offer the tool `recall`, by which a model reads what views left out.
        options: Options of `backscroll.AsyncContextManager`, without `cache_marks` and `native`. With a `store`, each
            conversation is a session named by app, user, session and agent, behind `session` and a slash.

    Raises:
        ConfigurationError: An option is unknown, or can never work.
    """

    def __init__(
        self,
        *,
        name: str = "backscroll",
        max_conversations: int = MOST,
        with_recall_tool: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(name)
        refuse_options(options)
        self._conversations = Conversations(ADKConversation, options, most=max_conversations)
        self._noted = NotedRequests()
        recall = RecallTool(self._answer) if with_recall_tool else None
        self._sending = Sending(self._conversations, self._noted, recall)

    def model(self, model: str | BaseLlm) -> BaseLlm:
        """Return a model for agents of the app, whose requests hold views.

        Args:
            model: The model that answers, or its name.
        """
        found = LLMRegistry.new_llm(model) if isinstance(model, str) else model
        return managed_model(found, self._sending.send)

    def conversation(self, session: Session, agent: BaseAgent | str, branch: str | None = None) -> ADKConversation:
        """Return the conversation of an agent in a session: its usage, pins, reports and recall.

        Args:
            session: The session.
            agent: The agent or its name.
            branch: The `branch` of the agent's events, where it runs in parallel to others or was given a task.

        Raises:
            ConfigurationError: Another live conversation has its stored session.
        """
        return self._conversations.get(key_of(session, agent if isinstance(agent, str) else agent.name, branch))

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Note which agent makes a request."""
        self._noted.note(llm_request, callback_context)

    async def close(self) -> None:
        """Store what is buffered and close all conversations, as a runner ends. They open again when they are used.

        Raises:
            StoreError: The store failed.
        """
        self._conversations.close()

    async def _answer(self, context: ToolContext, arguments: dict[str, Any]) -> str:
        with self._conversations.use(key_of(context.session, context.agent_name, context.branch)) as found:
            return await found.answer_recall(arguments)
