"""The command line.

`main.py` is the entry point and `group.py`'s part stands in `replay.py`; `stores/` looks after stored sessions,
`inspect/` serves the inspector's page, `compare.py` and `replay.py` run evaluations. Output goes through `screen.py`.
"""
