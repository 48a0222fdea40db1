"""Sessions in JSON Lines, readable and searchable with any tool.

- `store.py`: the operations of the port on a folder of sessions
- `writer.py`: appends and deletions, in order
- `folder.py`: the files of a folder, and forks of earlier versions
- `file.py`: one session's file: lock, read, append
- `index.py`: what a file holds, and where
- `lines.py`: the format of a line
- `verify.py`: find damage
- `portable.py`: one file with sessions from any store, for export and import
"""

from backscroll.stores.jsonl.store import JsonlStore

__all__ = ["JsonlStore"]
