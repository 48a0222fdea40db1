"""What tests read off a view or a message."""

import json
import re
from typing import Any

_COUNTED = re.compile(r"\.\.\. ([\d,]+) (?:items?|lines?|more)")
_IN_STRING = re.compile(r"\n?\[\.\.\.(?: [\d,]+ characters left out(?:; [^\]]*\[ref:[\d.]+\])? \.\.\.)?\]\n?")


def weight(view: list[dict[str, Any]]) -> int:
    """Tokens of a view as `count_quarter` counts its plain texts: never more than the manager's own upper estimate."""

    def walk(value: Any) -> int:
        if isinstance(value, str):
            return len(value) // 4
        if isinstance(value, dict):
            return sum(
                walk(inner)
                for key, inner in value.items()
                if key not in ("data", "url", "bytes", "metadata", "id", "thoughtSignature")
            )
        return sum(walk(inner) for inner in value) if isinstance(value, list) else 0

    return sum(walk(content_of(message)) for message in view)


def content_of(message: dict[str, Any]) -> Any:
    """The content of a message, or the parts of a content of Gemini."""
    return message.get("content", message.get("parts"))


def said_in(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The blocks of a content, and those of the steps by which a user or a model speaks in Gemini's Interactions."""
    steps = ("user_input", "model_output")
    return [each for block in blocks for each in (block["content"] if block.get("type") in steps else [block])]


BRIDGE = "<summary>The conversation goes on here.</summary>"


def in_a_row(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as a view shows them whole: of the Responses API the items, without what holds them. Of Bedrock two
    messages of one role do not follow each other.
    """
    found: list[dict[str, Any]] = []
    for message in messages:
        if found and found[-1].get("role") == message["role"] and (_is_bedrock(found[-1]) or _is_bedrock(message)):
            other = "user" if message["role"] == "assistant" else "assistant"
            bridge = [{"text": BRIDGE}] if _is_bedrock(message) else BRIDGE
            found.append({"role": other, "content": bridge})
        content = message.get("content")
        held = isinstance(content, list) and any(
            ({"call_id", "encrypted_content", "status"} & block.keys() or block.get("type") == "message")
            and not _is_step(block)
            for block in content
        )
        found += content if held and isinstance(content, list) else [message]
    return found


def _is_step(block: dict[str, Any]) -> bool:
    """Whether a block is a result of Gemini's Interactions, whose messages a view shows as they are."""
    return block.get("type") in ("function_result", "google_search_result")


def _is_bedrock(message: dict[str, Any]) -> bool:
    content = message.get("content")
    known = ("text", "toolUse", "toolResult", "image", "reasoningContent")
    return isinstance(content, list) and any(
        isinstance(block, dict) and "type" not in block and any(key in block for key in known) for block in content
    )


def is_typed_by_user(message: dict[str, Any]) -> bool:
    """Whether a message of the user's role is no hook's and holds no results."""
    hook = message.get("metadata", {}).get("source") == "hook"
    content = content_of(message)
    holds_results = isinstance(content, list) and any(
        "toolResult" in b or "functionResponse" in b or b.get("type") in ("tool_result", "function_result")
        for b in content
    )
    return not hook and not holds_results


def spoil(value: Any) -> None:
    """Change everything in a value that a caller can change."""
    if isinstance(value, dict):
        for inner in value.values():
            spoil(inner)
        value["spoiled"] = True
    elif isinstance(value, list):
        for inner in value:
            spoil(inner)
        value.append("spoiled")


def summary_of(view: list[dict[str, Any]]) -> str:
    """The text of the summary; empty without one."""
    contents = [content_of(message) or "" for message in view]
    blocks = [[{"text": found}] if isinstance(found, str) else said_in(found) for found in contents]
    texts = [block.get("text", "") for found in blocks for block in found]
    return next((text for text in texts if text.startswith("<summary>\n") and "compacted here" in text), "")


def summary_in(view: list[dict[str, Any]]) -> str:
    """The summary of a view in OpenAI's dialect; an error without one."""
    return next(m["content"] for m in view if str(m["content"]).startswith("<summary>\n"))


def json_as_written(text: str) -> Any:
    """Numbers as they are written, so that 1.50 and 1.5 differ."""
    return json.loads(text, parse_float=lambda number: ("float", number), parse_int=lambda number: ("int", number))


def is_cut_of(cut: Any, whole: Any) -> bool:
    """Whether one JSON value is cut from another: what it holds is in the same place, and marks count the rest."""
    if isinstance(whole, dict) and isinstance(cut, dict):
        marks = [key for key in cut if key not in whole]
        assert len(marks) <= 1
        assert all(key.strip(".") == "" for key in marks)
        kept = [key for key in cut if key in whole]
        assert kept == [key for key in whole if key in cut]
        assert len(kept) == len(whole) or marks
        return all(is_cut_of(cut[key], whole[key]) for key in kept)
    if isinstance(whole, list) and isinstance(cut, list):
        at = 0
        for item in cut:
            if isinstance(item, str) and (mark := _COUNTED.match(item)):
                at += int(mark[1].replace(",", ""))
            elif is_cut_of(item, whole[at]):
                at += 1
            else:
                return False
        return at == len(whole)
    if isinstance(whole, str) and isinstance(cut, str) and cut != whole:
        at = 0
        for fragment in _IN_STRING.split(cut):
            at = whole.index(fragment, at) + len(fragment)
        return True
    return cut == whole
