"""What happened: the append-only log of a session, and the state that follows from it.

`log.py` defines the events and `plan.py` what a compaction records; `codec.py` encodes them. `history.py`, `branch.py`
and `groups.py` hold messages and tool pairs. `journal.py` reads and writes the log, and `loading.py` loads what was
evicted.
"""
