"""What a message of a view holds: characters that can be sent, no empty blocks, results of the dialect's type."""

import json
from collections.abc import Iterator
from typing import Any

from backscroll.evaluation.dialects import Shape, blocks
from backscroll.evaluation.odd_parts import has_halves, is_empty, server_call
from backscroll.evaluation.validity_rules.case import Case, Rule

_LEAST = 20  # characters of data below which a second copy is none worth a word


def _halves(case: Case) -> Iterator[str]:
    for at, message in enumerate(case.view):
        if has_halves(message.held):
            yield f"view[{at}]: half a character, which no client can send"


def _empty_blocks(case: Case) -> Iterator[str]:
    """Check texts of nothing and reasoning without a signature. Items of the Responses API may be empty."""
    for at, message in enumerate(case.view):
        if message.is_item or message.role in ("tool", "function"):
            continue
        inner = [block for _, content in message.answers for block in (content if isinstance(content, list) else ())]
        if any(map(is_empty, blocks(message.held))) or any(block == {"type": "text", "text": ""} for block in inner):
            yield f"view[{at}]: a block without content"


def _empty_answers(case: Case) -> Iterator[str]:
    for at, message in enumerate(case.view):
        if message.role == "assistant" and message.is_nothing:
            yield f"view[{at}]: an answer that says nothing"


def _not_text(case: Case) -> Iterator[str]:
    """Check the type of each result: chat takes texts, Anthropic a text or blocks, Gemini an object."""
    forms = {call.id: call.form for message in case.view for call in message.calls}
    for at, message in enumerate(case.view):
        for known, content in message.answers:
            if not _is_taken(message, content, forms.get(known, "any")):
                yield f"view[{at}]: the result of {known!r} is no {_taken(message)}"


def _is_taken(message: Shape, content: Any, form: str) -> bool:
    if message.is_gemini:
        return isinstance(content, dict | None)
    if message.is_item:
        return message.held["type"] != "function_call_output" or isinstance(content, str | list)
    if message.role in ("tool", "function"):
        return form != "text" or isinstance(content, str) or _is_blocks(content)
    if message.has_steps and isinstance(content, dict):
        return True
    return content is None or (isinstance(content, str) and not message.is_bedrock) or _is_blocks(content)


def _is_blocks(content: Any) -> bool:
    return isinstance(content, list) and all(isinstance(block, dict) for block in content)


def _taken(message: Shape) -> str:
    return "object" if message.is_gemini else "text or list of blocks"


def _twice(case: Case) -> Iterator[str]:
    """Check that no result holds the same data twice, as servers of MCP send it: as text and as a structure."""
    for at, message in enumerate(case.view):
        for known, content in message.answers:
            is_wrapped = message.is_gemini and isinstance(content, dict) and len(content) == 1
            if _holds_twice(next(iter(content.values())) if is_wrapped else content):
                yield f"view[{at}]: the result of {known!r} holds the same data twice"


def _holds_twice(content: Any) -> bool:
    value = _parsed(content)
    if isinstance(value, list):
        found = [data for data in map(_data, value) if _is_data(data)]
        return any(map(_both, found)) or any(one == other for at, one in enumerate(found) for other in found[:at])
    return _both(value)


def _both(value: Any) -> bool:
    """Return whether a result has the same data as content and as a structure."""
    if not isinstance(value, dict):
        return False
    shown = value.get("content")
    structured = value.get("structuredContent", value.get("structured_content"))
    both = [_data(block) for block in shown] if isinstance(shown, list) else [_parsed(shown)]
    return _is_data(structured) and any(structured in (each, {"result": each}) for each in both)


def _data(block: Any) -> Any:
    if not isinstance(block, dict):
        return None
    return block["json"] if "json" in block else _parsed(block.get("text"))


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _is_data(value: Any) -> bool:
    return isinstance(value, dict | list) and len(json.dumps(value)) >= _LEAST


def _prefill(case: Case) -> Iterator[str]:
    """Check that the user has the last word, unless the provider goes on with a tool of its own."""
    last = next((message for message in reversed(case.view) if not message.is_system), None)
    if case.takes_prefill or last is None or last.role != "assistant":
        return
    if not any(server_call(block) for block in blocks(last.held)):
        yield "the view ends with an answer, which the model refuses"


RULES = (
    Rule("halves", _halves, ("lone_surrogate",)),
    Rule("empty-blocks", _empty_blocks, ("empty_text",)),
    Rule("empty-answers", _empty_answers, ("empty_text",)),
    Rule("not-text", _not_text, ("result_not_text",)),
    Rule("twice", _twice, ("data_twice",)),
    Rule("prefill", _prefill, ("prefill",)),
)
