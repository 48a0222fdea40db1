"""Whether a request offers tools that read what its views leave out: those of `backscroll mcp`."""

import re
from collections.abc import Iterator
from typing import Any

from backscroll.history.recall_wording import NO_RECALL, RecallWording
from backscroll.integrations.proxy.recall_form import NAME

_READ = frozenset(("session", "ref", "pattern", "around", "offset"))
_SEARCH = frozenset(("query", "session", "project", "since", "role", "offset"))
"""The arguments of both tools. Each client puts a prefix of its own before their names, and users name the server, so
their arguments distinguish them from other tools.
"""
_NAMES = ("read", "search")
_SAFE = re.compile(r"[\w.:/~%-]{1,300}", re.ASCII)
"""Names that a text of a view can hold everywhere, also within a string of JSON."""


def wording_of(tools: Any, session: str | None) -> RecallWording:
    """Return how views may speak of recall.

    Args:
        tools: The tools of the request, in the shape of any API that the proxy speaks.
        session: The name of the conversation in the store. `None`: it is in memory, where those tools find nothing.
    """
    if session is None or not _SAFE.fullmatch(session):
        return NO_RECALL
    read = search = ""
    for name, arguments in _functions(tools, ""):
        if arguments == _READ and name.endswith("read"):
            read = read or name
        elif arguments == _SEARCH and name.endswith("search"):
            search = search or name
    return RecallWording(read, search, session) if read else NO_RECALL


def has_recall(tools: Any) -> bool:
    """Return whether a client has a tool of its own by the name of ours: two of one name are refused."""
    return any(name == NAME for name in _names(tools))


def _names(tools: Any) -> Iterator[Any]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            inner = tool.get("function")
            yield (inner if isinstance(inner, dict) else tool).get("name")


def _functions(tools: Any, prefix: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the name and the arguments of each function with such a name, also of those in a namespace of the Responses
    API.
    """
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        inner = tool.get("function")
        function = inner if isinstance(inner, dict) else tool
        name = function.get("name")
        if not isinstance(name, str):
            continue
        if "tools" in function:
            yield from _functions(function["tools"], prefix + name)
            continue
        if not name.endswith(_NAMES):
            continue
        schema = function.get("input_schema", function.get("parameters"))
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict) and _SAFE.fullmatch(prefix + name):
            yield prefix + name, frozenset(properties)
