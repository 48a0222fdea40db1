"""The recall tool: its definition, and its answers to a model."""

from collections.abc import Callable

from backscroll.errors import BackscrollError
from backscroll.messages.tools import definition
from backscroll.ports import Operation
from backscroll.recall.pages import RecallResult

_OTHER = "; try fewer or other words, or read a range by ref"


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
            "ref": {
                "type": "string",
                "description": "A reference as it stands in the conversation: 12, 12-40 or 12.1; or several, as 12,15",
            },
            "query": {"type": "string", "description": "Words to search the whole conversation for"},
            "pattern": {"type": "string", "description": "A regular expression; only matching lines are returned"},
            "offset": {"type": "integer", "description": "Where to go on reading, as the answer before said"},
        },
    }
    description = (
        "Read what was left out of this conversation to save room, word for word. "
        "Give ref to read a [ref:...] mark, or query to search everything that was ever said or read. "
        "Of a long range, each message is named in a line; read those you need by their own ref."
    )
    return definition(format, "recall", description, schema)


def answer(make: Callable[..., Operation[RecallResult]], arguments: dict[str, object]) -> Operation[str]:
    """Answer a model: with the page and how to continue, or with what was wrong in its arguments."""
    known = {key: arguments[key] for key in ("ref", "query", "pattern", "offset") if arguments.get(key) is not None}
    try:
        found = yield from make(**known, outline=True)
    except BackscrollError as error:
        return str(error)
    if not found:
        return "nothing found" + (_OTHER if "query" in known else "")
    return str(found) + _going_on(found, searched="query" in known)


def _going_on(found: RecallResult, *, searched: bool) -> str:
    """Return the line that says how to go on; empty at the end of what was asked for."""
    if found.next_ref is not None:
        return f"[more follows: recall ref {found.next_ref}]"
    if found.next_offset is None:
        return ""
    around = "recall a ref above to read around it, or narrower words, or " if searched else ""
    return f"\n[more follows: {around}recall again with offset {found.next_offset}]"
