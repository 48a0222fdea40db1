"""The tool that reads what a view left out. It finds its conversation by where it runs."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain.tools import ToolRuntime
from langchain_core.messages import BaseMessage
from langchain_core.tools import StructuredTool

from backscroll.integrations.langchain.threads import Place, Threads, place_of
from backscroll.recall.tool import tool_definition

Runtime = ToolRuntime[Any, Any]


def recall_tool(threads: Threads) -> StructuredTool:
    """Return the tool `recall` over these conversations."""

    def recall(runtime: Runtime, **arguments: Any) -> str:
        place, history = _where(runtime)
        with threads.use(place, history) as conversation:
            conversation.load_now(history, first=conversation.may_be_edited(history))
            return conversation.answer_recall_now(arguments)

    async def arecall(runtime: Runtime, **arguments: Any) -> str:
        place, history = _where(runtime)
        with threads.use(place, history) as conversation:
            await conversation.load(history, first=conversation.may_be_edited(history))
            return await conversation.answer_recall(arguments)

    definition = cast("dict[str, Any]", tool_definition("mcp"))
    return StructuredTool.from_function(
        recall,
        arecall,
        name=definition["name"],
        description=definition["description"],
        args_schema=definition["inputSchema"],
    )


def _where(runtime: Runtime) -> tuple[Place, Sequence[BaseMessage]]:
    configurable = runtime.config.get("configurable", {})
    place = place_of(configurable.get("thread_id"), configurable.get("checkpoint_ns"))
    state = runtime.state
    history = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
    return place, history or ()
