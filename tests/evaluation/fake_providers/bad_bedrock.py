"""For each rule of Converse a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any

TOOLS = {"tools": [{"toolSpec": {"name": "read", "inputSchema": {"json": {"type": "object"}}}}]}


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(known: str, given: Any = None, **fields: Any) -> dict[str, Any]:
    return {"toolUse": {"toolUseId": known, "name": "read", "input": {} if given is None else given, **fields}}


def result(known: str, *content: Any, **fields: Any) -> dict[str, Any]:
    return {"toolResult": {"toolUseId": known, "content": list(content) or [{"text": "42"}], **fields}}


def thought(words: str = "Hm.", **fields: Any) -> dict[str, Any]:
    return {"reasoningContent": {"reasoningText": {"text": words, **fields}}}


GO = user(text("Go."))
DONE = said(text("Done."))
ORDER = {"role": "system", "content": [{"text": "Be brief."}]}
SEARCH = use("s", type="server_tool_use")
FOUND = result("s", type="server_tool_result")
EXPECTED = r"Expected toolResult blocks at messages\.2\.content for the following Ids: "
EXCEEDS = "exceeds the number of toolUse blocks of previous turn"
BLANK = r"The text field in the ContentBlock object at messages\.%s is blank"
BAD = {
    "shape": [
        ([{**GO, "id": "m"}], r'Unknown parameter in messages\[0\]: "id"'),
        ([user({"type": "text", "text": "Go."})], r'Unknown parameter in messages\[0\]\.content\[0\]: "type"'),
        ([user({"text": "Go.", "cachePoint": {"type": "default"}})], "tagged union structure"),
        ([GO, said(use("a")), user({"toolResult": {"toolUseId": "a", "content": [{"type": "text"}]}})], "Unknown"),
        ([GO, said(use("a")), user(result("a", {"text": 42}))], "Invalid type for parameter"),
        ([user(text("Go."), {"image": {"format": "png"}})], 'Missing required parameter in .*: "source"'),
    ],
    "surrogates": [([user(text("a\ud83d"))], "Unable to parse the request body")],
    "roles": [([GO, {**DONE, "role": "model"}, DONE, GO], "Member must satisfy enum value set")],
    "begins": [([DONE, GO], "A conversation must start with a user message")],
    "alternates": [
        ([GO, GO], "A conversation must alternate between user and assistant roles"),
        ([GO, DONE, DONE, GO], "must alternate"),
    ],
    "system-places": [([GO, DONE, ORDER, GO], r"^Error code: 400 - messages\.2: a system message must follow")],
    "empty": [([GO, said(), GO], r"The content field in the Message object at messages\.1 is empty")],
    "blank": [
        ([GO, said(text("")), GO], BLANK % r"1\.content\.0"),
        ([GO, said(text(" \n")), GO], BLANK % r"1\.content\.0"),
    ],
    "sides": [
        ([GO, said(text("Hm."), result("a")), GO], "only allowed in messages of the user"),
        ([user(thought(signature="s")), DONE, GO], "only allowed for the assistant"),
    ],
    "inputs": [
        ([GO, said(use("a", '{"path": "a')), user(result("a"))], r"messages\.1\.content\.0\.toolUse\.input is invalid"),
        ([GO, said(use("a")), user(result("a", {"json": [1]}))], r"content\.0\.json is invalid"),
    ],
    "ids": [
        ([GO, said(use("a b")), user(result("a b"))], "Member must satisfy regular expression pattern"),
        ([GO, said(use("a" * 65)), user(result("a" * 65))], "regular expression"),
        ([GO, said(use("a", name="read it")), user(result("a"))], "regular expression"),
        ([GO, said(use("a"), use("a")), user(result("a"), result("a"))], r"messages\.1\.content contain duplicate Ids"),
    ],
    "answered": [
        ([GO, said(use("a")), GO], EXPECTED + "a$"),
        ([GO, said(use("a"), use("b")), user(result("a"))], EXPECTED + "b$"),
        ([GO, said(use("a")), user(text("Here:"), result("a"))], EXPECTED + "a$"),
    ],
    "asked": [
        ([user(result("a"))], EXCEEDS),
        ([GO, DONE, user(result("a"), text("So?"))], rf"messages\.2\.content {EXCEEDS}"),
        ([GO, said(use("a")), user(result("a")), DONE, user(result("a"))], EXCEEDS),
        ([GO, said(use("a")), user(result("a"), result("b"))], EXCEEDS),
    ],
    "server-pairs": [
        ([GO, said(FOUND, text("Found.")), GO], "without its call"),
        ([GO, said(text("Searching."), SEARCH), GO], "without its result"),
        ([GO, said(SEARCH), GO, said(FOUND, text("Found.")), GO], "without"),
    ],
    "signatures": [([GO, said(thought(), text("Done.")), GO], r"messages\.1\.content\.0\.thinking\.signature")],
    "prefill": [([GO, DONE], "must end with a user message")],
}
"""By rule: messages, and what the error says."""
OPTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "blank": [({"system": [text(" ")]}, r"SystemContentBlock object at system\.0 is blank")],
    "tool-config": [({"messages": [GO, said(use("a")), user(result("a"))], "toolConfig": {}}, "toolConfig field")],
}
"""By rule: other fields of a request."""


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request and text."""
    for rule, cases in BAD.items():
        for messages, expected in cases:
            yield rule, {"messages": messages, "toolConfig": TOOLS}, expected
    for rule, others in OPTIONS.items():
        for fields, expected in others:
            yield rule, {"messages": [GO], **fields}, expected
