"""Tools that a provider runs itself: their calls and results are blocks of the model's own messages.

A call and its result are in one message, or in two that follow each other where the provider paused. A request with one
of them alone is refused; a call at the very end makes the provider go on. Sources: "Server tools" and "MCP connector"
(Claude Platform Docs), the types of anthropic 2.12, and `Part.tool_call` of google-genai 2.34.
"""

from collections.abc import Sequence
from typing import Any

_CALLS = ("server_tool_use", "mcp_tool_use")
_RESULT = "_tool_result"
"""The end of the type of each result, such as `web_search_tool_result`."""


def server_call(block: Any) -> str | None:
    """Return the id of the call that a block makes; `None` if it is no call of a server's tool."""
    if type(block) is not dict:
        return None
    if block.get("type") in _CALLS:
        return _text(block.get("id"))
    made = block.get("toolCall", block.get("tool_call"))
    return _text(made.get("id")) if type(made) is dict and "type" not in block else None


def server_result(block: Any) -> str | None:
    """Return the id of the call whose result a block is; `None` if it is no result of a server's tool."""
    if type(block) is not dict:
        return None
    kind = block.get("type")
    if type(kind) is str and kind.endswith(_RESULT):
        return _text(block.get("tool_use_id"))
    made = block.get("toolResponse", block.get("tool_response"))
    return _text(made.get("id")) if type(made) is dict and "type" not in block else None


def open_ends(blocks: Sequence[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ids of calls without a result behind them here, and of results without a call before them here."""
    calls: dict[str, None] = {}
    results: list[str] = []
    for block in blocks:
        if (call := server_call(block)) is not None:
            calls[call] = None
        elif (answered := server_result(block)) is not None:
            if answered in calls:
                del calls[answered]
            else:
                results.append(answered)
    return tuple(calls), tuple(results)


def _text(value: Any) -> str | None:
    return value if type(value) is str and value else None
