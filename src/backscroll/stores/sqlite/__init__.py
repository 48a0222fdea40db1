"""Sessions in an SQLite file.

- `store.py`    the port's operations
- `writer.py`   what comes together is committed together
- `jobs.py`     what is done to the rows in one transaction
- `file.py`     the database file: making it, checking it, connecting to it
- `side_files.py`   files beside it that can be made again, one for each session
- `schema.py`   the tables, as steps that only go forward
- `rows.py`     rows and their checksums
- `verify.py`   looking for what is not as it was written
- `repair.py`   a new database in the place of a damaged one
- `copying.py`  all that SQLite still reads of a damaged one, row by row
- `errors.py`   what SQLite complains of, as errors that say what to do
"""

from backscroll.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
