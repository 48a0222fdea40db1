"""The command line.

`main.py` is the entry point; `group.py` holds the group of all commands, its errors and the options that several share.
`stores/` looks after stored sessions, `inspect/` serves the inspector's page. `replay.py`, `view.py` and `compare.py`
run evaluations; `transcripts.py` loads what the first two replay. Output goes through `screen.py`.
"""
