"""The exclusive-writer lease of a session: when it is acquired, renewed and released."""

import os
import socket
import time
from typing import Any
from uuid import uuid4

from backscroll.errors import ConfigurationError
from backscroll.ports import Store


class Lease:
    """A lease on one session; a change renews it after a third of its time.

    Raises:
        ConfigurationError: The seconds are out of range, or the store has no leases.
    """

    def __init__(self, store: Store | None, session: str, seconds: float) -> None:
        if type(seconds) not in (int, float) or not 0 < seconds <= 86_400:
            raise ConfigurationError(f"`lease` must be a number of seconds, above 0 and up to 86,400, not {seconds!r}")
        if store is None or "lease" not in store.capabilities:
            raise ConfigurationError(
                f'`lease` requires a store with leases, and {store!r} has none: use SQLite, store="sqlite:///agent.db"'
            )
        self._store, self._session, self._seconds = store, session, float(seconds)
        self._owner = f"{socket.gethostname()[:100]} {os.getpid()} {uuid4().hex[:8]}"
        self._renew_at = 0.0

    def keep(self) -> Any:
        """Acquire or renew the lease if it is due; fails with `ConflictError` while another writer holds it."""
        now = time.monotonic()
        if now < self._renew_at:
            return None
        pending: Any = self._store.lease(self._session, self._owner, self._seconds)
        self._renew_at = now + self._seconds / 3  # from the time before the call: never later than the store's
        return pending

    def refused(self) -> None:
        """Note that the store refused, so that the next change asks again."""
        self._renew_at = 0.0

    def release(self) -> Any:
        """Release the lease if it was acquired."""
        if not self._renew_at:
            return None
        self._renew_at = 0.0
        return self._store.lease(self._session, self._owner, 0)
