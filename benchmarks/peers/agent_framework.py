"""Microsoft's Agent Framework: its strategy for a context window, and its history in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_framework import Content, ContextWindowCompactionStrategy, FileHistoryProvider, apply_compaction
from agent_framework import Message as Native

from peers.base import Keeper, Message, Peer, assistant, call, calls_of, plain, result


def read(message: Message) -> Any:
    """One message of the framework."""
    text = plain(message.get("content"))
    if message["role"] == "tool":
        return Native("tool", [Content.from_function_result(message["tool_call_id"], result=text)])
    contents = [Content.from_text(text)] if text else []
    for known, name, arguments in calls_of(message):
        contents.append(Content.from_function_call(known, name, arguments=arguments))
    return Native(message["role"], contents)


def written(message: Any) -> list[Message]:
    """Its OpenAI messages: one, or one for each result."""
    answers = [one for one in message.contents if one.type == "function_result"]
    if answers:
        return [result(one.call_id, str(one.result)) for one in answers]
    if str(message.role) != "assistant":
        return [{"role": str(message.role), "content": message.text}]
    calls = [one for one in message.contents if one.type == "function_call"]
    return [assistant(message.text, [call(one.call_id, one.name, one.arguments) for one in calls])]


class Window(Peer):
    """Marks in the list what is not to be sent."""

    name = "Agent Framework, context window"
    package = "agent-framework-core"
    about = "ContextWindowCompactionStrategy(max_context_window_tokens=budget), its estimate of tokens"
    keeps, where = "everything", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        self.messages: list[Any] = []
        self.strategy = ContextWindowCompactionStrategy(max_context_window_tokens=budget, max_output_tokens=0)

    def read(self, message: Message) -> Any:
        return read(message)

    async def add(self, native: Any) -> None:
        self.messages.append(native)

    async def preload(self, natives: Sequence[Any]) -> None:
        self.messages.extend(natives)

    async def view(self) -> Sequence[Any]:
        return await apply_compaction(self.messages, strategy=self.strategy)

    def written(self, view: Sequence[Any]) -> list[Message]:
        return [one for message in view for one in written(message)]


class History(Keeper):
    """A line for each message."""

    name = "Agent Framework, FileHistoryProvider"
    package = "agent-framework-core"
    about = "a line of JSON for each message, without fsync"
    synced = False

    def __init__(self, folder: Path) -> None:
        self.history = FileHistoryProvider(folder / "history")

    def read(self, message: Message) -> Any:
        return read(message)

    async def append(self, native: Any) -> None:
        await self.history.save_messages("bench", [native])

    async def preload(self, natives: Sequence[Any]) -> None:
        await self.history.save_messages("bench", list(natives))

    async def resume(self, budget: int) -> int:
        return len(await self.history.get_messages("bench"))
