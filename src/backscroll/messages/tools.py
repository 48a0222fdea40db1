"""The tool definitions of a request, in the shape of any provider."""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from backscroll.errors import ConfigurationError
from backscroll.messages.dialects import DIALECTS

_DECLARED = ("functionDeclarations", "function_declarations")
"""Where Gemini has the functions of one tool."""
_NOT_SENT = frozenset(("cache_control", "cachePoint"))
"""Marks for a prompt cache are no part of a definition."""


def _mcp_tool(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": schema}


_FORMATS = {name: make for dialect in DIALECTS for name, make in dialect.tool_formats.items()} | {"mcp": _mcp_tool}


def definition(format: str, name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the definition of a tool in a provider's format, or in that of the Model Context Protocol (`mcp`).

    Raises:
        ConfigurationError: The format is unknown.
    """
    if format not in _FORMATS:
        known = [f"{each!r}" for each in _FORMATS]
        raise ConfigurationError(f"unknown tool format {format!r}; known are {', '.join(known[:-1])} and {known[-1]}")
    return _FORMATS[format](name, description, schema)


class ToolTexts(NamedTuple):
    """Tool definitions as read."""

    digest: str
    """SHA-256 of their canonical JSON, in their order: providers do not say that another order is the same."""
    texts: tuple[tuple[str, str], ...]
    """Name and compact JSON of each."""


def read_tools(tools: Any) -> ToolTexts:
    """Read the tool definitions of a request.

    Args:
        tools: What the request's client takes: a list of definitions of Anthropic, OpenAI (chat or Responses), Gemini
            or Bedrock, or Bedrock's `toolConfig`. Definitions are mappings or objects with `model_dump`. Tools whose
            loading is deferred (`defer_loading`) are no part of the prompt and are left out.

    Raises:
        ConfigurationError: It is none of these, or holds a value that is not JSON.
    """
    given = tools.get("tools") if isinstance(tools, Mapping) else tools
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise ConfigurationError(f"`tools` must be a list of tool definitions, not {tools!r:.80}")
    texts = [
        (_name(each), _json(each))
        for tool in given
        for each in _definitions(_plain(tool))
        if each and not each.get("defer_loading")
    ]
    return ToolTexts(sha256(json.dumps(texts).encode()).hexdigest(), tuple(texts))


def _plain(tool: Any) -> dict[str, Any]:
    dumped = tool.model_dump(mode="json", exclude_none=True) if callable(getattr(tool, "model_dump", None)) else tool
    if not isinstance(dumped, Mapping):
        raise ConfigurationError(f"a definition in `tools` must be a mapping or have `model_dump`, not {tool!r:.80}")
    return {str(key): value for key, value in dumped.items() if key not in _NOT_SENT}


def _definitions(tool: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield each function of a tool of Gemini, and any other tool as it is."""
    key = next((key for key in _DECLARED if isinstance(tool.get(key), Sequence)), None)
    if key is None:
        yield tool
        return
    for each in tool[key]:
        yield _plain(each)
    if others := {name: value for name, value in tool.items() if name != key}:
        yield others


def _name(tool: Mapping[str, Any]) -> str:
    """Return a tool's name; of tools without one, such as a provider's search, their type or only key."""
    for holder in (tool, tool.get("function"), tool.get("toolSpec")):
        if isinstance(holder, Mapping) and isinstance(holder.get("name"), str):
            return str(holder["name"])
    return str(tool.get("type") or next(iter(tool)))


def _json(tool: Mapping[str, Any]) -> str:
    try:
        return json.dumps(tool, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"tool {_name(tool)!r:.60} of `tools` holds no JSON: {error}") from None
