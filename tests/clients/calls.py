"""What the scripted model wants, as a call of a tool that the client offers."""

import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

Schemas = Mapping[str, Mapping[str, Any]]


class Wish(NamedTuple):
    """One call, in no client's terms."""

    tool: str
    """A key of `TOOLS`."""
    text: str
    """The command, the file, the pattern or the task."""


TOOLS = {
    "shell": ("Bash", "bash", "exec_command", "shell_command", "shell", "run_shell_command",
              "functions.exec"),
    "read": ("Read", "read", "read_file", "view"),
    "search": ("Grep", "grep", "grep_search", "search_file_content"),
    "edit": ("Edit", "edit", "replace"),
    "task": ("Agent", "Task", "task", "agent", "spawn_agent", "collaboration.spawn_agent"),
    "wait": ("wait_agent", "collaboration.wait_agent"),
    "load": ("ToolSearch",),
    "loaded": ("mcp__backscroll__search",),
}  # fmt: skip  # one kind of tool a line
"""The names that clients give a tool, the first one that is offered is called."""
INSTEAD = {
    "read": "cat '{}'",
    "search": "grep -rn '{}' src | head -20",
    "edit": "printf '# edited\\n' >> '{}'",
    "task": "echo 'this client has no sub-agents: {}'",
    "wait": "echo 'this client waits by itself: {}'",
    "load": "echo 'this client loads no tools: {}'",
    "loaded": "echo 'this client has no tool of ours: {}'",
}
"""The command for a client without such a tool."""


_PROGRAM = "const done = await tools.exec_command({}); text(done.output ?? done);"
"""What Codex takes from models of 2026 instead of a command."""


def call_for(wish: Wish, tools: Schemas, folder: str) -> tuple[str, dict[str, Any]]:
    """Return name and arguments of a call.

    Args:
        wish: The wish.
        tools: What the client offers.
        folder: Where the client works: some tools take whole paths.
    """
    name = next((each for each in TOOLS[wish.tool] if each in tools), None)
    if name is None:
        if wish.tool == "shell":
            raise LookupError(f"a client without a shell: {sorted(tools)}")
        return call_for(Wish("shell", INSTEAD[wish.tool].format(wish.text)), tools, folder)
    return name, _filled(tools[name], _values(wish, name, folder))


def _values(wish: Wish, name: str, folder: str) -> dict[str, Any]:
    """The values by all the names that clients give a parameter."""
    path = os.path.join(folder, wish.text)
    if name == "functions.exec":
        return {"input": _PROGRAM.format(json.dumps({"cmd": wish.text, "yield_time_ms": 30_000}))}
    if wish.tool == "shell":
        return {"command": wish.text, "cmd": wish.text, "description": "Look", "is_background": False}
    if wish.tool == "read":
        return dict.fromkeys(("file_path", "filePath", "path", "absolute_path"), path)
    if wish.tool == "search":
        return {"pattern": wish.text, "path": os.path.join(folder, "src"), "regex": wish.text, "query": wish.text}
    if wish.tool == "edit":
        before, after = "EDITS = ", "EDITS = 1 + "
        texts = {"old_string": before, "new_string": after, "oldString": before, "newString": after}
        texts |= {"old_str": before, "new_str": after, "oldText": before, "newText": after}
        edits = {"edits": [{"oldText": before, "newText": after}]}
        return texts | edits | dict.fromkeys(("file_path", "filePath", "path"), path)
    if wish.tool == "task":
        agent = "general" if name == "task" else "general-purpose"
        about = {"description": "Look at logs", "subagent_type": agent, "agent_type": agent, "run_in_background": False}
        about |= {"name": "looker", "mode": "sync", "fork_turns": "none", "task_name": wish.text.split()[0][4:].lower()}
        return about | dict.fromkeys(("prompt", "message"), wish.text)
    if wish.tool == "wait":
        return {"timeout_ms": 30_000}
    return {"query": wish.text, "max_results": 5} if wish.tool == "load" else {"query": wish.text}


def _filled(schema: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the schema has, and some value for each other that it requires. No schema: a tool of a text."""
    if not schema:
        return dict(values)
    properties = schema.get("properties") or {}
    found = {key: value for key, value in values.items() if _takes(properties.get(key), value)}
    for key in schema.get("required") or ():
        if key not in found:
            found[key] = _any(properties.get(key) or {}, values.get(key))
    return found


def _takes(about: Mapping[str, Any] | None, value: Any) -> bool:
    if about is None or ("enum" in about and value not in about["enum"]):
        return False
    return about.get("type") in (None, {str: "string", bool: "boolean", list: "array", int: "integer"}[type(value)])


def _any(about: Mapping[str, Any], value: Any) -> Any:
    kind = about.get("type")
    if "enum" in about:
        return about["enum"][0]
    if kind == "array":
        return ["bash", "-lc", value] if value else []
    return {"number": 1, "integer": 1, "boolean": False, "object": {}}.get(str(kind), "x")
