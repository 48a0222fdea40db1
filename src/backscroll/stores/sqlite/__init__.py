"""Sessions in an SQLite file.

- `store.py`: the operations of the port
- `writer.py`: one connection that commits queued jobs together
- `jobs.py`: what a transaction does to the rows
- `file.py`: the database file: create, check, connect
- `side_files.py`: derived files next to it, one for each session
- `schema.py`: the tables, as numbered migrations
- `rows.py`: rows and their checksums
- `verify.py`: find damage
- `repair.py`: replace a damaged database
- `copying.py`: copy what SQLite can still read of a damaged database
- `errors.py`: translate errors of SQLite into Backscroll's
"""

from backscroll.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
