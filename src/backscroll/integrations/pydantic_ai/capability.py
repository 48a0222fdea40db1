"""The capability `Backscroll`, with the conversations of all runs of the agents that have it."""

from typing import Any
from urllib.parse import quote

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import AgentDepsT
from pydantic_ai.toolsets import FunctionToolset

from backscroll.integrations.conversations import MOST, Conversations
from backscroll.integrations.pydantic_ai.conversation import PydanticAIConversation
from backscroll.integrations.pydantic_ai.recall_tool import recall_toolset
from backscroll.integrations.pydantic_ai.refusals import check_options
from backscroll.integrations.pydantic_ai.run import BackscrollRun

_UNNAMED = "agent"


class Backscroll(AbstractCapability[AgentDepsT]):
    """Gives each model request of an agent the best view of its conversation that fits, and the model a `recall` tool.

    Pass it in `Agent(capabilities=[...])`, before capabilities that add messages to requests. One may serve several
    agents and many conversations at once. The messages of a run are read and never changed.

    Args:
        max_conversations: Conversations that stay open, at least 1. The one that was not used for longest is closed;
            it is read from the store, or else from the run's messages, when it is used again.
        options: Options of `backscroll.AsyncContextManager`. With a `store`, each conversation is a session that is
            named by `conversation_key`, behind `session` and a slash if that is given. Without `budget`, the window of
            each model decides.

    Raises:
        ConfigurationError: An option is unknown, can never work, or is Pydantic AI's own to decide.
    """

    def __init__(self, *, max_conversations: int = MOST, **options: Any) -> None:
        check_options(options)
        self._conversations = Conversations(PydanticAIConversation, options, most=max_conversations)
        self._has_budget = "budget" in options
        self._toolset = recall_toolset(self._answer)

    @classmethod
    def get_serialization_name(cls) -> None:
        """Return that no file of an agent can name it: its options may be objects."""

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the `recall` tool."""
        return self._toolset

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> AbstractCapability[AgentDepsT]:
        """Return the capability for one run."""
        return BackscrollRun(self._conversations.use(_key_in(ctx)), self._toolset, has_budget=self._has_budget)

    def conversation(self, conversation_id: str, agent: str = _UNNAMED) -> PydanticAIConversation:
        """Return the manager of a conversation: `usage`, `pin`, `explain`, `window_report`, `recall` and more.

        Args:
            conversation_id: `result.conversation_id`, or the one that was given to the run.
            agent: The name of the agent.
        """
        return self._conversations.get(conversation_key(conversation_id, agent))

    def close(self) -> None:
        """Store what is buffered and close all conversations. They open again when they are used.

        Raises:
            StoreError: The store failed.
        """
        self._conversations.close()

    async def _answer(self, ctx: RunContext[Any], arguments: dict[str, Any]) -> str:
        """Answer a call of `recall` in a run."""
        with self._conversations.use(_key_in(ctx)) as conversation:
            return await conversation.answer_recall(arguments)


def conversation_key(conversation_id: str, agent: str = _UNNAMED) -> str:
    """Return the key of a conversation: agents that share its id have one each."""
    return f"{quote(agent, safe='')}/{conversation_id}"


def _key_in(ctx: RunContext[Any]) -> str:
    name = None if ctx.agent is None else ctx.agent.name
    return conversation_key(ctx.conversation_id or ctx.run_id or "", name or _UNNAMED)
