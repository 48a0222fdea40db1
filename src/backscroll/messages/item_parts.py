"""The parts of an item of OpenAI's Responses API: what it says, asks for or answers.

Sealed items (reasoning, a compaction) and those that hold their own answer have no parts here. Source:
`ResponseInputItemParam` of openai 3.54.
"""

from collections.abc import Callable
from typing import Any

from backscroll.messages.items import OF_AGENTS, OUTPUTS, PAIRS, Item, call_id
from backscroll.messages.parts import Kind, Media, Part, Path, compact

Inner = Callable[[Any, Path, str | None], list[Part]]
"""Reads a content block: the block, its path, and the id of the call that it answers."""
_TEXT_OF = {
    "local_shell_call": ("action", "local_shell"),
    "shell_call": ("action", "shell"),
    "computer_call": ("action", "computer"),
    "apply_patch_call": ("operation", "apply_patch"),
    "tool_search_call": ("arguments", "tool_search"),
    "program": ("code", "program"),
}
"""The key that holds what a call asks for, and the name of the tool."""


def read_item(item: Item, path: Path, inner: Inner) -> list[Part] | None:
    """Return the parts of an item; `None` if it is sealed, unknown, or answered by itself."""
    kind = item["type"]
    if kind in ("message", OF_AGENTS):
        return _content(item.get("content"), (*path, "content"), None, inner)
    if kind == "image_generation_call":
        made = item.get("result")
        return [Part("media", path, "", "fixed", None, None, Media("image", made if type(made) is str else None))]
    call = call_id(item)
    if kind in PAIRS and (call or kind in ("function_call", "custom_tool_call")):
        return [_call(item, path, call)]
    if kind in OUTPUTS and call:
        return _output(item, path, call, inner)
    return None


def _call(item: Item, path: Path, call: str) -> Part:
    kind, name = item["type"], item.get("name")
    name = name if type(name) is str else None
    if kind == "function_call":
        arguments = item.get("arguments")
        if type(arguments) is str:
            return Part("call", (*path, "arguments"), arguments, "arguments", call, name)
        return Part("call", (*path, "arguments"), "" if arguments is None else compact(arguments), "fixed", call, name)
    if kind == "custom_tool_call":
        text = item.get("input")
        if type(text) is str:
            return Part("call", (*path, "input"), text, "string", call, name)
        return Part("call", (*path, "input"), "" if text is None else compact(text), "fixed", call, name)
    key, tool = _TEXT_OF.get(kind, ("arguments", name))
    key = "actions" if kind == "computer_call" and item.get("actions") else key
    asked = item.get(key)
    return Part("call", (*path, key), asked if type(asked) is str else compact(asked), "fixed", call, tool)


def _output(item: Item, path: Path, call: str, inner: Inner) -> list[Part]:
    kind = item["type"]
    if kind == "computer_call_output":
        shown = item.get("output")
        url = shown.get("image_url") if type(shown) is dict else None
        data = url if type(url) is str and url.startswith("data:") else None
        return [Part("media", (*path, "output"), "", "fixed", call, None, Media("image", data))]
    if kind == "shell_call_output" and type(item.get("output")) is list:
        return _streams(item["output"], (*path, "output"), call)
    if kind in ("tool_search_output", "program_output", "mcp_approval_response"):
        rest = {key: value for key, value in item.items() if key in ("tools", "result", "approve", "reason")}
        return [Part("result", path, compact(rest), "fixed", call)]
    return _content(item.get("output"), (*path, "output"), call, inner)


def _streams(chunks: list[Any], path: Path, call: str) -> list[Part]:
    """Read what a shell printed: `stdout` and `stderr` of each command."""
    found = [
        Part("result", (*path, number, key), chunk[key], "string", call)
        for number, chunk in enumerate(chunks)
        for key in ("stdout", "stderr")
        if type(chunk) is dict and type(chunk.get(key)) is str and chunk[key]
    ]
    return found or [Part("result", path, "", "fixed", call)]


def _content(content: Any, path: Path, call: str | None, inner: Inner) -> list[Part]:
    """Read a text, a list of blocks, or any other value."""
    kind: Kind = "text" if call is None else "result"
    if type(content) is str:
        return [Part(kind, path, content, "string", call)]
    if type(content) is list and content:
        return [part for number, block in enumerate(content) for part in inner(block, (*path, number), call)]
    if content is None or content == []:
        return [] if call is None else [Part("result", path, "", "fixed", call)]
    return [Part("opaque" if call is None else "result", path, compact(content), "value", call)]
