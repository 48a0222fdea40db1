"""Connections kept for the next use.

Not psycopg_pool, because that opens connections in threads: if a server cannot be reached, its callers learn only after
a timeout that no connection came, and not why. And its threads are missing in the child of a fork. Here a caller opens
the connection that it needs, and gets the server's own answer at once.
"""

import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from backscroll.errors import StoreUnavailableError
from backscroll.stores.fork_lock import resets_in_child
from backscroll.stores.postgres.driver import Connection, psycopg

PATIENCE = 30.0  # seconds to wait for a connection
_IDLE = psycopg.pq.TransactionStatus.IDLE


class Pool:
    """At most `most` connections of a process. Opens none before the first use."""

    def __init__(self, connect: Callable[[], Connection], most: int) -> None:
        self._connect, self._most = connect, most
        self._begin()
        resets_in_child(self)

    def _begin(self) -> None:
        self._free = threading.BoundedSemaphore(self._most)
        self._kept: list[Connection] = []
        self._unclosed = weakref.finalize(self, _close, self._kept)
        self._generation = 0

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Yield a connection for exclusive use. Raises `StoreUnavailableError` if none becomes free in time."""
        free = self._free
        if not free.acquire(timeout=PATIENCE):
            raise StoreUnavailableError(
                f"all {self._most} connections of this process were in use for {PATIENCE:.0f} seconds: try again, or "
                "raise `connections` in the address"
            )
        try:
            generation, connection = self._generation, self._take() or self._connect()
            try:
                yield connection
            finally:
                self._give(connection, generation)
        finally:
            free.release()

    def _take(self) -> Connection | None:
        """The connection that was used last and is still usable."""
        while True:
            try:
                connection = self._kept.pop()
            except IndexError:
                return None
            if not _stirs(connection):
                return connection
            connection.close()

    def _give(self, connection: Connection, generation: int) -> None:
        if generation == self._generation and connection.info.transaction_status == _IDLE:
            self._kept.append(connection)
        else:
            connection.close()

    def close(self) -> None:
        """Close all connections; those in use when they are returned. The next use opens new ones."""
        self._generation += 1
        _close(self._kept)

    def forked(self) -> None:
        """Reset in the child of a fork without the parent's connections.

        Their sockets are replaced before they are closed: a normal close would end the parent's session on the server.
        """
        kept = self._kept
        self._unclosed.detach()
        self._begin()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for connection in kept:
            os.dup2(nowhere, connection.fileno(), inheritable=False)
            connection.close()
        os.close(nowhere)


def _close(kept: list[Connection]) -> None:
    with contextlib.suppress(IndexError):  # other threads may use the list at the same time
        while True:
            kept.pop().close()


def _stirs(connection: Connection) -> bool:
    """Whether data arrived on an idle connection: the server ended it, or the line broke."""
    try:
        if not hasattr(select, "poll"):
            return bool(select.select([connection.fileno()], [], [], 0)[0])
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except psycopg.OperationalError:  # it is closed
        return True
