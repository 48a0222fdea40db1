"""Messages of the dialects for tests: short ways to write them, and to show what was read. No tests live here."""

from typing import Any

from backscroll.messages import Reading, accept, read_message

PIXEL = "iVBORw0KGgo="


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def user(*blocks: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **more}


def tool(content: Any, call: str = "c1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": content}


def read(message: dict[str, Any]) -> Reading:
    """Reads what was accepted, and shows that reading changes nothing."""
    accepted = accept(message)
    reading = read_message(accepted)
    assert accepted == message
    return reading


def parts(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Kind, text and place of every part; of calls and results also what they belong to."""
    found = []
    for part in read(message).parts:
        path = ".".join(map(str, part.path))
        names = [value for value in (part.id, part.name) if value is not None]
        found.append((part.kind, path, part.media or part.text, *names))
    return found
