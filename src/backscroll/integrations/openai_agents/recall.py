"""The tool `recall`: one for all agents of a program. It answers from the conversation whose model called it."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from backscroll.integrations.openai_agents.conversation import ItemConversation
from backscroll.integrations.openai_agents.runs import Item, kind_of, plain
from backscroll.recall.tool import tool_definition

NOT_HERE = "There is no conversation of Backscroll behind this call: nothing can be looked up."
_NAME = "recall"
_MOST = 4_096
"""Calls that are remembered: far more than can wait for an answer at once."""


class RecallTool:
    """Makes the tool, and notes which conversation called it.

    Args:
        otherwise: Returns the conversation of a call that no model of this process made, such as one that waited for
            an approval; `None` if there is none.
    """

    def __init__(self, otherwise: Callable[[ToolContext[Any]], ItemConversation | None]) -> None:
        self._otherwise = otherwise
        self._callers: OrderedDict[str, ItemConversation] = OrderedDict()
        given: dict[str, Any] = tool_definition("responses")
        self.tool = FunctionTool(
            name=_NAME,
            description=given["description"],
            params_json_schema=given["parameters"],
            on_invoke_tool=self._answer,
            strict_json_schema=False,
        )

    def note(self, output: Iterable[Item], conversation: ItemConversation) -> None:
        """Note the calls of `recall` in an answer."""
        for item in output:
            if kind_of(item) == "function_call" and (call := plain(item)).get("name") == _NAME:
                self._callers[call["call_id"]] = conversation
        while len(self._callers) > _MOST:
            self._callers.popitem(last=False)

    async def _answer(self, context: ToolContext[Any], arguments: str) -> str:
        conversation = self._callers.pop(context.tool_call_id, None) or self._otherwise(context)
        if conversation is None:
            return NOT_HERE
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return 'The arguments must be a JSON object, such as {"ref": "12"}.'
        return await conversation.answer_recall(given)
