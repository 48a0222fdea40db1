"""What tests read off a view or a message."""

from typing import Any


def weight(view: list[dict[str, Any]]) -> int:
    """Tokens of a view as `count_quarter` counts its plain texts: never more than the manager's own upper estimate."""

    def walk(value: Any) -> int:
        if isinstance(value, str):
            return len(value) // 4
        if isinstance(value, dict):
            return sum(
                walk(inner) for key, inner in value.items() if key not in ("data", "url", "bytes", "metadata", "id")
            )
        return sum(walk(inner) for inner in value) if isinstance(value, list) else 0

    return sum(walk(message.get("content")) for message in view)


def in_a_row(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages as a view shows them whole: of the Responses API the items, without what holds them."""
    found: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        held = isinstance(content, list) and any(
            {"call_id", "encrypted_content", "status"} & block.keys() for block in content
        )
        found += content if held and isinstance(content, list) else [message]
    return found


def is_typed_by_user(message: dict[str, Any]) -> bool:
    """Whether a message of the user's role is no hook's and holds no results."""
    hook = message.get("metadata", {}).get("source") == "hook"
    content = message["content"]
    holds_results = isinstance(content, list) and any(
        "toolResult" in b or b.get("type") == "tool_result" for b in content
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


def summary_of(view):
    """The text of the summary; empty without one."""
    contents = [message.get("content") or "" for message in view]
    blocks = [[{"text": found}] if isinstance(found, str) else found for found in contents]
    texts = [block.get("text", "") for found in blocks for block in found]
    return next((text for text in texts if text.startswith("<summary>\n") and "compacted here" in text), "")


def summary_in(view):
    """The summary of a view in OpenAI's dialect; an error without one."""
    return next(m["content"] for m in view if str(m["content"]).startswith("<summary>\n"))
