"""For each rule of the Interactions API a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any


def step(kind: str, *texts: Any) -> dict[str, Any]:
    return {"type": kind, "content": [{"type": "text", "text": text} for text in texts]}


def call(name: str = "c", arguments: Any = None) -> dict[str, Any]:
    return {"type": "function_call", "id": name, "name": "read", "arguments": {} if arguments is None else arguments}


def result(name: str = "c", given: Any = "42") -> dict[str, Any]:
    return {"type": "function_result", "call_id": name, "name": "read", "result": given}


GO, DONE = step("user_input", "Go."), step("model_output", "Done.")
SEARCH = {"type": "google_search_call", "id": "s", "arguments": {"queries": ["red"]}, "signature": "c2ln"}
FOUND = {"type": "google_search_result", "call_id": "s", "result": [], "signature": "c2ln"}
BAD: dict[str, Any] = {
    "surrogates": [([step("user_input", "a\ud83d")], "Invalid JSON payload")],
    "given": [([], "input is not specified")],
    "types": [([GO, {**DONE, "type": "model_thinking"}, GO], "no type of a step")],
    "fields": [
        ([{**GO, "role": "user"}], 'Unknown name "role"'),
        ([GO, {**call(), "id": ""}, result("")], r"Missing required field 'input\[1\].id'"),
        ([GO, call(), {key: value for key, value in result().items() if key != "result"}], "field .*result"),
    ],
    "contents": [([{"type": "user_input", "content": "Go."}], "takes a list of contents")],
    "empty-texts": [
        ([GO, step("model_output"), GO], "has an empty text parameter"),
        ([step("user_input", "Go.", " ")], "has an empty text parameter"),
        ([GO, call(), result(given=[{"type": "text", "text": ""}])], "has an empty text parameter"),
    ],
    "arguments": [([GO, call(arguments='{"path": "a'), result()], "arguments': it takes an object")],
    "results": [([GO, call(), result(given=[1])], "a text, an object or"), ([GO, call(), result(given=7)], "a text")],
    "ends": [([GO, DONE], "ends with a step of the user"), ([DONE, GO], "starts and ends")],
    "answered": [
        ([GO, call(), GO], "call c has no function result"),
        ([GO, call(), call("d"), result()], "call d has no function result"),
        ([GO, call(), call("d"), result(), GO], "call d has no function result"),
    ],
    "asked": [
        ([GO, result()], "no function call c directly before it"),
        ([GO, call(), result(), result()], "no function call c directly before it"),
        ([GO, call(), result(), DONE, result()], "no function call c directly before it"),
    ],
    "server-pairs": [
        ([GO, FOUND, DONE, GO], "no call of a server's tool before it"),
        ([GO, SEARCH, GO], "Call s of a server's tool has no result"),
    ],
    "signatures": [([GO, {"type": "thought", "signature": "c2ln"}, DONE, GO], "Corrupted thought signature")],
}
"""By rule: steps, and what the error says."""


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request and text."""
    for rule, cases in BAD.items():
        for steps, expected in cases:
            yield rule, {"input": steps}, expected
    yield "stateless", {"input": "Go.", "previous_interaction_id": "v1"}, "Previous interaction not found"
