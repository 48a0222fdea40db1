"""The recall tool: its definition, and its answers to a model."""

from collections.abc import Callable

from backscroll.errors import BackscrollError, ConfigurationError
from backscroll.ports import Operation
from backscroll.recall.pages import RecallResult


def tool_definition(format: str) -> dict[str, object]:
    """Return the definition of the `recall` tool in a provider's format.

    Args:
        format: `openai` (chat), `responses` (OpenAI's Responses API), `anthropic`, `gemini`, `strands` or
            `mcp`.

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
    return in_format(format, "recall", description, schema)


def in_format(format: str, name: str, description: str, schema: dict[str, object]) -> dict[str, object]:
    """Return the definition of a tool in a provider's format: `openai`, `responses`, `anthropic`, `gemini`
    (one of `functionDeclarations`), `strands` or `mcp` (the Model Context Protocol).

    Raises:
        ConfigurationError: The format is unknown.
    """
    if format == "openai":
        return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
    if format == "responses":
        return {"type": "function", "name": name, "description": description, "parameters": schema, "strict": False}
    if format == "anthropic":
        return {"name": name, "description": description, "input_schema": schema}
    if format == "gemini":
        return {"name": name, "description": description, "parametersJsonSchema": schema}
    if format == "strands":
        return {"name": name, "description": description, "inputSchema": {"json": schema}}
    if format == "mcp":
        return {"name": name, "description": description, "inputSchema": schema}
    known = "'openai', 'responses', 'anthropic', 'gemini', 'strands' and 'mcp'"
    raise ConfigurationError(f"unknown tool format {format!r}; known are {known}")


def answer(make: Callable[..., Operation[RecallResult]], arguments: dict[str, object]) -> Operation[str]:
    """Answer a model: with the page and how to continue, or with what was wrong in its arguments."""
    known = {key: arguments[key] for key in ("ref", "query", "pattern", "offset") if arguments.get(key) is not None}
    try:
        found = yield from make(**known)
    except BackscrollError as error:
        return str(error)
    more = f"\n[more follows: recall again with offset {found.next_offset}]" if found.next_offset else ""
    return (str(found) or "nothing found") + more
