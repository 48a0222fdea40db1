"""The whole history, whatever it weighs: what no manager can show more than."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.base import Message, Peer


class Whole(Peer):
    """Keeps the list and shows it."""

    name = "The whole history"
    package = "backscroll"
    about = "every message, over the budget too"
    keeps, where = "all of it", "memory"
    budgeted = False

    def __init__(self, budget: int, folder: Path) -> None:
        self.messages: list[Message] = []

    def read(self, message: Message) -> Any:
        return message

    async def add(self, native: Any) -> None:
        self.messages.append(native)

    async def view(self) -> Sequence[Any]:
        return list(self.messages)

    def written(self, view: Sequence[Any]) -> list[Message]:
        return list(view)
