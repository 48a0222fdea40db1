"""The seals of reasoning in messages, by which it is known again.

A provider binds reasoning to what the model was sent. A client that goes on from several answers may put one of another
branch into a request: that one was thought over the whole history, or over a view that left out something else.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_SEALS = {"thinking": "signature", "redacted_thinking": "data", "reasoning": "encrypted_content"}
"""The member that holds the seal, by the type of the reasoning."""


def seals_in(items: Iterable[Mapping[str, Any]]) -> list[int]:
    """Return a hash of each seal of reasoning in messages or items. It differs in each process."""
    found: list[int] = []
    for item in items:
        content = item.get("content")
        for block in (item, *(content if isinstance(content, list) else ())):
            kind = block.get("type") if isinstance(block, Mapping) else None
            seal = block.get(_SEALS.get(kind, "")) if isinstance(kind, str) else None
            if isinstance(seal, str):
                found.append(hash(seal))
    return found
