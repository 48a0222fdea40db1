"""For each rule of chat completions a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any

GO = {"role": "user", "content": "Go."}


def ask(*ids: Any, **fields: Any) -> dict[str, Any]:
    """An answer that calls."""
    calls = [{"id": known, "type": "function", "function": {"name": "read", "arguments": "{}"}} for known in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls, **fields}


def asks_with(arguments: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": "a", "type": "function", "function": function}]}


def gave(known: str, content: Any = "42", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": known, "content": content, **fields}


def says(words: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": words, **fields}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
UNANSWERED = "must be followed by tool messages responding to each 'tool_call_id'"
UNASKED = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'"
EMPTY = "Expected an array with minimum length 1, but got an empty array instead"
BAD = {
    "surrogates": [([{**GO, "content": "a\ud83d"}], "could not parse the JSON body")],
    "roles": [
        ([{**GO, "role": "model"}], "Invalid value: 'model'"),
        ([GO, {"type": "function_call", "content": ""}], "Invalid value: 'None'"),
    ],
    "fields": [
        ([{**GO, "metadata": {}}], r"Unknown parameter: 'messages\[0\]\.metadata'"),
        ([GO, ask("a"), gave("a", name="read")], r"'messages\[2\]\.name'"),
    ],
    "contents": [
        ([{"role": "user"}], "but got null instead"),
        ([GO, ask("a"), gave("a", {"ok": True})], r"'messages\[2\]\.content': .* but got an object instead"),
        ([GO, ask("a"), gave("a", 42)], "but got an integer instead"),
        ([GO, ask("a"), gave("a", None)], "but got null instead"),
        ([GO, ask("a"), gave("a", ["42"])], r"'messages\[2\]\.content\[0\]': .* but got a string instead"),
        ([GO, ask("a"), gave("a", [IMAGE])], "Supported values are: 'text'"),
        ([GO, says([IMAGE]), GO], "Supported values are: 'refusal', 'text'"),
        ([{**GO, "content": [{"type": "image"}]}], "Invalid value: 'image'"),
        ([{**GO, "content": [{"type": "text"}]}], "Missing required parameter"),
    ],
    "nothing": [
        ([GO, says(None), GO], "expected a string, got null"),
        ([GO, says([]), GO], EMPTY),
        ([{**GO, "content": []}], EMPTY),
        ([GO, says("Hm.", tool_calls=[]), GO], rf"'messages\[1\]\.tool_calls': empty array. {EMPTY}"),
    ],
    "call-fields": [
        ([GO, ask("a", tool_calls=[{"id": "a", "type": "tool"}]), gave("a")], "Invalid value: 'tool'"),
        ([GO, ask("a", tool_calls=[{"id": "a", "type": "custom"}]), gave("a")], r"'.*\.custom\.name'"),
    ],
    "text-arguments": [
        ([GO, asks_with({}), gave("a")], r"function\.arguments': expected a string, but got an object instead"),
        ([GO, asks_with(None), gave("a")], "but got null instead"),
    ],
    "cut-arguments": [
        ([GO, asks_with('{"path": "a'), gave("a")], "not the JSON of an object"),
        ([GO, asks_with(""), gave("a")], "not the JSON of an object"),
        ([GO, asks_with("[]"), gave("a")], "not the JSON of an object"),
    ],
    "call-ids": [([GO, ask("a", "a"), gave("a"), gave("a")], "Duplicate value for 'tool_call_id' of 'a'")],
    "answered": [
        ([GO, ask("a")], UNANSWERED),
        ([GO, ask("a"), GO], UNANSWERED),
        ([GO, ask("a", "b"), gave("b"), GO], rf"{UNANSWERED}.* did not have response messages: a"),
    ],
    "asked": [
        ([gave("a")], UNASKED),
        ([GO, says("Hm."), gave("a")], UNASKED),
        ([GO, ask("a"), gave("a"), gave("a")], UNASKED),
        ([GO, ask("a"), gave("a"), says("Wait."), gave("a")], UNASKED),
    ],
}
"""By rule: messages, and what the error says."""
TOOLS = {
    "tools": [
        ([], EMPTY),
        ([{"type": "function", "name": "read"}], r"'tools\[0\]\.function\.name'"),
    ]
}
"""By rule: tools of a request whose messages are good."""


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request and text."""
    for rule, cases in BAD.items():
        for messages, expected in cases:
            yield rule, {"messages": messages}, expected
    for rule, cases in TOOLS.items():
        for tools, expected in cases:
            yield rule, {"messages": [GO], "tools": tools}, expected
