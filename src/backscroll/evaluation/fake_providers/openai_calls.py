"""The item by which a model of the Responses API calls a tool: its type follows from the tool that the request offers.

Sources: the types of the openai client, and requests of Codex, which has tools in `tools`, in an item
`additional_tools` and in the output of a search for tools, each alone or in a namespace.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from backscroll.evaluation.fake_providers.chain import as_text
from backscroll.evaluation.fake_providers.openai_contents import Item
from backscroll.evaluation.fake_providers.script import Call


class Offered(NamedTuple):
    """A tool that the model can call."""

    kind: str
    """The `type` of the tool: `function`, `custom` or `tool_search`."""
    name: str
    namespace: str | None = None
    schema: Mapping[str, Any] | None = None
    """Of its arguments. `None`: it takes a text."""

    @property
    def full_name(self) -> str:
        """The name by which a script calls it: in a namespace, behind that and a dot."""
        return self.name if self.namespace is None else f"{self.namespace}.{self.name}"


def offered(raw: Mapping[str, Any]) -> dict[str, Offered]:
    """Return the tools that a request offers, by `full_name`.

    Args:
        raw: The request.
    """
    given = raw.get("input")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else []
    bearers = [item.get("tools") for item in items if item.get("type") in ("additional_tools", "tool_search_output")]
    found = [each for tools in (raw.get("tools"), *bearers) for each in _tools(tools or ())]
    return {each.full_name: each for each in found}


def _tools(tools: Iterable[Mapping[str, Any]], namespace: str | None = None) -> Iterator[Offered]:
    for tool in tools:
        kind = str(tool.get("type"))
        if kind == "namespace":
            yield from _tools(tool.get("tools") or (), str(tool.get("name")))
        elif kind == "tool_search":
            yield Offered(kind, kind, None, tool.get("parameters"))
        elif tool.get("name"):
            yield Offered(kind, str(tool["name"]), namespace, tool.get("parameters"))


def call_item(part: Call, known: str, call: str, tools: Mapping[str, Offered]) -> Item:
    """Return the item of a call; that of a function if the request does not offer the tool.

    Args:
        part: The call. A custom tool takes its argument `input`.
        known: Id of the item.
        call: Its `call_id`.
        tools: What the request offers.
    """
    tool = tools.get(part.name, Offered("function", part.name))
    item: Item = {"id": known, "type": f"{tool.kind}_call", "call_id": call}
    if tool.kind == "tool_search":
        item |= {"execution": "client", "arguments": dict(part.arguments)}
    elif tool.kind == "custom":
        item |= {"type": "custom_tool_call", "name": tool.name, "input": str(part.arguments["input"])}
    else:
        item |= {"name": tool.name, "arguments": as_text(dict(part.arguments))}
    space = {} if tool.namespace is None else {"namespace": tool.namespace}
    return {**item, **space, "status": "completed"}
