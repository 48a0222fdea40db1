"""`data-twice`: a result that holds the same data as text and as a structure, as servers of MCP send it.

Source: "Structured content" of the Model Context Protocol: a server should send the serialized JSON as text as well.
"""

import json
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.lint.costs import Costs
from backscroll.evaluation.lint.finding import Found, Rule
from backscroll.evaluation.lint.talk import Talk

_LEAST = 200  # characters below which a second copy is not worth a finding


def _twice(talk: Talk, costs: Costs) -> Iterator[Found]:
    for said in talk.said:
        copy = next((found for value in _values(said.message) if (found := _second_copy(value)) is not None), None)
        if copy is not None and len(copy) >= _LEAST:
            tokens = costs.text(copy)
            yield Found(said.place, "a result holds the same data twice", tokens, tokens * said.sends)


def _values(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object of a message, also those in a text that is JSON."""
    if isinstance(value, str) and "tructured" in value:
        value = _parsed(value)
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _values(item)


def _second_copy(value: dict[str, Any]) -> str | None:
    """Return the structure of a result, as JSON, that one of its texts holds as well."""
    structure = value.get("structuredContent", value.get("structured_content"))
    content = value.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    is_copy = isinstance(structure, dict) and any(structure == _parsed(text) for text in texts)
    return json.dumps(structure) if is_copy else None


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


RULES = (
    Rule("data-twice", "note", "Send one of the two copies, and a word instead of the other.", _twice, ("data_twice",)),
)
