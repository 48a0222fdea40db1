"""Sessions in a PostgreSQL database. Importing this package requires psycopg.

- `store.py`: the operations of the port
- `server.py`: run work on the tables of one address, with retries
- `pool.py`: connections kept for the next use
- `schema.py`: the tables, as numbered migrations
- `rows.py`: statements, rows and their checksums
- `verify.py`: find damage
- `address.py`: parse an address, and hide its secrets
- `errors.py`: translate errors of the server into Backscroll's
- `driver.py`: import psycopg, or say how to install it
"""

from backscroll.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
