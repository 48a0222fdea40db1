"""OpenAI Agents SDK: its session in SQLite, whole and with a limit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agents.memory.sqlite_session import SQLiteSession

from peers.base import Keeper, Message, Peer, assistant, call, calls_of, plain, result

LIMIT = 100
"""Items of the limited session: about as many as fit 32k tokens of an agent's work."""


def read(message: Message) -> list[Any]:
    """The items of the Responses API that stand for a message."""
    text = plain(message.get("content"))
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": text}]
    items: list[Any] = [{"role": message["role"], "content": text}] if text else []
    for known, name, arguments in calls_of(message):
        items.append({"type": "function_call", "call_id": known, "name": name, "arguments": arguments})
    return items


def written(items: Sequence[Any]) -> list[Message]:
    """Items as messages; calls go into the assistant's message before them."""
    found: list[Message] = []
    for item in items:
        if item.get("type") == "function_call_output":
            found.append(result(item["call_id"], item["output"]))
        elif item.get("type") == "function_call":
            if not found or found[-1]["role"] != "assistant":
                found.append(assistant("", []))
            found[-1].setdefault("tool_calls", []).append(call(item["call_id"], item["name"], item["arguments"]))
        else:
            found.append({"role": item["role"], "content": item["content"]})
    return found


class Whole(Peer):
    """Everything, at each request."""

    name = "OpenAI Agents, SQLiteSession"
    package = "openai-agents"
    about = "get_items(): the whole conversation"
    keeps, where = "everything", "disk"
    budgeted = False
    limit: int | None = None

    def __init__(self, budget: int, folder: Path) -> None:
        self.session = SQLiteSession("bench", folder / "agents.db")
        self.system: list[Message] = []  # instructions are the agent's, not the session's

    def read(self, message: Message) -> Any:
        return message if message["role"] == "system" else read(message)

    async def add(self, native: Any) -> None:
        if isinstance(native, dict):
            self.system.append(native)
        else:
            await self.session.add_items(native)

    async def preload(self, natives: Sequence[Any]) -> None:
        self.system += [native for native in natives if isinstance(native, dict)]
        await self.session.add_items([item for native in natives if isinstance(native, list) for item in native])

    async def view(self) -> Sequence[Any]:
        return await self.session.get_items(limit=self.limit)

    def written(self, view: Sequence[Any]) -> list[Message]:
        return self.system + written(view)

    def close(self) -> None:
        self.session.close()


class Limited(Whole):
    """The newest items, whatever they belong to."""

    name = f"OpenAI Agents, limit={LIMIT}"
    about = f"get_items(limit={LIMIT}): the newest items, however long, and whatever stood before them"
    limit = LIMIT


class Session(Keeper):
    """A row for each item."""

    name = "OpenAI Agents, SQLiteSession"
    package = "openai-agents"
    about = "add_items for each message"
    synced = True

    def __init__(self, folder: Path) -> None:
        self.session = SQLiteSession("bench", folder / "agents.db")

    def read(self, message: Message) -> Any:
        return read(message)

    async def append(self, native: Any) -> None:
        await self.session.add_items(native)

    async def preload(self, natives: Sequence[Any]) -> None:
        await self.session.add_items([item for native in natives for item in native])

    async def resume(self, budget: int) -> int:
        return len(await self.session.get_items())

    def close(self) -> None:
        self.session.close()
