"""What happened: the append-only log of a session, and what follows from it.

`log.py` defines the events and `plan.py` what a compaction records; `codec.py` stores them. `history.py`, `branch.py`
and `groups.py` hold messages and tool pairs; `journal.py` reads and writes the log, `loading.py` what is not held.
"""
