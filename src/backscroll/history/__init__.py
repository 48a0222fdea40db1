"""What happened: the append-only log of a session, and the state that follows from it.

- `log.py`: the events; `plan.py` what a compaction records; `ledger.py` the facts behind a chronicle; `rewound_plan.py`
  a plan after a rewind
- `codec.py`: encodes events; `plan_codec.py` plans; `soundness.py` checks that a decoded event is possible
- `history.py`: the messages of the current branch; `branch.py` which these are; `groups.py` tool pairs, with
  `group_snapshot.py` for a checkpoint
- `ranges.py`: ranges of entries by `seq`
- `journal.py`: reads and writes the log of a store; `log_reader.py` what is read back, wherever the log is kept
- `memory_log.py`: the log of a session without a store, with `memory_plans.py`; `packing.py` compresses it
- `loading.py`: loads what was evicted
- `recall_wording.py`: how a view says that what it leaves out can be read
"""
