"""The algorithm that Amplifier's contract for context modules gives as its example, written from its description."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from peers.base import Message, Peer, plain

TRIGGER, TARGET = 0.9, 0.7  # shares of the budget


class Contract(Peer):
    """Keeps the list; each request counts all of it, and drops from the front of a copy, counting again each time."""

    name = "Amplifier, contract's example"
    package = "amplifier-core"
    about = "4 characters a token; over 90 % the oldest go until 70 %, system messages stay"
    keeps, where = "everything", "memory"

    def __init__(self, budget: int, folder: Path) -> None:
        self.budget = budget
        self.messages: list[Message] = []

    def read(self, message: Message) -> Any:
        return message

    async def add(self, native: Any) -> None:
        self.messages.append(native)

    async def preload(self, natives: Sequence[Any]) -> None:
        self.messages.extend(natives)

    async def view(self) -> Sequence[Any]:
        if self._tokens(self.messages) <= self.budget * TRIGGER:
            return list(self.messages)
        system = [message for message in self.messages if message["role"] == "system"]
        rest = [message for message in self.messages if message["role"] != "system"]
        while rest and self._tokens(system + rest) > self.budget * TARGET:
            rest.pop(0)
        return system + rest

    def written(self, view: Sequence[Any]) -> list[Message]:
        return list(view)

    @staticmethod
    def _tokens(messages: Sequence[Message]) -> int:
        return sum(len(plain(message.get("content"))) for message in messages) // 4
