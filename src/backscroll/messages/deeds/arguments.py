"""The arguments of a call: JSON that may be cut off, or no JSON, and the names by which hosts call the same things."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from backscroll.messages.file_names import CONTENTS, FILES

Arguments = Mapping[str, Any]

READ = 1_000_000
"""Characters of arguments that are parsed whole, which takes 2 ms for one text and 60 ms for numbers in objects. Of
longer ones only the beginning is read, which holds the name of a file in most hosts.
"""
BEGINNING = 20_000
"""Characters that are read of arguments that are cut off or too long; of 8,532 recorded ones three are longer."""
_WRAPPERS = ("action", "operation", "arguments", "args", "params", "kwargs", "input")
"""Names of an argument that holds the arguments proper, if it is an object."""
PATHS = (*FILES, "filePath", "absolute_path", "AbsolutePath", "TargetFile", "file_name")
"""Names of a file, the likeliest first."""
NEW_TEXTS = (
    "new_string", "new_str", "newString", "newText", *CONTENTS, "insert_text", "code_edit", "CodeContent",
    "replacement", "ReplacementContent",
)  # fmt: skip  # one list
"""Names of a text that is written to a file."""
OLD_TEXTS = ("old_string", "old_str", "oldString", "oldText", "search", "target", "TargetContent")
"""Names of the text that it replaces."""
COMMANDS = ("command", "cmd", "script", "commands", "CommandLine", "cli_command", "shell_command", "bash_command")
"""Names of a command line."""
TARGETS = (
    "pattern", "query", "q", "url", "uri", "regex", "search_term", "Query", "symbol", "name", "id", "question", "prompt"
)  # fmt: skip  # one list
"""Names of the object of a look-up, the likeliest first."""
PLACES = ("path", "file_path", "directory", "dir", "dir_path", "glob", "include", "paths", "target_directories")
"""Names of where a search looks."""
_MEMBER = re.compile(r'[\s,]*+"([^"\\]{1,100})"\s*+:\s*+')
_HALF = re.compile("[\ud800-\udbff]\\Z")
"""The first half of a character that was cut in two."""
_CUT = re.compile(r'"((?:[^"\\]|\\.)*)')


def arguments_of(text: str) -> dict[str, Any]:
    """Return the arguments of a call, from their JSON text. What is no object is the one argument `input`; of an object
    that is cut off, or longer than `READ`, the members before the cut are returned.
    """
    if len(text) <= READ:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = _before_cut(text) or text
    else:
        value = _before_cut(text)
    if not isinstance(value, dict):
        return {"input": value if isinstance(value, str | list) else text[:BEGINNING]}
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, str) and inner.startswith("{") and len(value) <= 4:
            inner = _parsed(inner)
        if isinstance(inner, dict):
            return {**{key: each for key, each in value.items() if key != name}, **inner}
    return value


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def named_tool(name: str, arguments: Arguments) -> str:
    """Return the tool that a call of a client of MCP names among its arguments, else the name of the call."""
    tool = first_text(arguments, ("tool_name", "toolName", "mcp_tool_name"))
    return tool if tool and len(tool) <= 200 else name


def _before_cut(text: str) -> dict[str, Any]:
    """Return the members of a JSON object that ends too early, the last text as far as it goes."""
    beginning = text[:BEGINNING]
    at = len(beginning) - len(beginning.lstrip())
    if not beginning.startswith("{", at):
        return {}
    members: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    at += 1
    while member := _MEMBER.match(beginning, at):
        try:
            members[member.group(1)], at = decoder.raw_decode(beginning, member.end())
        except (ValueError, RecursionError):
            if cut := _CUT.match(beginning, member.end()):
                members[member.group(1)] = _unescaped(cut.group(1))
            break
    return members


def _unescaped(text: str) -> str:
    """Return the text of a JSON string that was cut off."""
    for end in range(len(text), max(len(text) - 6, -1), -1):  # an escape has six characters at most
        try:
            return _HALF.sub("", str(json.loads(f'"{text[:end]}"', strict=False)))
        except ValueError:
            continue
    return text


def first_text(arguments: Arguments, names: Iterable[str]) -> str:
    """Return the first of these arguments that is a text with anything in it; empty if none is."""
    return next((value for name in names if isinstance(value := arguments.get(name), str) and value.strip()), "")


def path_in(arguments: Arguments) -> str:
    """Return the file that the arguments name; empty if they name none, or several."""
    path = first_text(arguments, PATHS)
    return path if len(path) <= 1_000 and "\n" not in path else ""


def command_in(arguments: Arguments) -> str:
    """Return the command line among the arguments, of a list its words; empty if there is none."""
    for name in COMMANDS:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            return _joined(value, lines=name == "commands")
    return ""


def _joined(words: list[str], *, lines: bool) -> str:
    if lines:
        return "\n".join(words)
    if len(words) == 3 and words[1] in ("-c", "-lc"):  # a shell with its command
        return words[2]
    if words[0] == "apply_patch":
        return "\n".join(words)
    return " ".join([f"'{word}'" if " " in word and "'" not in word else word for word in words])
