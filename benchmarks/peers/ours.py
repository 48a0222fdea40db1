"""Backscroll, in memory and in SQLite."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from backscroll import ContextManager
from peers.base import VIEWS, Keeper, Message, Peer


def fill(manager: ContextManager, messages: Sequence[Message], budget: int) -> None:
    """Many messages, with a view now and then and at the end, as an agent asks for one before each of its steps."""
    for number, message in enumerate(messages, 1):
        manager.append(message)
        if number % VIEWS == 0 or number == len(messages):
            manager.get_messages_for_request(token_budget=budget)


class _Ours(Peer):
    package = "backscroll"
    manager: ContextManager

    def __init__(self, budget: int, folder: Path) -> None:
        self.budget = budget

    def read(self, message: Message) -> Any:
        return message

    async def add(self, native: Any) -> None:
        self.manager.append(native)

    async def view(self) -> Sequence[Any]:
        return self.manager.get_messages_for_request(token_budget=self.budget)

    def written(self, view: Sequence[Any]) -> list[Message]:
        return list(view)

    async def recall(self, query: str) -> tuple[str, dict[str, Any], str] | None:
        _, handler = self.manager.recall_tool()
        return "recall", {"query": query}, handler(query=query)

    def close(self) -> None:
        self.manager.close()


class InMemory(_Ours):
    """Nothing written."""

    name = "Backscroll"
    about = 'ContextManager(mode="facts"): "auto", exact token counts'
    keeps, where = "everything", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.manager = ContextManager(mode="facts")


class Fuller(InMemory):
    """Compacts less at once, so that views are fuller and change more often."""

    name = "Backscroll, target_usage=0.8"
    about = 'ContextManager(mode="facts", target_usage=0.8): a compaction ends at 80 % of the budget instead of 55 %'

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.manager = ContextManager(mode="facts", target_usage=0.8)


class OnDisk(_Ours):
    """Every message is on disk before `add` returns."""

    name = "Backscroll, SQLite"
    about = 'ContextManager(mode="facts", store="sqlite:///...", session=session), durability "full"'
    keeps, where = "everything", "disk"

    def __init__(self, budget: int, folder: Path) -> None:
        super().__init__(budget, folder)
        self.manager = ContextManager(mode="facts", store=f"sqlite:///{folder / 'ours.db'}", session="bench")


class _Store(Keeper):
    package = "backscroll"
    durability = "full"

    def __init__(self, folder: Path) -> None:
        self.manager = ContextManager(
            mode="facts", store=f"sqlite:///{folder / 'ours.db'}?durability={self.durability}", session="bench"
        )

    def read(self, message: Message) -> Any:
        return message

    async def append(self, native: Any) -> None:
        self.manager.append(native)

    async def resume(self, budget: int) -> int:
        return len(self.manager.get_messages_for_request(token_budget=budget))

    async def preload(self, natives: Sequence[Any]) -> None:
        fill(self.manager, natives, 32_000)

    def close(self) -> None:
        self.manager.close()


class Full(_Store):
    """Survives a power cut."""

    name = "Backscroll, SQLite, full"
    about = 'durability "full": acknowledged is on disk'
    synced = True


class Normal(_Store):
    """Survives a crash of the process."""

    name = "Backscroll, SQLite, normal"
    about = 'durability "normal": acknowledged survives a crash of the process'
    durability = "normal"
    synced = False
