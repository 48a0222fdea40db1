"""A stored session, open for reading only."""

from backscroll.manager.sync_manager import ContextManager
from backscroll.ports import Store


class SessionReader(ContextManager):
    """A session whose opening stores nothing."""

    _reads_only = True

    def __init__(self, store: Store, session: str) -> None:
        super().__init__(store=store, session=session)
