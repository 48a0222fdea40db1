"""Managers for conversations that exist already: what these hold is taken as it is, and views heal it."""

from backscroll.manager.async_manager import AsyncContextManager
from backscroll.manager.sync_manager import ContextManager


class ImportingManager(ContextManager):
    """A manager that also appends what a dialect forbids."""

    _strict = False


class AsyncImportingManager(AsyncContextManager):
    """The same for asyncio."""

    _strict = False
