"""Run work on the tables of one address: connect, check the schema once, and retry.

Everything works behind a pooler that assigns each transaction another connection: nothing is prepared, set or locked
for longer than a transaction.
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
"""A server with strict isolation raises these if other transactions came first."""


class Server:
    """The server and schema of an address. Connects at the first use. Safe for threads."""

    address: Address
    schema: str

    def __init__(self, address: Address, read_only: bool = False) -> None:
        self.address, self.schema = address, address.schema
        self._pool = Pool(partial(_connect, address, read_only), address.connections)

    def run(self, work: Callable[[Connection], T], *, changes: bool = False) -> T:
        """Run work, and run it again if the connection breaks or other transactions came first: it must be repeatable.

        Args:
            work: called with a connection.
            changes: the work writes, so that an error says if its outcome is unknown.

        Raises:
            StoreUnavailableError: the server cannot be reached, or rejects the call.
            CorruptionError: the tables are damaged.
        """
        lost = False
        try:
            for _ in range(_TRIES):
                with self.translated_errors(), self._pool.use() as connection:
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
                    f"{error}. The connection was lost meanwhile: check whether the change was made"
                ) from error
            raise

    @contextmanager
    def translated_errors(self) -> Iterator[None]:
        """Raise errors of psycopg as Backscroll's, and damage with its place."""
        try:
            yield
        except psycopg.Error as error:
            raise fault(self.address, error) from error
        except CorruptionError as error:
            if str(error).startswith(self.address.shown):
                raise
            raise CorruptionError(f"{self.address.shown}: {error}") from error

    def close(self) -> None:
        """Close all connections. The next use opens new ones."""
        self._pool.close()


def _connect(address: Address, read_only: bool) -> Connection:
    """Connect, and check the schema."""
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
