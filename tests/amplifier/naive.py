"""A context module that sends everything. It shows what a window does to a session that nobody looks after."""

from typing import Any

__amplifier_module_type__ = "context"


class Everything:
    """Keeps all messages and sends all messages."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    async def add_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    async def get_messages_for_request(self, token_budget: int | None = None, provider: Any | None = None) -> list[Any]:
        return list(self.messages)

    async def get_messages(self) -> list[dict[str, Any]]:
        return list(self.messages)

    async def set_messages(self, messages: list[dict[str, Any]]) -> None:
        self.messages = list(messages)

    async def clear(self) -> None:
        self.messages = []

    async def should_compact(self) -> bool:
        return False

    async def compact(self) -> None:
        """Nothing, ever."""


async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> None:
    await coordinator.mount("context", Everything())
