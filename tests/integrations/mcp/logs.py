"""Logs as Claude Code and Codex write them."""

import json
from pathlib import Path
from typing import Any

from backscroll import ContextManager
from backscroll.cli.mcp.log_files import log_files
from backscroll.cli.mcp.log_import import LogImport
from backscroll.integrations.mcp import Archive
from backscroll.integrations.mcp.index import StoreIndex
from backscroll.ports import Store
from tests.integrations.mcp.asking import PATIENCE

TIME = "2026-02-03T04:05:06.789Z"


def line(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"


def said(role: str, content: Any, *, project: str = "/work", session: str = "s", time: str = TIME, **more: Any) -> str:
    """A line of Claude Code; `id` is that of an answer written in pieces."""
    message = {"role": role, "content": content} | ({"id": more.pop("id")} if "id" in more else {})
    return line({"type": role, "message": message, "cwd": project, "sessionId": session, "timestamp": time, **more})


def meta(session: str, project: str = "/work", **more: Any) -> str:
    """The first line of Codex."""
    return line({"type": "session_meta", "timestamp": TIME, "payload": {"id": session, "cwd": project, **more}})


def item(value: dict[str, Any]) -> str:
    """A line of Codex with an item."""
    return line({"type": "response_item", "timestamp": TIME, "payload": value})


def spoken(role: str, text: str) -> str:
    kind = "output_text" if role == "assistant" else "input_text"
    return item({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})


def write(path: Path, *lines: str, append: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a" if append else "w", encoding="utf-8") as file:
        file.write("".join(lines))
    return path


def importing(store: Store, folder: Path) -> LogImport:
    """An import of all logs below a folder."""
    return LogImport(store, lambda: log_files([("", str(folder))]))


def archive_of(store: Store, logs: Path, **options: Any) -> Archive:
    return Archive(store, feed=importing(store, logs), patience=PATIENCE, **options)


def text(words: str) -> dict[str, Any]:
    """A block of an answer."""
    return {"type": "text", "text": words}


def run(store: Store, folder: Path) -> LogImport:
    """Import once, with an index of its own, as a new process does."""
    made = importing(store, folder)
    for _ in made(StoreIndex(store)):
        pass
    return made


def texts(store: Store, session: str) -> list[str]:
    """What each message of a session says."""
    with ContextManager(store=store, session=session) as context:
        return [flat(message) for message in context.get_messages()]


def flat(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, str):
        return content
    return " ".join(str(block.get("text") or block.get("content") or block.get("name")) for block in content)
