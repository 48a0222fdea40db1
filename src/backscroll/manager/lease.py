"""Keeping a session for one writer: when its lease is taken, renewed and given back. Nothing else may live here."""

import os
import socket
import time
from typing import Any
from uuid import uuid4

from backscroll.errors import ConfigurationError
from backscroll.ports import Store


class Lease:
    """A lease on one session, for `seconds` each time; renewed by a change when a third of them is over.

    Raises `ConfigurationError` for seconds that cannot be, and for a store that leases nothing.
    """

    def __init__(self, store: Store | None, session: str, seconds: float) -> None:
        if type(seconds) not in (int, float) or not 0 < seconds <= 86_400:
            raise ConfigurationError(f"`lease` must be a number of seconds, above 0 and up to 86,400, not {seconds!r}")
        if store is None or "lease" not in store.capabilities:
            raise ConfigurationError(
                f"`lease` needs a store that keeps sessions for one writer, and {store!r} cannot, use SQLite: "
                'store="sqlite:///agent.db"'
            )
        self._store, self._session, self._seconds = store, session, float(seconds)
        self._owner = f"{socket.gethostname()[:100]} {os.getpid()} {uuid4().hex[:8]}"
        self._renew_at = 0.0

    def keep(self) -> Any:
        """Has the store keep the session for this writer, unless that was done a moment ago; fails with `ConflictError`
        while another one has it.
        """
        now = time.monotonic()
        if now < self._renew_at:
            return None
        pending: Any = self._store.lease(self._session, self._owner, self._seconds)
        self._renew_at = now + self._seconds / 3  # by the time before the call: never later than the store thinks
        return pending

    def refused(self) -> None:
        """The store said no: the next change asks again."""
        self._renew_at = 0.0

    def release(self) -> Any:
        """Gives the session back, if it was taken."""
        if not self._renew_at:
            return None
        self._renew_at = 0.0
        return self._store.lease(self._session, self._owner, 0)
