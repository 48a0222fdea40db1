"""Work on the tables of one address: connecting, checking them once, and trying again what may be tried again.

No row is known here. Everything works behind a pooler that gives every transaction another connection to the server:
nothing is prepared, set or locked for longer than a transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from backscroll.errors import CorruptionError, StoreUnavailableError
from backscroll.stores.postgres import schema
from backscroll.stores.postgres.address import Address
from backscroll.stores.postgres.driver import Connection, conninfo, errors, psycopg
from backscroll.stores.postgres.errors import fault, unreachable
from backscroll.stores.postgres.pool import Pool

T = TypeVar("T")

_TRIES = 5
_AGAIN = (errors.SerializationFailure, errors.DeadlockDetected)
"""By which a server that was set up to isolate strictly says that others came first."""


class Server:
    """The server and schema of an address. Nothing is opened before the first use. Safe for threads."""

    def __init__(self, address: Address, read_only: bool = False) -> None:
        self.address, self.schema = address, address.schema
        self._pool = Pool(partial(_connect, address, read_only), address.connections)

    def run(self, work: Callable[[Connection], T], *, changes: bool = False) -> T:
        """Does work, which has to be good for being done again: where the connection is lost meanwhile, or others
        came first, it is done once more. `changes`: say so where it is not known whether it was done.
        """
        lost = False
        try:
            for _ in range(_TRIES):
                with self.told(), self._pool.use() as connection:
                    try:
                        return work(connection)
                    except _AGAIN as error:
                        failed: psycopg.Error = error
                    except psycopg.OperationalError as error:
                        if not connection.closed:
                            raise
                        failed, lost = error, True
            raise fault(self.address, failed) from failed
        except StoreUnavailableError as error:
            if lost and changes:
                raise StoreUnavailableError(
                    f"{error}. The connection was lost on the way: whether it was done is not known"
                ) from error
            raise

    @contextmanager
    def told(self) -> Iterator[None]:
        """Whatever goes wrong inside is raised as one of Backscroll's errors, damage with its place."""
        try:
            yield
        except psycopg.Error as error:
            raise fault(self.address, error) from error
        except CorruptionError as error:
            if str(error).startswith(self.address.shown):
                raise
            raise CorruptionError(f"{self.address.shown}: {error}") from error

    def close(self) -> None:
        """Closes all connections. The next use opens anew."""
        self._pool.close()


def _connect(address: Address, read_only: bool) -> Connection:
    """A connection to tables that are as they should be."""
    try:
        place = conninfo.make_conninfo("", **address.parameters)
        connection = psycopg.connect(place, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise unreachable(address, error) from error
    try:
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        schema.check(connection, address, read_only)
    except BaseException:
        connection.close()
        raise
    return connection
