"""The tool `recall`: one for all agents of a program. It answers from the conversation whose model called it."""

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from agents import FunctionTool
from agents.tool_context import ToolContext

from backscroll.integrations.item_runs import Item, kind_of, plain
from backscroll.integrations.openai_agents.conversation import ItemConversation
from backscroll.integrations.openai_agents.lines import Lines
from backscroll.recall.tool import tool_definition

NOT_HERE = "There is no conversation of Backscroll behind this call: nothing can be looked up."
_NAME = "recall"
_MOST = 4_096
"""Calls that are remembered: far more than can wait for an answer at once."""


class RecallTool:
    """Makes the tool, and notes which conversation called it.

    Args:
        lines_of: Returns the conversations of the session that a call belongs to; `None` if its run names none.
    """

    def __init__(self, lines_of: Callable[[ToolContext[Any]], Lines | None]) -> None:
        self._lines_of = lines_of
        self._callers: OrderedDict[str, list[ItemConversation]] = OrderedDict()
        """By the id of the call, which models of several sessions may use at once."""
        given: dict[str, Any] = tool_definition("responses")
        self.tool: FunctionTool = FunctionTool(
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
                self._callers.setdefault(call["call_id"], []).append(conversation)
        while len(self._callers) > _MOST:
            self._callers.popitem(last=False)

    def _caller(self, context: ToolContext[Any]) -> ItemConversation | None:
        """Return the conversation of a call. Of several with this id, the one of its session and of its agent."""
        lines, noted = self._lines_of(context), self._callers.pop(context.tool_call_id, [])
        if lines is None:
            return noted[0] if len(noted) == 1 else None
        here = [each for each in noted if each in lines.all().values()]
        own = lines.of_agent(context.turn_input)
        found = own if own in here or not here else here[0]
        if left := [each for each in noted if each is not found]:
            self._callers[context.tool_call_id] = left
        return found

    async def _answer(self, context: ToolContext[Any], arguments: str) -> str:
        conversation = self._caller(context)
        if conversation is None:
            return NOT_HERE
        try:
            given = json.loads(arguments or "{}")
        except ValueError:
            given = None
        if not isinstance(given, dict):
            return 'The arguments must be a JSON object, such as {"ref": "12"}.'
        return await conversation.answer_recall(given)
