"""Sessions in JSON Lines, to be read and searched with any tool.

- `store.py`     the port's operations on a folder of sessions
- `writer.py`    appends, beginnings and erasures, in their order
- `folder.py`    which file is whose, and what a fork of earlier versions reads from its parent
- `file.py`      one session's file: locking it, reading it, writing to its end
- `index.py`     what a file holds and where
- `lines.py`     the lines themselves, and the same bytes back
- `verify.py`    looking for what is not as it was written
- `portable.py`  one file with sessions from any store
"""

from backscroll.stores.jsonl.store import JsonlStore

__all__ = ["JsonlStore"]
