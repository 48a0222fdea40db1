"""Messages of one line, in every dialect, for tests of the evaluation."""

from typing import Any

Message = dict[str, Any]


def system(text: str = "S") -> Message:
    return {"role": "system", "content": text}


def user(text: str = "U") -> Message:
    return {"role": "user", "content": text}


def said(text: str = "A") -> Message:
    return {"role": "assistant", "content": text}


def calls(*ids: str, arguments: str = "{}") -> Message:
    made = [{"id": known, "type": "function", "function": {"name": "f", "arguments": arguments}} for known in ids]
    return {"role": "assistant", "content": None, "tool_calls": made}


def tool(known: str, text: str = "R") -> Message:
    return {"role": "tool", "tool_call_id": known, "content": text}


def anthropic_call(known: str) -> Message:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": known, "name": "f", "input": {}}]}


def anthropic_result(*ids: str) -> Message:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": known, "content": "R"} for known in ids]}


def bedrock_call(known: str) -> Message:
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": known, "name": "f", "input": {}}}]}


def bedrock_result(known: str) -> Message:
    return {"role": "user", "content": [{"toolResult": {"toolUseId": known, "content": [{"text": "R"}]}}]}


def gemini_call(known: str) -> Message:
    return {"role": "model", "parts": [{"functionCall": {"id": known, "name": "f", "args": {}}}]}


def gemini_result(*ids: str) -> Message:
    parts = [{"functionResponse": {"id": known, "name": "f", "response": {"output": "R"}}} for known in ids]
    return {"role": "user", "parts": parts}


def amplifier_call(known: str) -> Message:
    block = {"type": "tool_call", "id": known, "name": "f", "input": {}}
    return {"role": "assistant", "content": [block], "tool_calls": [{"id": known, "tool": "f", "arguments": {}}]}
