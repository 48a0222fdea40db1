"""An example of each rule of the healer in each dialect that has it, and what its view holds. No tests live here."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import DIALECTS, MessageFactory
from tests.present import present

Message = dict[str, Any]
Case = tuple[list[Message], list[str], list[str]]
"""Messages, of which one is healed by the rule, and texts that the JSON of the view has, and that it has not."""
WAITING = (
    "[no result recorded] Still waiting: the result may come later, or the process ended before this was recorded."
)
CUT = '{"path": "src/app'


def go(talk: MessageFactory) -> Message:
    return talk.say("user", "go")


def called(talk: MessageFactory) -> Message:
    """A call, without reasoning that no provider made."""
    message = talk.call(["c1"], "I look.", {})
    if talk.dialect == "responses":
        message["content"] = [item for item in message["content"] if item["type"] != "reasoning"]
    return message


def framed(lines: str, said: str) -> str:
    return json.dumps(f"{lines}:\n<result>\n{said}\n</result>")[1:-1]


def second_result(talk: MessageFactory) -> Case:
    rounds = [called(talk), *talk.results([("c1", "first")]), *talk.results([("c1", "second")])]
    return [go(talk), *rounds], ['"first"', framed("Later result of run (c1) [ref:3]", "second")], [WAITING]


def late_result(talk: MessageFactory) -> Case:
    waited = [called(talk), talk.say("user", "wait"), *talk.results([("c1", "late")])]
    return [go(talk), *waited], [WAITING, framed("Later result of run (c1) [ref:3]", "late")], []


def unknown_call(talk: MessageFactory) -> Case:
    answered = [called(talk), *talk.results([("c1", "found")]), *talk.results([("c9", "whose?")])]
    return [go(talk), *answered], [framed("Result of an unknown call c9 [ref:3]", "whose?")], [WAITING]


def server_pair(talk: MessageFactory) -> Case:
    call = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "red"}}
    said: dict[str, Any] = {"type": "text", "text": "I search."}
    if talk.dialect == "interactions":
        call = {"type": "google_search_call", "id": "srvtoolu_1", "arguments": {"queries": ["red"]}}
        said = {"type": "model_output", "content": [said]}
    return [go(talk), {"role": "assistant", "content": [said, call]}, go(talk)], ["I search."], ["srvtoolu_1"]


def cut_arguments(talk: MessageFactory) -> Case:
    message = called(talk)
    block = present(message.get("content", message.get("parts")))[-1]
    if "tool_calls" in message:
        call = message["tool_calls"][0]
        call.get("function", call)["arguments"] = CUT
        if talk.dialect == "amplifier":
            message["content"] = message["content"][:1]
    elif talk.dialect == "responses":
        block["arguments"] = CUT
    elif talk.dialect == "gemini":
        message["parts"][-1] = {"functionCall": {**block["functionCall"], "args": CUT}}
    elif talk.dialect == "interactions":
        block["arguments"] = CUT
    else:
        block.get("toolUse", block)["input"] = CUT
    cut = "The call was cut off before its arguments were complete, and was not run. They begin: "
    is_text = talk.dialect in ("openai", "amplifier", "responses")  # elsewhere the placeholder quotes it as JSON
    began = json.dumps(CUT if is_text else json.dumps(CUT))[1:-1]
    key = {"anthropic": "input", "bedrock": "input", "gemini": "args"}.get(talk.dialect, "arguments")
    empty = json.dumps({key: "{}" if talk.dialect in ("openai", "responses") else {}})[1:-1]
    return [go(talk), message, talk.say("user", "again")], [cut + began, empty], []


def empty_text(talk: MessageFactory) -> Case:
    nothing = {"role": "model", "parts": [{"text": " "}]}
    if talk.dialect == "bedrock":
        nothing = {"role": "assistant", "content": [{"text": "\n"}]}
    elif talk.dialect == "interactions":
        nothing = talk.say("assistant", "\n")
        nothing["content"] = nothing["content"][-1:]
    elif talk.dialect != "gemini":
        nothing = {"role": "assistant", "content": ""}
    return [go(talk), nothing, talk.say("user", "and?")], ["and?"], ['""', '" "', "\\n"]


def lone_surrogate(talk: MessageFactory) -> Case:
    found = [called(talk), *talk.results([("c1", "caf\udce9 au lait")])]
    return [go(talk), *found], ["caf\\ufffd au lait"], ["udce9"]


def reasoning_alone(talk: MessageFactory) -> Case:
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "b3BhcXVl"}
    if talk.dialect == "interactions":
        thought = {"type": "thought", "signature": "rs_1"}
    return [go(talk), {"role": "assistant", "content": [thought]}, talk.say("user", "again")], ["again"], ["rs_1"]


def open_call(talk: MessageFactory) -> Case:
    return [go(talk), called(talk)], [WAITING], []


def result_not_text(talk: MessageFactory) -> Case:
    value = {"row": 1}
    call, sent = called(talk), '"{\\"row\\":1}"'
    blocks: dict[str, Message] = {
        "openai": {"role": "tool", "tool_call_id": "c1", "content": value},
        "responses": {"role": "tool", "content": [{"type": "function_call_output", "call_id": "c1", "output": value}]},
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": value}]},
        "bedrock": {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": value}}]},
        "interactions": {
            "role": "user",
            "content": [{"type": "function_result", "call_id": "c1", "result": [value, 1]}],
        },
        "gemini": {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "run", "response": 7}}]},
    }
    others = {"gemini": '{"result": 7}', "interactions": '"[{\\"row\\":1},1]"'}
    return [go(talk), call, blocks[talk.dialect]], [others.get(talk.dialect, sent)], []


def data_twice(talk: MessageFactory) -> Case:
    data = {"rows": [f"row {number} of the table" for number in range(9)]}
    text = json.dumps({"content": [{"type": "text", "text": json.dumps(data)}], "structuredContent": data})
    return [go(talk), called(talk), *talk.results([("c1", text)])], ["row 8 of the table"], []


ONLY: dict[str, tuple[str, ...]] = {
    "server_pair": ("anthropic", "interactions"),
    "reasoning_alone": ("responses", "interactions"),
    "result_not_text": ("openai", "responses", "anthropic", "bedrock", "gemini", "interactions"),
}
"""The dialects of rules that not all of them have."""
CASES: dict[str, Callable[[MessageFactory], Case]] = {
    case.__name__: case
    for case in (
        second_result, late_result, unknown_call, server_pair, cut_arguments, empty_text, lone_surrogate,
        reasoning_alone, open_call, result_not_text, data_twice,
    )
}  # fmt: skip  # one table
EVERY = pytest.mark.parametrize(
    ("rule", "dialect"), [(rule, dialect) for rule in CASES for dialect in ONLY.get(rule, DIALECTS)]
)
