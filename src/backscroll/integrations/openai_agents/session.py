"""A session of the SDK whose items are in a store of Backscroll."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agents.items import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from backscroll.errors import ConfigurationError
from backscroll.integrations.item_runs import Grouping
from backscroll.integrations.item_translation import ItemTranslation, items_of
from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.importing import AsyncImportingManager
from backscroll.manager.lock import FairLock
from backscroll.messages import Message


class BackscrollSession(SessionABC):
    """Keeps the items of a session as they were given, never a view of them.

    With a store they are on disk when `add_items` returns. Removed items stay in the log of the store, but
    `get_items` no longer returns them.

    Args:
        session_id: The session's name.
        store: Where the items are kept: an address (`"sqlite:///agent.db"`), the path of an SQLite file or a `Store`.
            `None`: in memory only.
        session_settings: Settings of the SDK, such as how many items `get_items` returns. `None`: all.
        options: Further options of `backscroll.AsyncContextManager`, such as `storage` or `on_event`.

    Raises:
        ConfigurationError: A value can never work, or an option does not exist.
    """

    def __init__(
        self,
        session_id: str,
        store: Any = None,
        *,
        session_settings: SessionSettings | None = None,
        **options: Any,
    ) -> None:
        if "session" in options:
            raise ConfigurationError("`session` follows from the `session_id`: leave it out")
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        stored = {} if store is None else {"store": store, "session": f"{session_id}/items"}
        given = {"tokenizer": _quarter, **options}  # no model sees these messages, so none is counted
        self.log: AsyncContextManager = AsyncImportingManager(**given, **stored)
        """The manager that holds the items, a message for each run of them."""
        self._translation = ItemTranslation()
        self._turn = FairLock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the newest items, oldest first.

        Args:
            limit: How many. `None`: by `session_settings`, else all.

        Raises:
            StoreError: The store failed.
        """
        most = self.session_settings.limit if limit is None and self.session_settings else limit
        found = [item for message in await self.log.get_messages() for item in items_of(message)]
        return found if most is None else found[len(found) - most :] if most > 0 else []

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end.

        Raises:
            MessageError: An item holds a value that is not JSON; nothing was added.
            StoreError: The store failed; nothing was added.
        """
        async with self._alone():
            await self._add(items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it; `None` if there is none.

        Raises:
            StoreError: The store failed.
        """
        async with self._alone():
            messages = await self.log.get_messages()
            if not messages:
                return None
            *rest, last = items_of(messages[-1])
            newest: TResponseInputItem = last
            await self.log.set_messages([*messages[:-1], *self._messages(rest)])
            return newest

    async def clear_session(self) -> None:
        """Remove all items.

        Raises:
            StoreError: The store failed.
        """
        async with self._alone():
            await self.log.clear()

    async def close(self) -> None:
        """Store what is buffered and close the store."""
        await self.log.aclose()

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """Let no other task or thread change the items meanwhile."""
        await self._turn.acquire_async()
        try:
            yield
        finally:
            self._turn.release()

    async def _add(self, items: list[Any]) -> None:
        if items:
            await self.log.append(*self._messages(items))

    def _messages(self, items: list[Any]) -> list[Message]:
        return list(map(self._translation.to_message, Grouping().runs(items)))


def _quarter(text: str) -> int:
    return len(text) // 4 + 1
