"""A stored session, open for reading only."""

from backscroll.history.plan import Plan
from backscroll.manager.driver import run_sync
from backscroll.manager.sync_manager import ContextManager
from backscroll.messages import Message
from backscroll.ports import Operation, Store
from backscroll.session.store_sync import enter, fetch

_LANE = "main"


class SessionReader(ContextManager):
    """A session whose opening stores nothing."""

    _reads_only = True

    def __init__(self, store: Store, session: str) -> None:
        super().__init__(store=store, session=session)

    def ending(self, most: int) -> list[Message]:
        """Return the end of the newest view: so many messages or more, and a digest if it has one.

        A view that was never compacted has all messages: only the newest are read.
        """
        newest = run_sync(self._opened, self._newest(most))
        return self.view(lane=_LANE) if newest is None else newest

    def _newest(self, most: int) -> Operation[list[Message] | None]:
        """Return the newest messages; `None` if the view has edits."""
        yield from enter(self._session)
        if self._session.look(_LANE).plan != Plan():
            return None
        branch = self._session.history.branch
        newest = list(branch.between(max(0, len(branch) - most), len(branch)))
        return [entry.message for entry in (yield from fetch(self._session, newest))]
