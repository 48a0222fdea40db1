"""The recall tool: its definition, and its answers to a model."""

from collections.abc import Callable

from backscroll.errors import BackscrollError
from backscroll.messages.tools import definition
from backscroll.ports import Operation
from backscroll.recall.pages import RecallResult


def tool_definition(format: str) -> dict[str, object]:
    """Return the definition of the `recall` tool in a provider's format.

    Args:
        format: One of the names that `messages.tools.definition` knows.

    Raises:
        ConfigurationError: The format is unknown.
    """
    schema: dict[str, object] = {
        "type": "object",
        "properties": {
            "ref": {"type": "string", "description": "A reference as it stands in the conversation: 12, 12-40 or 12.1"},
            "query": {"type": "string", "description": "Words to search the whole conversation for"},
            "pattern": {"type": "string", "description": "A regular expression; only matching lines are returned"},
            "offset": {"type": "integer", "description": "Where to go on reading, as the answer before said"},
        },
    }
    description = (
        "Read what was left out of this conversation to save room, word for word. "
        "Give ref to read a [ref:...] mark, or query to search everything that was ever said or read."
    )
    return definition(format, "recall", description, schema)


def answer(make: Callable[..., Operation[RecallResult]], arguments: dict[str, object]) -> Operation[str]:
    """Answer a model: with the page and how to continue, or with what was wrong in its arguments."""
    known = {key: arguments[key] for key in ("ref", "query", "pattern", "offset") if arguments.get(key) is not None}
    try:
        found = yield from make(**known)
    except BackscrollError as error:
        return str(error)
    more = f"\n[more follows: recall again with offset {found.next_offset}]" if found.next_offset else ""
    return (str(found) or "nothing found") + more
