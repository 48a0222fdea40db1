"""Sessions in a PostgreSQL database. Importing any of it needs psycopg, and says so where it is missing.

- `store.py`    the port's operations
- `server.py`   work on the tables of one address, and trying again
- `pool.py`     connections that are kept for the next use
- `fork_safety.py`    who begins anew in the child of a fork
- `schema.py`   the tables, as steps that only go forward
- `rows.py`     statements, rows and their checksums
- `verify.py`   looking for what is not as it was written
- `address.py`  an address, and what of it may be shown
- `errors.py`   what the server complains of, as errors that say what to do
- `driver.py`   psycopg, or what to install
"""

from backscroll.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
