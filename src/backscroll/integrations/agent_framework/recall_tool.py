"""The tool that reads what views left out, for the agent of one run."""

from typing import Any

from agent_framework import FunctionTool
from agent_framework import Message as Native

from backscroll.integrations.conversation import Conversation
from backscroll.integrations.conversations import Conversations
from backscroll.recall.tool import tool_definition


def recall_tool(conversations: Conversations[Conversation[Native]], key: str) -> FunctionTool:
    """Return the tool `recall` for the conversation with this key."""
    definition: dict[str, Any] = tool_definition("mcp")

    async def recall(**arguments: Any) -> str:
        with conversations.use(key) as conversation:
            return await conversation.answer_recall(arguments)

    return FunctionTool(
        name=definition["name"],
        description=definition["description"],
        func=recall,
        input_model=definition["inputSchema"],
        approval_mode="never_require",
    )
