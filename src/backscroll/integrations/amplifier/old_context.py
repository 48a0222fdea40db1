"""The contract 1.x, which hosts of 2025 still use."""

from backscroll.integrations.amplifier.context import AmplifierContext, Message
from backscroll.manager.driver import run_async
from backscroll.session.request import is_due


class OldContext(AmplifierContext):
    """The contract 1.x over the same core.

    The host asks whether to compact, calls `compact`, and sends what `get_messages` returns.
    """

    async def get_messages(self) -> list[Message]:
        """Return the view to send, within the provider's window if exactly one is mounted: a loop names none."""
        return await self.get_messages_for_request(provider=self._providers.only())

    async def get_history(self) -> list[Message]:
        """Return every message that was added and not cleared; the old contract has no such method."""
        return await self._everything()

    async def should_compact(self) -> bool:
        """Return whether the newest lane's request is over the threshold."""
        await self._load()
        return await run_async(self._opened, is_due(self._session, self._sent))
