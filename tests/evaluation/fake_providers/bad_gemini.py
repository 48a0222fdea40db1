"""For each rule of `generateContent` a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any

GO = {"role": "user", "parts": [{"text": "Go."}]}
SIGNED = {"thoughtSignature": "skip_thought_signature_validator"}
COUNT = "number of function response parts is equal to the number of function call parts"


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str = "read", args: Any = None, **fields: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {} if args is None else args}, **SIGNED, **fields}


def response(name: str = "read", given: Any = None) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"output": "42"} if given is None else given}}


SEARCH = {"toolCall": {"id": "s", "toolType": "GOOGLE_SEARCH", "args": {}}}
FOUND = {"toolResponse": {"id": "s", "toolType": "GOOGLE_SEARCH", "response": {}}}
DONE = model({"text": "Done."})
BAD = {
    "surrogates": [([user({"text": "a\ud83d"})], "Invalid JSON payload received. Invalid character")],
    "given": [([], "contents is not specified"), ([GO, {**DONE, "role": "assistant"}, GO], "Please use a valid role")],
    "no-parts": [([GO, model(), GO], "parts must not be empty")],
    "fields": [
        ([user({"text": "Go.", "cache_control": {}})], "Unknown name"),
        ([user({"thought": True})], "required oneof field 'data'"),
    ],
    "empty-texts": [([GO, model({"text": ""}), GO], "it has an empty text parameter")],
    "types": [
        ([GO, model(call()), user(response(given="42"))], r"contents\[2\]\.parts\[0\]\.function_response\.response"),
        ([GO, model(call()), user(response(given=[42]))], "protobuf.Struct"),
        ([user({"text": 42})], "TYPE_STRING"),
    ],
    "arguments": [([GO, model(call(args='{"path": "a')), user(response())], r"function_call\.args")],
    "sides": [([GO, model({"text": "Hm."}), user({"text": "So:"}), user(call()), user(response())], "from the model")],
    "ends": [([GO, DONE], "end with a user role"), ([DONE, GO], "start with a user role")],
    "answered": [
        ([GO, model(call()), GO], COUNT),
        ([GO, model(call(), call("write")), user(response())], COUNT),
        ([GO, model(call()), user(response(), response())], COUNT),
    ],
    "matching": [([GO, model(call()), user(response("write"))], "match the function calls")],
    "before-calls": [([GO, DONE, model(call()), user(response())], "comes immediately after a user turn")],
    "asked": [
        ([user(response())], "comes immediately after a function call turn"),
        ([GO, model(call()), user(response()), user(response())], "immediately after a function call turn"),
    ],
    "server-pairs": [
        ([GO, model(FOUND, {"text": "Found."}), GO], "no tool call with the id s"),
        ([GO, model({"text": "I search."}, SEARCH), GO], "tool call s is followed by its tool response"),
        ([GO, model(SEARCH), GO, model({"text": "Done."}), GO], "followed by its tool response"),
    ],
    "signatures": [([GO, model(call(thoughtSignature=None)), user(response())], "missing a thought_signature")],
}
"""By rule: contents, and what the error says."""


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request and text."""
    for rule, cases in BAD.items():
        for contents, expected in cases:
            yield rule, {"contents": contents}, expected
