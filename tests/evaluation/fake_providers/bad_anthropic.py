"""For each rule of the Messages API a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any

GO = {"role": "user", "content": "Go."}
HALF = "a\ud83d"


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}


def says(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def use(known: str, given: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": known, "name": "read", "input": {} if given is None else given}


def result(known: str, content: Any = "42") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": known, "content": content}


def search(known: str = "s", kind: str = "server_tool_use") -> dict[str, Any]:
    return {"type": kind, "id": known, "name": "web_search", "input": {}}


def found(known: str = "s", kind: str = "web_search_tool_result") -> dict[str, Any]:
    return {"type": kind, "tool_use_id": known, "content": []}


DONE = says(text("Done."))
BY_SERVER = "tool use with id `s` was found without a corresponding `web_search_tool_result` block"
BAD = {
    "surrogates": [([user(text(HALF))], "not valid JSON: no low surrogate in string")],
    "fields": [([GO, {**DONE, "id": "m"}, GO], "Extra inputs are not permitted")],
    "roles": [([{**GO, "role": "tool"}], 'Unexpected role "tool"'), ([DONE, GO], "first message must use")],
    "contents": [
        ([GO, says(), GO], r"messages\.1: all messages must have non-empty content"),
        ([GO, {"role": "assistant", "content": ""}, GO], "all messages must have non-empty content"),
    ],
    "empty-texts": [
        ([GO, says(text("")), GO], "messages: text content blocks must be non-empty"),
        ([GO, says(use("a")), user(result("a", [text("")]))], "messages: text content blocks must be non-empty"),
    ],
    "blank-texts": [
        ([GO, says(text(" \n")), GO], "messages: text content blocks must contain non-whitespace text"),
        ([{"role": "user", "content": "\n"}], "must contain non-whitespace text"),
    ],
    "not-texts": [
        ([user(text(42))], r"messages\.0\.content\.0\.text\.text: Input should be a valid string"),
        ([GO, says(use("a")), user(result("a", {"x": 1}))], r"tool_result\.content: Input should be a valid string"),
        ([GO, says(use("a")), user(result("a", 42))], "Input should be a valid string"),
        ([GO, says(use("a")), user(result("a", ["42"]))], r"tool_result\.content\.0: Input should be an object"),
    ],
    "inputs": [
        (
            [GO, says(use("a", '{"path": "a')), user(result("a"))],
            r"tool_use\.input: Input should be a valid dictionary",
        ),
        ([GO, says(use("a", [1])), user(result("a"))], "Input should be a valid dictionary"),
    ],
    "system-places": [([GO, DONE, {"role": "system", "content": "S"}, GO], "must follow a user turn")],
    "answered": [
        ([GO, says(use("a")), GO], "`tool_use` ids were found without `tool_result` blocks immediately after: a"),
        ([GO, says(use("a"), use("b")), user(result("a"))], "immediately after: b"),
    ],
    "unique": [([GO, says(use("a")), user(result("a")), says(use("a")), user(result("a"))], "must be unique")],
    "asked": [
        ([user(result("a"))], "unexpected `tool_use_id` found in `tool_result` blocks: a"),
        ([GO, says(use("a")), user(result("a"), result("a"))], "unexpected `tool_use_id`"),
        ([GO, says(use("a")), user(result("a")), DONE, user(result("a"))], "unexpected `tool_use_id`"),
    ],
    "server-pairs": [
        (
            [GO, says(found(), text("Found.")), GO],
            "unexpected `tool_use_id` found in `web_search_tool_result` blocks: s",
        ),
        ([GO, says(text("Hm."), found("s", "mcp_tool_result")), GO], "corresponding `mcp_tool_use` block before it"),
        ([GO, says(text("I search."), search()), GO], BY_SERVER),
        ([GO, says(search()), GO, DONE, GO], BY_SERVER),
        ([GO, says(search()), GO, says(found()), GO], BY_SERVER),
        ([GO, says(search(kind="mcp_tool_use")), GO], "without a corresponding `mcp_tool_result` block"),
        ([GO, says(found(), search()), GO], "unexpected `tool_use_id`"),
    ],
    "prefill": [([GO, DONE], "The conversation must end with a user message")],
}
"""By rule: messages, and what the error says."""
OPTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "top": [({"foo": 1}, "Extra inputs")],
    "thinking": [({"thinking": {"type": "loud"}}, "does not match any of the expected tags")],
    "empty-texts": [({"system": [text("")]}, "system: text content blocks must be non-empty")],
    "blank-texts": [({"system": [text("\t")]}, "system: text content blocks must contain non-whitespace text")],
    "marks": [
        (
            {"system": [{**text("S"), "cache_control": {"type": "ephemeral"}}] * 5},
            "A maximum of 4 blocks with cache_control may be provided. Found 5",
        )
    ],
    "manual-thinking": [
        (
            {"messages": [GO, says(use("a")), user(result("a"))], "thinking": {"type": "enabled"}},
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        )
    ],
}
"""By rule: other fields of a request."""


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request and text."""
    for rule, cases in BAD.items():
        for messages, expected in cases:
            yield rule, {"messages": messages}, expected
    for rule, others in OPTIONS.items():
        for fields, expected in others:
            yield rule, {"messages": [GO], **fields}, expected
