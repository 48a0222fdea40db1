"""Connections that are kept for the next use. No statement is known here.

Of one's own instead of psycopg_pool, which opens connections in threads: where a server cannot be reached, its callers
learn after a timeout that there is none, and not why; and its threads are absent in the child of a fork. Here a caller
opens the connection that it needs, and gets the server's own answer at once.
"""

import contextlib
import os
import select
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from backscroll.errors import StoreUnavailableError
from backscroll.stores.postgres.driver import Connection, psycopg
from backscroll.stores.postgres.fork_safety import begins_anew

PATIENCE = 30.0  # seconds to wait for a connection that others use
_IDLE = psycopg.pq.TransactionStatus.IDLE


class Pool:
    """At most `most` connections of a process. Nothing is opened before the first use."""

    def __init__(self, connect: Callable[[], Connection], most: int) -> None:
        self._connect, self._most = connect, most
        self._begin()
        begins_anew(self)

    def _begin(self) -> None:
        self._free = threading.BoundedSemaphore(self._most)
        self._kept: list[Connection] = []
        self._unclosed = weakref.finalize(self, _close, self._kept)
        self._generation = 0

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """A connection for as long as nobody else may have it. Raises `StoreUnavailableError` if none becomes free."""
        free = self._free
        if not free.acquire(timeout=PATIENCE):
            raise StoreUnavailableError(
                f"all {self._most} connections of this process were in use for {PATIENCE:.0f} seconds: try again, or "
                "allow more by `connections` in the address"
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
        """The one that was used last, if it is still good."""
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
        """Closes all; one that is in use when it comes back. The next use opens anew."""
        self._generation += 1
        _close(self._kept)

    def forked(self) -> None:
        """Begins anew, in the child of a fork: the connections are those of the parent, and closing one as usual would
        tell the server that the parent is gone.
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
    with contextlib.suppress(IndexError):  # other threads may take some meanwhile
        while True:
            kept.pop().close()


def _stirs(connection: Connection) -> bool:
    """Whether something arrived on a connection that nobody uses: the server's farewell, or the end of the line."""
    try:
        if not hasattr(select, "poll"):
            return bool(select.select([connection.fileno()], [], [], 0)[0])
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        return bool(poll.poll(0))
    except psycopg.OperationalError:  # it is closed
        return True
