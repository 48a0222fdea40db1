"""Blocks and items that say which tools a model has from there on: without them it loses tools that it was given.

Sources: "Tool search" and "Mid-conversation system messages" (Claude Platform Docs), and the types of openai 3.54.
`additional_tools` is not among them: a message with one is critical (`items.KEPT`).
"""

from collections.abc import Sequence, Set
from typing import Any

from backscroll.messages.items import kind_of

_CHANGES = frozenset(
    (
        "tool_search_output", "mcp_list_tools", "tool_search_tool_result", "tool_reference", "tool_addition",
        "tool_removal",
    )
)  # fmt: skip  # one thought


_LOOKED_IN = _CHANGES | {"tool_result"}
_NONE = frozenset[int]()


def tool_changes(content: Sequence[Any], kinds: Set[str]) -> frozenset[int]:
    """Return the numbers of the blocks that change the tools, by themselves or by what a tool returned in them.

    Args:
        content: The blocks.
        kinds: Their types.
    """
    if kinds.isdisjoint(_LOOKED_IN):
        return _NONE
    return frozenset([number for number, block in enumerate(content) if _changes(block)])


def _changes(block: Any) -> bool:
    kind = kind_of(block)
    if kind in _CHANGES:
        return True
    inner = block.get("content") if kind == "tool_result" else None
    return type(inner) is list and any(kind_of(each) in _CHANGES for each in inner)
