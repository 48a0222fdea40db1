"""For each rule of the Responses API a request that only this rule refuses, and the text of its error."""

from collections.abc import Iterator
from typing import Any

from tests.evaluation.fake_providers.talks import items

GO = {"role": "user", "content": "Go."}


def call(known: str = "a", arguments: Any = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": known, "name": "read", "arguments": arguments}


def output(known: str = "a", words: Any = "42") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": known, "output": words}


def says(*parts: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(parts)}


def lone_reasoning(fake: Any) -> dict[str, Any]:
    """A request whose answer was cut behind its reasoning."""
    made = items(fake)
    return {**made.request, "input": made.items[:2]}


COMPUTER = {"type": "computer_call", "id": "cu", "call_id": "c", "status": "completed", "pending_safety_checks": []}
UPDATE = {"type": "configuration_update", "reasoning": {}}
BAD: dict[str, Any] = {
    "surrogates": [([{**GO, "content": "a\ud83d"}], "could not parse the JSON body")],
    "fields": [
        ([{**GO, "metadata": {}}], r"Unknown parameter: 'input\[0\]\.metadata'"),
        ([{**GO, "role": "tool"}], "Invalid value: 'tool'"),
    ],
    "texts": [
        ([GO, call(arguments={}), output()], r"'input\[1\]\.arguments': expected a string, but got an object instead"),
        ([GO, call(), output(words={"x": 1})], r"'input\[2\]\.output': .* but got an object instead"),
        ([GO, call(), output(words=["42"])], r"'input\[2\]\.output\[0\]': expected an object, but got a string"),
        ([GO, call(), output(words=[{"type": "text", "text": "42"}])], "Invalid value: 'text'"),
        ([GO, says({"type": "input_text", "text": "Hm."}), GO], "Supported values are: 'output_text', 'refusal'"),
        ([{**GO, "content": [{"type": "input_text"}]}], "Missing required parameter"),
        ([{**GO, "content": 42}], "but got an integer instead"),
    ],
    "cut-arguments": [
        ([GO, call(arguments='{"path": "a'), output()], r"'input\[1\]\.arguments': the string is not the JSON"),
        ([GO, call(arguments=""), output()], "the string is not the JSON"),
    ],
    "asked": [
        ([GO, output()], "No tool call found for function call output with call_id a"),
        ([GO, call(), output(), output()], "No tool call found for function call output"),
    ],
    "answered": [
        ([GO, call()], "No tool output found for function call a"),
        ([GO, call(), GO], "No tool output found for function call a"),
        ([GO, COMPUTER, GO], "No tool output found for computer call c"),
    ],
}
"""By rule: items, and what the error says."""
OPTIONS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "tools": [({"tools": [{"type": "function"}]}, r"'tools\[0\]\.name'")],
    "options": [({"temperature": 1}, "Unsupported parameter: 'temperature'")],
}
"""By rule: other fields of a request."""


def updated_before_a_compaction(fake: Any) -> dict[str, Any]:
    item = fake.compact(input=[GO])["output"][-1]
    return {"input": [GO, UPDATE, item, GO]}


def bad_requests() -> Iterator[tuple[str, Any, str]]:
    """Yield rule, request or a function of the fake that makes it, and text."""
    for rule, cases in BAD.items():
        for given, expected in cases:
            yield rule, {"input": given}, expected
    for rule, cases in OPTIONS.items():
        for fields, expected in cases:
            yield rule, {"input": [GO], **fields}, expected
    yield "configuration", updated_before_a_compaction, "is not supported with compaction"
    yield "alone", lone_reasoning, "was provided without its required following item"
