"""Requests as agents without a fault send them, in each provider's shape, for tests that plant one fault each."""

import copy
import json
from collections.abc import Sequence
from typing import Any

from backscroll.evaluation.compare.pricing import TARIFFS
from backscroll.evaluation.lint import RULES, Costs, Finding, Talk, chained, lint_all, read_body
from backscroll.evaluation.lint.finding import Rule

Body = dict[str, Any]
PNG = "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAACXBIWXMAAA7EAAAOxAGVKw4bAAAA"  # a header of 16 x 16 px
PROMPT = "You write programs with care and say what you did. " * 120
FIRST = "Please repair the test of the parser. " + "It fails where a line ends within quotes. " * 8


def count(text: str) -> int:
    """A quarter of the characters: no tokenizer is needed to find a fault."""
    return (len(text) + 3) // 4


def costs() -> Costs:
    return Costs(count, TARIFFS["anthropic"])


def found_in(bodies: list[Body], rules: Sequence[Rule] = RULES) -> list[Finding]:
    """What is wrong with bodies in the order sent."""
    requests = [read_body(body, number, "sent") for number, body in enumerate(bodies, 1)]
    return [each for found in lint_all(chained(requests, "sent"), costs(), rules) for each in found]


def found_in_transcript(messages: list[Body], rules: Sequence[Rule] = RULES, **more: Any) -> list[Finding]:
    return [each for found in lint_all([Talk("talk", messages, **more)], costs(), rules) for each in found]


def text_of(at: int) -> str:
    """A result of about 170 tokens, different for each step."""
    return "".join(f"line {at}.{number}: value = {at * 7 + number}\n" for number in range(30))


TOOLS = [
    {"name": "read_file", "description": "Reads a file.", "input_schema": {"type": "object", "properties": {}}},
    {"name": "run", "description": "Runs a command.", "input_schema": {"type": "object", "properties": {}}},
]
MARK = {"cache_control": {"type": "ephemeral"}}


def anthropic(steps: int = 8, **more: Any) -> list[Body]:
    """An agent on the Messages API: signed thinking, one call a step, marks on the system prompt and the last block."""
    messages: list[Body] = [{"role": "user", "content": [{"type": "text", "text": FIRST}]}]
    bodies = []
    for at in range(steps):
        sent = copy.deepcopy(messages)
        sent[-1]["content"][-1].update(MARK)
        system = [{"type": "text", "text": PROMPT, **MARK}]
        body = {"model": "claude-opus-5-5", "max_tokens": 4_000, "system": system, "tools": copy.deepcopy(TOOLS)}
        bodies.append({**body, "messages": sent, **copy.deepcopy(more)})
        messages += [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": f"step {at}", "signature": f"sealed{at}" * 6},
                    {"type": "text", "text": f"Step {at}."},
                    {"type": "tool_use", "id": f"toolu_{at}", "name": "run", "input": {"at": at}},
                ],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": text_of(at)}],
            },
        ]
    return bodies


def chat(steps: int = 8, model: str = "gpt-5.4") -> list[Body]:
    """An agent on Chat Completions."""
    messages: list[Body] = [{"role": "system", "content": PROMPT}, {"role": "user", "content": FIRST}]
    tools = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object"}}}]
    bodies = []
    for at in range(steps):
        bodies.append({"model": model, "tools": copy.deepcopy(tools), "messages": copy.deepcopy(messages)})
        call = {
            "id": f"call_{at}",
            "type": "function",
            "function": {"name": "run", "arguments": json.dumps({"at": at})},
        }
        thought = {"reasoning_content": f"step {at}"} if "deepseek" in model else {}
        messages += [
            {"role": "assistant", "content": f"Step {at}.", "tool_calls": [call], **thought},
            {"role": "tool", "tool_call_id": f"call_{at}", "content": text_of(at)},
        ]
    return bodies


def responses(steps: int = 8) -> list[Body]:
    """An agent on the Responses API with encrypted reasoning."""
    items: list[Body] = [{"role": "user", "content": [{"type": "input_text", "text": FIRST}]}]
    tools = [{"type": "function", "name": "run", "parameters": {"type": "object"}}]
    bodies = []
    for at in range(steps):
        fixed = {"model": "gpt-6.2-sol", "store": False, "instructions": PROMPT, "tools": copy.deepcopy(tools)}
        bodies.append({**fixed, "input": copy.deepcopy(items)})
        items += [
            {"type": "reasoning", "id": f"rs_{at}", "summary": [], "encrypted_content": f"sealed{at}" * 6},
            {"type": "function_call", "call_id": f"call_{at}", "name": "run", "arguments": json.dumps({"at": at})},
            {"type": "function_call_output", "call_id": f"call_{at}", "output": text_of(at)},
        ]
    return bodies


def gemini(steps: int = 8) -> list[Body]:
    """An agent on `generateContent` with signed calls."""
    contents: list[Body] = [{"role": "user", "parts": [{"text": FIRST}]}]
    tools = [{"functionDeclarations": [{"name": "run", "parameters": {"type": "object"}}]}]
    bodies = []
    for at in range(steps):
        system = {"parts": [{"text": PROMPT * 3}]}
        fixed = {"model": "gemini-3.8-flash", "systemInstruction": system, "tools": copy.deepcopy(tools)}
        bodies.append({**fixed, "contents": copy.deepcopy(contents)})
        call = {"functionCall": {"id": f"f{at}", "name": "run", "args": {"at": at}}, "thoughtSignature": f"s{at}" * 9}
        answer = {"functionResponse": {"id": f"f{at}", "name": "run", "response": {"output": text_of(at)}}}
        contents += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]
    return bodies


def bedrock(steps: int = 8) -> list[Body]:
    """An agent on Bedrock's Converse."""
    messages: list[Body] = [{"role": "user", "content": [{"text": FIRST}]}]
    bodies = []
    for at in range(steps):
        config = {"tools": [{"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}]}
        fixed = {"modelId": "us.anthropic.claude-sonnet-4-6-v1:0", "system": [{"text": PROMPT}], "toolConfig": config}
        bodies.append({**fixed, "messages": copy.deepcopy(messages)})
        call = {"toolUse": {"toolUseId": f"t{at}", "name": "run", "input": {"at": at}}}
        answer = {"toolResult": {"toolUseId": f"t{at}", "content": [{"text": text_of(at)}]}}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [answer]}]
    return bodies


AGENTS = {"anthropic": anthropic, "chat": chat, "responses": responses, "gemini": gemini, "bedrock": bedrock}
